// The HTTP API of the Presidio analyzer: what `POST /analyze` takes and answers. Its offsets count
// code points, as Python does; ours count UTF-16 units.

import type { RecogniserConfig } from '../core/recogniser-config.ts'
import type { RecognisedValue } from './values.ts'

type Asked = Pick<RecogniserConfig, 'kinds' | 'language' | 'minScore'>

/** The body of a request for one text. */
export const requestBody = (text: string, { kinds, language, minScore }: Asked): string =>
  JSON.stringify({
    // Python encodes no half of a surrogate pair. The replacement is as long.
    text: text.toWellFormed(),
    language,
    entities: kinds.map((kind) => kind.toUpperCase()),
    score_threshold: minScore,
  })

/**
 * Reads the answer for a text: the values of the kinds that were asked for, by their starts, those
 * of one kind without overlap. The longer of two wins, and the rest of the other stays.
 * @throws Error with what is wrong, without any text of the answer
 */
export function readAnswer(answer: string, text: string, { kinds, minScore }: Asked): RecognisedValue[] {
  const items = parseList(answer)
  const units = unitsOf(text)
  const found: RecognisedValue[] = []
  for (const item of items) {
    const { entity_type: type, start, end, score } = (item ?? {}) as Record<string, unknown>
    if (typeof type !== 'string') throw new Error('a finding has no entity_type')
    if (typeof score !== 'number') throw new Error('a finding has no score')
    const [from, to] = [units(start), units(end)]
    if (from === undefined || to === undefined || from >= to)
      throw new Error('a finding is not inside the text')
    const kind = type.toLowerCase()
    if (kinds.includes(kind) && score >= minScore) found.push({ kind, start: from, end: to })
  }
  return withoutOverlap(found)
}

function parseList(answer: string): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(answer)
  } catch {
    throw new Error('the answer is not JSON')
  }
  if (!Array.isArray(value)) throw new Error('the answer is not a list of findings')
  return value
}

/** Returns what maps an offset in code points to UTF-16 units; undefined outside the text. */
function unitsOf(text: string): (offset: unknown) => number | undefined {
  const isIn = (offset: unknown, end: number): offset is number =>
    Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= end
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => (isIn(offset, text.length) ? offset : undefined)
  const units: number[] = []
  let at = 0
  for (const character of text) {
    units.push(at)
    at += character.length
  }
  units.push(at)
  return (offset) => (isIn(offset, units.length - 1) ? units[offset] : undefined)
}

function withoutOverlap(found: RecognisedValue[]): RecognisedValue[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const covered = new Map<string, number>()
  const kept = found.flatMap(({ kind, start, end }) => {
    const from = Math.max(start, covered.get(kind) ?? 0)
    if (end <= from) return []
    covered.set(kind, end)
    return [{ kind, start: from, end }]
  })
  return kept.sort((a, b) => a.start - b.start || b.end - a.end)
}
