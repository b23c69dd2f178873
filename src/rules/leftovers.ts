// What is over but still stored: overrides that ended, API rules that gave way to a file. It counts no longer from the
// moment it is over; reporting and deleting follow in the background.

import type { ChangeDraft } from '../audit/entry.ts'
import { type ApiRule, type EndedOverride, mergeRules, type RuleOverride } from './merge.ts'
import { draftOf, type RuleChange, type RuleState, type SealedChange } from './state.ts'

/** Names one override of a rule among those it had one after the other. */
const overrideKey = ({ ruleId, createdAtMs }: RuleOverride): string => `${ruleId}@${createdAtMs}`

export class Leftovers {
  readonly #state: RuleState
  readonly #onChange: (change: RuleChange) => void | Promise<void>
  readonly #enqueue: (action: () => Promise<void>) => Promise<void>
  readonly #over = new Set<string>()

  /** @param enqueue runs an action after all other writes to the state */
  constructor(
    state: RuleState,
    onChange: (change: RuleChange) => void | Promise<void>,
    enqueue: (action: () => Promise<void>) => Promise<void>,
  ) {
    this.#state = state
    this.#onChange = onChange
    this.#enqueue = enqueue
  }

  withoutRules(rules: readonly ApiRule[]): readonly ApiRule[] {
    return rules.filter(({ id }) => !this.#over.has(id))
  }

  withoutOverrides(overrides: readonly RuleOverride[]): readonly RuleOverride[] {
    return overrides.filter((override) => !this.#over.has(overrideKey(override)))
  }

  /** An override that was just put counts, even if one like it ended in the same millisecond. */
  revive(override: RuleOverride): void {
    this.#over.delete(overrideKey(override))
  }

  endOverride({ override, cause }: EndedOverride): void {
    const { ruleId, ruleName } = override
    this.#forget(overrideKey(override), { type: 'rule_override_ended', ruleId, ruleName, cause }, (sealed) =>
      this.#state.deleteOverride(override, sealed),
    )
  }

  dropRule(rule: ApiRule): void {
    const [described] = mergeRules([], [rule], [], 0).rules
    if (described === undefined) return
    this.#forget(rule.id, { type: 'rule_deleted', rule: described, cause: 'declared_in_file' }, (sealed) =>
      this.#state.deleteRule(rule.id, sealed),
    )
  }

  #forget(key: string, change: SealedChange, remove: (sealed: ChangeDraft) => Promise<void>): void {
    this.#over.add(key)
    void this.#enqueue(async () => {
      try {
        await remove(draftOf(change))
        await this.#onChange(change)
      } catch (error) {
        await this.#onChange({ type: 'state_write_failed', error })
      } finally {
        // Where it is still stored, it is found to be over once more when rules change.
        this.#over.delete(key)
      }
    }).catch(() => {
      // Whoever listens has failed as well; the next start finds the same leftovers.
    })
  }
}
