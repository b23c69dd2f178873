// Matches whole texts as they are written, apart from case, and gives texts that an expression
// matches.

import { ASCII_END, SPACE } from '../../core/ascii.ts'
import { ExpressionAutomaton } from './automaton.ts'
import { ExpressionCursor } from './cursor.ts'
import { type CharacterSet, lowerCase, type Program, setHas } from './instructions.ts'

/** Letters outside ASCII that RE2 takes for `s` and `k` in another case. They look like them. */
const FOLDED_TO_ASCII = /[\u017f\u212a]/

/** Returns a test of whether one of the programs matches all of a text. */
export function exactMatcher(programs: readonly Program[]): (text: string) => boolean {
  if (programs.length === 0) return () => false
  const automaton = new ExpressionAutomaton(programs)
  return (text) => {
    if (FOLDED_TO_ASCII.test(text)) return false
    const cursor = new ExpressionCursor(automaton)
    let matched = 0
    let read = 0
    const report = (_expression: number, _begin: number, inclusive: boolean) => {
      matched = Math.max(matched, inclusive ? read : read - 1)
    }
    for (const character of text) {
      const codePoint = lowerCase(character.codePointAt(0)!)
      cursor.take(codePoint, codePoint, read, report, read++ === 0)
    }
    const length = read++
    cursor.finish(report)
    return length > 0 && matched === length
  }
}

/** Maximum characters of a sample. */
const MAXIMUM_SAMPLE_CHARACTERS = 256
/** Maximum ways through a program that samples take. */
const MAXIMUM_WAYS = 512
const SAMPLES_OF_A_WAY = 3
/** Ways that turn as they like, and after how many steps they lead to the end. */
const FREE_WAYS = 48
const FREE_STEPS = 96

/**
 * Returns texts that an exact program matches, the same at each call: a few for each part of it,
 * and some longer ones.
 */
export function samplesOf(program: Program): readonly string[] {
  const matches = exactMatcher([program])
  const paths = new Paths(program)
  const random = new Numbers()
  const samples = new Set<string>()
  const add = (sets: readonly CharacterSet[]) => {
    if (sets.length > MAXIMUM_SAMPLE_CHARACTERS) return
    const sample = sets.map((set) => characterOf(set, random)).join('')
    if (matches(sample)) samples.add(sample)
  }
  const targets = paths.reachable
  const every = Math.max(1, Math.ceil(targets.length / MAXIMUM_WAYS))
  for (let index = 0; index < targets.length; index += every) {
    const sets = paths.through(targets[index]!)
    for (let time = 0; time < SAMPLES_OF_A_WAY; time++) add(sets)
  }
  for (let time = 0; time < FREE_WAYS; time++) add(paths.free(random))
  return [...samples]
}

/** The shortest ways through a program. */
class Paths {
  readonly #program: Program
  /** By instruction: the one before it on the way from the start. */
  readonly #before = new Map<number, number>()
  /** By instruction: the one after it on the way to a match. */
  readonly #after = new Map<number, number>()
  /** The instructions on a way from the start to a match. */
  readonly reachable: readonly number[]

  constructor(program: Program) {
    this.#program = program
    const { instructions, start } = program
    const sources: number[][] = instructions.map(() => [])
    for (const [at] of instructions.entries()) for (const next of this.#nextOf(at)) sources[next]!.push(at)
    this.#before.set(start, start)
    walk([start], (at) => this.#nextOf(at), this.#before)
    const ends = [...instructions.keys()].filter((at) => instructions[at]!.kind === 'match')
    for (const end of ends) this.#after.set(end, end)
    walk(ends, (at) => sources[at]!, this.#after)
    this.reachable = [...this.#before.keys()].filter((at) => this.#after.has(at))
  }

  /** The characters on the shortest way through an instruction. */
  through(middle: number): CharacterSet[] {
    const way: number[] = []
    for (let at = middle; this.#before.get(at) !== at; at = this.#before.get(at)!) way.push(at)
    way.push(this.#program.start)
    way.reverse()
    return this.#setsOf(way, middle)
  }

  /** The characters on a way with turns of any kind. */
  free(random: Numbers): CharacterSet[] {
    const way: number[] = [this.#program.start]
    const limit = random.below(FREE_STEPS)
    let at = this.#program.start
    while (way.length < limit && this.#after.get(at) !== at) {
      const open = this.#nextOf(at).filter((next) => this.#after.has(next))
      at = open[random.below(open.length)]!
      way.push(at)
    }
    return this.#setsOf(way, at)
  }

  /** @param end of the way, from where the shortest leads on */
  #setsOf(way: number[], end: number): CharacterSet[] {
    for (let at = end; this.#after.get(at) !== at; ) {
      at = this.#after.get(at)!
      way.push(at)
    }
    return way.flatMap((at) => {
      const instruction = this.#program.instructions[at]!
      return instruction.kind === 'take' ? [instruction.set] : []
    })
  }

  #nextOf(at: number): readonly number[] {
    const instruction = this.#program.instructions[at]!
    if (instruction.kind === 'split') return [instruction.first, instruction.second]
    return instruction.kind === 'take' || instruction.kind === 'assert' ? [instruction.next] : []
  }
}

/** Visits breadth first and notes from where. */
function walk(
  from: readonly number[],
  nextOf: (at: number) => readonly number[],
  seen: Map<number, number>,
): void {
  const queue = [...from]
  for (let index = 0; index < queue.length; index++) {
    const at = queue[index]!
    for (const next of nextOf(at)) {
      if (seen.has(next)) continue
      seen.set(next, at)
      queue.push(next)
    }
  }
}

/** A sequence of numbers without a pattern, the same at each start (Park and Miller 1988). */
class Numbers {
  #last = 1

  below(limit: number): number {
    this.#last = (this.#last * 48_271) % 2_147_483_647
    return this.#last % limit
  }
}

/** Characters that occur in most values. */
const ORDINARY = [...'abcdefghijklmnopqrstuvwxyz0123456789'].map((one) => one.charCodeAt(0))

/** A character of a set: mostly a letter or digit, where the set has one. */
function characterOf(set: CharacterSet, random: Numbers): string {
  const ordinary = random.below(4) > 0 ? ORDINARY.filter((code) => setHas(set, code)) : []
  if (ordinary.length > 0) return String.fromCodePoint(ordinary[random.below(ordinary.length)]!)
  const range = 2 * random.below(set.length / 2)
  const last = set[range + 1]!
  // No value has control characters.
  const first = Math.max(set[range]!, Math.min(last, SPACE))
  const most = Math.min(last, Math.max(first, 2 * ASCII_END))
  return String.fromCodePoint(first + random.below(most - first + 1))
}
