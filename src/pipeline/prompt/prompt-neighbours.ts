// Joins adjacent texts of a prompt, because a model reads parts and neighbouring messages as one
// text. Finds personal data that is split over several texts, with the part in each.

import type { Finding } from '../../core/finding.ts'
import { firstEndingAfter } from '../../core/ranges.ts'
import type { Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { detectInAdjacentTexts } from '../../detect/pii/engine/adjacent-texts.ts'
import { type KeyRest, restOfKey } from '../../detect/pii/keyblock.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { concerns, findAnywhere } from '../scan/open-kinds.ts'

/**
 * Characters at the start and end of a text that take part in the joined search. Longer than any
 * personal data and any sensible keyword; keeps the search linear in the number of texts.
 */
export const EXCERPT_CHARACTERS = 1024

/**
 * Replaces the middle of a long text, and separates texts that are not adjacent. No pattern matches
 * this noncharacter.
 */
const GAP = '\uFFFE'

/** A text that may continue in the next one. */
export interface PromptNeighbour {
  readonly view: string
  /** Consecutive numbers mark adjacent texts. */
  readonly joined: number
}

/** One whose speaker rules tell apart. */
export interface SpokenNeighbour extends PromptNeighbour {
  readonly part: TextPart
}

/** The part of a split value in one text. */
export interface SplitPart<T> {
  readonly item: T
  readonly finding: Finding
  /** The whole value in the first part; empty in the others. */
  readonly value: string
}

/**
 * A part of the joined text that comes from one text. Adding `shift` to an offset in the joined
 * text gives the offset in that text.
 */
interface Excerpt<T> {
  readonly item: T
  readonly start: number
  readonly end: number
  readonly shift: number
}

/** Joins the texts, with `separator` between adjacent ones. */
export function joinTexts<T extends PromptNeighbour>(items: readonly T[], separator: string): string {
  return joinExcerpts(items, separator).joined
}

/** A value that begins in one text and ends in a later one. */
export interface SplitFinding<T> {
  readonly parts: readonly SplitPart<T>[]
  /** Whether a rule defines its kind. */
  readonly isOpen: boolean
}

/**
 * Finds values that are split over texts. Those that overlap are all returned, but of values that
 * are found with and without a break between the texts those without.
 * @param open rules that define kinds; null without any
 * @param weightOf how strong the action on a value is, lower for a stronger one
 */
export function* findSplitData<T extends SpokenNeighbour>(
  items: readonly T[],
  kinds: KindSet,
  open: ValueRules | null = null,
  weightOf: (parts: readonly SplitPart<T>[]) => number = () => 0,
): Steps<SplitFinding<T>[]> {
  if (items.length < 2) return []
  const data = yield* findJoined(items, kinds, open, '')
  // A model also reads a break between two texts, as in `4111 1111` and `1111 1111`.
  const separate = yield* findJoined(items, kinds, open, ' ')
  const known = new WeighedParts<T>()
  for (const { parts } of data) known.add(parts, weightOf(parts))
  return [...data, ...separate.filter(({ parts }) => !known.hide(parts, weightOf(parts)))]
}

/** Parts of values by their texts. */
class WeighedParts<T> {
  readonly #parts = new Map<T, { readonly finding: Finding; readonly weight: number }[]>()

  add(parts: readonly SplitPart<T>[], weight: number): void {
    for (const { item, finding } of parts) {
      const known = this.#parts.get(item)
      if (known === undefined) this.#parts.set(item, [{ finding, weight }])
      else known.push({ finding, weight })
    }
  }

  /** Whether one that is at least as strong overlaps the parts. */
  hide(parts: readonly SplitPart<T>[], weight: number): boolean {
    const isStronger = (one: { readonly weight: number }) => one.weight <= weight
    return parts.some(({ item, finding }) =>
      this.#parts.get(item)?.some((one) => isStronger(one) && overlap(one.finding, finding)),
    )
  }
}

/** Reports whether two findings in one text share a character. */
export const overlap = (one: Finding, other: Finding): boolean =>
  one.start < other.end && other.start < one.end

function* findJoined<T extends SpokenNeighbour>(
  items: readonly T[],
  kinds: KindSet,
  open: ValueRules | null,
  separator: string,
): Steps<SplitFinding<T>[]> {
  const { joined, excerpts } = joinExcerpts(items, separator)
  const boundaries = excerpts
    .filter(
      ({ end }, index) =>
        joined.slice(end, excerpts[index + 1]?.start) === separator && index + 1 < excerpts.length,
    )
    .map(({ end }) => end)
  const builtIn = yield* detectInAdjacentTexts(joined, boundaries, kinds)
  const split = builtIn.map((finding) => ({ parts: partsOf(finding, joined, excerpts), isOpen: false }))
  const values = open === null ? [] : yield* findAnywhere(open, joined)
  for (const finding of values) {
    const parts = partsOf(finding, joined, excerpts)
    if (parts.every(({ item }) => concerns(open!, finding.pattern, item.part)))
      split.push({ parts, isOpen: true })
  }
  return split.filter(({ parts }) => parts.length > 0)
}

/** Divides a value among its texts. @returns none for one that is inside a text */
function partsOf<T>(finding: Finding, joined: string, excerpts: readonly Excerpt<T>[]): SplitPart<T>[] {
  const first = firstEndingAfter(excerpts, finding.start)
  if (excerpts[first]!.end >= finding.end) return []
  const value = joined.slice(finding.start, finding.end)
  const parts: SplitPart<T>[] = []
  for (let i = first; i < excerpts.length && excerpts[i]!.start < finding.end; i++) {
    const { item, start, end, shift } = excerpts[i]!
    const part = {
      kind: finding.kind,
      start: Math.max(finding.start, start) + shift,
      end: Math.min(finding.end, end) + shift,
    }
    if (part.end > part.start) parts.push({ item, finding: part, value: i === first ? value : '' })
  }
  return parts
}

/**
 * Finds the rest of each PEM key in the texts after the one it begins in. Keys are longer than the
 * joined excerpts.
 * @param isOpen whether a text ends inside a key
 */
export function findRestsOfKeys<T extends PromptNeighbour>(
  items: readonly T[],
  isOpen: (item: T) => boolean,
): SplitPart<T>[] {
  const parts: SplitPart<T>[] = []
  let inKey = false
  for (const [index, item] of items.entries()) {
    const continues: boolean = inKey && items[index - 1]!.joined + 1 === item.joined
    const { end, isOver }: KeyRest = continues ? restOfKey(item.view) : { end: 0, isOver: true }
    if (end > 0) parts.push({ item, finding: { kind: 'secret', start: 0, end }, value: '' })
    inKey = isOpen(item) || (end > 0 && !isOver)
  }
  return parts
}

function joinExcerpts<T extends PromptNeighbour>(
  items: readonly T[],
  separator: string,
): { readonly joined: string; readonly excerpts: readonly Excerpt<T>[] } {
  const excerpts: Excerpt<T>[] = []
  let joined = ''
  const add = (item: T, from: number, to: number) => {
    excerpts.push({ item, start: joined.length, end: joined.length + to - from, shift: from - joined.length })
    joined += item.view.slice(from, to)
  }
  items.forEach((item, index) => {
    const { view } = item
    const before = items[index - 1]
    if (before !== undefined) joined += before.joined + 1 === item.joined ? separator : GAP
    if (view.length <= 2 * EXCERPT_CHARACTERS) {
      add(item, 0, view.length)
      return
    }
    add(item, 0, EXCERPT_CHARACTERS)
    joined += GAP
    add(item, view.length - EXCERPT_CHARACTERS, view.length)
  })
  return { joined, excerpts }
}
