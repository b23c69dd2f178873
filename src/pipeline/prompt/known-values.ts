// Finds values of a prompt again where the model wrote them without the word that named them.
// Under `restore` the client sends the answer back with the values, and the model must read what it
// wrote.

import type { PiiKind } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { JsonWalls } from '../scan/json-walls.ts'
import { isOutsideValue } from '../scan/outside-values.ts'
import type { InspectedText, Replacement } from './numbering.ts'
import { overlap } from './prompt-neighbours.ts'
import { wallsOf } from './recognise-prompt.ts'

/** Characters by which a value is found; a shorter one is not. */
const START_CHARACTERS = 4
/** What the lookup of one value counts as, characters. */
const VALUE_UNITS = 32
const WORD_START = /(?<![\p{L}\p{N}])[\p{L}\p{N}+(]/gu
const WORD = /[\p{L}\p{N}]/u

interface Known {
  readonly kind: PiiKind
  readonly order: number
  /** Whether a recogniser found it. It must not change what is exact. */
  readonly isGuess: boolean
}

interface KnownReplacement extends Replacement {
  readonly isGuess: boolean
}

/** The kinds of values, in the order in which they were found, and their lengths by their start. */
class KnownValues {
  readonly #kinds = new Map<string, Known>()
  readonly #lengths = new Map<string, Set<number>>()

  get isEmpty(): boolean {
    return this.#kinds.size === 0
  }

  add(kind: PiiKind, value: string, isGuess: boolean): void {
    this.#kinds.set(value, { kind, order: this.#kinds.size, isGuess })
    const start = value.slice(0, START_CHARACTERS)
    const lengths = this.#lengths.get(start)
    if (lengths === undefined) this.#lengths.set(start, new Set([value.length]))
    else lengths.add(value.length)
  }

  /** Returns the lengths of the values that may be at an offset. */
  lengthsAt(view: string, index: number): ReadonlySet<number> | undefined {
    return this.#lengths.get(view.slice(index, index + START_CHARACTERS))
  }

  /** Returns the value at an offset, the one that was found first; null without one. */
  findAt(view: string, index: number, lengths: ReadonlySet<number>): KnownReplacement | null {
    let first: KnownReplacement | null = null
    let least = Number.POSITIVE_INFINITY
    for (const length of lengths) {
      const end = index + length
      if (end > view.length || WORD.test(view.charAt(end))) continue
      const value = view.slice(index, end)
      const known = this.#kinds.get(value)
      if (known === undefined || known.order > least) continue
      first = { finding: { kind: known.kind, start: index, end }, value, isGuess: known.isGuess }
      least = known.order
    }
    return first
  }
}

/**
 * Adds replacements to the texts of the assistant, for values that an earlier text has and that are
 * not found without a word. Linear in the texts; what comes later changes nothing before it.
 * @param items in the order in which the provider reads them
 * @param isRestored whether values of a kind in a part are restored
 */
export function* addKnownValues(
  items: readonly InspectedText[],
  kinds: KindSet,
  isRestored: (kind: PiiKind, part: TextPart) => boolean,
): Steps<void> {
  const known = new KnownValues()
  const seen = new Set<string>()
  const pace = new Pace()
  for (const item of items) {
    if (!known.isEmpty && item.part === 'assistant') {
      if (pace.isOver(item.view.length)) yield
      yield* addTo(item, known, pace)
    }
    for (const { finding, value } of item.replacements) {
      const { kind } = finding
      if (value.length < START_CHARACTERS || seen.has(value) || !isRestored(kind, item.part)) continue
      seen.add(value)
      if (pace.isOver(value.length)) yield
      const [alone] = yield* detectSteps(value, kinds)
      if (alone?.kind !== kind || alone.end !== value.length) known.add(kind, value, isOutsideValue(finding))
    }
  }
}

/** Merges the known values of a text into its replacements, which are in order. */
function* addTo(item: InspectedText, known: KnownValues, pace: Pace): Steps<void> {
  const { view, text, replacements: found } = item
  const merged: Replacement[] = []
  let walls: JsonWalls | null = null
  let next = 0
  let lastEnd = 0
  for (const { index } of view.matchAll(WORD_START)) {
    const lengths = index < lastEnd ? undefined : known.lengthsAt(view, index)
    if (lengths === undefined) continue
    if (pace.isOver(lengths.size * VALUE_UNITS)) yield
    const one = known.findAt(view, index, lengths)
    if (one === null) continue
    const { end } = one.finding
    if (one.isGuess) {
      if (text.isExact) continue
      walls ??= yield* wallsOf(text)
      if (walls.isIn(one.finding)) continue
    }
    while (next < found.length && found[next]!.finding.end <= index) merged.push(found[next++]!)
    let after = next
    while (after < found.length && found[after]!.finding.start < end) after++
    const others = found.slice(next, after).filter(({ finding }) => overlap(finding, one.finding))
    // A value that is longer is another one.
    if (others.some(({ finding }) => finding.start < index || finding.end > end)) continue
    merged.push(one)
    next = after
    lastEnd = end
  }
  if (lastEnd > 0) item.replacements = [...merged, ...found.slice(next)]
}
