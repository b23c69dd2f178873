// Weighs the bytes of a JSON text by the memory that parsing and scanning its values will take.

import type { Steps } from '../core/steps.ts'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c

/**
 * Weights in bytes of plain text, each of which takes up to 25 bytes of heap. A text under scan, or
 * a key, takes 500 bytes besides its characters, and any other value 50.
 */
const TEXT_WEIGHT = 20
const VALUE_WEIGHT = 2

/** Keys of messages and parts have no weight: they are not scanned, and all objects share them. */
const FREE_KEYS = ['role', 'content', 'type', 'text'].map((key) => Buffer.from(key))

/** Bytes without an escape that are read one by one before the next quote is searched. */
const SHORT_RUN = 24

/** Digits of the smallest integer that is scanned as a text. */
const LONG_INTEGER = 7

/** Strings from this length on have few objects besides their characters. */
const LONG_STRING_BYTES = 64 * 1024

/** Bytes that one step reads. */
const BYTES_OF_STEP = 256 * 1024

/**
 * Returns, in steps, the weight of a JSON text.
 * Reads the bytes once and keeps nothing, so that a body can be refused before it is parsed.
 */
export function* weighSteps(json: Buffer): Steps<JsonWeight> {
  const read: Reading = { weight: 0, longBytes: 0, at: 0, open: -1 }
  while (read.at < json.length) {
    weigh(json, read, Math.min(json.length, read.at + BYTES_OF_STEP))
    if (read.at < json.length) yield
  }
  return { values: read.weight, longBytes: read.longBytes }
}

/** What a JSON text takes to parse and scan. */
export interface JsonWeight {
  /** Weight of its texts, keys, numbers, lists and objects. */
  readonly values: number
  /** Bytes in strings of at least LONG_STRING_BYTES, such as pictures. */
  readonly longBytes: number
}

interface Reading {
  weight: number
  longBytes: number
  at: number
  /** Offset of the quote that opened the string around `at`; -1 outside strings. */
  open: number
}

/** Adds the weight of what ends before `end`. */
function weigh(json: Buffer, read: Reading, end: number): void {
  let { weight, longBytes, at, open } = read
  for (; at < end; at++) {
    const code = json[at]!
    if (open >= 0 || code === QUOTE) {
      if (open < 0) open = at++
      at = skipString(json, at, end)
      if (at >= end) break
      if (!isFree(json, open + 1, at)) weight += TEXT_WEIGHT
      if (at - open > LONG_STRING_BYTES) longBytes += at - open
      open = -1
    } else if (isDigit(code)) {
      const close = endOfNumber(json, at)
      if (isLong(json, at, close)) weight += TEXT_WEIGHT
      at = close - 1
    } else if (code === COMMA || code === 0x5b || code === 0x7b) {
      // Each value but the first of the text follows one of these.
      weight += VALUE_WEIGHT
    }
  }
  Object.assign(read, { weight, longBytes, at, open })
}

/**
 * Offset of the quote that closes the string around `from`, if it is before `end`; else the offset
 * at which to continue: `end`, or after an escape that crosses it.
 */
function skipString(json: Buffer, from: number, end: number): number {
  let at = from
  while (at < end) {
    // Most strings are short, and a search from C++ costs as much as 50 steps of this loop.
    for (let runEnd = at + SHORT_RUN; at < runEnd && at < end; at++) {
      if (json[at] === QUOTE) return at
      if (json[at] !== BACKSLASH) continue
      at++
      runEnd = at + SHORT_RUN
    }
    if (at >= end) break
    const quote = json.subarray(at, end).indexOf(QUOTE)
    const next = quote < 0 ? end : at + quote
    let backslashes = 0
    while (next - 1 - backslashes >= at && json[next - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return next
    // The quote, or the first byte after `end`, is escaped.
    at = next + 1
  }
  return at
}

/** Reports whether the string from `start` to `close` is one of FREE_KEYS, followed by a colon. */
function isFree(json: Buffer, start: number, close: number): boolean {
  const length = close - start
  if (length !== 4 && length !== 7) return false
  if (!FREE_KEYS.some((key) => key.length === length && isAt(json, start, key))) return false
  let at = close + 1
  while (json[at]! <= SPACE) at++
  return json[at] === COLON
}

function isAt(json: Buffer, start: number, key: Buffer): boolean {
  for (let at = 0; at < key.length; at++) if (json[start + at] !== key[at]) return false
  return true
}

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= 0x30 && code <= 0x39

/** Offset after the number with a digit at `start`: digits, `.`, `e`, `E`, `+` and `-`. */
function endOfNumber(json: Buffer, start: number): number {
  let at = start + 1
  for (; at < json.length; at++) {
    const code = json[at]!
    if (!isDigit(code) && code !== 0x2e && (code | 0x20) !== 0x65 && code !== 0x2b && code !== 0x2d) break
  }
  return at
}

/** Reports whether a number may be large enough for a text: by its integer digits or exponent. */
function isLong(json: Buffer, start: number, end: number): boolean {
  let at = start
  while (at < end && isDigit(json[at])) at++
  if (at - start >= LONG_INTEGER) return true
  for (; at < end; at++) if ((json[at]! | 0x20) === 0x65) return true
  return false
}
