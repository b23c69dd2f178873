// One regular expression in RE2 syntax as a small program that can be run a character at a time. The only file that
// knows `re2js`, whose parser and compiler it uses; running it is the automaton's part.

import { RE2JS } from 're2js'
import { asciiBase, EXTENDS, foldCharacter, latinLookalike, roleOf } from '../characters.ts'

/** Longest source; with re2js's own bound on repetition (1,000) it keeps compiling short. */
const MAX_SOURCE_CHARACTERS = 2048

/** Longest program: what one expression may cost a character in the worst case. */
const MAX_PROGRAM_SIZE = 1000

/** Sorted, disjoint code points: first, last, first, last, … */
export type CharacterSet = readonly number[]

/** What an assertion may ask for, as bits: re2js's own (Go's syntax.EmptyOp). */
export const AT_LINE_START = 1
export const AT_LINE_END = 2
export const AT_TEXT_START = 4
export const AT_TEXT_END = 8
export const AT_WORD_BOUNDARY = 16
export const NOT_AT_WORD_BOUNDARY = 32

type Instruction =
  | { readonly kind: 'split'; readonly first: number; readonly second: number }
  | { readonly kind: 'assert'; readonly asked: number; readonly next: number }
  | { readonly kind: 'take'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'match' }
  | { readonly kind: 'fail' }

export interface Program {
  readonly instructions: readonly Instruction[]
  readonly start: number
}

/** re2js's instruction codes, and its flag for "any case"; they mirror Go's regexp/syntax and are not exported. */
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
 * Compiles an expression for text that is folded to lower case.
 * @returns the program, or the sentence that says why there is none
 */
export function compileExpression(source: string): Program | { readonly message: string } {
  if (source.length > MAX_SOURCE_CHARACTERS) {
    return { message: `is longer than ${MAX_SOURCE_CHARACTERS} characters, the most an expression may have` }
  }
  let compiled: { readonly inst: readonly CompiledInstruction[]; readonly start: number }
  try {
    compiled = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE).re2().prog
  } catch (error) {
    return {
      message: `is not a valid RE2 expression: ${(error as Error).message.replace('error parsing regexp: ', '').replace('(?i)', '')}`,
    }
  }
  if (compiled.inst.length > MAX_PROGRAM_SIZE) {
    return {
      message: `is too large: ${compiled.inst.length} steps of at most ${MAX_PROGRAM_SIZE}; use fewer or smaller repetitions`,
    }
  }
  const program = { instructions: compiled.inst.map(convert), start: compiled.start }
  if (matchesNothing(program)) return { message: 'matches the empty text, so it would match everything' }
  return program
}

function convert({ op, out, arg, runes }: CompiledInstruction): Instruction {
  if (op === OP.alt || op === OP.altMatch) return { kind: 'split', first: out, second: arg }
  if (op === OP.capture || op === OP.nop) return { kind: 'split', first: out, second: out }
  if (op === OP.emptyWidth) return { kind: 'assert', asked: arg, next: out }
  if (op === OP.match) return { kind: 'match' }
  if (op >= OP.rune && op <= OP.lastRune) return { kind: 'take', set: toSet(runes), next: out }
  return { kind: 'fail' }
}

/** A letter is looked for as the text has it: folded and as the Latin letter it resembles. */
function toSet(runes: Int32Array): CharacterSet {
  if (runes.length === 1 || (runes.length === 2 && runes[0] === runes[1])) {
    const folded = foldCharacter(runes[0]!)
    const wanted = latinLookalike(folded < 0 ? runes[0]! : folded)
    return [wanted, wanted]
  }
  const ranges = Array.from(runes)
  // A class under `(?-i)` may name capitals alone, which folded text does not have.
  const [upperA, upperZ] = [0x41, 0x5a]
  for (let at = 0; at < runes.length; at += 2) {
    const first = Math.max(runes[at]!, upperA)
    const last = Math.min(runes[at + 1]!, upperZ)
    if (first <= last) ranges.push(first + 0x20, last + 0x20)
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

/** Calls back with every instruction that can be next without taking a character, all assertions granted. */
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

function matchesNothing(program: Program): boolean {
  let empty = false
  eachReachable(program, ({ kind }) => {
    empty ||= kind === 'match'
  })
  return empty
}

/** A range with more characters outside ASCII than this is taken to hold letters built on any ASCII one. */
const MAX_LISTED_CHARACTERS = 64

/** The ASCII characters that a match can begin with, be it as the base of an accented letter. 128 flags. */
export function firstAscii(program: Program): Uint8Array {
  const first = new Uint8Array(0x80)
  eachReachable(program, (instruction) => {
    if (instruction.kind !== 'take') return
    const { set } = instruction
    for (let at = 0; at < set.length; at += 2) {
      const last = set[at + 1]!
      // What is in ASCII is at most 128 characters; of what is beyond, only short ranges are looked at one by one.
      for (let codePoint = set[at]!; codePoint <= Math.min(last, 0x7f); codePoint++)
        markBase(first, codePoint)
      const from = Math.max(set[at]!, 0x80)
      if (last - from >= MAX_LISTED_CHARACTERS) first.fill(1)
      else for (let codePoint = from; codePoint <= last; codePoint++) markBase(first, codePoint)
    }
  })
  return first
}

/** Marks the ASCII character that may still become `codePoint` when marks follow it, in both cases. */
export function markBase(first: Uint8Array, codePoint: number): void {
  // A mark that nothing composes with stays a character of its own, but in the cluster of what stands before it.
  if (codePoint >= 0x80 && roleOf(codePoint) === EXTENDS) first.fill(1)
  const base = asciiBase(codePoint)
  if (base < 0) return
  first[base] = 1
  if (base >= 0x61 && base <= 0x7a) first[base - 0x20] = 1
  if (base >= 0x41 && base <= 0x5a) first[base + 0x20] = 1
}

/** One flat program of all expressions. */
export interface Code {
  readonly kind: Uint8Array
  /** Where it goes on; for SPLIT one of two places. */
  readonly first: Int32Array
  /** SPLIT: the other place; ASSERT: what is asked, as bits; TAKE: the number of its set. */
  readonly second: Int32Array
  readonly expression: Uint16Array
}

export const SPLIT = 0
export const ASSERT = 1
export const TAKE = 2
export const MATCH = 3
const FAIL = 4

/** The program, where each expression starts in it, and the sets it refers to. */
export function assemble(programs: readonly Program[]): {
  code: Code
  starts: number[]
  sets: CharacterSet[]
} {
  const size = programs.reduce((total, { instructions }) => total + instructions.length, 0)
  const code: Code = {
    kind: new Uint8Array(size).fill(FAIL),
    first: new Int32Array(size),
    second: new Int32Array(size),
    expression: new Uint16Array(size),
  }
  const starts: number[] = []
  const sets: CharacterSet[] = []
  const known = new Map<string, number>()
  const setNumber = (set: CharacterSet): number => {
    const key = set.join(',')
    const number = known.get(key) ?? sets.push(set) - 1
    known.set(key, number)
    return number
  }
  let base = 0
  programs.forEach(({ instructions, start }, expression) => {
    starts.push(base + start)
    instructions.forEach((instruction, index) => {
      const at = base + index
      code.expression[at] = expression
      if (instruction.kind === 'split')
        put(code, at, SPLIT, base + instruction.first, base + instruction.second)
      if (instruction.kind === 'assert') put(code, at, ASSERT, base + instruction.next, instruction.asked)
      if (instruction.kind === 'take')
        put(code, at, TAKE, base + instruction.next, setNumber(instruction.set))
      if (instruction.kind === 'match') put(code, at, MATCH, 0, 0)
    })
    base += instructions.length
  })
  return { code, starts, sets }
}

function put(code: Code, at: number, kind: number, first: number, second: number): void {
  code.kind[at] = kind
  code.first[at] = first
  code.second[at] = second
}
