// What is allowed in rules and still is probably a mistake: rules that can have no effect, that contradict one
// another or match nearly everything. Knows neither where rules come from nor how warnings are shown.

import { formatPath, type Path, readDocument } from '../core/document.ts'
import type { PiiKind } from '../core/finding.ts'
import type { Problem } from '../core/problem.ts'
import { keywordMatcher } from '../keyword/matcher.ts'
import { KeywordIndex, parseKeywords } from '../keyword/pattern-index.ts'
import { splitAlternatives } from '../keyword/pattern-syntax.ts'
import { compileGlob } from '../policy/glob.ts'
import type { Rule } from '../policy/rule.ts'
import { parseLimit, parseThreshold } from '../policy/rule-pattern.ts'
import { validateTogether } from '../policy/validate.ts'
import type { RuleFile } from '../rules/files.ts'
import { RULE_SCHEMA, RULES_SCHEMA } from '../rules/schema.ts'
import { snapshotOf } from '../rules/snapshot.ts'
import { covers, kindsOf, overruling } from './scope.ts'

/** What a configuration adds: without one these warnings are left out. */
export interface LintContext {
  /** Names of keys declared in the configuration; more may be made through the API. */
  readonly keyNames: readonly string[]
  /** What is looked for. */
  readonly kinds: readonly PiiKind[]
}

/** Above this part of a pattern's largest size the next edit may be refused. */
const NEAR_LIMIT = 0.9

/** Below this score ordinary instructions to a model count as attacks. */
const LOW_THRESHOLD = 0.3

/** Texts that hardly any call is without; whatever matches one of them matches nearly everything. */
const ORDINARY = ['e', 'a', 't', '1', ' ', '.', ',', 'the', 'and', 'is', 'to', 'hello', 'how are you']

/** What no model's name holds and expressions do. */
const EXPRESSION_IN_GLOB = /^\s|\s$|[\^$|()\\]|\.\*|\.\+/

interface Placed {
  readonly rule: Rule
  readonly path: string
  readonly line: number
  warn(path: Path, message: string): void
}

/** Warnings on rule files that have no errors, in the order of the files. */
export function lintRules(files: readonly RuleFile[], context: LintContext | null = null): Problem[] {
  const warnings: Problem[] = []
  const all = files.flatMap((file) => placedRules(file, warnings))
  const placed = all.filter(({ rule }) => rule.enabled)
  const rules = placed.map(({ rule }) => rule)
  const neighbours = neighboursOf(placed)
  for (const one of placed) {
    warnBroad(one)
    warnUnreachable(one, placed, neighbours(one))
    warnMatch(one, context)
    const length = one.rule.pattern.length
    const largest = RULE_SCHEMA.properties.pattern.maxLength
    if (length > largest * NEAR_LIMIT) {
      one.warn(
        ['pattern'],
        `has ${length} of at most ${largest} characters; split the rule before it is full`,
      )
    }
  }
  const doubled = validateTogether([...rules, ...rules])
  const first = placed[0]
  if (doubled !== null && first !== undefined) {
    const message = `the keyword rules use more than half of what is allowed together (twice as much: ${doubled})`
    warnings.push({ file: first.path, line: 0, column: 0, path: '', message })
  }
  const order = new Map(files.map(({ name }, index) => [name, index]))
  return warnings.sort(
    (a, b) => order.get(a.file)! - order.get(b.file)! || a.line - b.line || a.column - b.column,
  )
}

function placedRules(file: RuleFile, warnings: Problem[]): Placed[] {
  const reading = readDocument(file.text, file.name, RULES_SCHEMA)
  return snapshotOf([file]).rules.map((rule, index) => ({
    rule,
    path: rule.path,
    line: rule.line,
    warn(path, message) {
      const full = ['rules', index, ...path]
      warnings.push({ file: file.name, ...reading.locate(full), path: formatPath(full), message })
    },
  }))
}

const named = ({ rule, path, line }: Placed): string => `\`${rule.name}\` (${path}:${line})`

function warnBroad({ rule, warn }: Placed): void {
  const { type, pattern, action, match } = rule
  if (type === 'keyword_block') {
    for (const fault of marginFaults(pattern)) warn(['pattern'], fault)
    splitAlternatives(pattern).forEach((alternative, index) => {
      const matched = ordinaryMatch(alternative)
      if (matched === null) return
      const message = `alternative ${index + 1} occurs in nearly every text (it matches \`${matched}\`); write a longer word, or \`\\b\` around it`
      warn(['pattern'], message)
    })
  }
  if (type === 'pii' && action === 'allow' && pattern.trim() === '*' && match === undefined) {
    warn(
      ['action'],
      'lets every kind of personal data pass, for every call; narrow it with match or name kinds',
    )
  }
  const threshold = type === 'prompt_injection' ? parseThreshold(pattern) : null
  if (threshold !== null && 'value' in threshold && (threshold.value ?? 1) < LOW_THRESHOLD) {
    warn(['pattern'], `fires on ordinary prompts; thresholds below ${LOW_THRESHOLD} are for experiments`)
  }
}

function ordinaryMatch(alternative: string): string | null {
  const parsed = parseKeywords(alternative)
  if ('messages' in parsed) return null
  const matcher = keywordMatcher(new KeywordIndex([parsed]), { active: [true], holding: [false] })
  return ORDINARY.find((text) => matcher !== null && matcher.match(text).length > 0) ?? null
}

/** The rules that may say all that a rule says: of keyword rules those with its first word, so that few are compared. */
function neighboursOf(placed: readonly Placed[]): (one: Placed) => readonly Placed[] {
  const keysOf = ({ type, pattern }: Rule): string[] =>
    type === 'keyword_block' ? wordsOf(pattern).map((word) => `${type} ${word}`) : [type]
  const byKey = new Map<string, Placed[]>()
  for (const one of placed) {
    for (const key of new Set(keysOf(one.rule))) {
      const list = byKey.get(key)
      if (list === undefined) byKey.set(key, [one])
      else list.push(one)
    }
  }
  return (one) => byKey.get(keysOf(one.rule)[0] ?? '') ?? []
}

const wordsOf = (pattern: string): string[] => splitAlternatives(pattern).map((text) => text.toLowerCase())

function warnUnreachable(one: Placed, placed: readonly Placed[], neighbours: readonly Placed[]): void {
  const { rule, warn } = one
  if (rule.type === 'pii') {
    const winners = overruling(
      rule,
      placed.map((other) => other.rule),
    )
    if (winners.length === 0) return
    const names = placed.filter((other) => winners.includes(other.rule)).map(named)
    warn([], `never decides: ${names.join(', ')} wins for all of it; remove one, or narrow it with match`)
    return
  }
  const place = neighbours.indexOf(one)
  neighbours.forEach((other, index) => {
    if (other === one || other.rule.type !== rule.type || !covers(other.rule, rule)) return
    // Of two that say the same only one is named.
    const mutual = covers(rule, other.rule) && includes(rule, other.rule)
    if (!includes(other.rule, rule) || (mutual && other.rule.action === rule.action && index > place)) return
    if (rule.action === other.rule.action) {
      warn([], `says nothing that ${named(other)} does not; remove one of them`)
    } else if (rule.action === 'monitor') {
      warn(['action'], `contradicts ${named(other)}, which blocks all that this rule would only monitor`)
    }
  })
}

/** Whether whatever makes `inner` fire makes `outer` fire as well. */
function includes(outer: Rule, inner: Rule): boolean {
  if (inner.type === 'keyword_block') {
    const wide = new Set(wordsOf(outer.pattern))
    return wordsOf(inner.pattern).every((word) => wide.has(word))
  }
  if (inner.type === 'prompt_injection') {
    const wide = parseThreshold(outer.pattern)
    const narrow = parseThreshold(inner.pattern)
    if ('message' in wide || 'message' in narrow) return false
    if (wide.value === null || narrow.value === null) return wide.value === narrow.value
    return wide.value <= narrow.value
  }
  const wide = parseLimit(outer.pattern)
  const narrow = parseLimit(inner.pattern)
  if ('message' in wide || 'message' in narrow) return false
  return wide.value.tokens <= narrow.value.tokens && wide.value.windowMs >= narrow.value.windowMs
}

function warnMatch({ rule, warn }: Placed, context: LintContext | null): void {
  rule.match?.models?.forEach((glob, index) => {
    if (EXPRESSION_IN_GLOB.test(glob)) {
      warn(['match', 'models', index], 'looks like a regular expression; globs know only `*` and `?`')
    }
  })
  if (context === null) return
  const { keyNames, kinds } = context
  rule.match?.keys?.forEach((glob, index) => {
    if (keyNames.length === 0 || keyNames.some(compileGlob(glob))) return
    const message = `matches no key of the configuration (${keyNames.join(', ')}); right only for a key made through the API`
    warn(['match', 'keys', index], message)
  })
  const unseen = rule.type === 'pii' && rule.pattern.trim() !== '*' ? kindsOf(rule) : []
  for (const kind of unseen.filter((one) => !kinds.includes(one))) {
    warn(['pattern'], `\`${kind}\` is not looked for; add it to pii.kinds of the configuration`)
  }
}

/** Behind the flags that the splitting repeats. */
const LEADING = /^((?:\(\?[a-zA-Z-]+\))*)\s+/
/** A backslash says that the next one is meant. */
const TRAILING = /(?<!\\)\s+$/

/** What is wrong with the edges of a pattern's alternatives, in sentences. */
export function marginFaults(pattern: string): string[] {
  return splitAlternatives(pattern).flatMap((alternative, index) => {
    const bare = alternative.replace(LEADING, '$1').replace(TRAILING, '')
    if (bare === alternative || bare === '') return []
    const where = [
      ...(LEADING.test(alternative) ? ['begins'] : []),
      ...(TRAILING.test(alternative) ? ['ends'] : []),
    ].join(' and ')
    const hasLineEnd = /^\s*\n|\n\s*$/.test(alternative)
    const what = hasLineEnd ? 'a line end' : 'white space'
    const cause = hasLineEnd
      ? '; in YAML `>-` and `|-` leave none behind the last line, and quotes on one line none at all'
      : '; where it is meant, `\\x20`'
    return [
      `alternative ${index + 1} ${where} with ${what}, without which a text does not match: write \`${bare}\`${cause}`,
    ]
  })
}
