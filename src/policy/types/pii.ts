// Rules of type pii: personal data in prompts and answers.

import { isBuiltIn, PII_KINDS, type PiiKind, whyNotOpenKind } from '../../core/finding.ts'
import { nearest } from '../../core/suggest.ts'
import { type Exceptions, parseExceptions } from '../exceptions.ts'
import { type PatternRefusal, type RuleType, refuse } from '../rule-type.ts'

/** Kinds that a rule names; `*` for all. */
type KindPattern = '*' | readonly PiiKind[]

interface PiiPattern {
  readonly type: 'pii'
  readonly kinds: KindPattern
  readonly exceptions: Exceptions | null
}

/** Names the addresses that are not of private networks. */
const PUBLIC_ADDRESS = 'ip_address:public'

export const PII: RuleType<PiiPattern> = {
  name: 'pii',
  actions: ['redact', 'restore', 'pseudonym', 'block', 'monitor', 'allow'],
  readsTexts: true,
  replaces: true,
  valueFields: ['except'],
  checks: 'personal data in prompts and answers',
  writing: 'kinds separated by `|`, or `*`; `ip_address:public` leaves private addresses alone',
  form: { isList: false, hint: 'Kinds of personal data separated by |, or * for all.' },
  parse(written, { except }) {
    const parsed = parseKinds(String(written))
    if ('messages' in parsed || except === undefined) return parsed
    const exceptions = parseExceptions(except, parsed.kinds === '*' ? PII_KINDS : parsed.kinds)
    if ('problems' in exceptions) return { messages: [], others: exceptions.problems }
    const privateAddresses = parsed.exceptions?.privateAddresses === true
    return { ...parsed, exceptions: { ...exceptions, privateAddresses } }
  },
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

const PRIVATE_ADDRESSES: Exceptions = { programs: [], samples: false, privateAddresses: true }

function parseKinds(pattern: string): PiiPattern | PatternRefusal {
  const names = pattern.split('|').map((name) => name.trim())
  if (names.length === 1 && names[0] === '*') return { type: 'pii', kinds: '*', exceptions: null }
  const unknown = names.find((name) => !isKind(name) && name !== PUBLIC_ADDRESS)
  if (unknown === undefined) {
    const exceptions = names.includes(PUBLIC_ADDRESS) ? PRIVATE_ADDRESSES : null
    const kinds = [...new Set(names.map((name) => (name === PUBLIC_ADDRESS ? 'ip_address' : name)))]
    return exceptions !== null && names.includes('ip_address')
      ? refuse(`names \`ip_address\` and \`${PUBLIC_ADDRESS}\`; keep one of them`)
      : { type: 'pii', kinds, exceptions }
  }
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
