// Rules made through the API and overrides of file rules, as they were put. What they mean is not known here.

import type { ChangeDraft } from '../audit/entry.ts'
import { GatewayError } from '../core/errors.ts'
import type { ApiRule, RuleOverride } from '../policy/rule.ts'
import { readJson, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'
import type { UsageLog } from './log/log.ts'
import type { Range } from './table.ts'

/** Rules made through the API, and overrides, each at most. */
const MAX_RULES = 10_000
const RULE_PREFIX = 'rule/'
const OVERRIDE_PREFIX = 'override/'

/**
 * Writes are sealed with what they change, in one transaction. They are durable when their promise resolves, and reject
 * with `audit_unavailable` when they are not.
 */
export class RuleStore {
  readonly #environment: Environment
  readonly #log: UsageLog

  constructor(environment: Environment, log: UsageLog) {
    this.#environment = environment
    this.#log = log
  }

  apiRules(): readonly ApiRule[] {
    return this.#read<ApiRule>(RULE_PREFIX)
  }

  overrides(): readonly RuleOverride[] {
    // Those that were stored before they had it lack the name.
    return this.#read<RuleOverride>(OVERRIDE_PREFIX).map((override) => ({
      ...override,
      ruleName: override.ruleName ?? '',
    }))
  }

  putRule(rule: ApiRule, draft: ChangeDraft): Promise<void> {
    return this.#put(RULE_PREFIX + rule.id, rule, draft, rangeOf(RULE_PREFIX))
  }

  deleteRule(id: string, draft: ChangeDraft): Promise<void> {
    const { rules } = this.#environment.tables
    return this.#write(draft, () => rules.remove(Buffer.from(RULE_PREFIX + id)))
  }

  putOverride(override: RuleOverride, draft: ChangeDraft): Promise<void> {
    return this.#put(OVERRIDE_PREFIX + override.ruleId, override, draft, rangeOf(OVERRIDE_PREFIX))
  }

  /** Another one that has been put in its place meanwhile stays. */
  deleteOverride(
    { ruleId, createdAtMs }: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>,
    draft: ChangeDraft,
  ): Promise<void> {
    const { rules } = this.#environment.tables
    const key = Buffer.from(OVERRIDE_PREFIX + ruleId)
    return this.#write(draft, () => {
      const stored = rules.get(key)
      if (stored !== undefined && readJson<RuleOverride>(stored).createdAtMs === createdAtMs)
        rules.remove(key)
    })
  }

  #read<Value>(prefix: string): Value[] {
    this.#environment.refresh()
    return this.#environment.tables.rules.rows(rangeOf(prefix)).map(({ value }) => readJson<Value>(value))
  }

  #put(name: string, value: object, draft: ChangeDraft, others: Range): Promise<void> {
    const { rules } = this.#environment.tables
    const key = Buffer.from(name)
    return this.#log.change(() => {
      if (rules.get(key) === undefined && rules.count(others) >= MAX_RULES) {
        throw new GatewayError('conflict', `There are ${MAX_RULES} of them already.`)
      }
      return { draft, write: () => rules.put(key, writeJson(value)), result: undefined }
    })
  }

  #write(draft: ChangeDraft, write: () => void): Promise<void> {
    return this.#log.change(() => ({ draft, write, result: undefined }))
  }
}

/** All keys that begin with a prefix ending in `/`: up to the character after it. */
function rangeOf(prefix: string): Range {
  return { start: Buffer.from(prefix), end: Buffer.from(`${prefix.slice(0, -1)}0`) }
}
