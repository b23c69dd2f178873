// A number as people write it: groups of digits with separators between. Knows nothing of what numbers mean.

import { endOfDigits, isDigit, isWordCharacter } from './characters.ts'

/** More groups and digits than any number has that is looked for. */
const MAX_GROUPS = 7
const MAX_DIGITS = 19
/** Shorter ones say nothing. */
const MIN_DIGITS = 7
/** `1) (2`, ` - `: characters between two groups. */
const MAX_SEPARATOR = 3
const SPACE = 0x20
const NO_BREAK_SPACE = 0xa0

/** Lengths of groups as one number, so that runs can be told apart without making text of them. */
const SHAPE_BASE = MAX_DIGITS + 1

/** The shape of a form as it is written down: `3-3-4`. */
export function shapeOf(groups: string): number {
  return groups.split('-').reduce((shape, length) => shape * SHAPE_BASE + Number(length), 0)
}

/** Groups from the first on that may be a number; made where the shape alone does not rule it out. */
export class Run {
  readonly start: number
  readonly end: number
  readonly digitCount: number
  /** Lengths of the groups, see `shapeOf`. */
  readonly shape: number
  readonly #text: string
  #digits: string | null = null
  #separators: string | null = null

  constructor(text: string, start: number, end: number, digitCount: number, shape: number) {
    this.#text = text
    this.start = start
    this.end = end
    this.digitCount = digitCount
    this.shape = shape
  }

  get digits(): string {
    this.#digits ??= this.isPlain
      ? this.#text.slice(this.start, this.end)
      : this.#text.slice(this.start, this.end).replace(/\D/g, '')
    return this.#digits
  }

  /** Digits in one piece. */
  get isPlain(): boolean {
    return isPlainShape(this.shape)
  }

  /** Lengths of the groups, `3-3-4`. */
  get groups(): string {
    let text = ''
    for (let rest = this.shape; rest > 0; rest = Math.floor(rest / SHAPE_BASE)) {
      text = text === '' ? `${rest % SHAPE_BASE}` : `${rest % SHAPE_BASE}-${text}`
    }
    return text
  }

  /** One character a separator, spaces around it left out: `(555) 123-4567` has `)-`, `555 123 4567` two spaces. */
  get separators(): string {
    this.#separators ??= separatorsOf(this.#text, this.start, this.end)
    return this.#separators
  }
}

const isPlainShape = (shape: number): boolean => shape < SHAPE_BASE

function separatorsOf(text: string, from: number, to: number): string {
  let separators = ''
  for (let end = endOfDigits(text, from); end < to; ) {
    const next = separatorAt(text, end)
    separators += separatorClass(text, end, next)
    end = endOfDigits(text, next)
  }
  return separators
}

/**
 * The runs of 7 to 19 digits that begin at one digit: 0 is the shortest. One record is filled again for every digit
 * that a number may begin with, as nearly all that is read is no number.
 */
export class NumberRuns {
  start = 0
  count = 0
  /** All that the shapes of the runs may be. */
  marks = 0
  #text = ''
  #first = 0
  readonly #marksOf: ReadonlyMap<number, number>
  // By group: what the run has that ends with it, and where the next group begins, 0 if none follows.
  readonly #ends = [0, 0, 0, 0, 0, 0, 0]
  readonly #nexts = [0, 0, 0, 0, 0, 0, 0]
  readonly #digitCounts = [0, 0, 0, 0, 0, 0, 0]
  readonly #shapes = [0, 0, 0, 0, 0, 0, 0]
  readonly #marks = [0, 0, 0, 0, 0, 0, 0]

  /** @param marksOf what numbers of a shape may be, as bits; 0 for a shape that is not in it */
  constructor(marksOf: ReadonlyMap<number, number>) {
    this.#marksOf = marksOf
  }

  /** @param at of a digit at the beginning of a word */
  read(text: string, at: number): void {
    this.#text = text
    this.start = at
    this.marks = 0
    this.count = 0
    if (isCounting(text, at)) return
    let digits = 0
    let shape = 0
    let start = at
    for (let group = 0; group < MAX_GROUPS; group++) {
      const end = endOfDigits(text, start)
      // A group that goes on as a word belongs to something else; an extension (`x123`) does not count.
      if (isWordCharacter(text.charCodeAt(end)) && !isExtension(text, end)) return
      digits += end - start
      if (digits > MAX_DIGITS) return
      shape = shape * SHAPE_BASE + end - start
      // Counting: three groups of one digit.
      if (group === 2 && digits === 3) return
      const next = separatorAt(text, end)
      if (digits >= MIN_DIGITS) {
        if (this.count === 0) this.#first = group
        this.#add(group, end, next, digits, shape)
      }
      if (next === 0) return
      start = next
    }
  }

  #add(group: number, end: number, next: number, digits: number, shape: number): void {
    const marks = this.#marksOf.get(shape) ?? 0
    this.#ends[group] = end
    this.#nexts[group] = next
    this.#digitCounts[group] = digits
    this.#shapes[group] = shape
    this.#marks[group] = marks
    this.marks |= marks
    this.count++
  }

  end(index: number): number {
    return this.#ends[this.#first + index] ?? 0
  }

  digitCount(index: number): number {
    return this.#digitCounts[this.#first + index] ?? 0
  }

  shape(index: number): number {
    return this.#shapes[this.#first + index] ?? 0
  }

  marksAt(index: number): number {
    return this.#marks[this.#first + index] ?? 0
  }

  isPlain(index: number): boolean {
    return isPlainShape(this.shape(index))
  }

  /** No further group follows. */
  isWhole(index: number): boolean {
    return this.#nexts[this.#first + index] === 0
  }

  /** What goes on behind without a space is a part of the same thing. */
  isOpen(index: number): boolean {
    const next = this.#nexts[this.#first + index] ?? 0
    return next > 0 && !hasSpace(this.#text, this.end(index), next)
  }

  run(index: number): Run {
    return new Run(this.#text, this.start, this.end(index), this.digitCount(index), this.shape(index))
  }
}

function hasSpace(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(start) === NO_BREAK_SPACE) return true
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === SPACE) return true
  return false
}

/** `1 2 3`, `1-2-3`: three groups of one digit are no number. A quick look. */
function isCounting(text: string, at: number): boolean {
  for (let i = 1; i <= 5; i++) if (isDigit(text.charCodeAt(at + i)) !== (i === 2 || i === 4)) return false
  return true
}

const isExtension = (text: string, end: number): boolean =>
  (text[end] === 'x' || text[end] === 'X') && isDigit(text.charCodeAt(end + 1))

/** End of the separator behind a group; 0 if no further group follows. */
function separatorAt(text: string, start: number): number {
  let spaces = 0
  let marks = 0
  for (let end = start; end <= start + MAX_SEPARATOR; end++) {
    const code = text.charCodeAt(end)
    if (isDigit(code)) return end > start && spaces <= 1 + marks && marks <= 2 ? end : 0
    if (code === 0x20 || code === 0xa0 || code === 0x202f) spaces++
    else if (isMark(code) && (marks === 0 || isBracket(code) || isBracket(text.charCodeAt(end - 1)))) marks++
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
    else if (isMark(text.charCodeAt(at))) found = '-'
  }
  return found
}

/** Whether all separators are the same; also if there are none. */
export function isUniform(separators: string): boolean {
  for (let i = 1; i < separators.length; i++) if (separators[i] !== separators[0]) return false
  return true
}

/** Currencies, a percentage, an exponent. */
const NOT_BEFORE = '$€£¥₹%^'

/** Whether a number may begin at `at`: not inside a word, a decimal, a dotted run or an amount. */
export function mayBegin(text: string, at: number): boolean {
  const before = text[at - 1]
  if (before === undefined) return true
  if (isWordCharacter(text.charCodeAt(at - 1))) return false
  if ((before === '.' || before === ',') && isDigit(text.charCodeAt(at - 2))) return false
  return !NOT_BEFORE.includes(before)
}
