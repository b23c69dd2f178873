// Decides whether the stand-in calls tools, and makes up arguments that fit their schemas.

/** The part of a JSON Schema that arguments are made from. */
export interface ArgumentSchema {
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

/** A tool that a request offers. */
interface OfferedFunction {
  readonly name: string
  readonly parameters?: ArgumentSchema | undefined
}

/** What a request says of tools. */
export interface OfferedTools {
  readonly functions: readonly OfferedFunction[]
  readonly choice: 'none' | 'auto' | 'required' | { readonly name: string }
  /** Whether one answer may call several. */
  readonly parallel: boolean
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

/**
 * Returns the calls for a prompt; none if the request forbids or does not ask for them. `auto`
 * calls the functions that the prompt names, or the first one if it asks for a tool.
 */
export function chooseCalls({ functions, choice, parallel }: OfferedTools, prompt: string): CalledFunction[] {
  const named = functions.filter(({ name }) => mentions(prompt, name))
  const first = functions.slice(0, 1)
  let chosen = named.length === 0 && ASKS.test(prompt) ? first : named
  if (typeof choice !== 'string') chosen = functions.filter(({ name }) => name === choice.name)
  else if (choice === 'none') chosen = []
  else if (choice === 'required' && named.length === 0) chosen = first
  return chosen.slice(0, parallel ? chosen.length : 1).map(({ name, parameters = {} }, index) => ({
    id: `call_${process.hrtime.bigint()}_${index}`,
    name,
    arguments: valueFor({ type: 'object', ...parameters }, prompt, 0) as object,
  }))
}

/** Whether a prompt names a function, also with spaces for `_` and `-`. */
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
