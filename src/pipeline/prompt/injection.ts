// Scores a prompt for injection. The score is the highest of each text alone and of each group of
// adjacent texts with one role, so that a split hides nothing.

import type { Text } from '../../chat/texts.ts'
import { PII_KINDS } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { InjectionMode, InjectionModel, InjectionScore } from '../../detect/injection/score.ts'
import { joinTexts, type PromptNeighbour } from './prompt-neighbours.ts'
import type { CachedScan } from './scan-cache.ts'

export interface InjectionEvidence {
  readonly score: number
  /** Path of the text, or of the first text of the group. */
  readonly path: string
  /** Null when the evidence is spread over several texts. */
  readonly span: { readonly start: number; readonly end: number } | null
  readonly reasons: readonly string[]
}

/** A redacted text with its cached scan. */
interface Scorable extends PromptNeighbour {
  readonly text: Pick<Text, 'path' | 'role'>
  readonly cached: CachedScan
}

/**
 * Roles that speak for the operator or the model. Any other role, also an unknown one, may carry
 * the words of a stranger.
 */
const TRUSTED_ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'assistant'])
/** Roles whose messages are documents. */
const DOCUMENT_ROLES: ReadonlySet<string> = new Set(['tool', 'function'])
/** A split may fall inside a word or between two words. */
const SEPARATORS = ['', ' '] as const

/**
 * Scores every message whose role is not trusted. Time is linear in the texts.
 * @param scanOf as in InspectOptions
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

/** Placeholders of personal data, with the space before each. */
const PLACEHOLDERS = new RegExp(
  ` ?\\[(?:${PII_KINDS.map((kind) => kind.toUpperCase()).join('|')})_[0-9]{1,9}\\]`,
  'g',
)

/**
 * Scores a text without its placeholders, which are words of no one. A text without placeholders
 * is scored as written. The
 * span counts in the text as given.
 */
function* scoreNeutral(view: string, mode: InjectionMode, model: InjectionModel): Steps<InjectionScore> {
  const removed = view.includes('[') ? [...view.matchAll(PLACEHOLDERS)] : []
  if (removed.length === 0) return yield* model.scoreSteps(view, mode)
  const scored = yield* model.scoreSteps(view.replace(PLACEHOLDERS, ''), mode)
  if (scored.span === null) return scored
  let { start, end } = scored.span
  for (const { 0: form, index } of removed) {
    if (index <= start) start += form.length
    if (index < end) end += form.length
  }
  return { ...scored, span: { start, end } }
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
