// All expressions of a rule set laid out as one flat program, in arrays that are quick to walk.

import type { CharacterSet, Program } from './program.ts'

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
