// What EffectiveRules needs around it, in memory: state with delays and failures, a clock turned by hand.

import type { Clock } from '../../src/core/clock.ts'
import type { ApiRule, RuleOverride } from '../../src/policy/rule.ts'
import { EffectiveRules } from '../../src/rules/effective.ts'
import type { RuleChange, RuleState } from '../../src/rules/ports.ts'
import { ManualTimers } from './timers.ts'

export class MemoryState implements RuleState {
  readonly rules = new Map<string, ApiRule>()
  readonly stored = new Map<string, RuleOverride>()
  /** The next write fails with it. */
  failure: Error | null = null

  apiRules(): readonly ApiRule[] {
    return [...this.rules.values()]
  }

  overrides(): readonly RuleOverride[] {
    return [...this.stored.values()]
  }

  putRule(rule: ApiRule): Promise<void> {
    return this.#write(() => this.rules.set(rule.id, rule))
  }

  deleteRule(id: string): Promise<void> {
    return this.#write(() => this.rules.delete(id))
  }

  putOverride(override: RuleOverride): Promise<void> {
    return this.#write(() => this.stored.set(override.ruleId, override))
  }

  deleteOverride({ ruleId, createdAtMs }: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>): Promise<void> {
    return this.#write(() => {
      if (this.stored.get(ruleId)?.createdAtMs === createdAtMs) this.stored.delete(ruleId)
    })
  }

  async #write(write: () => void): Promise<void> {
    await Promise.resolve()
    const { failure } = this
    this.failure = null
    if (failure !== null) throw failure
    write()
  }
}

class ManualClock implements Clock {
  nowMs = 1_000_000

  now(): number {
    return this.nowMs
  }

  monotonic(): number {
    return this.nowMs
  }
}

export interface Setting {
  readonly rules: EffectiveRules
  readonly state: MemoryState
  readonly clock: ManualClock
  readonly timers: ManualTimers
  /** What was reported, as `type name cause`. */
  readonly changes: string[]
  /** Resolves once everything that was begun in the background is done. */
  settled(): Promise<void>
}

export function setting(
  t: { teardown(close: () => void): void },
  options: { apiWrites?: 'overlay' | 'readonly'; state?: MemoryState } = {},
): Setting {
  const state = options.state ?? new MemoryState()
  const clock = new ManualClock()
  const timers = new ManualTimers()
  const changes: string[] = []
  let ids = 0
  const rules = new EffectiveRules({
    state,
    clock,
    timers,
    apiWrites: options.apiWrites ?? 'overlay',
    newId: () => `api-${++ids}`,
    onChange: (change) => {
      changes.push(describe(change))
    },
  })
  t.teardown(() => rules.close())
  const settled = async () => {
    // Writes run one after the other, so one that is refused at once comes after all of them.
    await rules.delete('no such rule').catch(() => {})
  }
  return { rules, state, clock, timers, changes, settled }
}

function describe(change: RuleChange): string {
  if (change.type === 'state_write_failed') return `${change.type} ${(change.error as Error).message}`
  if (change.type === 'rule_override_ended') return `${change.type} ${change.ruleName} ${change.cause}`
  if (change.type === 'rule_override')
    return `${change.type} ${change.rule.name} ${change.rule.enabled} ${change.reason}`
  return `${change.type} ${change.rule.name} ${change.cause}`
}
