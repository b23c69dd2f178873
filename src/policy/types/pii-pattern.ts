// Rules of type pii_pattern: kinds of personal data that an organisation defines by a pattern.

import { type PiiKind, whyNotOpenKind } from '../../core/finding.ts'
import type { Checksum } from '../../detect/pii/pattern-checksums.ts'
import { foldedText } from '../../keyword/normalise.ts'
import { parseExpressions } from '../../keyword/pattern-index.ts'
import { longestMatch, type Program } from '../../keyword/regexp/instructions.ts'
import { MAXIMUM_MATCH_CHARACTERS } from '../../keyword/spans/span-finder.ts'
import { type Exceptions, parseExceptions } from '../exceptions.ts'
import type { OtherFields, PatternRefusal, RuleType, RuleWarning } from '../rule-type.ts'
import type { ConditionProblem } from '../tool-conditions.ts'
import { alternativesOf, ordinaryMatch } from './keyword-block.ts'

interface OpenKindPattern {
  readonly type: 'pii_pattern'
  readonly kind: PiiKind
  readonly programs: readonly Program[]
  /** Normalised; null without any. */
  readonly context: readonly string[] | null
  readonly checksum: Checksum | null
  readonly exceptions: Exceptions | null
}

export const PII_PATTERN: RuleType<OpenKindPattern> = {
  name: 'pii_pattern',
  actions: ['redact', 'restore', 'pseudonym', 'block', 'monitor', 'allow'],
  readsTexts: true,
  replaces: true,
  valueFields: ['kind', 'context', 'checksum', 'except'],
  checks: 'a kind of personal data of your own in prompts and answers',
  writing: 'as for keyword_block; a value is the longest match, of at most 256 characters',
  form: { isList: false, hint: 'A regular expression of the value, such as CASE-[0-9]{6}.' },
  parse(written, fields) {
    const parsed = parseExpressions(String(written))
    const others = [...problemsIn(fields)]
    const kinds = [fields.kind ?? 'the kind']
    const exceptions =
      fields.except === undefined ? null : parseExceptions(fields.except, kinds, String(written))
    if (exceptions !== null && 'problems' in exceptions) others.push(...exceptions.problems)
    if ('messages' in parsed || others.length > 0)
      return { messages: 'messages' in parsed ? parsed.messages : [], others } satisfies PatternRefusal
    return {
      type: 'pii_pattern',
      kind: fields.kind!,
      programs: parsed.programs,
      context: fields.context?.map(foldedWord) ?? null,
      checksum: fields.checksum ?? null,
      exceptions: exceptions as Exceptions | null,
    }
  },
  includes(wide, narrow) {
    const known = new Set(alternativesOf(wide))
    const isPlain = wide.pattern.context === null && wide.pattern.checksum === null
    return (
      wide.pattern.kind === narrow.pattern.kind &&
      isPlain &&
      alternativesOf(narrow).every((one) => known.has(one))
    )
  },
  definesKind: ({ kind }) => kind,
  lint: ({ rule, pattern }) => [...lintLength(pattern), ...lintOrdinary(String(rule.pattern), pattern)],
}

const foldedWord = (word: string): string => foldedText(word.trim())

function* problemsIn({ kind, context }: OtherFields): Generator<ConditionProblem> {
  if (kind === undefined)
    yield { path: 'kind', message: 'is required: a lower-case word such as `case_number`' }
  else {
    const why = whyNotOpenKind(kind)
    if (why !== null) yield { path: 'kind', message: why }
  }
  for (const [index, word] of (context ?? []).entries())
    if (foldedWord(word) === '')
      yield { path: `context[${index}]`, message: 'must be a word with letters or digits' }
}

function lintLength({ programs }: OpenKindPattern): RuleWarning[] {
  const longest = Math.max(...programs.map(longestMatch))
  if (longest <= MAXIMUM_MATCH_CHARACTERS) return []
  const length = longest === Number.POSITIVE_INFINITY ? 'any length' : `${longest} characters`
  return [
    {
      field: 'pattern',
      message: `can match ${length}; a match is cut at ${MAXIMUM_MATCH_CHARACTERS} characters, so bound its repetitions, as in \`[0-9]{1,20}\``,
    },
  ]
}

function lintOrdinary(written: string, { context, checksum }: OpenKindPattern): RuleWarning[] {
  const matched = context === null && checksum === null ? ordinaryMatch(written) : null
  if (matched === null) return []
  return [
    {
      field: 'pattern',
      message: `occurs in nearly every text (it matches \`${matched}\`); write a longer pattern, or \`context\` words`,
    },
  ]
}
