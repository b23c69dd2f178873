// Joins programs into one, whose instructions are numbers in arrays. Knows neither the syntax of
// expressions nor how a program runs.

import type { CharacterSet, Program } from './instructions.ts'

/** All programs joined into one. */
export interface FlatProgram {
  readonly kind: Uint8Array
  /** The next instruction; for SPLIT one of two. */
  readonly first: Int32Array
  /**
   * SPLIT: the other next instruction. ASSERT: the assertions as bits. TAKE: the index of the set.
   */
  readonly second: Int32Array
  readonly expression: Uint16Array
}

export const SPLIT = 0
export const ASSERT = 1
export const TAKE = 2
export const MATCH = 3
const FAIL = 4

/**
 * Joins programs. Returns the joined one, the start of each program, the sets that TAKE refers to,
 * and all assertions together.
 */
export function assemble(programs: readonly Program[]): {
  program: FlatProgram
  starts: number[]
  sets: CharacterSet[]
  asserted: number
} {
  const size = programs.reduce((total, { instructions }) => total + instructions.length, 0)
  const program: FlatProgram = {
    kind: new Uint8Array(size).fill(FAIL),
    first: new Int32Array(size),
    second: new Int32Array(size),
    expression: new Uint16Array(size),
  }
  const starts: number[] = []
  const sets: CharacterSet[] = []
  const numbers = new Map<string, number>()
  const setNumber = (set: CharacterSet): number => {
    const key = set.join(',')
    const number = numbers.get(key) ?? sets.push(set) - 1
    numbers.set(key, number)
    return number
  }
  let base = 0
  let asserted = 0
  programs.forEach(({ instructions, start }, expression) => {
    starts.push(base + start)
    instructions.forEach((instruction, index) => {
      const at = base + index
      program.expression[at] = expression
      if (instruction.kind === 'split')
        put(program, at, SPLIT, base + instruction.first, base + instruction.second)
      if (instruction.kind === 'assert') {
        put(program, at, ASSERT, base + instruction.next, instruction.assertions)
        asserted |= instruction.assertions
      }
      if (instruction.kind === 'take')
        put(program, at, TAKE, base + instruction.next, setNumber(instruction.set))
      if (instruction.kind === 'match') put(program, at, MATCH, 0, 0)
    })
    base += instructions.length
  })
  return { program, starts, sets, asserted }
}

function put(program: FlatProgram, at: number, kind: number, first: number, second: number): void {
  program.kind[at] = kind
  program.first[at] = first
  program.second[at] = second
}
