// Settles which finding counts where several overlap. Each is judged as a whole value; then every
// character belongs to the strongest action that concerns it.

import type { Finding } from '../../core/finding.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import type { PiiDecision } from '../../policy/pii-decisions.ts'
import { isReplacing } from '../../policy/rule.ts'
import { type TextPiece, wordsIn } from '../../recognisers/values.ts'

/** What found a value. Between equal actions one that comes earlier here wins. */
const SOURCES = ['detector', 'recogniser', 'neighbours', 'form', 'keyword'] as const
type Source = (typeof SOURCES)[number]

/** A finding with what the rules say of its whole value. */
export interface JudgedFinding extends Finding {
  readonly source: Source
  readonly decision: PiiDecision
  /** Index of the pattern that a rule defines; absent for a built-in kind. */
  readonly pattern?: number
}

/** Returns the decision on a value. @param value as it is in the text */
export type DecideOnValue = (kind: string, value: string) => PiiDecision

/** Judges findings. Those that the rules leave alone hide no other, so they are left out. */
export const judgeFindings = <One extends Finding>(
  found: readonly One[],
  source: Source,
  text: TextPiece,
  decide: DecideOnValue,
): (One & JudgedFinding)[] =>
  found.flatMap((one) => {
    const start = Math.max(0, one.start - text.start)
    const decision = decide(one.kind, text.text.slice(start, one.end - text.start))
    return decision.action === 'allow' ? [] : [{ ...one, source, decision }]
  })

/** The part of a finding that counts. */
export interface SettledPiece<One extends JudgedFinding = JudgedFinding> extends Finding {
  readonly finding: One
  /** Whether it is the first of its finding, which is counted once. */
  readonly isFirst: boolean
}

/**
 * Settles the findings in a text. Pieces are in order, without overlap. One that blocks comes
 * before one that replaces, and that before one that only monitors; then the sources in their
 * order; then the one that begins first, then the longer. The others keep what those do not cover.
 */
export function settle<One extends JudgedFinding>(found: readonly One[], text: string): SettledPiece<One>[] {
  if (isApart(found)) return found.map(wholePiece)
  const growing = new GrowingPieces<One>()
  growing.add(found)
  return growing.take(Number.POSITIVE_INFINITY, { start: 0, text }).pieces
}

/** The piece of a finding that no other overlaps. */
export const wholePiece = <One extends JudgedFinding>(finding: One): SettledPiece<One> => ({
  ...{ kind: finding.kind, start: finding.start, end: finding.end },
  ...{ finding, isFirst: true },
})

/** Whether findings are in order, without overlap. */
const isApart = (found: readonly Finding[]): boolean =>
  found.every(({ start }, index) => index === 0 || found[index - 1]!.end <= start)

interface Waiting<One> {
  readonly finding: One
  isCounted: boolean
}

/** A part of a text that belongs to one finding. */
interface Span<One> {
  readonly one: Waiting<One>
  readonly start: number
  readonly end: number
}

/** Settles the findings in a growing text: gives what `settle` gives of the whole. */
export class GrowingPieces<One extends JudgedFinding> {
  /** Findings that the text before #settled does not end, in any order. */
  #waiting: Waiting<One>[] = []
  #settled = 0
  /** Where the first piece that waits begins and ends; at infinity without one. */
  #next: Pick<Span<One>, 'start' | 'end'> = NOTHING
  #isChanged = false

  /** Adds findings that end after what is settled. */
  add(found: readonly One[]): void {
    for (const finding of found) this.#waiting.push({ finding, isCounted: false })
    if (found.length > 0) this.#isChanged = true
  }

  /**
   * Returns the pieces that have become final, and the offset before which all are.
   * @param safe no further finding begins before this offset
   * @param text that is not settled yet
   */
  take(safe: number, text: TextPiece): { readonly pieces: SettledPiece<One>[]; readonly safe: number } {
    const pieces: SettledPiece<One>[] = []
    if (this.#isChanged || safe >= this.#next.end) {
      this.#next = NOTHING
      for (const span of spansOf(this.#waiting, this.#settled)) {
        // A stronger finding may still begin in it.
        if (span.end > safe) {
          this.#next = span
          break
        }
        const piece = pieceOf(span, text)
        if (piece !== null) pieces.push(piece)
      }
      this.#isChanged = false
    }
    const settled = Math.min(safe, this.#next.start)
    this.#settled = settled
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.filter(({ finding }) => finding.end > settled)
    return { pieces, safe: settled }
  }
}

const NOTHING = { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY }

/** Makes a piece; null without one. In the rest of a recogniser's value only words count. */
function pieceOf<One extends JudgedFinding>(
  { one, start, end }: Span<One>,
  text: TextPiece,
): SettledPiece<One> | null {
  const { finding, isCounted } = one
  const isRest = start > finding.start || end < finding.end
  const words =
    isRest && finding.source === 'recogniser'
      ? wordsIn(text.text.slice(start - text.start, end - text.start))
      : { start: 0, end: end - start }
  if (words === null) return null
  one.isCounted = true
  if (isCounted && finding.decision.action === 'monitor') return null
  const { kind } = finding
  return { kind, start: start + words.start, end: start + words.end, finding, isFirst: !isCounted }
}

/** How strong an action is where findings overlap; a lower number is stronger. */
export function weightOf(action: RuleAction): number {
  if (action === 'block') return 0
  if (isReplacing(action)) return 1
  return action === 'allow' ? 3 : 2
}

const rankOf = ({ decision, source }: JudgedFinding): number =>
  weightOf(decision.action) * SOURCES.length + SOURCES.indexOf(source)

const NO_PATTERN = Number.POSITIVE_INFINITY

/** Orders findings of one rank. Equal ones do not depend on when they were found. */
const inOrder = ({ finding: one }: Waiting<JudgedFinding>, { finding: other }: Waiting<JudgedFinding>) =>
  one.start - other.start ||
  other.end - one.end ||
  (one.pattern === other.pattern ? 0 : (one.pattern ?? NO_PATTERN) - (other.pattern ?? NO_PATTERN))

/** Divides a text from an offset on among findings. Takes one pass for each rank. */
function spansOf<One extends JudgedFinding>(waiting: readonly Waiting<One>[], from: number): Span<One>[] {
  const ranks: Waiting<One>[][] = []
  for (const one of waiting) {
    const rank = rankOf(one.finding)
    if (ranks[rank] === undefined) ranks[rank] = [one]
    else ranks[rank].push(one)
  }
  for (const list of ranks) list?.sort(inOrder)
  let spans: Span<One>[] = []
  for (const [rank, list] of ranks.entries()) {
    if (list === undefined) continue
    const isOfDetector = rank % SOURCES.length === 0
    spans = addSpans(spans, isOfDetector ? withoutContained(list, ranks[rank + 1] ?? []) : list, from)
  }
  return spans
}

/** Leaves out findings that are inside a recogniser's value of the same kind. Both are in order. */
function withoutContained<One extends JudgedFinding>(
  list: readonly Waiting<One>[],
  recognised: readonly Waiting<One>[],
): readonly Waiting<One>[] {
  if (recognised.length === 0) return list
  const ends = new Map<string, number>()
  let next = 0
  return list.filter(({ finding: { kind, start, end } }) => {
    for (; next < recognised.length && recognised[next]!.finding.start <= start; next++) {
      const { finding } = recognised[next]!
      ends.set(finding.kind, Math.max(finding.end, ends.get(finding.kind) ?? 0))
    }
    return (ends.get(kind) ?? 0) < end
  })
}

/** Adds findings, in order, where the text belongs to no other. */
function addSpans<One>(
  spans: readonly Span<One>[],
  list: readonly Waiting<One & Finding>[],
  from: number,
): Span<One>[] {
  const added: Span<One>[] = []
  let covered = from
  let next = 0
  for (const one of list) {
    const { start, end } = one.finding
    let at = Math.max(start, covered)
    while (next < spans.length && spans[next]!.end <= at) next++
    for (let index = next; at < end; index++) {
      const stronger = spans[index]
      const stop = Math.min(end, stronger?.start ?? end)
      if (stop > at) added.push({ one, start: at, end: stop })
      at = Math.max(at, stronger?.end ?? end)
    }
    covered = Math.max(covered, end)
  }
  // Two lists in order, which sorting merges in linear time.
  return added.length === 0 ? [...spans] : [...spans, ...added].sort((a, b) => a.start - b.start)
}
