// A number as people write it: groups of digits with separators between. Knows nothing of what numbers mean.

import { codeAt, endOfDigits, isDigit, isWordCharacter } from './characters.ts'
import { isPlainShape, lengthsOf, MAX_DIGITS, MAX_GROUPS, withGroup } from './shape.ts'

/** Shorter ones say nothing. */
const MIN_DIGITS = 7
/** `1) (2`, ` - `: characters between two groups. */
const MAX_SEPARATOR = 3
const SPACE = 0x20
const NO_BREAK_SPACE = 0xa0

/** Groups from the first on that may be a number: of the record it comes from, until that is read again. */
export class Run {
  readonly start: number
  readonly end: number
  readonly digitCount: number
  /** Lengths of the groups, see `shapeOf`. */
  readonly shape: number
  readonly #runs: NumberRuns

  constructor(runs: NumberRuns, index: number) {
    this.start = runs.start
    this.end = runs.end(index)
    this.digitCount = runs.digitCount(index)
    this.shape = runs.shape(index)
    this.#runs = runs
  }

  get digits(): string {
    return this.#runs.digits.slice(0, this.digitCount)
  }

  /** Character code of a digit. */
  codeOfDigit(index: number): number {
    return this.#runs.codeOfDigit(index)
  }

  /** Digits in one piece. */
  get isPlain(): boolean {
    return isPlainShape(this.shape)
  }

  /** Lengths of the groups, `3-3-4`. */
  get groups(): string {
    return lengthsOf(this.shape)
  }

  /** One character a separator, spaces around it left out: `(555) 123-4567` has `)-`, `555 123 4567` two spaces. */
  get separators(): string {
    return this.isPlain ? '' : this.#runs.separatorsTo(this.end)
  }
}

/** The places are a power of two, more than groups are looked at. */
const LAST_PLACE = 7
/** A group that goes on as a word belongs to something else. */
const BROKEN = -1

/**
 * The runs of 7 to 19 digits that begin at one digit: 0 is the shortest. One record is filled again for every digit
 * that a number may begin with, as nearly all that is read is no number; a group is read once for all that it is in.
 */
export class NumberRuns {
  start = 0
  count = 0
  /** All that the shapes of the runs may be. */
  marks = 0
  #text = ''
  #first = 0
  #digits: string | null = null
  #separators: string | null = null
  readonly #marksOf: ReadonlyMap<number, number>
  // The groups from the one at #head on: a ring.
  #head = 0
  #known = 0
  readonly #starts = [0, 0, 0, 0, 0, 0, 0, 0]
  readonly #ends = [0, 0, 0, 0, 0, 0, 0, 0]
  /** Where the next one begins; 0 if none follows, or BROKEN. */
  readonly #nexts = [0, 0, 0, 0, 0, 0, 0, 0]
  // What the run has that ends with a group.
  readonly #digitCounts = [0, 0, 0, 0, 0, 0, 0]
  readonly #shapes = [0, 0, 0, 0, 0, 0, 0]

  /** @param marksOf what numbers of a shape may be, as bits; 0 for a shape that is not in it */
  constructor(marksOf: ReadonlyMap<number, number>) {
    this.#marksOf = marksOf
  }

  /** Goes on with another text. */
  begin(text: string): void {
    this.#text = text
    this.#known = 0
  }

  /** @param at of a digit at the beginning of a word */
  read(at: number): void {
    this.start = at
    this.marks = 0
    this.count = 0
    this.#digits = null
    this.#separators = null
    this.#moveTo(at)
    let digits = 0
    let shape = 0
    for (let group = 0; group < MAX_GROUPS; group++) {
      const place = (this.#head + group) & LAST_PLACE
      if (group >= this.#known) this.#readGroup(place, group === 0 ? at : this.#nextOf(group - 1))
      const next = this.#nexts[place] ?? 0
      if (next === BROKEN) return
      const length = (this.#ends[place] ?? 0) - (this.#starts[place] ?? 0)
      digits += length
      if (digits > MAX_DIGITS) return
      shape = withGroup(shape, length)
      // Counting: three groups of one digit.
      if (group === 2 && digits === 3) return
      if (digits >= MIN_DIGITS) this.#add(group, digits, shape)
      if (next === 0) return
    }
  }

  /** Numbers begin with group after group: most groups have been read for the one before. */
  #moveTo(at: number): void {
    while (this.#known > 0 && (this.#starts[this.#head] ?? 0) < at) {
      this.#head = (this.#head + 1) & LAST_PLACE
      this.#known--
    }
    if (this.#starts[this.#head] !== at) this.#known = 0
  }

  #readGroup(place: number, start: number): void {
    const text = this.#text
    const end = endOfDigits(text, start)
    this.#starts[place] = start
    this.#ends[place] = end
    // An extension (`x123`) does not count.
    const broken = isWordCharacter(codeAt(text, end)) && !isExtension(text, end)
    this.#nexts[place] = broken ? BROKEN : separatorAt(text, end)
    this.#known++
  }

  #add(group: number, digits: number, shape: number): void {
    if (this.count === 0) this.#first = group
    this.#digitCounts[group] = digits
    this.#shapes[group] = shape
    this.marks |= this.#marksOf.get(shape) ?? 0
    this.count++
  }

  #nextOf(group: number): number {
    return this.#nexts[(this.#head + group) & LAST_PLACE] ?? 0
  }

  end(index: number): number {
    return this.#ends[(this.#head + this.#first + index) & LAST_PLACE] ?? 0
  }

  digitCount(index: number): number {
    return this.#digitCounts[this.#first + index] ?? 0
  }

  shape(index: number): number {
    return this.#shapes[this.#first + index] ?? 0
  }

  marksAt(index: number): number {
    return this.#marksOf.get(this.shape(index)) ?? 0
  }

  isPlain(index: number): boolean {
    return isPlainShape(this.shape(index))
  }

  /** No further group follows. */
  isWhole(index: number): boolean {
    return this.#nextOf(this.#first + index) === 0
  }

  /** What goes on behind without a space is a part of the same thing. */
  isOpen(index: number): boolean {
    const next = this.#nextOf(this.#first + index)
    return next > 0 && !hasSpace(this.#text, this.end(index), next)
  }

  run(index: number): Run {
    return new Run(this, index)
  }

  /** Character code of a digit of the longest run. */
  codeOfDigit(index: number): number {
    let left = index
    for (let group = 0; ; group++) {
      const place = (this.#head + group) & LAST_PLACE
      const start = this.#starts[place] ?? 0
      const length = (this.#ends[place] ?? 0) - start
      if (left < length || group === MAX_GROUPS) return codeAt(this.#text, start + left)
      left -= length
    }
  }

  /** Of the longest run. */
  get digits(): string {
    this.#digits ??= this.#text.slice(this.start, this.end(this.count - 1)).replace(/\D+/g, '')
    return this.#digits
  }

  /** How many of the separators are slashes. */
  slashes(index: number): number {
    let count = 0
    for (let group = 0; group < this.#first + index; group++) {
      const from = this.#ends[(this.#head + group) & LAST_PLACE] ?? 0
      if (separatorClass(this.#text, from, this.#nextOf(group)) === '/') count++
    }
    return count
  }

  /** One character a separator before a place. */
  separatorsTo(end: number): string {
    if (this.#separators === null) {
      this.#separators = ''
      for (let group = 0; group < this.#first + this.count - 1; group++) {
        const from = this.#ends[(this.#head + group) & LAST_PLACE] ?? 0
        this.#separators += separatorClass(this.#text, from, this.#nextOf(group))
      }
    }
    let count = 0
    while (this.#nextOf(count) > 0 && this.#nextOf(count) < end) count++
    return this.#separators.slice(0, count)
  }
}

function hasSpace(text: string, start: number, end: number): boolean {
  if (codeAt(text, start) === NO_BREAK_SPACE) return true
  for (let at = start; at < end; at++) if (codeAt(text, at) === SPACE) return true
  return false
}

const isExtension = (text: string, end: number): boolean =>
  (text[end] === 'x' || text[end] === 'X') && isDigit(codeAt(text, end + 1))

/** End of the separator behind a group; 0 if no further group follows. */
function separatorAt(text: string, start: number): number {
  let spaces = 0
  let marks = 0
  for (let end = start; end <= start + MAX_SEPARATOR; end++) {
    const code = codeAt(text, end)
    if (isDigit(code)) return end > start && spaces <= 1 + marks && marks <= 2 ? end : 0
    if (code === 0x20 || code === 0xa0 || code === 0x202f) spaces++
    else if (isMark(code) && (marks === 0 || isBracket(code) || isBracket(codeAt(text, end - 1)))) marks++
    else return 0
  }
  return 0
}

const isBracket = (code: number): boolean => code === 0x28 || code === 0x29
/** `(`, `)`, `-`, `.`, `/` and the dashes of typography. */
const isMark = (code: number): boolean =>
  isBracket(code) || (code >= 0x2d && code <= 0x2f) || (code >= 0x2010 && code <= 0x2013)

function separatorClass(text: string, start: number, end: number): string {
  let found = ' '
  for (let at = start; at < end; at++) {
    const character = text[at] ?? ' '
    if (character === ')' || character === '(') return character
    if (character === '.' || character === '/') found = character
    else if (isMark(codeAt(text, at))) found = '-'
  }
  return found
}

/** Whether all separators are the same; also if there are none. */
export function isUniform(separators: string): boolean {
  for (let i = 1; i < separators.length; i++) if (separators[i] !== separators[0]) return false
  return true
}

const DOT = 0x2e
const COMMA = 0x2c
/** Currencies, a percentage, an exponent. */
const NOT_BEFORE = new Set(Array.from('$€£¥₹%^', (character) => character.charCodeAt(0)))

/** Whether a number may begin at `at`: not inside a word, a decimal, a dotted run or an amount. */
export function mayBegin(text: string, at: number): boolean {
  if (at === 0) return true
  const before = codeAt(text, at - 1)
  if (before === SPACE) return true
  if (isWordCharacter(before)) return false
  if ((before === DOT || before === COMMA) && isDigit(codeAt(text, at - 2))) return false
  return !NOT_BEFORE.has(before)
}
