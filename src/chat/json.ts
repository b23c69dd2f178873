// Strict JSON: what is parsed here is the same thing for every reader, so that what was scanned is what is sent.
// Error messages never quote the body.

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'
import { formatPath } from './place.ts'

/** Containers in one another; walkers and other parsers overflow on much more. */
export const MAX_DEPTH = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

const invalid = (message: string, param?: string): GatewayError =>
  new GatewayError('invalid_body', message, param === undefined ? {} : { param })

/**
 * Parses a body once.
 * @throws GatewayError `invalid_body` for anything but one JSON text (RFC 8259) in UTF-8 without a byte order mark,
 *   nested at most MAX_DEPTH deep, without duplicate keys, lone surrogates, `__proto__` keys, or numbers that would
 *   change when written again
 */
export function parseJson(body: Buffer): JsonValue {
  if (body.length === 0) throw invalid('The body is empty; send a JSON object.')
  if (!isUtf8(body)) throw invalid('The body is not valid UTF-8.')
  const text = body.toString('utf8')
  const keys = countKeys(text)
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    throw invalid('The body is not valid JSON.')
  }
  // Of keys that stand twice only one is left in the value.
  if (checkValues(value) !== keys) throw invalid('The body has an object with the same key twice.')
  return value
}

/** Counts the keys as written, one colon outside strings each. @throws GatewayError for too deep a nesting */
function countKeys(text: string): number {
  let keys = 0
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (code === COLON) {
      keys++
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_DEPTH) throw invalid(`The body is nested more than ${MAX_DEPTH} levels deep.`)
    } else if (code === 0x7d || code === 0x5d) {
      depth--
    }
  }
  return keys
}

/** Offset of the quote that closes the string opened at `open`; the text's end when none does. */
function endOfString(text: string, open: number): number {
  let at = open + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    at = quote + 1
  }
}

/** Checks every value and counts the keys. */
function checkValues(root: JsonValue): number {
  let keys = 0
  const path: (string | number)[] = []
  const check = (value: JsonValue): void => {
    if (typeof value === 'string') {
      if (!value.isWellFormed()) throw invalid('A string has half of a surrogate pair.', formatPath(path))
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
        throw invalid('A number is too large to be passed on exactly; send it as a string.', formatPath(path))
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (!Array.isArray(value)) {
          keys++
          if (key === '__proto__') throw invalid('The key __proto__ is not allowed.', formatPath(path))
          if (!key.isWellFormed()) throw invalid('A key has half of a surrogate pair.', formatPath(path))
        }
        path.push(Array.isArray(value) ? Number(key) : key)
        check((value as JsonObject)[key]!)
        path.pop()
      }
    }
  }
  check(root)
  return keys
}
