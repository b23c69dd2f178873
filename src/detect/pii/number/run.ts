// Reads a number as people write it: groups of digits with separators. Does not know what numbers
// mean.

import { CASE_BIT, DIGIT_0, isDigit, LOWER_X } from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isWordAfter } from '../code-unit-classes.ts'
import { endOfSeparator, hasSpace, separatorClass } from './separators.ts'
import { isPlainShape, lengthsOf, MAXIMUM_DIGITS, MAXIMUM_GROUPS, withGroup } from './shape.ts'

/** Fewer digits are not examined. */
const MIN_DIGITS = 7

/** A view of one run: the first groups of a record. Valid until the record is read again. */
export class DigitRun {
  readonly start: number
  readonly end: number
  readonly digitCount: number
  /** Lengths of the groups, see `shapeOf`. */
  readonly shape: number
  /** Count of separators. */
  readonly gaps: number
  readonly #runs: NumberRuns

  constructor(runs: NumberRuns, index: number) {
    this.start = runs.start
    this.end = runs.end(index)
    this.digitCount = runs.digitCount(index)
    this.shape = runs.shape(index)
    this.gaps = runs.gaps(index)
    this.#runs = runs
  }

  get digits(): string {
    return this.#runs.digits.slice(0, this.digitCount)
  }

  /** UTF-16 code of a digit. */
  codeOfDigit(index: number): number {
    return this.#runs.codeOfDigit(index)
  }

  /** The digits are in one group. */
  get isPlain(): boolean {
    return isPlainShape(this.shape)
  }

  /** The first group has one digit. */
  get isSingle(): boolean {
    return this.#runs.groupLength(0) === 1
  }

  /** Lengths of the groups, `3-3-4`. */
  get groups(): string {
    return lengthsOf(this.shape)
  }

  /**
   * One character per separator, surrounding spaces omitted: `)-` for `(555) 123-4567`, two spaces
   * for `555 123 4567`.
   */
  get separators(): string {
    let separators = ''
    for (let gap = 0; gap < this.gaps; gap++) separators += this.separator(gap)
    return separators
  }

  separator(gap: number): string {
    return this.#runs.separator(gap)
  }
}

/** Size of the ring: a power of two, at least MAXIMUM_GROUPS. */
const SLOTS = 8
const SLOT_MASK = SLOTS - 1
const NORTH_AMERICAN_EXIT = '011'
/** Marks a group that continues as a word, so the digits belong to something else. */
const BROKEN = -1

/**
 * The runs of 7 to 19 digits that start at one digit, the shortest first.
 * One record is refilled at every digit that may start a number, since nearly none does. Each group
 * is read once for all runs that contain it.
 */
export class NumberRuns {
  start = 0
  count = 0
  /** Union of the flags of all runs. */
  flags = 0
  #text = ''
  #first = 0
  #digits: string | null = null
  /** -1 until computed. */
  #zeros = -1
  readonly #flagsOf: ReadonlyMap<number, number>
  // A ring of groups, which starts with the one at #head.
  #head = 0
  #groupCount = 0
  readonly #starts = new Int32Array(SLOTS)
  readonly #ends = new Int32Array(SLOTS)
  readonly #lengths = new Int32Array(SLOTS)
  /** Start of the next group; 0 if none follows, or BROKEN. */
  readonly #nexts = new Int32Array(SLOTS)
  // Properties of the run that ends with a group.
  readonly #digitCounts = new Int32Array(SLOTS)
  readonly #shapes = new Int32Array(SLOTS)
  readonly #flags = new Int32Array(SLOTS)

  /** @param flagsOf flags by shape; a shape without an entry has none */
  constructor(flagsOf: ReadonlyMap<number, number>) {
    this.#flagsOf = flagsOf
  }

  /** Switches to another text. */
  reset(text: string): void {
    this.#text = text
    this.#groupCount = 0
  }

  /** @param at of a digit that starts a word */
  read(at: number): void {
    this.start = at
    this.flags = 0
    this.count = 0
    this.#digits = null
    this.#zeros = -1
    this.#moveTo(at)
    const head = this.#head
    let digits = 0
    let shape = 0
    let next = at
    for (let group = 0; group < MAXIMUM_GROUPS; group++) {
      const slot = (head + group) & SLOT_MASK
      if (group >= this.#groupCount) this.#readGroup(slot, next)
      const length = this.#lengths[slot] ?? 0
      next = this.#nexts[slot] ?? 0
      if (next === BROKEN) return
      digits += length
      if (digits > MAXIMUM_DIGITS) return
      shape = withGroup(shape, length)
      // Three groups of one digit are counting.
      if (group === 2 && digits === 3) return
      if (digits >= MIN_DIGITS) this.#add(group, digits, shape)
      if (next === 0) return
    }
  }

  /** Most groups have been read for the previous number, which started earlier in the row. */
  #moveTo(at: number): void {
    while (this.#groupCount > 0 && (this.#starts[this.#head] ?? 0) < at) {
      this.#head = (this.#head + 1) & SLOT_MASK
      this.#groupCount--
    }
    if (this.#starts[this.#head] !== at) this.#groupCount = 0
  }

  #readGroup(slot: number, start: number): void {
    const text = this.#text
    const end = endOfDigits(text, start)
    this.#starts[slot] = start
    this.#ends[slot] = end
    this.#lengths[slot] = end - start
    // An extension (`x123`) does not break the group.
    const broken = isWordAfter(text, end) && !isExtension(text, end)
    this.#nexts[slot] = broken ? BROKEN : endOfSeparator(text, end)
    this.#groupCount++
  }

  #add(group: number, digits: number, shape: number): void {
    if (this.count === 0) this.#first = group
    this.#digitCounts[group] = digits
    this.#shapes[group] = shape
    const flags = this.#flagsOf.get(shape) ?? 0
    this.#flags[group] = flags
    this.flags |= flags
    this.count++
  }

  #nextOf(group: number): number {
    return this.#nexts[(this.#head + group) & SLOT_MASK] ?? 0
  }

  end(index: number): number {
    return this.#ends[(this.#head + this.#first + index) & SLOT_MASK] ?? 0
  }

  digitCount(index: number): number {
    return this.#digitCounts[this.#first + index] ?? 0
  }

  shape(index: number): number {
    return this.#shapes[this.#first + index] ?? 0
  }

  /** The flags of one run. */
  flagsAt(index: number): number {
    return this.#flags[this.#first + index] ?? 0
  }

  /**
   * Zeros at the start of the first group, at most two: one precedes an area code, two lead out of
   * a country.
   */
  get leadingZeros(): number {
    if (this.#zeros < 0)
      this.#zeros = codeAt(this.#text, this.start) !== DIGIT_0 ? 0 : this.#isZeroNext ? 2 : 1
    return this.#zeros
  }

  get #isZeroNext(): boolean {
    return codeAt(this.#text, this.start + 1) === DIGIT_0
  }

  /**
   * Digits that lead out of a country: 00, or North America's 011 as its own group. 0 if there are
   * none.
   */
  get exitDigits(): number {
    if (this.leadingZeros !== 1) return this.leadingZeros
    return this.groupLength(0) === NORTH_AMERICAN_EXIT.length &&
      this.#text.startsWith(NORTH_AMERICAN_EXIT, this.start)
      ? NORTH_AMERICAN_EXIT.length
      : 0
  }

  groupLength(group: number): number {
    return this.#lengths[(this.#head + group) & SLOT_MASK] ?? 0
  }

  isPlain(index: number): boolean {
    return isPlainShape(this.shape(index))
  }

  /** Reports whether no group follows. */
  isWhole(index: number): boolean {
    return this.#nextOf(this.#first + index) === 0
  }

  /** Reports whether a group follows without a space: it belongs to the same number. */
  isOpen(index: number): boolean {
    const next = this.#nextOf(this.#first + index)
    return next > 0 && !hasSpace(this.#text, this.end(index), next)
  }

  /** The class of the separator after a run; a group must follow. */
  separatorAfter(index: number): string {
    return this.separator(this.#first + index)
  }

  run(index: number): DigitRun {
    return new DigitRun(this, index)
  }

  /** UTF-16 code of a digit of the longest run. */
  codeOfDigit(index: number): number {
    let left = index
    for (let group = 0; ; group++) {
      const slot = (this.#head + group) & SLOT_MASK
      const start = this.#starts[slot] ?? 0
      const length = (this.#ends[slot] ?? 0) - start
      if (left < length || group === MAXIMUM_GROUPS) return codeAt(this.#text, start + left)
      left -= length
    }
  }

  /** Digits of the longest run. */
  get digits(): string {
    this.#digits ??= this.#text.slice(this.start, this.end(this.count - 1)).replace(/\D+/g, '')
    return this.#digits
  }

  /** Count of separators in a run. */
  gaps(index: number): number {
    return this.#first + index
  }

  /** The class of the separator after a group, see `separatorClass`. */
  separator(group: number): string {
    return separatorClass(this.#text, this.#ends[(this.#head + group) & SLOT_MASK] ?? 0, this.#nextOf(group))
  }

  /** Count of slashes among the separators of a run. */
  slashes(index: number): number {
    let count = 0
    for (let group = 0; group < this.gaps(index); group++) if (this.separator(group) === '/') count++
    return count
  }
}

const isExtension = (text: string, end: number): boolean =>
  (codeAt(text, end) | CASE_BIT) === LOWER_X && isDigit(codeAt(text, end + 1))
