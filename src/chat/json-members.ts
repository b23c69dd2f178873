// Reads a few members of JSON documents that arrive in pieces, such as the usage of an answer that
// is not scanned. Keeps nothing else, and takes time linear in the bytes.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { parseReceived } from './strict-json.ts'

/** Names of members, outermost first. */
export type MemberPlace = readonly string[]

/** Longest name or member that is read, bytes; longer ones are left out. */
const MAXIMUM_MEMBER_BYTES = 16 * 1024

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The bytes of a name, or of a member at a place. */
interface Kept {
  readonly place: MemberPlace | null
  /** Depth at which it ends. */
  readonly depth: number
  readonly pieces: Buffer[]
  bytes: number
}

export class JsonMembers {
  readonly #places: readonly MemberPlace[]
  readonly #maximumDepth: number
  readonly #onMember: (members: JsonObject) => void
  #members: JsonObject = {}
  /** Open lists and objects. */
  #depth = 0
  /** The open member of each object, and null for each list, up to the maximum depth. */
  readonly #names: (string | null)[] = []
  #inString = false
  /** An odd number of backslashes ended the last piece, inside a string. */
  #isEscaped = false
  #expectsName = false
  #kept: Kept | null = null

  /**
   * @param places of members that are strings or objects
   * @param onMember receives, after each member, those of its document so far, the same object
   *   for each. Text between documents, such as the lines of an event stream, is skipped.
   */
  constructor(places: readonly MemberPlace[], onMember: (members: JsonObject) => void) {
    this.#places = places
    this.#maximumDepth = Math.max(...places.map((place) => place.length))
    this.#onMember = onMember
  }

  /** The bytes may change afterwards. */
  add(piece: Buffer): void {
    let at = 0
    let from = 0
    while (at < piece.length) {
      if (this.#inString) {
        at = this.#endOfString(piece, at)
        if (this.#inString) break
        if (this.#kept?.depth === this.#depth) this.#finish(piece.subarray(from, at))
        continue
      }
      const byte = piece[at]!
      const before = this.#kept
      if (byte === QUOTE) this.#beginString()
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte)
      else if (byte === COMMA) this.#expectsName = this.#isInObject
      if (this.#kept !== before) from = at
      at++
      if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close(piece.subarray(from, at))
    }
    this.#keep(piece.subarray(from))
  }

  get #isInObject(): boolean {
    const { length } = this.#names
    return length === this.#depth && length > 0 && this.#names[length - 1] !== null
  }

  /** Returns the offset after the string, or after the piece when the string continues. */
  #endOfString(piece: Buffer, start: number): number {
    let at = start
    if (this.#isEscaped) at++
    this.#isEscaped = false
    for (;;) {
      const quote = piece.indexOf(QUOTE, at)
      const end = quote < 0 ? piece.length : quote
      let slashes = 0
      while (end - slashes > at && piece[end - slashes - 1] === BACKSLASH) slashes++
      const isEscaped = slashes % 2 === 1
      if (quote < 0) {
        this.#isEscaped = isEscaped
        return end
      }
      at = quote + 1
      if (isEscaped) continue
      this.#inString = false
      return at
    }
  }

  #beginString(): void {
    // Outside a document there is nothing to read.
    if (this.#depth === 0) return
    this.#inString = true
    if (this.#kept !== null) return
    const place = this.#expectsName ? null : this.#placeHere()
    if (this.#expectsName || place !== null) this.#begin(place)
  }

  #open(byte: number): void {
    if (this.#depth === 0 && byte === OPEN_LIST) return
    if (this.#kept === null && byte === OPEN_OBJECT) {
      const place = this.#placeHere()
      if (place !== null) this.#begin(place)
    }
    if (this.#depth < this.#maximumDepth) this.#names.push(byte === OPEN_OBJECT ? '' : null)
    this.#depth++
    this.#expectsName = this.#isInObject
  }

  /** @param last bytes of the kept member, if it ends here */
  #close(last: Buffer): void {
    if (this.#depth === 0) return
    this.#depth--
    this.#names.length = Math.min(this.#names.length, this.#depth)
    this.#expectsName = false
    if (this.#kept?.depth === this.#depth) this.#finish(last)
    if (this.#depth > 0) return
    this.#kept = null
    this.#members = {}
  }

  #placeHere(): MemberPlace | null {
    const names = this.#names
    if (names.length !== this.#depth) return null
    return (
      this.#places.find(
        (place) => place.length === names.length && place.every((name, index) => name === names[index]),
      ) ?? null
    )
  }

  #begin(place: MemberPlace | null): void {
    this.#kept = { place, depth: this.#depth, pieces: [], bytes: 0 }
  }

  /** Copies, because a kept member must not hold the whole piece. */
  #keep(bytes: Buffer): void {
    const kept = this.#kept
    if (kept === null) return
    kept.bytes += bytes.length
    if (kept.bytes <= MAXIMUM_MEMBER_BYTES) kept.pieces.push(Buffer.from(bytes))
    else kept.pieces.length = 0
  }

  #finish(last: Buffer): void {
    this.#keep(last)
    const { place, pieces } = this.#kept!
    this.#kept = null
    const value = parsed(Buffer.concat(pieces).toString())
    if (place === null) {
      this.#names[this.#names.length - 1] = typeof value === 'string' ? value : ''
      this.#expectsName = false
    } else if (value !== null) {
      setAt(this.#members, place, value)
      this.#onMember(this.#members)
    }
  }
}

function parsed(text: string): JsonValue {
  try {
    return parseReceived(text)
  } catch {
    return null
  }
}

function setAt(members: JsonObject, place: MemberPlace, value: JsonValue): void {
  let object = members
  for (const name of place.slice(0, -1)) {
    const inner = object[name]
    const next = isObject(inner) ? inner : {}
    object[name] = next
    object = next
  }
  object[place.at(-1)!] = value
}
