// What is over but still stored: overrides that ended, API rules that gave way to a file. It counts no longer from the
// moment it is over; reporting and deleting follow in the background.

import type { ChangeDraft } from '../audit/entry.ts'
import type { ApiRule, RuleOverride } from '../policy/rule.ts'
import { type EndedOverride, mergeRules } from './merge.ts'
import { draftOf, type RuleChange, type RuleState, type SealedChange } from './ports.ts'

/** Names one override of a rule among those it had one after the other. */
const overrideKey = ({ ruleId, createdAtMs }: RuleOverride): string => `${ruleId}@${createdAtMs}`

export class Leftovers {
  readonly #state: RuleState
  readonly #onChange: (change: RuleChange) => void | Promise<void>
  readonly #enqueue: (action: () => Promise<void>) => Promise<void>
  readonly #over = new Set<string>()
  /** What could not be deleted, and is over all the same: by key, how to try again. */
  readonly #kept = new Map<string, () => void>()

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
    this.#kept.delete(overrideKey(override))
  }

  /** Tries once more to delete what could not be. */
  retry(): void {
    const again = [...this.#kept.values()]
    this.#kept.clear()
    for (const forget of again) forget()
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
      } catch (error) {
        this.#kept.set(key, () => this.#forget(key, change, remove))
        await this.#onChange({ type: 'state_write_failed', error })
        return
      }
      this.#over.delete(key)
      await this.#onChange(change)
    }).catch(() => {
      // Whoever listens has failed as well; the next start finds the same leftovers.
    })
  }
}
