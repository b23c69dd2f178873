// Writes a value as JSON in steps, so that a long body does not block the event loop.

import { joinSteps } from './chunks.ts'
import { isObject, type JsonObject, type JsonValue } from './json.ts'
import type { Steps } from './steps.ts'

/** Approximate characters that one step writes: less than a millisecond. */
const UNITS_OF_STEP = 64 * 1024
/** Characters that a value counts besides those of its strings. */
const VALUE_UNITS = 8

/** Returns, in steps, what `JSON.stringify` writes of a value, in UTF-8. */
export function* jsonSteps(value: JsonValue): Steps<Buffer> {
  if (unitsLeft(value, UNITS_OF_STEP) >= 0) return Buffer.from(JSON.stringify(value))
  const written: Buffer[] = []
  for (const text of pieces(value)) {
    written.push(Buffer.from(text))
    yield
  }
  return yield* joinSteps(written)
}

/** The texts that make up the JSON of a value, each about as long as a step. */
function* pieces(value: JsonValue): Generator<string> {
  let text = ''
  for (const part of parts(value)) {
    text += part
    if (text.length < UNITS_OF_STEP) continue
    yield text
    text = ''
  }
  yield text
}

/** The parts of the JSON of a value, of which none is much longer than a step. */
function* parts(value: JsonValue): Generator<string> {
  if (typeof value === 'string') yield* stringParts(value)
  else if (Array.isArray(value)) yield* listParts(value)
  else if (isObject(value)) yield* objectParts(value)
  else yield JSON.stringify(value)
}

function* listParts(list: readonly JsonValue[]): Generator<string> {
  yield '['
  let from = 0
  let left = UNITS_OF_STEP
  for (const [index, item] of list.entries()) {
    left = unitsLeft(item, left)
    if (left >= 0) continue
    if (index > from) yield `${itemsOf(list, from, index)},`
    from = index
    left = unitsLeft(item, UNITS_OF_STEP)
    if (left >= 0) continue
    yield* parts(item)
    if (index < list.length - 1) yield ','
    from = index + 1
    left = UNITS_OF_STEP
  }
  yield `${itemsOf(list, from, list.length)}]`
}

const itemsOf = (list: readonly JsonValue[], from: number, to: number): string =>
  JSON.stringify(list.slice(from, to)).slice(1, -1)

function* objectParts(object: JsonObject): Generator<string> {
  let before = '{'
  for (const name of Object.keys(object)) {
    const value = object[name]
    // As `JSON.stringify` does.
    if (value === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    if (unitsLeft(value, UNITS_OF_STEP) >= 0) yield JSON.stringify(value)
    else yield* parts(value)
  }
  yield before === '{' ? '{}' : '}'
}

/** The parts of the JSON of a string, each no longer than a step. */
export function* stringParts(text: string): Generator<string> {
  yield '"'
  for (const part of cut(text)) yield JSON.stringify(part).slice(1, -1)
  yield '"'
}

/** Returns, in steps, the UTF-8 of a text. */
export function* encodeSteps(text: string): Steps<Buffer> {
  if (text.length <= UNITS_OF_STEP) return Buffer.from(text)
  const written: Buffer[] = []
  for (const part of cut(text)) {
    written.push(Buffer.from(part))
    yield
  }
  return yield* joinSteps(written)
}

/** Cuts a text into parts, but no pair of surrogates. */
function* cut(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + UNITS_OF_STEP)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--
    yield text.slice(at, end)
    at = end
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** Takes a value off a number of characters. Stops below zero, so a long value is not walked. */
function unitsLeft(value: JsonValue | undefined, units: number): number {
  let left = units - VALUE_UNITS
  if (typeof value === 'string') return left - value.length
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index++) left = unitsLeft(value[index], left)
  } else if (isObject(value)) {
    for (const name in value) {
      left = unitsLeft(value[name], left - name.length)
      if (left < 0) break
    }
  }
  return left
}
