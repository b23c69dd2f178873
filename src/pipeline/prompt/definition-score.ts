// Scores the texts outside messages for injection: tool definitions, schemas and settings. Their
// authors give the model orders, so a text scores high only if it looks like an attack to a reader
// of documents and to a reader of messages.

import type { Text } from '../../chat/texts.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { InjectionScore } from '../../detect/injection/score.ts'
import type { InjectionEvidence } from '../call/call-record.ts'
import { type NeutralModel, scoreNeutral } from './neutral-score.ts'
import type { ScanOf } from './scan-cache.ts'

/** A redacted text outside messages. */
interface DefinitionText {
  readonly text: Pick<Text, 'path' | 'role' | 'owner'>
  readonly view: string
}

/** Between the texts of a definition. A noncharacter, so that equal joins have equal texts. */
const BREAK = '\uFFFE'

/**
 * A sentence. Orders add up in a window, and definitions are full of them; an attack differs from
 * them in one sentence.
 */
const SENTENCE = /[^\n\uFFFE。！？]+?(?:[.!?:](?=\s)|[。！？]|(?=[\n\uFFFE。！？])|$)/g
/** Shorter sentences, in UTF-16 units, are no attack alone. */
const MIN_SENTENCE = 16
/** Shortest definition, in UTF-16 units, that is remembered: a score takes longer than a hash. */
const MIN_CACHED = 16
/** Subtracted from the margin of a whole definition, whose evidence is spread over sentences. */
const SPREAD_HANDICAP = 1.5

/** Yields the texts of each definition. */
export function* definitionsOf<T extends DefinitionText>(items: readonly T[]): Generator<T[]> {
  let group: T[] = []
  let owner: Text['owner'] = null
  for (const item of items) {
    if (item.text.role !== null) continue
    if (group.length > 0 && item.text.owner !== owner) {
      yield group
      group = []
    }
    owner = item.text.owner
    group.push(item)
  }
  if (group.length > 0) yield group
}

/**
 * Scores one definition. Time is linear in its texts.
 * @param scanOf as in InspectOptions
 * @param least the score to exceed
 * @returns null for a score of at most `least`
 */
export function* scoreDefinition(
  group: readonly DefinitionText[],
  model: NeutralModel,
  scanOf: ScanOf,
  least: number,
): Steps<InjectionEvidence | null> {
  const joined = group.map(({ view }) => view).join(BREAK)
  const cached = scanOf(joined, MIN_CACHED)
  const scored =
    cached.score('definition') ?? cached.keepScore('definition', yield* scoreJoined(joined, model))
  return scored.score <= least ? null : { ...scored, ...locate(group, scored.span) }
}

/** The highest score of each sentence alone, and of the whole with its handicap. */
function* scoreJoined(joined: string, model: NeutralModel): Steps<InjectionScore> {
  const pace = new Pace()
  let best: InjectionScore = { score: 0, span: null, reasons: [] }
  for (const { 0: sentence, index } of joined.matchAll(SENTENCE)) {
    if (sentence.length < MIN_SENTENCE) continue
    if (pace.isOver(sentence.length)) yield
    const scored = yield* scoreBoth(sentence, model, 0, best.score)
    if (scored === null) continue
    const { span } = scored
    best = { ...scored, span: span && { start: span.start + index, end: span.end + index } }
  }
  const text = joined.replaceAll(BREAK, '\n')
  return (yield* scoreBoth(text, model, SPREAD_HANDICAP, best.score)) ?? best
}

/** The lower score of both modes, less the handicap; null unless it exceeds `least`. */
function* scoreBoth(
  text: string,
  model: NeutralModel,
  handicap: number,
  least: number,
): Steps<InjectionScore | null> {
  const document = yield* scoreNeutral(text, 'windows', model)
  if (lowered(document.score, handicap) <= least) return null
  const message = yield* scoreNeutral(text, 'whole', model)
  const lower = message.score < document.score ? message : document
  const score = lowered(lower.score, handicap)
  return score <= least ? null : { score, span: document.span, reasons: lower.reasons }
}

/** A score whose margin, its logarithm of odds, is reduced. */
const lowered = (score: number, handicap: number): number =>
  handicap === 0 ? score : score / (score + (1 - score) * Math.exp(handicap))

/** The text that holds a span of the join; the first one, without a span, if several do. */
function locate(
  group: readonly DefinitionText[],
  span: InjectionScore['span'],
): Pick<InjectionEvidence, 'path' | 'span'> {
  let from = 0
  for (const { text, view } of group) {
    const to = from + view.length
    if (span !== null && span.start <= to)
      return {
        path: text.path,
        span: span.end <= to ? { start: span.start - from, end: span.end - from } : null,
      }
    from = to + BREAK.length
  }
  return { path: group[0]!.text.path, span: null }
}
