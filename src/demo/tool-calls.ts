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

interface FunctionTool {
  readonly type?: string
  readonly function?: { readonly name?: string; readonly parameters?: ArgumentSchema }
}

/** The fields of a call that concern tools. */
export interface ToolRequest {
  readonly tools?: readonly FunctionTool[]
  /** `none`, `auto`, `required`, or the function to call. */
  readonly tool_choice?: string | { readonly function?: { readonly name?: string } }
  readonly parallel_tool_calls?: boolean
}

/** A call as the wire format writes it. */
export interface DemoToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** Deepest level that gets a value. */
const MAX_DEPTH = 8

/** A prompt that asks for a tool without its name. */
const ASKS = /\b(?:call|use|invoke|run)\b.{0,40}\b(?:tools?|functions?)\b/is

/**
 * Returns the calls for a prompt; none if the request forbids or does not ask for them. `auto`
 * calls the functions that the prompt names, or the first one if it asks for a tool.
 */
export function chooseToolCalls(request: ToolRequest, prompt: string): DemoToolCall[] {
  const functions = (request.tools ?? []).flatMap((tool) => {
    const { name, parameters } = tool.function ?? {}
    return name === undefined ? [] : [{ name, parameters: parameters ?? {} }]
  })
  const choice = request.tool_choice ?? 'auto'
  const named = functions.filter(({ name }) => mentions(prompt, name))
  const first = functions.slice(0, 1)
  let chosen = named.length === 0 && ASKS.test(prompt) ? first : named
  if (typeof choice !== 'string') chosen = functions.filter(({ name }) => name === choice.function?.name)
  else if (choice === 'none') chosen = []
  else if (choice === 'required' && named.length === 0) chosen = first
  const limit = request.parallel_tool_calls === false ? 1 : chosen.length
  return chosen.slice(0, limit).map(({ name, parameters }, index) => ({
    id: `call_${process.hrtime.bigint()}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(valueFor({ type: 'object', ...parameters }, prompt, 0)) },
  }))
}

/** Whether a prompt names a function, also with spaces for `_` and `-`. */
function mentions(prompt: string, name: string): boolean {
  const words = (text: string) => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  return words(prompt).includes(words(name))
}

/** Returns a value for a schema. Texts quote the prompt, which shows what left the gateway. */
function valueFor(schema: ArgumentSchema, prompt: string, depth: number): unknown {
  if (depth > MAX_DEPTH) return null
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
