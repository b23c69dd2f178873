// Scores a prompt for injection. The score is the highest of each text alone, of each group of
// adjacent texts with one role, and of each definition outside messages, so that a split hides
// nothing.

import type { Text } from '../../chat/texts.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { InjectionMode, InjectionModel, InjectionScore } from '../../detect/injection/score.ts'
import type { InjectionEvidence } from '../call/call-record.ts'
import { definitionsOf, scoreDefinition } from './definition-score.ts'
import { scoreNeutral } from './neutral-score.ts'
import { joinTexts, type PromptNeighbour } from './prompt-neighbours.ts'
import type { CachedScan } from './scan-cache.ts'

/** A redacted text with its cached scan. */
interface Scorable extends PromptNeighbour {
  readonly text: Pick<Text, 'path' | 'role' | 'owner'>
  readonly cached: CachedScan
}

/**
 * Roles that speak for the operator. Any other role, also an unknown one, may carry the words of a
 * stranger.
 */
const TRUSTED_ROLES: ReadonlySet<string> = new Set(['system', 'developer'])
/** Roles whose messages, with the tool calls in them, are documents. */
const DOCUMENT_ROLES: ReadonlySet<string> = new Set(['tool', 'function', 'assistant'])
/** A split may fall inside a word or between two words. */
const SEPARATORS = ['', ' '] as const

/**
 * Scores every message whose role is not trusted, and every text outside messages. Time is linear
 * in the texts.
 * @param scanOf as in InspectOptions
 * @param definitionScanOf the same for definitions, which the first call of a conversation repeats
 */
export function* scoreInjection(
  items: readonly Scorable[],
  model: InjectionModel,
  scanOf: (text: string) => CachedScan,
  definitionScanOf: (text: string) => CachedScan,
): Steps<InjectionEvidence> {
  const pace = new Pace()
  let worst: InjectionEvidence = { score: 0, path: '', span: null, reasons: [] }
  for (const [role, group] of groupsOf(items)) {
    const mode: InjectionMode = DOCUMENT_ROLES.has(role) ? 'windows' : 'whole'
    for (const { view, text, cached } of group) {
      if (pace.isOver(view.length)) yield
      const scored = yield* score(view, mode, model, cached)
      if (scored.score > worst.score) worst = { ...scored, path: text.path }
    }
    if (group.length === 1) continue
    const { path } = group[0]!.text
    for (const separator of SEPARATORS) {
      const joined = joinTexts(group, separator)
      if (pace.isOver(joined.length)) yield
      const scored = yield* score(joined, mode, model, scanOf(joined))
      if (scored.score > worst.score) worst = { ...scored, path, span: null }
    }
  }
  for (const definition of definitionsOf(items)) {
    if (pace.isOver(definition.length)) yield
    worst = (yield* scoreDefinition(definition, model, definitionScanOf, worst.score)) ?? worst
  }
  return worst
}

function* score(
  view: string,
  mode: InjectionMode,
  model: InjectionModel,
  cached: CachedScan,
): Steps<InjectionScore> {
  return cached.score(mode) ?? cached.keepScore(mode, yield* scoreNeutral(view, mode, model))
}

/** Yields the untrusted texts with their role; adjacent texts of one role form a group. */
function* groupsOf<T extends Scorable>(items: readonly T[]): Generator<[role: string, group: T[]]> {
  let group: T[] = []
  let role: string | null = null
  for (const item of items) {
    if (item.text.role === null || TRUSTED_ROLES.has(item.text.role)) continue
    const isNext = item.text.role === role && item.joined >= 0 && group.at(-1)!.joined + 1 === item.joined
    if (!isNext && role !== null) {
      yield [role, group]
      group = []
    }
    role = item.text.role
    group.push(item)
  }
  if (role !== null) yield [role, group]
}
