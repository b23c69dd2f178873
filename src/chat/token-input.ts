// Reads inputs that are texts, lists of texts, or token ids, which cannot be scanned.

import { isJsonNumber, isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { invalid, missing } from './body-fields.ts'
import { BodyWalk } from './body-walk.ts'
import type { Texts } from './texts.ts'
import { estimateValue } from './token-usage.ts'

/** Reports whether a value is a list of token ids only. */
export const isTokenList = (value: JsonValue | undefined): value is JsonValue[] =>
  Array.isArray(value) && value.length > 0 && value.every(isJsonNumber)

/**
 * Checks an input: a text, token ids, or a list of texts, parts and lists of token ids.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`
 */
export function checkInput(body: JsonObject, field: string): void {
  const input = body[field] ?? null
  if (input === null) throw missing(field)
  if (typeof input === 'string' || isTokenList(input)) return
  if (!Array.isArray(input) || input.length === 0)
    throw invalid(field, 'must be a text, a list of texts or a list of token ids.')
  input.forEach((item, index) => {
    if (typeof item !== 'string' && !isObject(item) && !isTokenList(item))
      throw invalid(`${field}[${index}]`, 'must be a text or a list of token ids.')
  })
}

/**
 * Lists, in steps, the texts of a body whose prompt is in one field. Its items stand alone: no
 * value continues from one to the next. A list of token ids counts as a payload.
 * @param numbersEachInput as in Texts
 * @throws GatewayError `invalid_body` as BodyWalk
 */
export function* inputTexts(
  body: JsonObject,
  field: string,
  readsNumbers = false,
  numbersEachInput = false,
): Steps<Texts> {
  const walk = new BodyWalk('request', readsNumbers)
  walk.numbersEachInput = numbersEachInput
  for (const key of Object.keys(body)) {
    if (key === field) yield* walk.inputs(body, key, isTokenList)
    else walk.member(body, key, null, 1)
  }
  return walk
}

/** Estimates the tokens of an input; exact for token ids. */
export function estimateInput(input: JsonValue | undefined): number {
  if (isTokenList(input)) return input.length
  if (!Array.isArray(input)) return estimateValue(input, '')
  return input.reduce<number>((sum, item) => sum + estimateInput(item), 0)
}
