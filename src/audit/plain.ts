// Reads canonical JSON of the simplest kind directly from bytes: printable ASCII without escapes,
// and integers of at most 15 digits. Nearly every entry is of this kind; `canonical.ts` handles the
// others. Without this file the verifier takes half as long again.

/** Bounds the recursion. Entries are less deep (`canonical.ts`). */
const MAXIMUM_DEPTH = 16
/** Entries have about thirty members. */
const MAXIMUM_MEMBERS = 256
/** Any integer of this length is below 2^53. */
const MAXIMUM_DIGITS = 15

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')
const TRUE = Buffer.from('true')

/** By byte: 1 for a character that is literal in a string. */
const IN_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte < 0x7f && byte !== QUOTE && byte !== BACKSLASH),
)

const EMPTY = Buffer.alloc(0)

/** Result in place of a token's end. */
const NOT_PLAIN = -1

/** An object whose members are read on demand. */
export interface Members {
  /**
   * Returns the value as JSON.parse would; undefined for a missing member, or one whose name is not
   * plain.
   */
  get(name: string): unknown
}

/**
 * The last object read. Its members are valid until the next read and while its bytes stay
 * unchanged.
 */
export class PlainObject implements Members {
  #bytes: Buffer = EMPTY
  /** Start of each member's name, after its quote, and end of its value. */
  readonly #names = new Int32Array(MAXIMUM_MEMBERS)
  readonly #ends = new Int32Array(MAXIMUM_MEMBERS)
  #count = 0
  /** Last index of each name: entries look alike. */
  readonly #lastIndexes = new Map<string, number>()

  /**
   * Reports whether the bytes are a plain object, and so its canonical form (RFC 8785). Takes
   * linear time.
   */
  read(bytes: Buffer): boolean {
    this.#bytes = bytes
    this.#count = 0
    return bytes[0] === OPENING_BRACE && skipObject(bytes, 1, 1, this) === bytes.length
  }

  /**
   * Records a member; for the reader below.
   * @returns false when there is no room
   */
  add(name: number, end: number): boolean {
    if (this.#count === MAXIMUM_MEMBERS) return false
    this.#names[this.#count] = name
    this.#ends[this.#count++] = end
    return true
  }

  get(name: string): unknown {
    const index = this.#find(name)
    if (index === this.#count) return undefined
    const start = (this.#names[index] as number) + name.length + '":'.length
    return readValue(this.#bytes, start, this.#ends[index] as number)
  }

  #find(name: string): number {
    const last = this.#lastIndexes.get(name) ?? 0
    if (last < this.#count && isNamed(this.#bytes, this.#names[last] as number, name)) return last
    let index = 0
    while (index < this.#count && !isNamed(this.#bytes, this.#names[index] as number, name)) index++
    this.#lastIndexes.set(name, index)
    return index
  }
}

function isNamed(bytes: Buffer, from: number, name: string): boolean {
  if (bytes[from + name.length] !== QUOTE) return false
  for (let index = 0; index < name.length; index++) {
    if (bytes[from + index] !== name.charCodeAt(index)) return false
  }
  return true
}

function readValue(bytes: Buffer, start: number, end: number): unknown {
  const first = bytes[start] as number
  if (first === QUOTE) return bytes.toString('latin1', start + 1, end - 1)
  if (first < ZERO || first > NINE) return JSON.parse(bytes.toString('latin1', start, end))
  let value = 0
  for (let at = start; at < end; at++) value = 10 * value + (bytes[at] as number) - ZERO
  return value
}

/**
 * Each skip function takes the offset after a token's first byte and returns the offset after its
 * last, or NOT_PLAIN.
 */
function skipObject(bytes: Buffer, from: number, depth: number, members: PlainObject | null): number {
  if (depth > MAXIMUM_DEPTH) return NOT_PLAIN
  if (bytes[from] === CLOSING_BRACE) return from + 1
  let last = NOT_PLAIN
  for (let at = from; ; at++) {
    if (bytes[at] !== QUOTE) return NOT_PLAIN
    const name = at + 1
    at = skipString(bytes, name)
    if (at === NOT_PLAIN || bytes[at] !== COLON) return NOT_PLAIN
    if (last !== NOT_PLAIN && !isBefore(bytes, last, name)) return NOT_PLAIN
    last = name
    at = skipValue(bytes, at + 1, depth)
    if (at === NOT_PLAIN || members?.add(name, at) === false) return NOT_PLAIN
    if (bytes[at] === CLOSING_BRACE) return at + 1
    if (bytes[at] !== COMMA) return NOT_PLAIN
  }
}

function skipArray(bytes: Buffer, from: number, depth: number): number {
  if (depth > MAXIMUM_DEPTH) return NOT_PLAIN
  if (bytes[from] === CLOSING_BRACKET) return from + 1
  for (let at = from; ; at++) {
    at = skipValue(bytes, at, depth)
    if (at === NOT_PLAIN || bytes[at] === CLOSING_BRACKET) return at === NOT_PLAIN ? at : at + 1
    if (bytes[at] !== COMMA) return NOT_PLAIN
  }
}

/** Takes the offset of the first byte. */
function skipValue(bytes: Buffer, at: number, depth: number): number {
  switch (bytes[at]) {
    case QUOTE:
      return skipString(bytes, at + 1)
    case OPENING_BRACE:
      return skipObject(bytes, at + 1, depth + 1, null)
    case OPENING_BRACKET:
      return skipArray(bytes, at + 1, depth + 1)
    case FALSE[0]:
      return skipWord(bytes, at, FALSE)
    case NULL[0]:
      return skipWord(bytes, at, NULL)
    case TRUE[0]:
      return skipWord(bytes, at, TRUE)
    default:
      return skipNumber(bytes, at)
  }
}

function skipString(bytes: Buffer, from: number): number {
  let at = from
  // Past the end, the lookup gives undefined and the loop stops.
  while (IN_STRING[bytes[at] as number] === 1) at++
  return bytes[at] === QUOTE ? at + 1 : NOT_PLAIN
}

function skipWord(bytes: Buffer, from: number, word: Buffer): number {
  for (let index = 1; index < word.length; index++) {
    if (bytes[from + index] !== word[index]) return NOT_PLAIN
  }
  return from + word.length
}

function skipNumber(bytes: Buffer, from: number): number {
  const start = bytes[from] === MINUS ? from + 1 : from
  let at = start
  while (at < bytes.length && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++
  const digits = at - start
  if (digits === 0 || digits > MAXIMUM_DIGITS) return NOT_PLAIN
  // No leading zeros, no negative zero.
  return bytes[start] !== ZERO || (digits === 1 && start === from) ? at : NOT_PLAIN
}

/**
 * Reports whether one name sorts before the other (RFC 8785 §3.2.3). Both end in a quote, which
 * names do not contain.
 */
function isBefore(bytes: Buffer, one: number, other: number): boolean {
  let index = 0
  while (bytes[one + index] === bytes[other + index]) {
    if (bytes[one + index++] === QUOTE) return false
  }
  const left = bytes[one + index] as number
  const right = bytes[other + index] as number
  return left === QUOTE || (right !== QUOTE && left < right)
}
