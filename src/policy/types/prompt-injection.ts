// Rules of type prompt_injection: attacks in prompts.

import {
  FIGURES_SCORE,
  LANGUAGE_FIGURES,
  type LanguageFigures,
} from '../../detect/injection/language-figures.ts'
import { type PatternRefusal, type RuleType, type RuleWarning, refuse, type TypedRule } from '../rule-type.ts'

interface InjectionPattern {
  readonly type: 'prompt_injection'
  /** Null means the model's own. */
  readonly threshold: number | null
}

export const PROMPT_INJECTION: RuleType<InjectionPattern> = {
  name: 'prompt_injection',
  actions: ['block', 'monitor'],
  directions: { allowed: ['request'], because: 'only prompts are scored for injection' },
  readsTexts: true,
  checks: 'attacks in prompts',
  writing: 'empty, or a threshold such as `score>=0.70`',
  form: { isList: false, hint: 'Empty, or a threshold such as score>=0.70.' },
  parse: (written) => parseThreshold(String(written)),
  includes({ pattern: { threshold: wide } }, { pattern: { threshold: narrow } }) {
    return wide === null || narrow === null ? wide === narrow : wide <= narrow
  },
  lint: lintThreshold,
  fires: ({ threshold }, { injectionScore, modelThreshold }) =>
    injectionScore !== null && injectionScore >= (threshold ?? modelThreshold),
}

const THRESHOLD = /^score\s*>=\s*(0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/

function parseThreshold(pattern: string): InjectionPattern | PatternRefusal {
  const text = pattern.trim()
  if (text === '') return { type: 'prompt_injection', threshold: null }
  const threshold = Number(THRESHOLD.exec(text)?.[1])
  if (threshold > 0) return { type: 'prompt_injection', threshold }
  return refuse('must be empty, or a threshold above 0 and up to 1 such as `score>=0.70`')
}

/** Below this score ordinary instructions to a model count as attacks. */
const LOW_THRESHOLD = 0.3

function lintThreshold({ rule, pattern }: TypedRule<InjectionPattern>): RuleWarning[] {
  const threshold = pattern.threshold ?? FIGURES_SCORE
  const warn = (message: string): RuleWarning[] => [{ field: 'pattern', message }]
  if (threshold < LOW_THRESHOLD)
    return warn(`fires on ordinary prompts; thresholds below ${LOW_THRESHOLD} are for experiments`)
  const unfair = LANGUAGE_FIGURES.filter(({ blockFrom }) => threshold < blockFrom)
  return rule.action === 'block' && unfair.length > 0 ? warn(unfairMessage(unfair)) : []
}

function unfairMessage(unfair: readonly LanguageFigures[]): string {
  const names = unfair.map(({ language }) => language).join(', ')
  const least = Math.max(...unfair.map(({ blockFrom }) => blockFrom))
  return `blocks more than 1 % of innocent texts in ${names}; use score>=${least} or \`monitor\``
}
