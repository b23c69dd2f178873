// Decides whether the stand-in calls tools, and makes up arguments that fit their schemas.

/** The part of a JSON Schema that arguments are made from. */
interface ArgumentSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly items?: ArgumentSchema
  readonly properties?: Readonly<Record<string, ArgumentSchema>>
  readonly anyOf?: readonly ArgumentSchema[]
  readonly oneOf?: readonly ArgumentSchema[]
}

/** A function that a request offers. Anthropic calls its schema `input_schema`. */
export interface OfferedFunction {
  readonly name: string
  readonly parameters?: ArgumentSchema
  readonly input_schema?: ArgumentSchema
}

/** The choice of tools, as OpenAI or Anthropic write it. */
interface ToolChoice {
  readonly type?: string
  readonly name?: string
  readonly function?: { readonly name?: string }
  readonly disable_parallel_tool_use?: boolean
}

/** What a request says about calls. */
export interface ToolTerms {
  readonly tool_choice?: string | ToolChoice
  readonly parallel_tool_calls?: boolean
}

/** A call before it is written in the form of an API. */
export interface CalledFunction {
  readonly id: string
  readonly name: string
  readonly arguments: object
}

/** Deepest level that gets a value. */
const MAXIMUM_DEPTH = 8

/** A prompt that asks for a tool without its name. */
const ASKS = /\b(?:call|use|invoke|run)\b.{0,40}\b(?:tools?|functions?)\b/is

/** Returns the calls for a prompt; none if the request forbids or does not ask for them. */
export function chooseCalls(
  offered: readonly OfferedFunction[],
  { tool_choice = 'auto', parallel_tool_calls }: ToolTerms,
  prompt: string,
): CalledFunction[] {
  const choice: ToolChoice = typeof tool_choice === 'string' ? { type: tool_choice } : tool_choice
  const areParallel = parallel_tool_calls !== false && choice.disable_parallel_tool_use !== true
  const chosen = chooseFunctions(offered, choice, prompt)
  return chosen.slice(0, areParallel ? chosen.length : 1).map((called, index) => {
    const schema = { type: 'object', ...(called.parameters ?? called.input_schema) }
    const id = `call_${process.hrtime.bigint()}_${index}`
    return { id, name: called.name, arguments: valueFor(schema, prompt, 0) as object }
  })
}

/** `auto` chooses the functions that the prompt names, or the first one if it asks for a tool. */
function chooseFunctions(
  offered: readonly OfferedFunction[],
  choice: ToolChoice,
  prompt: string,
): readonly OfferedFunction[] {
  const named = offered.filter(({ name }) => mentions(prompt, name))
  const first = offered.slice(0, 1)
  switch (choice.type) {
    case 'none':
      return []
    case 'auto':
      return named.length === 0 && ASKS.test(prompt) ? first : named
    case 'required':
    case 'any':
      return named.length === 0 ? first : named
    default:
      return offered.filter(({ name }) => name === (choice.function?.name ?? choice.name))
  }
}

/** Reports whether a prompt names a function, also with spaces for `_` and `-`. */
function mentions(prompt: string, name: string): boolean {
  const words = (text: string) => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  return words(prompt).includes(words(name))
}

/** Returns a value for a schema. Texts quote the prompt, which shows what left the gateway. */
function valueFor(schema: ArgumentSchema, prompt: string, depth: number): unknown {
  if (depth > MAXIMUM_DEPTH) return null
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0] ?? null
  const variant = schema.anyOf?.[0] ?? schema.oneOf?.[0]
  if (variant !== undefined) return valueFor(variant, prompt, depth + 1)
  switch ([schema.type].flat()[0]) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {})
      return Object.fromEntries(fields.map(([key, field]) => [key, valueFor(field, prompt, depth + 1)]))
    }
    case 'array':
      return schema.items === undefined ? [] : [valueFor(schema.items, prompt, depth + 1)]
    case 'integer':
      return Math.ceil(schema.minimum ?? 1)
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return prompt
  }
}
