// Decides whether the arguments of a call match the patterns of rules. Arguments that cannot be
// read in one way only match: a client may read them in another.

import { parseUnambiguous } from '../chat/strict-json.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { keywordMatcher } from '../keyword/matcher.ts'
import { KeywordIndex } from '../keyword/pattern-index.ts'
import { ANY_STEP, type ArgumentTest, type PointerPath } from './tool-conditions.ts'

/** Longest arguments that are judged, UTF-16 units; longer ones match. */
export const MAXIMUM_ARGUMENT_CHARACTERS = 256 * 1024

/** Maximum values of arguments that are judged; more match. */
const MAXIMUM_VALUES = 16_384

/** Maximum levels of JSON in strings of JSON that are judged; more match. */
const MAXIMUM_UNWRAPPED = 8

/** The arguments of a call. */
export type CallArguments =
  /** A JSON value that one reading gives. */
  | { readonly type: 'json'; readonly value: JsonValue }
  /** The text of a tool whose input is no JSON. */
  | { readonly type: 'text'; readonly text: string }
  /** Not JSON, ambiguous, too long or too deep. */
  | { readonly type: 'unreadable' }

export const UNREADABLE: CallArguments = { type: 'unreadable' }

/** All argument tests of a rule set, compiled once. */
export class ArgumentTests {
  readonly #tests: readonly ArgumentTest[]
  readonly #matcher: ReturnType<typeof keywordMatcher>

  constructor(tests: readonly ArgumentTest[]) {
    this.#tests = tests
    const index = new KeywordIndex(tests.map(({ keywords }) => keywords))
    const active = tests.map(() => true)
    this.#matcher = keywordMatcher(index, { active, holding: tests.map(() => false) })
  }

  /**
   * Returns those of some tests that a value passes, in steps. Linear in the arguments for each
   * test.
   */
  *passed(given: CallArguments, asked: readonly ArgumentTest[]): Steps<ReadonlySet<ArgumentTest>> {
    if (given.type === 'unreadable') return new Set(asked)
    const found = new Set<ArgumentTest>()
    if (given.type === 'text') {
      // No pointer leads into a text; only a test of all strings can be judged.
      for (const test of asked) if (test.path.length > 0) found.add(test)
      yield* this.#match(given.text, asked, found)
      return found
    }
    const places = asked.map((test) => ({ test, left: test.path }))
    const scalars = scalarsAt(given.value, places, { left: MAXIMUM_VALUES, wrapped: 0 }, true)
    if (scalars === null) return new Set(asked)
    for (const { text, tests } of scalars) yield* this.#match(text, tests, found)
    return found
  }

  *#match(text: string, tests: readonly ArgumentTest[], found: Set<ArgumentTest>): Steps<void> {
    if (this.#matcher === null) return
    for (const { pattern } of yield* this.#matcher.matchSteps(text)) {
      const test = this.#tests[pattern]!
      if (tests.includes(test)) found.add(test)
    }
  }
}

/** A string, number or boolean, and the tests that read it. */
interface Scalar {
  readonly text: string
  readonly tests: readonly ArgumentTest[]
}

/** Lists the scalars that tests read; null for more values than `budget` has left. */
function scalarsAt(
  value: JsonValue,
  places: readonly Place[],
  budget: Budget,
  isRoot = false,
): readonly Scalar[] | null {
  if (--budget.left < 0) return null
  if (Array.isArray(value) || isObject(value)) {
    const all: Scalar[] = []
    const members = value as JsonObject
    for (const name of Object.keys(members)) {
      const inside = stepInto(places, name)
      if (inside.length === 0) continue
      const scalars = scalarsAt(members[name]!, inside, budget)
      if (scalars === null) return null
      for (const one of scalars) all.push(one)
    }
    const tests = testsAt(places)
    const line = tests.length > 0 && Array.isArray(value) ? lineOf(value) : null
    if (line !== null) all.push({ text: line, tests })
    return all
  }
  const tests = testsAt(places)
  const own = value === null || tests.length === 0 ? [] : [{ text: textOf(value), tests }]
  if (typeof value !== 'string' || !JSON_START.test(value)) return own
  // Below the root a string is JSON only to a rule whose pointer leads into it.
  if (!isRoot && places.every(({ left }) => left.length === 0)) return own
  const inner = unwrapped(value, isRoot, places, budget)
  return inner && [...own, ...inner]
}

/** The tests that read all of a value. */
const testsAt = (places: readonly Place[]): readonly ArgumentTest[] =>
  places.flatMap(({ test, left }) => (left.length === 0 ? [test] : []))

/** The strings, numbers and booleans of a list as words of one line; null for fewer than two. */
function lineOf(list: readonly JsonValue[]): string | null {
  const words = list.filter((one) => one !== null && typeof one !== 'object').map(textOf)
  return words.length < 2 ? null : words.join(' ')
}

/** Begins a JSON text that holds others. */
const JSON_START = /^\s*[[{"]/

/** Lists the scalars of JSON in a string, in place of an object: some clients read it so. */
function unwrapped(
  text: string,
  isRoot: boolean,
  places: readonly Place[],
  budget: Budget,
): readonly Scalar[] | null {
  const parsed = parseUnambiguous(text)
  if (parsed === undefined) return isRoot ? null : []
  if (parsed === null || budget.wrapped === MAXIMUM_UNWRAPPED) return null
  const { left } = budget
  const inside = { left, wrapped: budget.wrapped + 1 }
  const scalars = scalarsAt(parsed.value, places, inside, isRoot)
  budget.left = inside.left
  return scalars
}

interface Budget {
  /** Values that may still be read. */
  left: number
  /** Levels of JSON in strings around a value. */
  readonly wrapped: number
}

/** A test, and the steps that are left to its values; none at or below them. */
interface Place {
  readonly test: ArgumentTest
  readonly left: PointerPath
}

/** The places of a member or an element. A test reads everything below its pointer. */
const stepInto = (places: readonly Place[], name: string): Place[] =>
  places.flatMap((place) => {
    const [step] = place.left
    if (step === undefined) return [place]
    return step === ANY_STEP || step === name ? [{ test: place.test, left: place.left.slice(1) }] : []
  })

/** A scalar as patterns read it: numbers and booleans by their JSON text. */
const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))
