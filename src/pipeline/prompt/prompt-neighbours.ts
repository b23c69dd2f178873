// Joins adjacent texts of a prompt, because a model reads parts and neighbouring messages as one
// text. Finds personal data that is split over several texts, with the part in each.

import type { Finding } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { detectInAdjacentTexts } from '../../detect/pii/engine/adjacent-texts.ts'
import { type KeyRest, restOfKey } from '../../detect/pii/keyblock.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { concerns, findAnywhere, joinFindings } from '../scan/open-kinds.ts'

/**
 * Characters at the start and end of a text that take part in the joined search. Longer than any
 * personal data and any sensible keyword; keeps the search linear in the number of texts.
 */
const EXCERPT_CHARACTERS = 1024

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

/** Finds values that begin in one text and end in a later one; returns the parts of each. */
/** @param open rules that define kinds; null without any */
export function* findSplitData<T extends SpokenNeighbour>(
  items: readonly T[],
  kinds: KindSet,
  open: ValueRules | null = null,
): Steps<SplitPart<T>[][]> {
  if (items.length < 2) return []
  const data = yield* findJoined(items, kinds, open, '')
  // A model also reads a break between two texts, as in `4111 1111` and `1111 1111`.
  const separate = yield* findJoined(items, kinds, open, ' ')
  return [...data, ...separate.filter((parts) => !data.some((known) => shareText(known, parts)))]
}

/** Reports whether two findings in one text share a character. */
export const overlap = (one: Finding, other: Finding): boolean =>
  one.start < other.end && other.start < one.end

const shareText = <T>(some: readonly SplitPart<T>[], others: readonly SplitPart<T>[]): boolean =>
  some.some(({ item, finding }) =>
    others.some((other) => other.item === item && overlap(other.finding, finding)),
  )

function* findJoined<T extends SpokenNeighbour>(
  items: readonly T[],
  kinds: KindSet,
  open: ValueRules | null,
  separator: string,
): Steps<SplitPart<T>[][]> {
  const { joined, excerpts } = joinExcerpts(items, separator)
  const boundaries = excerpts
    .filter(
      ({ end }, index) =>
        joined.slice(end, excerpts[index + 1]?.start) === separator && index + 1 < excerpts.length,
    )
    .map(({ end }) => end)
  const data: SplitPart<T>[][] = []
  let first = 0
  const builtIn = yield* detectInAdjacentTexts(joined, boundaries, kinds)
  const values = open === null ? [] : yield* findAnywhere(open, joined)
  for (const finding of joinFindings<Finding & { readonly pattern?: number }>(values, builtIn)) {
    while (excerpts[first]!.end <= finding.start) first++
    if (excerpts[first]!.end >= finding.end) continue
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
    const { pattern } = finding
    if (pattern === undefined || parts.every(({ item }) => concerns(open!, pattern, item.part)))
      data.push(parts)
  }
  return data
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
