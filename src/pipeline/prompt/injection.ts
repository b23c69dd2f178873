// The injection score of a prompt: the worst of its texts, each by itself and, so that a split hides nothing, with those of
// the same role that a model reads as one text with it.

import type { Text } from '../../chat/texts.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { InjectionMode, InjectionModel, InjectionScore } from '../../detect/injection/score.ts'
import { type Joinable, joinTexts } from './prompt-neighbours.ts'
import type { CachedScan } from './scan-cache.ts'

export interface InjectionEvidence {
  readonly score: number
  /** Of the text, or of the first of those that were read as one. */
  readonly path: string
  /** Null where it is spread over several texts. */
  readonly span: { readonly start: number; readonly end: number } | null
  readonly reasons: readonly string[]
}

/** A text as it is forwarded, with what is known of it. */
interface Scorable extends Joinable {
  readonly text: Pick<Text, 'path' | 'role'>
  readonly cached: CachedScan
}

/** Roles of the operator and of the model. Any other may speak for a stranger, also one that no specification knows. */
const TRUSTED_ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'assistant'])
/** Roles of what is handed in. */
const DOCUMENT_ROLES: ReadonlySet<string> = new Set(['tool', 'function'])
/** A split may fall inside a word or between two. */
const SEPARATORS = ['', ' '] as const

/**
 * Scores the messages of all but the operator and the model. Time is linear in their texts.
 * @param recall as in Search
 */
export function* scoreInjection(
  items: readonly Scorable[],
  model: InjectionModel,
  scanOf: (text: string) => CachedScan,
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
  return worst
}

function* score(
  view: string,
  mode: InjectionMode,
  model: InjectionModel,
  cached: CachedScan,
): Steps<InjectionScore> {
  return cached.score(mode) ?? cached.keepScore(mode, yield* model.scoreSteps(view, mode))
}

/** Texts of strangers with their role, those together that touch and have the same. */
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
