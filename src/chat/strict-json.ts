// Parses JSON so strictly that every parser reads the same value, and the scanned value is the one
// sent. Error messages never quote the body.

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { isInexact, isObject, type JsonValue } from '../core/json.ts'
import { atOnce, STEP_UNITS, type Steps } from '../core/steps.ts'
import { endOfString, parseExactSteps } from './exact-json.ts'
import { formatPath } from './json-path.ts'
import { ValueWalk } from './value-walk.ts'

/** Deepest nesting. Walkers and other parsers overflow on much more. */
export const MAXIMUM_DEPTH = 64

/** No conversation has as many; millions of empty ones take seconds to read. */
const MAXIMUM_CONTAINERS = 200_000
const MAXIMUM_KEYS = 500_000
/** Each different key takes a microsecond of one turn to build. */
const MAXIMUM_DIFFERENT_KEYS = 50_000

/** Text, and values, that one step reads. */
const UNITS_OF_STEP = 256 * 1024
const VALUES_OF_STEP = 32_768

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a

const invalid = (message: string, param?: string): GatewayError =>
  new GatewayError('invalid_body', message, param === undefined ? {} : { param })

/**
 * Parses a body, in steps. Keeps numbers that a double cannot hold as written. Counts before it
 * builds a value.
 * @throws GatewayError `invalid_body` unless the body is one JSON text (RFC 8259) in UTF-8 without
 * a byte order mark, within MAXIMUM_DEPTH, MAXIMUM_CONTAINERS, MAXIMUM_KEYS and
 * MAXIMUM_DIFFERENT_KEYS, without duplicate keys, lone surrogates and `__proto__`
 */
export function* parseSteps(body: Buffer): Steps<JsonValue> {
  if (body.length === 0) throw invalid('The body is empty; send a JSON object.')
  if (!isUtf8(body)) throw invalid('The body is not valid UTF-8.')
  const text = body.toString('utf8')
  const isLong = text.length > STEP_UNITS
  // To decode and to parse a long text are the longest steps, each in a slice of its own.
  if (isLong) yield
  const marks = new MarkCount(text)
  while (marks.read()) yield
  if (marks.depth > MAXIMUM_DEPTH) throw invalid(`The body is nested more than ${MAXIMUM_DEPTH} levels deep.`)
  if (marks.keys > MAXIMUM_KEYS) throw invalid(`The body has more than ${MAXIMUM_KEYS} keys.`)
  if (marks.containers > MAXIMUM_CONTAINERS)
    throw invalid(`The body has more than ${MAXIMUM_CONTAINERS} lists and objects.`)
  if (marks.keys > MAXIMUM_DIFFERENT_KEYS && (yield* hasManyKeys(text)))
    throw invalid(`The body has more than ${MAXIMUM_DIFFERENT_KEYS} different keys.`)
  if (isLong) yield
  let value: JsonValue
  const isExact = marks.hasEscapedName
  try {
    value = isExact ? yield* parseExactSteps(text) : (JSON.parse(text) as JsonValue)
  } catch {
    throw invalid('The body is not valid JSON.')
  }
  if (isLong) yield
  const checked = new ValueCheck(value)
  while (checked.read()) yield
  // The value keeps one of several equal keys.
  if (checked.keys !== marks.keys)
    throw invalid('The body has an object with the same key twice.', yield* findDuplicate(text))
  if (isExact || (checked.isExact && !(LONG_NUMBER.test(text) && MAY_HOLD_MORE.test(text)))) return value
  return yield* parseExactSteps(text)
}

/** Matches in every number of the patterns below; cheap, as prose has few digits. */
const LONG_NUMBER = /\d(?:[\d.]{15}|[eE])/
/** Matches numbers as written that `holdsMore` may report, and few others. */
const MAY_HOLD_MORE = /[[:,\s]-?\d(?:[\d.eE+-]{24}|[\d.]*[eE][+-]?\d{4})/

/** As `parseSteps`, without a pause. */
export const parseJson = (body: Buffer): JsonValue => atOnce(parseSteps(body))

/** Matches numbers that a double may not hold, and few others. */
const MAY_BE_INEXACT = /[[:,\s]-?(?:\d{16}|\d[\d.]*[eE]\+?\d\d)/

const hasInexactNumber = (text: string): boolean => LONG_NUMBER.test(text) && MAY_BE_INEXACT.test(text)

/**
 * Parses JSON of an upstream or of the gateway itself, in steps. Keeps names and numbers as
 * written, where JSON.parse does not.
 * @throws SyntaxError that quotes the text, when it is not JSON
 */
export function* parseReceivedSteps(text: string): Steps<JsonValue> {
  const mayBeInexact = hasInexactNumber(text) || (yield* hasEscapedName(text))
  if (text.length > STEP_UNITS) yield
  return mayBeInexact ? yield* parseExactSteps(text) : (JSON.parse(text) as JsonValue)
}

/** Reports, in steps, whether a JSON text has a name with an escape. */
function* hasEscapedName(text: string): Steps<boolean> {
  if (!text.includes('\\')) return false
  const marks = new MarkCount(text)
  while (marks.read()) yield
  return marks.hasEscapedName
}

/** As `parseReceivedSteps`, without a pause. */
export const parseReceived = (text: string): JsonValue => atOnce(parseReceivedSteps(text))

/**
 * Reports, in steps, whether an object in a JSON text has a key twice. @param value the parsed text
 */
export function* findsDuplicateKeys(text: string, value: JsonValue): Steps<boolean> {
  const marks = new MarkCount(text)
  while (marks.read()) yield
  return yield* losesKeys(marks, value)
}

/** Reports, in steps, whether a value has fewer keys than the text that it was parsed from. */
function* losesKeys({ keys }: MarkCount, value: JsonValue): Steps<boolean> {
  const checked = new ValueCheck(value, false)
  while (checked.read()) yield
  return keys !== checked.keys
}

/** As `findsDuplicateKeys`, without a pause. */
export const hasDuplicateKeys = (text: string, value: JsonValue): boolean =>
  atOnce(findsDuplicateKeys(text, value))

/**
 * Reports whether a JSON text is nested deeper than MAXIMUM_DEPTH. Serialising it would overflow
 * the stack.
 */
export function isTooDeep(text: string): boolean {
  const marks = new MarkCount(text)
  while (marks.read());
  return marks.depth > MAXIMUM_DEPTH
}

/**
 * The value of a JSON text, as `parseReceived`; undefined for a text that is no JSON, or nested
 * deeper than MAXIMUM_DEPTH, and null for one with equal names, which clients read in several ways.
 */
export function parseUnambiguous(text: string): { readonly value: JsonValue } | null | undefined {
  const marks = new MarkCount(text)
  while (marks.read());
  if (marks.depth > MAXIMUM_DEPTH) return undefined
  let value: JsonValue
  try {
    const mayBeInexact = marks.hasEscapedName || hasInexactNumber(text)
    value = mayBeInexact ? atOnce(parseExactSteps(text)) : (JSON.parse(text) as JsonValue)
  } catch {
    return undefined
  }
  return atOnce(losesKeys(marks, value)) ? null : { value }
}

/** Counts the marks of a JSON text, a step at a time. */
class MarkCount {
  /** Each has one colon outside strings. */
  keys = 0
  containers = 0
  /** The deepest nesting. */
  depth = 0
  hasEscapedName = false
  readonly #text: string
  readonly #hasEscape: boolean
  /** The last string, which is a name when a colon follows. */
  #start = 0
  #end = 0
  #open = 0
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#hasEscape = text.includes('\\')
  }

  /** Reads a step. @returns false at the end of the text */
  read(): boolean {
    const text = this.#text
    const end = Math.min(text.length, this.#at + UNITS_OF_STEP)
    const hasEscape = this.#hasEscape && !this.hasEscapedName
    let { keys, containers, depth } = this
    let [start, stringEnd] = [this.#start, this.#end]
    let open = this.#open
    let at = this.#at
    for (; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        start = at
        at = endOfString(text, at)
        stringEnd = at
      } else if (code === COLON) {
        keys++
        if (hasEscape) this.hasEscapedName ||= text.slice(start, stringEnd).includes('\\')
      } else if (code === 0x7b || code === 0x5b) {
        containers++
        open++
        if (open > depth) depth = open
      } else if (code === 0x7d || code === 0x5d) {
        open--
      }
    }
    Object.assign(this, { keys, containers, depth })
    this.#open = open
    this.#at = at
    this.#start = start
    this.#end = stringEnd
    return at < text.length
  }
}

/** Reports, in steps, whether a text has more than MAXIMUM_DIFFERENT_KEYS. */
function* hasManyKeys(text: string): Steps<boolean> {
  const found = new Set<string>()
  let start = 0
  let end = 0
  let stepEnd = UNITS_OF_STEP
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      start = at
      at = endOfString(text, at)
      end = at
    } else if (code === COLON) {
      found.add(text.slice(start, end))
      if (found.size > MAXIMUM_DIFFERENT_KEYS) return true
    }
    if (at >= stepEnd) {
      stepEnd = at + UNITS_OF_STEP
      yield
    }
  }
  return false
}

/** Checks every value and counts the keys, a step at a time. */
class ValueCheck {
  keys = 0
  /** False when a double does not hold a number. */
  isExact = true
  readonly #walk: ValueWalk
  readonly #isStrict: boolean

  /** @param isStrict whether to refuse what `parseSteps` refuses, else only to count */
  constructor(root: JsonValue, isStrict = true) {
    this.#walk = new ValueWalk(root)
    this.#isStrict = isStrict
  }

  /**
   * Reads a step. @returns false at the end of the value
   * @throws GatewayError `invalid_body` as `parseSteps`
   */
  read(): boolean {
    for (let left = VALUES_OF_STEP; left > 0; left--) {
      const value = this.#walk.next()
      if (value === undefined) return false
      if (typeof value === 'string') {
        if (this.#isStrict && !value.isWellFormed())
          throw this.#refuse('A string has half of a surrogate pair.')
      } else if (typeof value === 'number') {
        if (isInexact(value)) this.isExact = false
      } else if (isObject(value)) this.#checkNames()
    }
    return true
  }

  #checkNames(): void {
    const { names } = this.#walk
    this.keys += names.length
    if (!this.#isStrict) return
    for (const name of names) {
      if (name === '__proto__') throw this.#refuse('The key __proto__ is not allowed.')
      if (!name.isWellFormed()) throw this.#refuse('A key has half of a surrogate pair.')
    }
  }

  #refuse(message: string): GatewayError {
    return invalid(message, this.#walk.path())
  }
}

/** Finds, in steps, the path of the first duplicate key. */
function* findDuplicate(text: string): Steps<string> {
  const path: (string | number)[] = []
  /** Keys so far of each open container; null for a list. */
  const around: (Set<string> | null)[] = []
  let atKey = false
  let stepEnd = UNITS_OF_STEP
  for (let at = 0; at < text.length; at++) {
    if (at >= stepEnd) {
      stepEnd = at + UNITS_OF_STEP
      yield
    }
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
