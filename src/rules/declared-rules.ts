// Reads the rules of a hub: checks and parses each as a rule file is, and takes the set whole or
// not at all. Remembers rules, so that a change costs what differs.

import { checkValue, formatPath } from '../core/document.ts'
import { isObject } from '../core/json.ts'
import { parseTime } from '../core/time.ts'
import {
  type FleetOverride,
  type FleetRule,
  type FleetRules,
  MAXIMUM_FLEET_RULE_BYTES,
  MAXIMUM_FLEET_RULES,
  type PolicyRefusal,
} from '../policy/fleet-policy.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import { nameProblem, type ParsedRule, parseRule } from '../policy/parse-rule.ts'
import { nameKey, type RuleOverride } from '../policy/rule.ts'
import type { HubRule } from './merge.ts'
import { RULE_SCHEMA } from './schema.ts'

/** The rules of a set, or why it cannot be in force. */
export type DeclaredRulesReading =
  | { readonly rules: readonly ParsedRule<HubRule>[] }
  | { readonly refusal: PolicyRefusal }

interface Remembered {
  readonly text: string
  readonly parsed: ParsedRule<HubRule>
}

const ofSet = (message: string): DeclaredRulesReading => ({ refusal: { rule: null, path: '', message } })

export class DeclaredRules {
  #remembered: ReadonlyMap<string, Remembered> = new Map()

  /** Parses a set. Never throws. */
  read({ rules }: FleetRules): DeclaredRulesReading {
    if (rules.length > MAXIMUM_FLEET_RULES)
      return ofSet(`there are ${rules.length} rules; at most ${MAXIMUM_FLEET_RULES} are allowed`)
    const known = new Map<string, Remembered>()
    const names = new Set<string>()
    let bytes = 0
    for (const rule of rules) {
      const text = JSON.stringify(rule)
      bytes += Buffer.byteLength(text)
      if (bytes > MAXIMUM_FLEET_RULE_BYTES)
        return ofSet(`the rules have more than ${MAXIMUM_FLEET_RULE_BYTES} bytes together; remove some`)
      const before = this.#remembered.get(rule.id)
      const read = before?.text === text ? before.parsed : readRule(rule)
      if ('path' in read) return { refusal: read }
      const name = nameKey(read.rule.name)
      if (names.has(name) || known.has(rule.id))
        return { refusal: { rule: read.rule.name, path: 'name', message: 'is the name of two rules' } }
      names.add(name)
      known.set(rule.id, { text, parsed: read })
    }
    const parsed = Array.from(known.values(), (one) => one.parsed)
    const exceeded = new KeywordUsage().add(parsed).exceeded()
    if (exceeded !== null) return ofSet(exceeded)
    this.#remembered = known
    return { rules: parsed }
  }
}

/** A field that is not as this release knows it is never guessed. */
function readRule(rule: FleetRule): ParsedRule<HubRule> | PolicyRefusal {
  const { id, declaration, path: file, line, created_at, updated_at } = rule
  const name = isObject(declaration) ? String(declaration['name'] ?? id) : id
  const refuse = (path: string, message: string): PolicyRefusal => ({ rule: name, path, message })
  const [shape] = checkValue(declaration, RULE_SCHEMA)
  if (shape !== undefined) return refuse(formatPath(shape.path), shape.message)
  const unnamed = nameProblem(declaration.name)
  const parsed = unnamed === null ? parseRule({ ...declaration, id }) : { problems: [unnamed] }
  if ('problems' in parsed) {
    const { path, message } = parsed.problems[0]!
    return refuse(path, message)
  }
  const times = { createdAtMs: parseTime(created_at) ?? 0, updatedAtMs: parseTime(updated_at) ?? 0 }
  return { rule: { ...parsed.rule, path: file, line, ...times }, pattern: parsed.pattern }
}

/** Returns an override of a hub as rules are overridden. */
export const hubOverride = (sent: FleetOverride): RuleOverride => ({
  ...{ ruleId: sent.rule_id, ruleName: sent.rule_name, enabled: sent.enabled, reason: sent.reason },
  // A time that is not one has passed.
  expiresAtMs: sent.expires_at === null ? null : (parseTime(sent.expires_at) ?? 0),
  declaredHash: sent.declared_hash,
  createdAtMs: parseTime(sent.created_at) ?? 0,
})
