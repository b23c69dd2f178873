// Scores one text for injection without its placeholders.

import { PII_KINDS } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import type { InjectionMode, InjectionModel, InjectionScore } from '../../detect/injection/score.ts'

/** Placeholders of personal data, with the space before each. */
const PLACEHOLDERS = new RegExp(
  ` ?\\[(?:${PII_KINDS.map((kind) => kind.toUpperCase()).join('|')})_[0-9]{1,9}\\]`,
  'g',
)

/**
 * Scores a text without its placeholders, which are words of no one. A text without placeholders
 * is scored as written. The span counts in the text as given.
 */
export function* scoreNeutral(
  view: string,
  mode: InjectionMode,
  model: InjectionModel,
): Steps<InjectionScore> {
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
