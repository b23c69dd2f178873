// Parses JSON so strictly that every parser reads the same value, and the scanned value is the one
// sent. Error messages never quote the body.

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { isInexact, isRawNumber, type JsonObject, type JsonValue, parseExactly } from '../core/json.ts'
import { formatPath } from './json-path.ts'

/** Deepest nesting. Walkers and other parsers overflow on much more. */
export const MAXIMUM_DEPTH = 64

/** No conversation has as many; millions of empty ones take seconds to read. */
const MAXIMUM_CONTAINERS = 200_000
const MAXIMUM_KEYS = 500_000

/** In UTF-16 units. Generated schemas are full of 64-bit limits. */
const MAXIMUM_EXACT_UNITS = 1024 * 1024

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const COLON = 0x3a

const invalid = (message: string, param?: string): GatewayError =>
  new GatewayError('invalid_body', message, param === undefined ? {} : { param })

/**
 * Parses a body. Keeps numbers that a double cannot hold as written, in bodies of up to
 * MAXIMUM_EXACT_UNITS; refuses them in longer ones.
 * @throws GatewayError `invalid_body` unless the body is one JSON text (RFC 8259) in UTF-8 without
 * a byte order mark, within MAXIMUM_DEPTH, MAXIMUM_CONTAINERS and MAXIMUM_KEYS, without duplicate
 * keys, lone surrogates and `__proto__`
 */
export function parseJson(body: Buffer): JsonValue {
  if (body.length === 0) throw invalid('The body is empty; send a JSON object.')
  if (!isUtf8(body)) throw invalid('The body is not valid UTF-8.')
  const text = body.toString('utf8')
  const { keys, containers, depth } = countMarks(text)
  if (depth > MAXIMUM_DEPTH) throw invalid(`The body is nested more than ${MAXIMUM_DEPTH} levels deep.`)
  if (keys > MAXIMUM_KEYS) throw invalid(`The body has more than ${MAXIMUM_KEYS} keys.`)
  if (containers > MAXIMUM_CONTAINERS)
    throw invalid(`The body has more than ${MAXIMUM_CONTAINERS} lists and objects.`)
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    throw invalid('The body is not valid JSON.')
  }
  const checked = checkValues(value)
  // The value keeps one of several equal keys.
  if (checked.keys !== keys)
    throw invalid('The body has an object with the same key twice.', findDuplicate(text))
  if (checked.inexact === null) return value
  if (text.length > MAXIMUM_EXACT_UNITS)
    throw invalid('A number is too large to be passed on exactly; send it as a string.', checked.inexact)
  return parseExactly(text)
}

/** Matches numbers that a double may not hold, and few others. */
const MAY_BE_INEXACT = /[[:,\s]-?(?:\d{16}|\d[\d.]*[eE]\+?\d\d)/

/**
 * Parses JSON of an upstream or of the gateway itself. Keeps numbers that a double cannot hold as
 * written, in texts of up to MAXIMUM_EXACT_UNITS.
 * @throws SyntaxError that quotes the text, when it is not JSON
 */
export const parseReceived = (text: string): JsonValue =>
  text.length <= MAXIMUM_EXACT_UNITS && MAY_BE_INEXACT.test(text)
    ? parseExactly(text)
    : (JSON.parse(text) as JsonValue)

/** Reports whether an object in a JSON text has a key twice. @param value the parsed text */
export const hasDuplicateKeys = (text: string, value: JsonValue): boolean =>
  countMarks(text).keys !== keysIn(value)

/**
 * Reports whether a JSON text is nested deeper than MAXIMUM_DEPTH. Serialising it would overflow
 * the stack.
 */
export const isTooDeep = (text: string): boolean => countMarks(text).depth > MAXIMUM_DEPTH

function keysIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + keysIn(item), 0)
  if (isRawNumber(value)) return 0
  let keys = 0
  for (const name of Object.keys(value)) keys += 1 + keysIn((value as JsonObject)[name]!)
  return keys
}

/**
 * Counts keys (one colon outside strings each), containers and the deepest nesting of a JSON text.
 */
function countMarks(text: string): { keys: number; containers: number; depth: number } {
  let keys = 0
  let containers = 0
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (code === COLON) {
      keys++
    } else if (code === 0x7b || code === 0x5b) {
      containers++
      depth++
      if (depth > deepest) deepest = depth
    } else if (code === 0x7d || code === 0x5d) {
      depth--
    }
  }
  return { keys, containers, depth: deepest }
}

/** Offset of the quote that closes the string opened at `open`; the end of the text without one. */
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

/**
 * Checks every value and counts the keys. Returns the path of the first number that a double does
 * not hold exactly.
 */
function checkValues(root: JsonValue): { readonly keys: number; readonly inexact: string | null } {
  let keys = 0
  let inexact: string | null = null
  /** Path of the current value; entries beyond its depth are stale. */
  const path: (string | number)[] = []
  const refuse = (message: string, depth: number) => invalid(message, formatPath(path.slice(0, depth)))
  const check = (value: JsonValue, depth: number): void => {
    if (typeof value === 'string') {
      if (!value.isWellFormed()) throw refuse('A string has half of a surrogate pair.', depth)
    } else if (typeof value === 'number') {
      if (isInexact(value)) inexact ??= formatPath(path.slice(0, depth))
    } else if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        path[depth] = index
        check(value[index]!, depth + 1)
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        keys++
        if (key === '__proto__') throw refuse('The key __proto__ is not allowed.', depth)
        if (!key.isWellFormed()) throw refuse('A key has half of a surrogate pair.', depth)
        path[depth] = key
        check(value[key]!, depth + 1)
      }
    }
  }
  check(root, 0)
  return { keys, inexact }
}

/** Returns the path of the first duplicate key. */
function findDuplicate(text: string): string {
  const path: (string | number)[] = []
  /** Keys so far of each open container; null for a list. */
  const around: (Set<string> | null)[] = []
  let atKey = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const keys = around.at(-1)
    if (code === QUOTE) {
      const end = endOfString(text, at)
      if (atKey && keys) {
        const key = JSON.parse(text.slice(at, end + 1)) as string
        path[path.length - 1] = key
        if (keys.has(key)) break
        keys.add(key)
      }
      atKey = false
      at = end
    } else if (code === COMMA) {
      atKey = keys !== null
      if (!atKey) path[path.length - 1] = Number(path.at(-1)) + 1
    } else if (code === 0x7b || code === 0x5b) {
      atKey = code === 0x7b
      around.push(atKey ? new Set() : null)
      path.push(0)
    } else if (code === 0x7d || code === 0x5d) {
      around.pop()
      path.pop()
    }
  }
  return formatPath(path)
}
