// Checks the fields that requests of all APIs share: model, fallbacks, stream, limits. Unknown
// fields pass, and so do values that the gateway does not need.

import { isJsonNumber, isObject, isRawNumber, type JsonObject, type JsonValue } from '../core/json.ts'
import { CAP_FIELDS, CHOICES_FIELDS, invalid, missing, plainName } from './body-fields.ts'
import { furtherModels, isModelName, MODEL_NAME, type NamedModel } from './named-models.ts'

/** A checked request of any API. */
export interface ModelRequest {
  /** The whole body, from which the forwarded bytes are made. */
  readonly body: JsonObject
  /**
   * Without surrounding white space. Some upstreams trim it, and rules for the model must still
   * apply.
   */
  readonly model: string
  /** Every model that may work on the call: `model`, then those that other members name. */
  readonly models: readonly string[]
  /** The same, each with the member that names it. */
  readonly named: readonly NamedModel[]
  readonly stream: boolean
  /** Whether the client asked for the usage event, as OpenAI or OpenRouter define it. */
  readonly includeUsage: boolean
  /** Whether the client asked for JSON content. */
  readonly asksForJson: boolean
  /** Longest answer in tokens, over all choices; null when it is not limited. */
  readonly maxTokens: number | null
  /** Number of answers; 0 when the call makes no text. */
  readonly choices: number
}

/** Maximum answers of one call; the limit of the providers. */
const MAXIMUM_CHOICES = 128
const MAXIMUM_ROLE_CHARACTERS = 64

/**
 * Reads `model` and the further models. Rules for any of them apply to the call, and the strictest
 * action on personal data wins; otherwise they would bypass them.
 * @param whenMissing the model that the provider uses when the body names none
 * @throws GatewayError `missing_required_parameter` or `invalid_body`
 */
export function readModels(
  body: JsonObject,
  whenMissing?: string,
): Pick<ModelRequest, 'model' | 'models' | 'named'> {
  const written = body['model'] ?? whenMissing ?? null
  if (written === null) throw missing('model')
  if (!isModelName(written)) throw invalid('model', `must be ${MODEL_NAME}.`)
  const model = written.trim()
  const named = [{ name: model, param: 'model' }, ...furtherModels(body)]
  return { model, models: named.map(({ name }) => name), named }
}

/** Reads `stream`. @throws GatewayError `invalid_body` */
export function readStream({ stream = null }: JsonObject): boolean {
  if (stream !== null && typeof stream !== 'boolean') throw invalid('stream', 'must be true or false.')
  return stream === true
}

/** Reads `n`. Token limits reserve for each answer, so that it must be known. */
function readChoices({ n = null }: JsonObject): number {
  if (n === null) return 1
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > MAXIMUM_CHOICES) {
    throw invalid('n', `must be a whole number from 1 to ${MAXIMUM_CHOICES}.`)
  }
  return n
}

/**
 * Reads the longest answer in tokens: the largest of all limits that servers read, rounded up; null
 * when one of them is negative, which is no limit. Zero and other values count as missing.
 */
export function readMaxTokens(body: JsonObject, whenMissing: number | null = null): number | null {
  const caps = numbersOf(body, CAP_FIELDS)
  if (caps.some((cap) => cap < 0)) return null
  const tokens = Math.max(0, ...caps)
  return tokens > 0 ? Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER) : whenMissing
}

/**
 * Reads how many answers are made, by the largest number that servers read. `best_of` makes more
 * than are returned. No provider makes more than MAXIMUM_CHOICES.
 */
export function readMadeChoices(body: JsonObject): number {
  const made = Math.max(readChoices(body), ...numbersOf(body, CHOICES_FIELDS))
  return Math.min(Math.ceil(made), MAXIMUM_CHOICES)
}

/** The numbers of some members, under any spelling. */
const numbersOf = (body: JsonObject, fields: ReadonlySet<string>): number[] =>
  Object.keys(body).flatMap((name) => (fields.has(plainName(name)) ? numberOf(body[name]!) : []))

/** Longest text that is read as a number. */
const MAXIMUM_NUMBER_CHARACTERS = 64

/** A number, or one in a text, which servers in Python read with `_` between its digits too. */
function numberOf(value: JsonValue): number | [] {
  const isText = typeof value === 'string' && value.trim() !== '' && value.length <= MAXIMUM_NUMBER_CHARACTERS
  const text = isRawNumber(value)
    ? value.rawJSON
    : isText
      ? value.normalize('NFKC').replaceAll('_', '')
      : null
  const number = text === null ? value : Number(text)
  return typeof number === 'number' && !Number.isNaN(number) ? number : []
}

/** The limit of one answer, times the number of answers. */
export const tokensOfAll = (perChoice: number | null, choices: number): number | null =>
  perChoice === null ? null : Math.min(perChoice * choices, Number.MAX_SAFE_INTEGER)

/**
 * Reads the list of messages in `field`.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the message
 */
export function readMessages(body: JsonObject, field = 'messages'): readonly JsonObject[] {
  const messages = body[field] ?? null
  if (messages === null) throw missing(field)
  if (!Array.isArray(messages) || messages.length === 0) throw invalid(field, 'must be a non-empty array.')
  messages.forEach((message, index) => {
    checkMessage(message, `${field}[${index}]`)
  })
  return messages as JsonObject[]
}

function checkMessage(message: JsonValue, path: string): void {
  if (!isObject(message)) throw invalid(path, 'must be an object.')
  const { role, content } = message
  if (role === undefined) throw missing(`${path}.role`)
  if (typeof role !== 'string' || role === '' || role.length > MAXIMUM_ROLE_CHARACTERS) {
    throw invalid(`${path}.role`, 'must be a string like user, assistant, system or tool.')
  }
  if (!Array.isArray(content)) return
  for (const [index, part] of content.entries()) refuseTokenId(part, `${path}.content[${index}]`)
}

/** Refuses token ids in the place of a text: a number, and a list with one. */
export function refuseTokenIds(value: JsonValue | undefined, param: string): void {
  if (Array.isArray(value)) for (const item of value) refuseTokenId(item, param)
}

function refuseTokenId(item: JsonValue, param: string): void {
  if (isJsonNumber(item) || (Array.isArray(item) && item.some(isJsonNumber)))
    throw invalid(param, 'must be text; token ids cannot be scanned.')
}
