// Stores rules made through the API and overrides of file rules. Does not interpret them.

import type { ChangeDraft } from '../../audit/change-draft.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ApiRule, RuleOverride } from '../../policy/rule.ts'
import type { Environment } from '../environment/journaled.ts'
import type { UsageLog } from '../log/log.ts'
import { readJson, writeJson } from '../tables/layout.ts'
import type { Range } from '../tables/table.ts'

/** Maximum rules made through the API; the same for overrides. */
const MAXIMUM_RULES = 10_000
const RULE_PREFIX = 'rule/'
const OVERRIDE_PREFIX = 'override/'

/**
 * Each write is sealed in the same transaction. It is durable when its promise resolves; otherwise
 * the promise rejects with `audit_unavailable`.
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
    // Overrides stored by earlier versions lack the name.
    return this.#read<RuleOverride>(OVERRIDE_PREFIX).map((override) => ({
      ...override,
      ruleName: override.ruleName ?? '',
    }))
  }

  putRule(rule: ApiRule, draft: ChangeDraft): Promise<void> {
    return this.#put(RULE_PREFIX, rule.id, rule, draft)
  }

  deleteRule(id: string, draft: ChangeDraft): Promise<void> {
    const { rules } = this.#environment.tables
    return this.#write(draft, () => rules.remove(Buffer.from(RULE_PREFIX + id)))
  }

  putOverride(override: RuleOverride, draft: ChangeDraft): Promise<void> {
    return this.#put(OVERRIDE_PREFIX, override.ruleId, override, draft)
  }

  /** Keeps an override that has replaced this one meanwhile. */
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

  #put(prefix: string, id: string, value: object, draft: ChangeDraft): Promise<void> {
    const { rules } = this.#environment.tables
    const key = Buffer.from(prefix + id)
    return this.#log.change(() => {
      if (rules.get(key) === undefined && rules.count(rangeOf(prefix)) >= MAXIMUM_RULES) {
        const limit = `The limit of ${MAXIMUM_RULES} ${prefix === RULE_PREFIX ? 'rules' : 'overrides'} is reached; delete one first.`
        throw new GatewayError('conflict', limit)
      }
      return { draft, write: () => rules.put(key, writeJson(value)), result: undefined }
    })
  }

  #write(draft: ChangeDraft, write: () => void): Promise<void> {
    return this.#log.change(() => ({ draft, write, result: undefined }))
  }
}

/** Returns the range of keys with a prefix that ends in `/`: up to the next character. */
function rangeOf(prefix: string): Range {
  return { start: Buffer.from(prefix), end: Buffer.from(`${prefix.slice(0, -1)}0`) }
}
