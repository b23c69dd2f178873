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

/** Bytes of a string that are read one by one. */
const SHORT_STRING = 24

/** Digits of the smallest integer that is scanned as a text. */
const LONG_INTEGER = 7

/** Bytes that one step reads. */
const BYTES_OF_STEP = 256 * 1024

/**
 * Returns, in steps, the weight of the texts, keys, numbers, lists and objects of a JSON text.
 * Reads the bytes once and keeps nothing, so that a body can be refused before it is parsed.
 */
export function* weighSteps(json: Buffer): Steps<number> {
  const read = { weight: 0, at: 0 }
  while (read.at < json.length) {
    weigh(json, read, Math.min(json.length, read.at + BYTES_OF_STEP))
    if (read.at < json.length) yield
  }
  return read.weight
}

/** Adds the weight of what begins before `end`. */
function weigh(json: Buffer, read: { weight: number; at: number }, end: number): void {
  let { weight, at } = read
  for (; at < end; at++) {
    const code = json[at]!
    if (code === QUOTE) {
      const close = endOfString(json, at)
      if (!isFree(json, at + 1, close)) weight += TEXT_WEIGHT
      at = close
    } else if (isDigit(code)) {
      const close = endOfNumber(json, at)
      if (isLong(json, at, close)) weight += TEXT_WEIGHT
      at = close - 1
    } else if (code === COMMA || code === 0x5b || code === 0x7b) {
      // Each value but the first of the text follows one of these.
      weight += VALUE_WEIGHT
    }
  }
  read.weight = weight
  read.at = at
}

/** Offset of the quote that closes the string opened at `open`; the last byte without one. */
function endOfString(json: Buffer, open: number): number {
  let at = open + 1
  // Most strings are short, and a search from C++ costs as much as 50 steps of this loop.
  for (const end = at + SHORT_STRING; at < end && json[at] !== BACKSLASH; at++)
    if (json[at] === QUOTE) return at
  for (;;) {
    const quote = json.indexOf(QUOTE, at)
    if (quote < 0) return json.length - 1
    let backslashes = 0
    while (json[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    at = quote + 1
  }
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
