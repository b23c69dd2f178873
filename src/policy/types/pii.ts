// Rules of type pii: personal data in prompts and answers.

import { isBuiltIn, PII_KINDS, type PiiKind, whyNotOpenKind } from '../../core/finding.ts'
import { nearest } from '../../core/suggest.ts'
import { type PatternRefusal, type RuleType, refuse } from '../rule-type.ts'

/** Kinds that a rule names; `*` for all. */
type KindPattern = '*' | readonly PiiKind[]

interface PiiPattern {
  readonly type: 'pii'
  readonly kinds: KindPattern
}

export const PII: RuleType<PiiPattern> = {
  name: 'pii',
  actions: ['redact', 'restore', 'pseudonym', 'block', 'monitor', 'allow'],
  readsTexts: true,
  replaces: true,
  checks: 'personal data in prompts and answers',
  writing: 'kinds separated by `|`, or `*`',
  form: { isList: false, hint: 'Kinds of personal data separated by |, or * for all.' },
  parse: (written) => parseKinds(String(written)),
  namesKinds: ({ kinds }) => (kinds === '*' ? [] : kinds.filter((kind) => !isBuiltIn(kind))),
  lint: ({ rule, pattern }) =>
    pattern.kinds === '*' && rule.action === 'allow' && rule.match === undefined
      ? [
          {
            field: 'action',
            message:
              'lets every kind of personal data pass in every call; narrow it with match, or name kinds',
          },
        ]
      : [],
}

function parseKinds(pattern: string): PiiPattern | PatternRefusal {
  const names = pattern.split('|').map((name) => name.trim())
  if (names.length === 1 && names[0] === '*') return { type: 'pii', kinds: '*' }
  const unknown = names.find((name) => !isKind(name))
  if (unknown === undefined) return { type: 'pii', kinds: [...new Set(names)] }
  const all = PII_KINDS.join(', ')
  if (unknown === '*') return refuse('`*` means every kind and cannot be combined with others')
  if (unknown === '') return refuse(`must name kinds separated by \`|\`, or be \`*\` (kinds: ${all})`)
  return refuse(notAKind(unknown))
}

/** Whether a kind may have the name. Only all rules together say whether one defines it. */
const isKind = (name: string): boolean => isBuiltIn(name) || whyNotOpenKind(name) === null

/** Says that a word is no kind, with one that may be meant. */
export function notAKind(name: string): string {
  const close = nearest(name, PII_KINDS)
  const hint = close === null ? '' : `; did you mean \`${close}\`?`
  return `\`${shorten(name)}\` is not a kind of personal data${hint} (kinds: ${PII_KINDS.join(', ')})`
}

/** Longest name that a message repeats, characters. */
const MAXIMUM_SHOWN_CHARACTERS = 40

const shorten = (text: string): string =>
  text.length > MAXIMUM_SHOWN_CHARACTERS ? `${text.slice(0, MAXIMUM_SHOWN_CHARACTERS)}…` : text
