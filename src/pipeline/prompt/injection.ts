// Scores a prompt for injection. The score is the highest of each text alone, of each group of
// adjacent texts with one role, of the last messages of the user, and of each definition outside
// messages, so that a split hides nothing.

import type { Text } from '../../chat/texts.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import { TEXT_PARTS, type TextPart } from '../../core/text-part.ts'
import type { InjectionMode, InjectionScore } from '../../detect/injection/score.ts'
import type { Selection } from '../../policy/compile.ts'
import type { RuleParts } from '../../policy/rule.ts'
import type { InjectionEvidence } from '../call/call-record.ts'
import { definitionsOf, scoreDefinition } from './definition-score.ts'
import { type NeutralModel, scoreNeutral } from './neutral-score.ts'
import { joinTexts, type PromptNeighbour } from './prompt-neighbours.ts'
import type { CachedScan, ScanOf } from './scan-cache.ts'

/** A redacted text with its cached scan. */
interface Scorable extends PromptNeighbour {
  readonly text: Pick<Text, 'path' | 'role' | 'owner'>
  readonly part: TextPart
  readonly cached: CachedScan
}

/** Parts whose texts, with the tool calls in them, are documents. */
const DOCUMENTS: ReadonlySet<TextPart> = new Set(['tool_result', 'assistant'])
/** A split may fall inside a word or between two words. */
const SEPARATORS = ['', ' '] as const
/**
 * Messages of the user that are scored as one text, with anything between them. The last: what
 * came before was last in an earlier turn.
 */
const MAXIMUM_JOINED_MESSAGES = 4
/** Maximum UTF-16 units of that text. Its end counts. */
const MAXIMUM_JOINED_UNITS = 8192

const NO_SCORE: InjectionEvidence = { score: 0, path: '', span: null, reasons: [] }

/** The scores of a prompt. */
export class PromptScore {
  readonly #byPart = new Map<TextPart, InjectionEvidence>()

  /** The highest score of the parts; of all without parts. */
  worst(parts: RuleParts): InjectionEvidence {
    let worst = NO_SCORE
    for (const [part, scored] of this.#byPart)
      if (scored.score > worst.score && (parts === null || parts.includes(part))) worst = scored
    return worst
  }

  /** Keeps a score of a part when it is the highest so far. */
  add(part: TextPart, scored: InjectionEvidence): void {
    if (scored.score > this.worst([part]).score) this.#byPart.set(part, scored)
  }
}

/**
 * The parts that some of the rules ask for.
 * @param isAlways whether a prompt is scored without rules, which asks for all parts
 */
export const partsToScore = (
  { injection: rules, tools }: Pick<Selection, 'injection' | 'tools'>,
  isAlways: boolean,
): readonly TextPart[] =>
  rules.length === 0 && isAlways
    ? TEXT_PARTS
    : TEXT_PARTS.filter(
        (part) =>
          rules.some(({ parts }) => parts === null || parts.includes(part)) ||
          (part === 'tool_result' && tools?.asksForScore === true),
      )

/**
 * Scores every message that does not speak for the operator, and every text outside messages. Time
 * is linear in the texts.
 * @param parts to score
 * @param scanOf as in InspectOptions
 * @param definitionScanOf the same for definitions, which the first call of a conversation repeats
 */
export function* scoreInjection(
  items: readonly Scorable[],
  parts: readonly TextPart[],
  model: NeutralModel,
  scanOf: (text: string) => CachedScan,
  definitionScanOf: ScanOf,
): Steps<PromptScore> {
  const pace = new Pace()
  const scores = new PromptScore()
  const groups = [...groupsOf(items)]
  for (const group of groups) {
    const { part, text } = group[0]!
    if (!parts.includes(part)) continue
    const mode: InjectionMode = DOCUMENTS.has(part) ? 'windows' : 'whole'
    for (const { view, text, cached } of group) {
      if (pace.isOver(view.length)) yield
      scores.add(part, { ...(yield* score(view, mode, model, cached)), path: text.path })
    }
    if (group.length === 1) continue
    for (const separator of SEPARATORS) {
      const joined = joinTexts(group, separator)
      if (pace.isOver(joined.length)) yield
      const scored = yield* score(joined, mode, model, scanOf(joined))
      scores.add(part, { ...scored, path: text.path, span: null })
    }
  }
  const turns = parts.includes('user') ? lastTurns(groups) : []
  if (turns.length > 1) {
    yield
    const joined = turns
      .map((turn) => joinTexts(turn, ' '))
      .join(' ')
      .slice(-MAXIMUM_JOINED_UNITS)
    const scored = yield* score(joined, 'whole', model, scanOf(joined))
    scores.add('user', { ...scored, path: turns.at(-1)![0]!.text.path, span: null })
  }
  for (const definition of parts.includes('system') ? definitionsOf(items) : []) {
    if (pace.isOver(definition.length)) yield
    const least = scores.worst(['system']).score
    const scored = yield* scoreDefinition(definition, model, definitionScanOf, least)
    if (scored !== null) scores.add('system', scored)
  }
  return scores
}

/** The last messages of the user; adjacent ones are one. */
const lastTurns = <T extends Scorable>(groups: readonly (readonly T[])[]): (readonly T[])[] =>
  groups.filter(([first]) => first!.part === 'user' && first!.joined >= 0).slice(-MAXIMUM_JOINED_MESSAGES)

function* score(
  view: string,
  mode: InjectionMode,
  model: NeutralModel,
  cached: CachedScan,
): Steps<InjectionScore> {
  return cached.score(mode) ?? cached.keepScore(mode, yield* scoreNeutral(view, mode, model))
}

/**
 * Yields the texts of messages that do not speak for the operator; adjacent texts of one role form
 * a group.
 */
function* groupsOf<T extends Scorable>(items: readonly T[]): Generator<T[]> {
  let group: T[] = []
  for (const item of items) {
    if (item.part === 'system') continue
    const last = group.at(-1)
    const isNext = last?.text.role === item.text.role && item.joined >= 0 && last.joined + 1 === item.joined
    if (!isNext && group.length > 0) {
      yield group
      group = []
    }
    group.push(item)
  }
  if (group.length > 0) yield group
}
