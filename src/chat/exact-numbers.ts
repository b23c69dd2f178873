// Parses JSON without losing digits of numbers that a double cannot hold. They travel through
// JSON.parse as strings that no other string can equal.

import { isInexact, type JsonObject, type JsonValue, rawNumber } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'

/** Half of a surrogate pair, which no string of a checked body has, begins a number. */
const MARK = '\\ud800'
const MARKED = /^\ud800[-\d]/

/** A number (RFC 8259 §6) that is not part of a longer word. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y
/** The shortest integer that a double may not hold, without an exponent. */
const MINIMUM_CHARACTERS = 16

/** As many as a double with 17 digits takes, at most. */
const MAXIMUM_CHARACTERS = 24
const LONG_EXPONENT = /[eE][+-]?\d{4}/

/**
 * Reports whether a number as written may hold more than the value: digits that a double drops,
 * such as those of a card, which would be forwarded without a scan.
 */
const holdsMore = (number: string): boolean =>
  number.length > MAXIMUM_CHARACTERS || LONG_EXPONENT.test(number)

/** Text, and values, that one step reads. */
const UNITS_OF_STEP = 256 * 1024
const VALUES_OF_STEP = 16_384

/**
 * Parses like `JSON.parse`, in steps, but gives a `RawNumber` for a number of which a double cannot
 * hold every digit. @throws SyntaxError that quotes the text, when it is not JSON
 */
export function* parseExactSteps(text: string): Steps<JsonValue> {
  const marked = yield* markNumbers(text)
  yield
  const root = JSON.parse(`[${marked}]`) as JsonValue[]
  yield
  const open: (JsonObject | JsonValue[])[] = [root]
  let left = VALUES_OF_STEP
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    const members = container as JsonObject
    for (const name of Object.keys(members)) {
      if (--left === 0) {
        left = VALUES_OF_STEP
        yield
      }
      const value = members[name]!
      if (typeof value === 'string') {
        if (MARKED.test(value)) members[name] = rawNumber(value.slice(1))
      } else if (typeof value === 'object' && value !== null) open.push(value)
    }
  }
  return root[0]!
}

/** Writes each number that a double cannot hold as a string with MARK. */
function* markNumbers(text: string): Steps<string> {
  const pieces: string[] = []
  let written = 0
  let stepEnd = UNITS_OF_STEP
  for (let at = 0; at < text.length; at++) {
    if (at >= stepEnd) {
      stepEnd = at + UNITS_OF_STEP
      yield
    }
    const code = text.charCodeAt(at)
    if (code === 0x22) at = endOfString(text, at)
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at
      const number = NUMBER.exec(text)?.[0]
      if (number === undefined) continue
      const isLong = number.length >= MINIMUM_CHARACTERS || /[eE]/.test(number)
      if (isLong && (isInexact(Number(number)) || holdsMore(number))) {
        pieces.push(text.slice(written, at), `"${MARK}${number}"`)
        written = at + number.length
      }
      at += number.length - 1
    }
  }
  return pieces.join('') + text.slice(written)
}

const BACKSLASH = 0x5c

/** Offset of the quote that closes the string opened at `open`; the end of the text without one. */
export function endOfString(text: string, open: number): number {
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
