// Writes a changed value in the form of the JSON text that it was parsed from. Order, white space,
// escapes and digits stay as they were, except where the value changed.

import { isObject, isRawNumber, type JsonObject, type JsonValue } from '../core/json.ts'
import { stringParts } from '../core/json-steps.ts'
import { atOnce, STEP_UNITS, type Steps } from '../core/steps.ts'
import { endOfString } from './exact-json.ts'
import { newNameOf } from './text.ts'

/** Text, and values, that one step reads. */
const UNITS_OF_STEP = 256 * 1024
const VALUES_OF_STEP = 16_384

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** A number, `true`, `false` or `null`. */
const SCALAR = /[-+.\w]+/y
const SPACES = /\s*/y

/** For each list, the positions in the source, from 0, of the items that were removed. */
export type RemovedItems = ReadonlyMap<JsonValue[], ReadonlySet<number>>

const NONE_REMOVED: RemovedItems = new Map()

/**
 * Writes a value, in steps. Members and items that the text does not have come last.
 * @param source JSON text (RFC 8259) without equal names in one object
 * @param value parsed from it, and changed since
 * @param removed items; without it those at the end of a list count as removed
 * @returns `source` itself when nothing changed
 */
export function* rewriteSteps(source: string, value: JsonValue, removed = NONE_REMOVED): Steps<string> {
  const writer = new Rewriter(source, value, removed)
  while (writer.step()) yield
  return writer.finish()
}

/** As `rewriteSteps`, without a pause, for bytes in UTF-8. */
export const rewrite = (source: Buffer, value: JsonValue, removed = NONE_REMOVED): Buffer =>
  Buffer.from(atOnce(rewriteSteps(source.toString('utf8'), value, removed)))

/** A container of the source, and the one that is written in its place. */
interface Open {
  readonly value: JsonObject | JsonValue[]
  /** Names of the members that were kept; null in a list. */
  readonly names: string[] | null
  /** Members or items that were kept. */
  kept: number
  /** Position in the source of the next item of a list. */
  next: number
  /** Offset after the last of them, or after the bracket. */
  end: number
}

class Rewriter {
  readonly #source: string
  readonly #removed: RemovedItems
  readonly #pieces: string[] = []
  /** Offset up to which the source is written or left out. */
  #written = 0
  #at = 0
  readonly #open: Open[] = []
  /** The value of the member whose name was read. */
  #member: JsonValue
  #expectsName = false
  /** The parts of a long string that are not written yet. */
  #parts: Iterator<string> | null = null

  constructor(source: string, value: JsonValue, removed: RemovedItems) {
    this.#source = source
    this.#removed = removed
    this.#member = value
  }

  /** Reads or writes a step. @returns false at the end of the source */
  step(): boolean {
    const part = this.#parts?.next()
    if (part?.done === false) {
      this.#pieces.push(part.value)
      return true
    }
    this.#parts = null
    const source = this.#source
    const end = Math.min(source.length, this.#at + UNITS_OF_STEP)
    for (let left = VALUES_OF_STEP; this.#at < end && left > 0 && this.#parts === null; ) {
      const code = source.charCodeAt(this.#at)
      if (code === CLOSE_OBJECT || code === CLOSE_LIST) this.#close()
      else if (code === COMMA) {
        this.#expectsName = this.#open.at(-1)!.names !== null
        this.#at++
      } else if (code === COLON || code <= 0x20) this.#at++
      else {
        left--
        if (this.#expectsName) this.#readName()
        else this.#readValue(code)
      }
    }
    return this.#at < source.length || this.#parts !== null
  }

  finish(): string {
    const rest = this.#written === 0 ? this.#source : this.#source.slice(this.#written)
    return this.#pieces.length === 0 ? rest : this.#pieces.join('') + rest
  }

  #readName(): void {
    const start = this.#at
    const end = endOfString(this.#source, start) + 1
    const open = this.#open.at(-1)!
    const object = open.value as JsonObject
    const name = textAt(this.#source, start, end)
    const wanted = newNameOf(object, name)
    this.#expectsName = false
    this.#at = end
    if (!Object.hasOwn(object, wanted)) {
      this.#at = this.#endOfValue(this.#source.indexOf(':', end) + 1)
      this.#leaveOut(open)
      return
    }
    if (wanted !== name) this.#replace(start, end, JSON.stringify(wanted))
    this.#member = object[wanted]!
    open.names!.push(wanted)
    open.kept++
  }

  #readValue(code: number): void {
    const start = this.#at
    const open = this.#open.at(-1)
    let value = this.#member
    if (open !== undefined && open.names === null) {
      const items = open.value as JsonValue[]
      if (open.kept === items.length || this.#removed.get(items)?.has(open.next++)) {
        this.#at = this.#endOfValue(start)
        this.#leaveOut(open)
        return
      }
      value = items[open.kept++]!
    }
    if (open !== undefined && this.#mayBeSame(value, open) && this.#skipsSame(value)) {
      open.end = this.#at
      return
    }
    const isContainer = code === OPEN_OBJECT ? isObject(value) : code === OPEN_LIST && Array.isArray(value)
    if (isContainer) {
      this.#at++
      const names = code === OPEN_OBJECT ? [] : null
      this.#open.push({ value: value as Open['value'], names, kept: 0, next: 0, end: this.#at })
      this.#expectsName = names !== null
      return
    }
    this.#at = this.#endOfValue(start)
    if (!isWrittenAs(value, this.#source, start, this.#at)) {
      if (typeof value === 'string' && value.length > STEP_UNITS) {
        this.#replace(start, this.#at, '')
        this.#parts = stringParts(value)
      } else this.#replace(start, this.#at, JSON.stringify(value))
    }
    if (open !== undefined) open.end = this.#at
  }

  /**
   * Whether to compare a container as a whole, which takes a fraction of reading it. Where items
   * were removed, little else has changed: the other items, and the members next to their list.
   */
  #mayBeSame(value: JsonValue, { value: around }: Open): boolean {
    if (this.#removed.size === 0 || this.#source.length > UNITS_OF_STEP) return false
    const isContainer = Array.isArray(value) || isObject(value)
    if (!isContainer || this.#removed.has(value as JsonValue[])) return false
    return this.#open.length === 1 || this.#removed.has(around as JsonValue[])
  }

  /** Passes a container that the source has as JSON.stringify writes it. */
  #skipsSame(value: JsonValue): boolean {
    const text = JSON.stringify(value)
    if (!isAt(this.#source, this.#at, text)) return false
    this.#at += text.length
    return true
  }

  /** Ends a container. Adds what the source does not have. */
  #close(): void {
    const { value, names, kept, end } = this.#open.pop()!
    const added =
      names === null ? (value as JsonValue[]).slice(kept) : addedMembers(value as JsonObject, names)
    if (added.length > 0) {
      const texts = names === null ? added.map((one) => JSON.stringify(one)) : (added as string[])
      this.#replace(end, end, (kept > 0 ? ',' : '') + texts.join(','))
    }
    this.#at++
    const around = this.#open.at(-1)
    if (around !== undefined) around.end = this.#at
  }

  /** Leaves out the member or item that ends here, and one comma. */
  #leaveOut(open: Open): void {
    if (open.kept === 0) {
      SPACES.lastIndex = this.#at
      SPACES.test(this.#source)
      const next = SPACES.lastIndex
      if (this.#source.charCodeAt(next) === COMMA) {
        this.#at = next + 1
        this.#expectsName = open.names !== null
      }
    }
    this.#replace(open.end, this.#at, '')
    if (open.kept === 0) open.end = this.#at
  }

  #replace(start: number, end: number, text: string): void {
    this.#pieces.push(this.#source.slice(this.#written, start), text)
    this.#written = Math.max(this.#written, end)
  }

  /** Returns the offset after the value that begins at or after an offset. */
  #endOfValue(from: number): number {
    const source = this.#source
    SPACES.lastIndex = from
    SPACES.test(source)
    let at = SPACES.lastIndex
    let depth = 0
    do {
      const code = source.charCodeAt(at)
      if (code === QUOTE) at = endOfString(source, at) + 1
      else if (code === OPEN_OBJECT || code === OPEN_LIST) {
        depth++
        at++
      } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
        depth--
        at++
      } else if (depth > 0) at++
      else {
        SCALAR.lastIndex = at
        at = SCALAR.test(source) ? SCALAR.lastIndex : at + 1
      }
    } while (depth > 0)
    return at
  }
}

/** Members of an object that have none of the names, each as JSON. */
function addedMembers(object: JsonObject, names: readonly string[]): string[] {
  const all = Object.keys(object)
  if (all.length === names.length) return []
  const known = new Set(names)
  return all
    .filter((name) => !known.has(name))
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(object[name])}`)
}

/** Like `startsWith`, which takes 16 times as long (V8 13). */
const isAt = (source: string, at: number, text: string): boolean =>
  source.slice(at, at + text.length) === text

/** The string of a token. */
function textAt(source: string, start: number, end: number): string {
  const inside = source.slice(start + 1, end - 1)
  return inside.includes('\\') ? (JSON.parse(source.slice(start, end)) as string) : inside
}

/** Reports whether a token of the source stands for a value that is no container. */
function isWrittenAs(value: JsonValue, source: string, start: number, end: number): boolean {
  if (typeof value === 'string') {
    if (source.charCodeAt(start) !== QUOTE) return false
    if (end - start - 2 === value.length && isAt(source, start + 1, value) && !value.includes('\\'))
      return true
    return end - start - 2 > value.length && textAt(source, start, end) === value
  }
  const token = source.slice(start, end)
  if (isRawNumber(value)) return value.rawJSON === token
  if (typeof value === 'object' && value !== null) return false
  return typeof value === 'number' ? Object.is(Number(token), value) : String(value) === token
}
