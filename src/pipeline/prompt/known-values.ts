// Finds values of a prompt again where the model wrote them without the word that named them.
// Under `restore` the client sends the answer back with the values, and the model must read what it
// wrote.

import type { PiiKind } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { InspectedText } from './numbering.ts'
import { overlap } from './prompt-neighbours.ts'

/** Characters by which a value is found; a shorter one is not. */
const START_CHARACTERS = 4
const WORD_START = /(?<![\p{L}\p{N}])[\p{L}\p{N}+(]/gu
const WORD = /[\p{L}\p{N}]/u

interface KnownValue {
  readonly kind: PiiKind
  readonly value: string
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
  const byStart = new Map<string, KnownValue[]>()
  const seen = new Set<string>()
  const pace = new Pace()
  for (const item of items) {
    if (byStart.size > 0 && item.part === 'assistant') {
      if (pace.isOver(item.view.length)) yield
      addTo(item, byStart)
    }
    for (const { finding, value } of item.replacements) {
      const { kind } = finding
      if (value.length < START_CHARACTERS || seen.has(value) || !isRestored(kind, item.part)) continue
      seen.add(value)
      const [alone] = yield* detectSteps(value, kinds)
      if (alone?.kind === kind && alone.end === value.length) continue
      const start = value.slice(0, START_CHARACTERS)
      byStart.set(start, [...(byStart.get(start) ?? []), { kind, value }])
    }
  }
}

function addTo(item: InspectedText, byStart: ReadonlyMap<string, readonly KnownValue[]>): void {
  const { view } = item
  for (const { index } of view.matchAll(WORD_START)) {
    const known = byStart.get(view.slice(index, index + START_CHARACTERS))
    const one = known?.find(
      ({ value }) => view.startsWith(value, index) && endsAt(view, index + value.length),
    )
    if (one === undefined) continue
    const finding = { kind: one.kind, start: index, end: index + one.value.length }
    const others = item.replacements.filter((other) => overlap(other.finding, finding))
    // A value that is longer is another one.
    if (others.some((other) => other.finding.start < finding.start || other.finding.end > finding.end))
      continue
    item.replacements = [
      ...item.replacements.filter((other) => !others.includes(other)),
      { finding, value: one.value },
    ].sort((a, b) => a.finding.start - b.finding.start)
  }
}

const endsAt = (view: string, end: number): boolean => !WORD.test(view.charAt(end))
