// Parses JSON where JSON.parse does not read what is written: numbers that a double cannot hold,
// and names with escapes. Numbers travel through JSON.parse as strings that no other string can
// equal.
//
// V8 compares the raw text of a name with names that it parsed before. After `{"h":[],"\\":0}` it
// reads `{"h":1,"\n":2}` as `{"h":1,"\\":2}` (https://github.com/nodejs/node/issues/63785). A name
// without a backslash is always read right.

import { isInexact, type JsonObject, type JsonValue, rawNumber } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { setMember } from './text.ts'

/** Half of a surrogate pair, which no string of a checked body has, begins a number. */
const NUMBER_MARK = '\\ud800'
const MARKED_NUMBER = /^\ud800[-\d]/

/** The same half is before each character of a name that JSON can only write with an escape. */
const MARK = '\ud800'
const ESCAPED_ONLY = /["\\\p{Cc}\ud800]/gu
const MARKED_CHARACTER = /\ud800(.)/gsu
/** Added to the code of such a character, so that it needs no escape. */
const SHIFT = 0x100

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

const [QUOTE, MINUS, ZERO, NINE, BACKSLASH] = [0x22, 0x2d, 0x30, 0x39, 0x5c]

/** Text, and values, that one step reads. */
const UNITS_OF_STEP = 256 * 1024
const VALUES_OF_STEP = 16_384

/**
 * Parses like `JSON.parse`, in steps, but reads every name as written, and gives a `RawNumber` for
 * a number of which a double cannot hold every digit.
 * @throws SyntaxError that quotes the text, when it is not JSON
 */
export function* parseExactSteps(text: string): Steps<JsonValue> {
  const marked = yield* markTokens(text)
  yield
  const root = JSON.parse(`[${marked}]`) as JsonValue[]
  if (root.length !== 1) throw new SyntaxError('not one JSON text')
  yield
  const open: (JsonObject | JsonValue[])[] = [root]
  let left = VALUES_OF_STEP
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    const members = container as JsonObject
    let hasMarkedName = false
    for (const name of Object.keys(members)) {
      if (--left === 0) {
        left = VALUES_OF_STEP
        yield
      }
      const value = members[name]!
      hasMarkedName ||= name.includes(MARK)
      if (typeof value === 'string') {
        if (MARKED_NUMBER.test(value)) members[name] = rawNumber(value.slice(1))
      } else if (typeof value === 'object' && value !== null) open.push(value)
    }
    if (hasMarkedName) unmarkNames(members)
  }
  return root[0]!
}

/** Writes each number that a double cannot hold as a string, and each name without an escape. */
function* markTokens(text: string): Steps<string> {
  const pieces: string[] = []
  let written = 0
  let stepEnd = UNITS_OF_STEP
  for (let at = 0; at < text.length; at++) {
    if (at >= stepEnd) {
      stepEnd = at + UNITS_OF_STEP
      yield
    }
    const start = at
    const code = text.charCodeAt(at)
    let token: string | null = null
    if (code === QUOTE) {
      at = endOfString(text, at)
      token = markedName(text, start, at + 1)
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at
      const number = NUMBER.exec(text)?.[0]
      if (number === undefined) continue
      const isLong = number.length >= MINIMUM_CHARACTERS || /[eE]/.test(number)
      if (isLong && (isInexact(Number(number)) || holdsMore(number))) token = `"${NUMBER_MARK}${number}"`
      at += number.length - 1
    }
    if (token === null) continue
    pieces.push(text.slice(written, start), token)
    written = at + 1
  }
  return pieces.join('') + text.slice(written)
}

const BEFORE_VALUE = /\s*:/y

/** Returns a name that has an escape, as a string without one; null for any other string. */
function markedName(text: string, start: number, end: number): string | null {
  const token = text.slice(start, end)
  if (!token.includes('\\') && !token.includes(MARK)) return null
  BEFORE_VALUE.lastIndex = end
  if (!BEFORE_VALUE.test(text)) return null
  const name = JSON.parse(token) as string
  return `"${name.replace(ESCAPED_ONLY, (one) => MARK + String.fromCharCode(one.charCodeAt(0) + SHIFT))}"`
}

function unmarkNames(object: JsonObject): void {
  const members = Object.entries(object)
  for (const [name] of members) delete object[name]
  for (const [name, value] of members) {
    const written = name.replace(MARKED_CHARACTER, (_, one: string) =>
      String.fromCharCode(one.charCodeAt(0) - SHIFT),
    )
    setMember(object, written, value)
  }
}

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
