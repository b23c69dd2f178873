// Warns about rules that are valid but probably wrong: rules without effect, rules that contradict
// each other, and rules that match nearly everything. Knows neither where rules come from nor how
// warnings are shown.

import { formatPath, type Path, readDocument } from '../core/document.ts'
import { isBuiltIn, type PiiKind } from '../core/finding.ts'
import { isLegible, LEGIBLE } from '../core/hidden-characters.ts'
import type { Problem } from '../core/problem.ts'
import { exceptEvery } from '../policy/exceptions.ts'
import { compileGlob } from '../policy/glob.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import { whyOddGlob } from '../policy/odd-glob.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { ruleTypeOf } from '../policy/rule-types.ts'
import { alternativesOf } from '../policy/types/keyword-block.ts'
import type { RuleFile } from '../rules/files.ts'
import { RULE_SCHEMA, RULES_SCHEMA } from '../rules/schema.ts'
import { type FileRule, snapshotOf } from '../rules/snapshot.ts'
import { covers, kindsOf, overruling } from './scope.ts'

/**
 * The parts of a configuration that some warnings need; without one those warnings are left out.
 */
export interface LintContext {
  /** Names of the keys that the configuration declares. The API may create more. */
  readonly keyNames: readonly string[]
  /** Kinds of personal data that the gateway detects. */
  readonly kinds: readonly PiiKind[]
  /** Whether it names the key of pseudonyms, which replicas can then share. */
  readonly namesPseudonymKey: boolean
}

/** What replicas need. */
export const SHARE_PSEUDONYM_KEY =
  'give all replicas one key with pii.pseudonymKey, such as the file pseudonym-key of one data folder'

/** Share of a limit above which the next edit may be refused. */
const NEAR_LIMIT = 0.9

/** A rule with a way to warn about a part of it. */
interface LintedRule {
  readonly parsed: ParsedRule<FileRule>
  warn(path: Path, message: string): void
}

/** Returns the warnings on rule files that have no errors, in the order of the files. */
export function lintRules(files: readonly RuleFile[], context: LintContext | null = null): Problem[] {
  const warnings: Problem[] = []
  const all = files.flatMap((file) => lintedRules(file, warnings))
  const enabled = all.filter(({ parsed }) => parsed.rule.enabled)
  const neighbours = neighboursOf(enabled)
  for (const one of enabled) {
    warnByType(one)
    warnUnreachable(one, enabled, neighbours(one))
    warnMatch(one, context)
    warnApis(one)
    warnKey(one, context)
    warnKinds(one, all, context)
    warnLong(one)
  }
  const rules = enabled.map(({ parsed }) => parsed)
  const exceeded = new KeywordUsage().add(rules).exceeded(1 / 2)
  if (exceeded !== null) {
    const message = `the keyword rules use more than half of a limit: ${exceeded}`
    warnings.push({ file: rules[0]?.rule.path ?? '', line: 0, column: 0, path: '', message })
  }
  const order = new Map(files.map(({ name }, index) => [name, index]))
  return warnings.sort(
    (a, b) => order.get(a.file)! - order.get(b.file)! || a.line - b.line || a.column - b.column,
  )
}

function lintedRules(file: RuleFile, warnings: Problem[]): LintedRule[] {
  const reading = readDocument(file.text, file.name, RULES_SCHEMA)
  return snapshotOf([file]).rules.map((parsed, index) => ({
    parsed,
    warn(path, message) {
      const full = ['rules', index, ...path]
      warnings.push({ file: file.name, ...reading.locate(full), path: formatPath(full), message })
    },
  }))
}

const named = ({ parsed: { rule } }: LintedRule): string => `\`${rule.name}\` (${rule.path}:${rule.line})`

function warnByType({ parsed, warn }: LintedRule): void {
  const warnings = ruleTypeOf(parsed.rule.type).lint?.(parsed) ?? []
  for (const { field, message } of warnings) warn([field], message)
}

/**
 * The rules that may cover a rule. Keyword rules are found by their first alternative, so that few
 * are compared.
 */
function neighboursOf(rules: readonly LintedRule[]): (one: LintedRule) => readonly LintedRule[] {
  const keysOf = (parsed: ParsedRule): string[] => {
    const { type } = parsed.rule
    return type === 'keyword_block' ? alternativesOf(parsed).map((text) => `${type} ${text}`) : [type]
  }
  const byKey = new Map<string, LintedRule[]>()
  for (const one of rules) {
    for (const key of new Set(keysOf(one.parsed))) {
      const list = byKey.get(key)
      if (list === undefined) byKey.set(key, [one])
      else list.push(one)
    }
  }
  return (one) => byKey.get(keysOf(one.parsed)[0] ?? '') ?? []
}

function warnUnreachable(
  one: LintedRule,
  all: readonly LintedRule[],
  neighbours: readonly LintedRule[],
): void {
  const { parsed, warn } = one
  if (parsed.pattern.type === 'pii') {
    const winners = overruling(
      parsed,
      all.map((other) => other.parsed),
    )
    if (winners.length === 0) return
    const names = all.filter((other) => winners.includes(other.parsed)).map(named)
    warn([], `never decides: ${names.join(', ')} wins everywhere; remove one, or narrow it with match`)
    return
  }
  const { rule } = parsed
  const position = neighbours.indexOf(one)
  neighbours.forEach((other, index) => {
    if (other === one || !includes(other.parsed, parsed)) return
    // Only the later one of two equal rules gets a warning.
    const isEqual = rule.action === other.parsed.rule.action && includes(parsed, other.parsed)
    if (isEqual && index > position) return
    if (rule.action === other.parsed.rule.action) {
      warn([], `adds nothing to ${named(other)}; remove one of them`)
    } else if (rule.action === 'monitor') {
      warn(['action'], `contradicts ${named(other)}, which blocks everything this rule would monitor`)
    }
  })
}

/** Whether `outer` fires on every call on which `inner` fires. */
function includes(outer: ParsedRule, inner: ParsedRule): boolean {
  if (!covers(outer.rule, inner.rule)) return false
  const { name, includes } = ruleTypeOf(outer.rule.type)
  return name === inner.rule.type && includes?.(outer, inner) === true
}

/** APIs that take the same prompts as another. */
const SAME_PROMPTS: Readonly<Record<string, readonly string[]>> = {
  messages: ['count_tokens'],
  responses: ['compact', 'input_tokens'],
}
/** Types of rules that keep texts from leaving as they are. */
const OF_TEXTS: ReadonlySet<string> = new Set(['pii', 'pii_pattern', 'keyword_block', 'prompt_injection'])

/** A text that one endpoint must not send goes to the provider through another. */
function warnApis({ parsed: { rule }, warn }: LintedRule): void {
  const { apis = [], direction } = rule.match ?? {}
  if (!OF_TEXTS.has(rule.type) || rule.action === 'allow' || direction === 'response') return
  for (const [index, api] of apis.entries()) {
    const missing = (SAME_PROMPTS[api] ?? []).filter((other) => !apis.includes(other))
    if (missing.length === 0) continue
    const names = missing.map((one) => `\`${one}\``).join(' and ')
    warn(
      ['match', 'apis', index],
      `leaves out ${names}, with the same prompts: add what the rule should cover`,
    )
  }
}

function warnMatch({ parsed, warn }: LintedRule, context: LintContext | null): void {
  const { rule, pattern } = parsed
  rule.match?.models?.forEach((glob, index) => {
    const odd = whyOddGlob(glob, 'models')
    if (odd !== null) warn(['match', 'models', index], odd)
  })
  const isOfKey = (glob: string) => context?.keyNames.some(compileGlob(glob)) === true
  rule.match?.keys?.forEach((glob, index) => {
    const odd = isOfKey(glob) ? null : whyOddGlob(glob, 'keys')
    if (odd !== null) warn(['match', 'keys', index], odd)
  })
  for (const [label, value] of Object.entries(rule.match?.labels ?? {}))
    if (!isLegible(label) || !isLegible(value))
      warn(['match', 'labels', label], `matches no key: a label must have ${LEGIBLE}`)
  if (context === null) return
  const { keyNames, kinds } = context
  rule.match?.keys?.forEach((glob, index) => {
    if (keyNames.length === 0 || isOfKey(glob)) return
    const message = `matches no key of the configuration (${keyNames.join(', ')}); correct only for a key made through the API`
    warn(['match', 'keys', index], message)
  })
  const named = pattern.type === 'pii' && pattern.kinds !== '*' ? kindsOf(parsed) : []
  for (const kind of named.filter((one) => isBuiltIn(one) && !kinds.includes(one))) {
    warn(['pattern'], `\`${kind}\` is not detected; add it to pii.kinds of the configuration`)
  }
}

/** Warns about open kinds that a pii rule names where nothing finds them, or nothing is left. */
function warnKinds(
  { parsed: { pattern }, warn }: LintedRule,
  all: readonly LintedRule[],
  context: LintContext | null,
): void {
  if (pattern.type !== 'pii' || pattern.kinds === '*') return
  for (const kind of pattern.kinds) {
    const definitions = all.flatMap((one) => {
      const { rule, pattern: defined } = one.parsed
      return defined.type === 'pii_pattern' && defined.kind === kind ? [{ one, rule }] : []
    })
    if (definitions.length === 0) continue
    const enabled = definitions.filter(({ rule }) => rule.enabled)
    if (enabled.length === 0 && context?.kinds.includes(kind) !== true)
      warn(
        ['pattern'],
        `names \`${kind}\`, which nothing finds: ${named(definitions[0]!.one)} is disabled; enable it (its action may be \`allow\`), or remove the name`,
      )
    const { exceptions } = pattern
    const leavesNothing = ({ rule }: (typeof enabled)[number]) =>
      exceptions !== null && exceptEvery(exceptions, String(rule.pattern))
    if (enabled.length > 0 && enabled.every(leavesNothing))
      warn(['except'], `matches every value of \`${kind}\`; narrow it, or use the action \`allow\``)
  }
}

function warnKey({ parsed: { rule }, warn }: LintedRule, context: LintContext | null): void {
  if (rule.action === 'pseudonym' && context?.namesPseudonymKey === false)
    warn(['action'], `gives each replica pseudonyms of its own; ${SHARE_PSEUDONYM_KEY}`)
}

function warnLong({ parsed: { rule }, warn }: LintedRule): void {
  const { length } = rule.pattern
  const { maxLength } = RULE_SCHEMA.properties.pattern
  if (length <= maxLength * NEAR_LIMIT) return
  warn(['pattern'], `has ${length} of at most ${maxLength} characters; split the rule before it is full`)
}
