// Rules made through the API and overrides of file rules, as they were put. What they mean is not known here.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Rule } from '../policy/rule.ts'
import { unavailable } from './appender.ts'
import { readJson, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'

/** Rules made through the API, and overrides, each at most. */
const MAX_RULES = 10_000
const RULE_PREFIX = 'rule/'
const OVERRIDE_PREFIX = 'override/'

interface ApiRule extends Rule {
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

interface RuleOverride {
  readonly ruleId: string
  readonly enabled: boolean
  readonly reason: string
  readonly expiresAtMs: Milliseconds | null
  /** Of the declaration that is overridden: when it changes, the override ends. */
  readonly declaredHash: string
  readonly createdAtMs: Milliseconds
}

/** Writes are durable when their promise resolves, and reject with `audit_unavailable` when they are not. */
export class RuleStore {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  apiRules(): readonly ApiRule[] {
    return this.#read<ApiRule>(RULE_PREFIX)
  }

  overrides(): readonly RuleOverride[] {
    return this.#read<RuleOverride>(OVERRIDE_PREFIX)
  }

  putRule(rule: ApiRule): Promise<void> {
    return this.#put(RULE_PREFIX, rule.id, rule)
  }

  deleteRule(id: string): Promise<void> {
    return this.#delete(RULE_PREFIX, id)
  }

  putOverride(override: RuleOverride): Promise<void> {
    return this.#put(OVERRIDE_PREFIX, override.ruleId, override)
  }

  deleteOverride(ruleId: string): Promise<void> {
    return this.#delete(OVERRIDE_PREFIX, ruleId)
  }

  #read<Value>(prefix: string): Value[] {
    this.#environment.refresh()
    return this.#environment.tables.rules.rows(within(prefix)).map(({ value }) => readJson<Value>(value))
  }

  #put(prefix: string, id: string, value: object): Promise<void> {
    const { rules } = this.#environment.tables
    const key = Buffer.from(prefix + id)
    return this.#write(() => {
      if (rules.get(key) === undefined && rules.count(within(prefix)) >= MAX_RULES) {
        throw new GatewayError('conflict', `There are ${MAX_RULES} of them already.`)
      }
      rules.put(key, writeJson(value))
    })
  }

  #delete(prefix: string, id: string): Promise<void> {
    return this.#write(() => {
      this.#environment.tables.rules.remove(Buffer.from(prefix + id))
    })
  }

  async #write(write: () => void): Promise<void> {
    try {
      await this.#environment.transaction(write)
    } catch (error) {
      throw error instanceof GatewayError ? error : unavailable('The store cannot be written.', error)
    }
  }
}

/** All keys that begin with a prefix ending in `/`: up to the character after it. */
function within(prefix: string): { start: Buffer; end: Buffer } {
  return { start: Buffer.from(prefix), end: Buffer.from(`${prefix.slice(0, -1)}0`) }
}
