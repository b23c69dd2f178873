// Finds values of a prompt again where the model wrote them without the word that named them.
// Under `restore` the client sends the answer back with the values, and the model must read what it
// wrote.

import type { Finding, PiiKind } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import { isReplacing } from '../../policy/rule.ts'
import type { JsonWalls } from '../scan/json-walls.ts'
import { restorableValue } from '../scan/placeholders.ts'
import { type InspectedText, isReplaced, type PromptFinding, settleText } from './numbering.ts'
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

interface KnownFinding extends Finding {
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
  findAt(view: string, index: number, lengths: ReadonlySet<number>): KnownFinding | null {
    let first: KnownFinding | null = null
    let least = Number.POSITIVE_INFINITY
    for (const length of lengths) {
      const end = index + length
      if (end > view.length || WORD.test(view.charAt(end))) continue
      const value = view.slice(index, end)
      const known = this.#kinds.get(value)
      if (known === undefined || known.order > least) continue
      first = { kind: known.kind, start: index, end, isGuess: known.isGuess }
      least = known.order
    }
    return first
  }
}

/**
 * Adds replacements to the texts of the assistant, for values that an earlier text has and that are
 * not found without a word. Linear in the texts; what comes later changes nothing before it.
 * @param items in the order in which the provider reads them
 */
export function* addKnownValues(
  items: readonly InspectedText[],
  kinds: KindSet,
  selection: Selection,
): Steps<void> {
  const known = new KnownValues()
  const seen = new Set<string>()
  const pace = new Pace()
  for (const item of items) {
    if (!known.isEmpty && item.part === 'assistant') {
      if (pace.isOver(item.view.length)) yield
      yield* addTo(item, known, selection, pace)
    }
    for (const { finding, value, decision, isGuess } of item.replacements) {
      const { kind } = finding
      if (value.length < START_CHARACTERS || seen.has(value) || !decision.restores) continue
      seen.add(value)
      if (pace.isOver(value.length)) yield
      const [alone] = yield* detectSteps(value, kinds)
      if (alone?.kind !== kind || alone.end !== value.length) known.add(kind, value, isGuess === true)
    }
  }
}

/** Adds the known values of a text to what was found in it. */
function* addTo(item: InspectedText, known: KnownValues, selection: Selection, pace: Pace): Steps<void> {
  const { view, text, part, found } = item
  const strong = item.replacements.filter(isReplaced)
  const added: PromptFinding[] = []
  let walls: JsonWalls | null = null
  let next = 0
  let lastEnd = 0
  for (const { index } of view.matchAll(WORD_START)) {
    const lengths = index < lastEnd ? undefined : known.lengthsAt(view, index)
    if (lengths === undefined) continue
    if (pace.isOver(lengths.size * VALUE_UNITS)) yield
    const one = known.findAt(view, index, lengths)
    if (one === null) continue
    const { kind, start, end, isGuess } = one
    if (isGuess) {
      if (text.isExact) continue
      walls ??= yield* wallsOf(text)
      if (walls.isIn(one)) continue
    }
    while (next < strong.length && strong[next]!.finding.end <= index) next++
    let after = next
    while (after < strong.length && strong[after]!.finding.start < end) after++
    const others = strong.slice(next, after)
    // A value that is longer is another one.
    if (others.some(({ finding }) => finding.start < index || finding.end > end)) continue
    const decision = selection.piiValue(kind, part, restorableValue(kind, view.slice(start, end)))
    if (decision.action === 'allow') continue
    added.push({ kind, start, end, decision, source: 'detector' })
    next = after
    lastEnd = end
  }
  if (added.length > 0) settleText(item, [...withoutInner(found, added), ...added])
}

/** Leaves out what is replaced inside values that were added, which are in order. */
function withoutInner(
  found: readonly PromptFinding[],
  added: readonly PromptFinding[],
): readonly PromptFinding[] {
  let next = 0
  return [...found]
    .sort((a, b) => a.start - b.start)
    .filter(({ start, end, decision }) => {
      while (next < added.length && added[next]!.end <= start) next++
      const around = added[next]
      const isInner = around !== undefined && around.start <= start && end <= around.end
      return !isInner || !isReplacing(decision.action)
    })
}
