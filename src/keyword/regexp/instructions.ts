// Compiles regular expressions in RE2 syntax to instructions that run one character at a time. The
// only file that imports re2js, whose parser and compiler it uses.

import { RE2JS } from 're2js'
import { ASCII_END, CASE_BIT, isAsciiLower, isAsciiUpper, UPPER_A, UPPER_Z } from '../../core/ascii.ts'
import { asciiBase, asciiLookalike, EXTENDS, foldCharacter, IGNORED, roleOf } from '../characters.ts'
import { narrowWhiteSpace, widenWhiteSpace } from './white-space.ts'

/** Longest source. Together with re2js's bound on repetition (1,000) it keeps compiling fast. */
const MAXIMUM_SOURCE_CHARACTERS = 2048

/** Maximum instructions of a program, which bound the cost of a character. */
const MAXIMUM_PROGRAM_SIZE = 1000

/** Sorted, disjoint ranges of code points: first, last, first, last, … */
export type CharacterSet = readonly number[]

/** Assertions as bits, numbered like re2js's (Go's syntax.EmptyOp). */
export const AT_LINE_START = 1
export const AT_LINE_END = 2
export const AT_TEXT_START = 4
export const AT_TEXT_END = 8
export const AT_WORD_BOUNDARY = 16
export const NOT_AT_WORD_BOUNDARY = 32

type Instruction =
  | { readonly kind: 'split'; readonly first: number; readonly second: number }
  | { readonly kind: 'assert'; readonly assertions: number; readonly next: number }
  | { readonly kind: 'take'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'match' }
  | { readonly kind: 'fail' }

export interface Program {
  readonly instructions: readonly Instruction[]
  readonly start: number
}

/**
 * re2js's instruction codes, which follow Go's regexp/syntax. re2js does not export them;
 * test/keyword/re2js.test.ts fails if they change.
 */
const OP = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  lastRune: 11,
}

interface CompiledInstruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: Int32Array
}

/**
 * Compiles an expression for text that is folded to lower case. Returns the program, or a message
 * that says why there is none.
 */
export function compileExpression(source: string): Program | { readonly message: string } {
  const program = compile(source, foldedSet)
  if ('instructions' in program && !canMatch(program)) return { message: NEVER_MATCHES }
  return program
}

/** As `compileExpression`, for text in lower case whose look-alikes stay what they are. */
export const compileExact = (source: string): Program | { readonly message: string } =>
  compile(source, exactSet)

function compile(
  source: string,
  toSet: (runes: Int32Array) => CharacterSet,
): Program | { readonly message: string } {
  if (source.length > MAXIMUM_SOURCE_CHARACTERS) {
    return {
      message: `is longer than ${MAXIMUM_SOURCE_CHARACTERS} characters; split it into several alternatives`,
    }
  }
  let compiled: { readonly inst: readonly CompiledInstruction[]; readonly start: number }
  try {
    compiled = RE2JS.compile(widenWhiteSpace(source), RE2JS.CASE_INSENSITIVE).re2().prog
  } catch (error) {
    const reason = (error as Error).message.replace('error parsing regexp: ', '').replace('(?i)', '')
    return { message: `is not a valid RE2 expression: ${narrowWhiteSpace(reason)}` }
  }
  if (compiled.inst.length > MAXIMUM_PROGRAM_SIZE) {
    return {
      message: `is too large: ${compiled.inst.length} steps of at most ${MAXIMUM_PROGRAM_SIZE}; use fewer or smaller repetitions`,
    }
  }
  const instructions = compiled.inst.map((one) => convert(one, toSet))
  const program = { instructions, start: compiled.start }
  return matchesEmpty(program) ? { message: 'matches the empty text, so it would match everything' } : program
}

/** The program of a literal. @param characters normalised code points */
export const literalProgram = (characters: readonly number[]): Program => ({
  instructions: [
    ...characters.map((one, index): Instruction => ({ kind: 'take', set: [one, one], next: index + 1 })),
    { kind: 'match' },
  ],
  start: 0,
})

/** Returns the length of the longest match, normalised characters; infinite without a longest. */
export function longestMatch({ instructions, start }: Program): number {
  const lengths = new Map<number, number>()
  const open = new Set<number>()
  const lengthFrom = (at: number): number => {
    const known = lengths.get(at)
    if (known !== undefined) return known
    // A way that leads back to itself takes characters: an expression that takes none is no loop.
    if (open.has(at)) return Number.POSITIVE_INFINITY
    open.add(at)
    const instruction = instructions[at]!
    let length = instruction.kind === 'match' ? 0 : Number.NEGATIVE_INFINITY
    if (instruction.kind === 'split')
      length = Math.max(lengthFrom(instruction.first), lengthFrom(instruction.second))
    else if (instruction.kind === 'assert') length = lengthFrom(instruction.next)
    else if (instruction.kind === 'take') length = 1 + lengthFrom(instruction.next)
    open.delete(at)
    lengths.set(at, length)
    return length
  }
  return lengthFrom(start)
}

const NEVER_MATCHES =
  'matches no text: it needs a character that does not exist, or one that is removed before the search (control characters, zero-width characters); remove that character'

function convert(
  { op, out, arg, runes }: CompiledInstruction,
  toSet: (runes: Int32Array) => CharacterSet,
): Instruction {
  if (op === OP.alt || op === OP.altMatch) return { kind: 'split', first: out, second: arg }
  if (op === OP.capture || op === OP.nop) return { kind: 'split', first: out, second: out }
  if (op === OP.emptyWidth) return { kind: 'assert', assertions: arg, next: out }
  if (op === OP.match) return { kind: 'match' }
  if (op >= OP.rune && op <= OP.lastRune) return { kind: 'take', set: toSet(runes), next: out }
  return { kind: 'fail' }
}

const isSingle = (runes: Int32Array): boolean =>
  runes.length === 1 || (runes.length === 2 && runes[0] === runes[1])

/** Folds a single character like the text. */
function foldedSet(runes: Int32Array): CharacterSet {
  if (!isSingle(runes)) return rangesOf(runes)
  const folded = foldCharacter(runes[0]!)
  const wanted = asciiLookalike(folded < 0 ? runes[0]! : folded)
  return [wanted, wanted]
}

function exactSet(runes: Int32Array): CharacterSet {
  if (!isSingle(runes)) return rangesOf(runes)
  const wanted = lowerCase(runes[0]!)
  return [wanted, wanted]
}

/**
 * The lower case of a character; the character itself where that is another number of characters,
 * or looks like a letter of ASCII.
 */
export function lowerCase(codePoint: number): number {
  const text = String.fromCodePoint(codePoint).toLowerCase()
  const lower = text.codePointAt(0)!
  const isOne = text.length === String.fromCodePoint(lower).length
  return isOne && (lower >= ASCII_END || codePoint < ASCII_END) ? lower : codePoint
}

/** Keeps ranges and adds the lower case of their capitals. */
function rangesOf(runes: Int32Array): CharacterSet {
  const ranges = Array.from(runes)
  // A class under `(?-i)` may name only capitals, which folded text does not contain.
  for (let at = 0; at < runes.length; at += 2) {
    const first = Math.max(runes[at]!, UPPER_A)
    const last = Math.min(runes[at + 1]!, UPPER_Z)
    if (first <= last) ranges.push(first + CASE_BIT, last + CASE_BIT)
  }
  return merge(ranges)
}

function merge(ranges: readonly number[]): CharacterSet {
  const pairs: [number, number][] = []
  for (let at = 0; at < ranges.length; at += 2) pairs.push([ranges[at]!, ranges[at + 1]!])
  pairs.sort(([a], [b]) => a - b)
  const merged: number[] = []
  for (const [first, last] of pairs) {
    const end = merged.length - 1
    if (end > 0 && first <= merged[end]! + 1) merged[end] = Math.max(merged[end]!, last)
    else merged.push(first, last)
  }
  return merged
}

export function setHas(set: CharacterSet, codePoint: number): boolean {
  let low = 0
  let high = set.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (set[2 * middle + 1]! < codePoint) low = middle + 1
    else high = middle
  }
  return low < set.length >> 1 && set[2 * low]! <= codePoint
}

/**
 * Visits every instruction that can be reached without taking a character, assuming all assertions
 * hold.
 */
function eachReachable({ instructions, start }: Program, visit: (instruction: Instruction) => void): void {
  const seen = new Set<number>()
  const pending = [start]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen.has(at)) continue
    seen.add(at)
    const instruction = instructions[at]!
    visit(instruction)
    if (instruction.kind === 'split') pending.push(instruction.second, instruction.first)
    if (instruction.kind === 'assert') pending.push(instruction.next)
  }
}

function matchesEmpty(program: Program): boolean {
  let empty = false
  eachReachable(program, ({ kind }) => {
    empty ||= kind === 'match'
  })
  return empty
}

/** Whether some text leads from the start to a match. */
function canMatch({ instructions, start }: Program): boolean {
  const seen = new Set<number>()
  const pending = [start]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen.has(at)) continue
    seen.add(at)
    const instruction = instructions[at]!
    if (instruction.kind === 'match') return true
    if (instruction.kind === 'split') pending.push(instruction.second, instruction.first)
    if (instruction.kind === 'assert') pending.push(instruction.next)
    if (instruction.kind === 'take' && !isIgnored(instruction.set)) pending.push(instruction.next)
  }
  return false
}

/** Whether no normalised text has a character of the set. Large sets are taken to have one. */
function isIgnored(set: CharacterSet): boolean {
  for (let at = 0; at < set.length; at += 2) {
    if (set[at + 1]! - set[at]! >= MAXIMUM_LISTED_CHARACTERS) return false
    for (let codePoint = set[at]!; codePoint <= set[at + 1]!; codePoint++)
      if (roleOf(codePoint) !== IGNORED) return false
  }
  return true
}

/** Maximum characters of a set that names them. A larger one, as of `.`, is about the others. */
const MAXIMUM_NAMED_CHARACTERS = 128

/** Whether a pattern names one of the characters. */
export const namesAny = ({ instructions }: Program, codePoints: readonly number[]): boolean =>
  instructions.some(
    (instruction) =>
      instruction.kind === 'take' &&
      sizeOf(instruction.set) <= MAXIMUM_NAMED_CHARACTERS &&
      codePoints.some((codePoint) => setHas(instruction.set, codePoint)),
  )

function sizeOf(set: CharacterSet): number {
  let size = 0
  for (let at = 0; at < set.length; at += 2) size += set[at + 1]! - set[at]! + 1
  return size
}

/** A longer range outside ASCII counts as containing letters composed from every ASCII one. */
const MAXIMUM_LISTED_CHARACTERS = 64

/**
 * Returns the ASCII characters that a match can begin with, also as the base of an accented letter,
 * as 128 flags.
 */
export function firstAscii(program: Program): Uint8Array {
  const first = new Uint8Array(ASCII_END)
  eachReachable(program, (instruction) => {
    if (instruction.kind !== 'take') return
    const { set } = instruction
    for (let at = 0; at < set.length; at += 2) {
      const last = set[at + 1]!
      // ASCII has at most 128 characters. Beyond it, only short ranges are listed one by one.
      for (let codePoint = set[at]!; codePoint <= Math.min(last, ASCII_END - 1); codePoint++)
        markBase(first, codePoint)
      const from = Math.max(set[at]!, ASCII_END)
      if (last - from >= MAXIMUM_LISTED_CHARACTERS) first.fill(1)
      else for (let codePoint = from; codePoint <= last; codePoint++) markBase(first, codePoint)
    }
  })
  return first
}

/** Flags the ASCII character that may still become `codePoint` when marks follow, in both cases. */
export function markBase(first: Uint8Array, codePoint: number): void {
  // A mark that composes with nothing stays a character of its own, but in the cluster of the
  // character before it.
  if (codePoint >= ASCII_END && roleOf(codePoint) === EXTENDS) first.fill(1)
  const base = asciiBase(codePoint)
  if (base < 0) return
  first[base] = 1
  if (isAsciiLower(base) || isAsciiUpper(base)) first[base ^ CASE_BIT] = 1
}
