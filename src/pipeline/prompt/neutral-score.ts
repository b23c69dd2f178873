// Scores a text for injection as if the placeholders of personal data were not in it.

import type { Steps } from '../../core/steps.ts'
import type { InjectionMode, InjectionModel, InjectionScore } from '../../detect/injection/score.ts'
import { isLabel } from '../scan/placeholders.ts'
import { PSEUDONYM_CHARACTERS } from '../scan/pseudonyms.ts'

/** The forms of placeholders, with the space before each. */
const FORMS = new RegExp(` ?\\[([A-Z]+(?:_[A-Z]+)*)_(?:[0-9]{1,9}|${PSEUDONYM_CHARACTERS})\\]`, 'g')

/** Scores texts without placeholders. */
export interface NeutralModel {
  readonly injection: InjectionModel
  /** Labels of open kinds. */
  readonly openLabels: ReadonlySet<string>
}

/**
 * Scores a text without its placeholders, which are words of no one. A text without placeholders
 * is scored as written. The span counts in the text as given.
 */
export function* scoreNeutral(
  view: string,
  mode: InjectionMode,
  { injection: model, openLabels }: NeutralModel,
): Steps<InjectionScore> {
  const removed = view.includes('[')
    ? [...view.matchAll(FORMS)].filter(([, label = '']) => isLabel(label, openLabels))
    : []
  if (removed.length === 0) return yield* model.scoreSteps(view, mode)
  const rest = view.replace(FORMS, (form, label: string) => (isLabel(label, openLabels) ? '' : form))
  const scored = yield* model.scoreSteps(rest, mode)
  if (scored.span === null) return scored
  let { start, end } = scored.span
  for (const { 0: form, index } of removed) {
    if (index <= start) start += form.length
    if (index < end) end += form.length
  }
  return { ...scored, span: { start, end } }
}
