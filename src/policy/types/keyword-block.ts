// Rules of type keyword_block: words and expressions in prompts and answers.

import { whyNotOpenKind } from '../../core/finding.ts'
import { keywordMatcher } from '../../keyword/matcher.ts'
import { KeywordIndex, type ParsedPattern, parseKeywords } from '../../keyword/pattern-index.ts'
import { splitAlternatives } from '../../keyword/pattern-syntax.ts'
import type { RuleType, RuleWarning, TypedRule } from '../rule-type.ts'

interface KeywordPattern {
  readonly type: 'keyword_block'
  readonly keywords: ParsedPattern
  /** Label of the placeholders that replace matches. */
  readonly label: string
}

export const KEYWORD_BLOCK: RuleType<KeywordPattern> = {
  name: 'keyword_block',
  actions: ['block', 'redact', 'monitor'],
  readsTexts: true,
  valueFields: ['placeholder'],
  checks: 'words and expressions in prompts and answers',
  writing:
    'alternatives separated by `|`, each a regular expression in RE2 syntax, found anywhere, ignoring case; write it in single quotes',
  form: { isList: false, hint: 'Words or expressions, separated by |.' },
  parse(written, { placeholder = KEYWORD_LABEL }) {
    const keywords = parseKeywords(String(written))
    const why = whyNotLabel(placeholder)
    if ('messages' in keywords || why !== null)
      return {
        messages: 'messages' in keywords ? keywords.messages : [],
        others: why === null ? [] : [{ path: 'placeholder', message: why }],
      }
    return { type: 'keyword_block', keywords, label: placeholder }
  },
  includes(wide, narrow) {
    const alternatives = new Set(alternativesOf(wide))
    return alternativesOf(narrow).every((text) => alternatives.has(text))
  },
  lint: ({ rule }) => splitAlternatives(String(rule.pattern)).flatMap(lintAlternative),
}

/** The label of placeholders of keywords without another. */
const KEYWORD_LABEL = 'KEYWORD'

function whyNotLabel(label: string): string | null {
  const why = whyNotOpenKind(label.toLowerCase())
  return why === null && label === label.toUpperCase()
    ? null
    : `must be capitals, with \`_\` between words, such as \`PROJECT_NAME\`, and no built-in kind`
}

/** The alternatives as written, in lower case. */
export const alternativesOf = ({ rule }: TypedRule<unknown>): string[] =>
  splitAlternatives(String(rule.pattern)).map((text) => text.toLowerCase())

function lintAlternative(alternative: string, index: number): RuleWarning[] {
  const warnings: RuleWarning[] = []
  const warn = (what: string) =>
    warnings.push({ field: 'pattern', message: `alternative ${index + 1} ${what}` })
  const edges = edgeWarning(alternative)
  if (edges !== null) warn(edges)
  const matched = ordinaryMatch(alternative)
  if (matched !== null)
    warn(`occurs in nearly every text (it matches \`${matched}\`); write a longer word, or \`\\b\` around it`)
  return warnings
}

/**
 * Texts that hardly any call is without: a pattern that matches one of them matches nearly
 * everything.
 */
const ORDINARY = ['e', 'a', 't', '1', ' ', '.', ',', 'the', 'and', 'is', 'to', 'hello', 'how are you']

export function ordinaryMatch(alternative: string): string | null {
  const parsed = parseKeywords(alternative)
  if ('messages' in parsed) return null
  const matcher = keywordMatcher(new KeywordIndex([parsed]), { active: [true], holding: [false] })
  return ORDINARY.find((text) => matcher !== null && matcher.match(text).length > 0) ?? null
}

/** White space at the beginning, after the flags that splitting repeats. */
const LEADING = /^((?:\(\?[a-zA-Z-]+\))*)\s+/
/** White space at the end. A backslash before it means that it is intended. */
const TRAILING = /(?<!\\)\s+$/

/** Warns about white space around an alternative, which every match has to contain. */
function edgeWarning(alternative: string): string | null {
  const bare = alternative.replace(LEADING, '$1').replace(TRAILING, '')
  if (bare === alternative || bare === '') return null
  const edges = [
    ...(LEADING.test(alternative) ? ['begins'] : []),
    ...(TRAILING.test(alternative) ? ['ends'] : []),
  ].join(' and ')
  const hasLineEnd = /^\s*\n|\n\s*$/.test(alternative)
  const what = hasLineEnd ? 'a line end' : 'white space'
  const cause = hasLineEnd
    ? '; YAML adds no line end after `>-` and `|-`, nor between quotes on one line'
    : '; if it is intended, write `\\x20`'
  return `${edges} with ${what} and matches only texts that contain it: write \`${bare}\`${cause}`
}
