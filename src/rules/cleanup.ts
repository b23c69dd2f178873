// Deletes what has ended but is still stored: overrides that ended, API rules that a file replaced.
// They stop counting at once; deleting and reporting follow in the background and are retried.

import type { ChangeDraft } from '../audit/change-draft.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { ApiRule, RuleOverride } from '../policy/rule.ts'
import type { EndedOverride } from './merge.ts'
import { draftOf, type RuleChange, type RuleStorage, type SealedChange } from './ports.ts'

/** Identifies one override among those that a rule has had. */
const overrideKey = ({ ruleId, createdAtMs }: RuleOverride): string => `${ruleId}@${createdAtMs}`

export class Cleanup {
  readonly #storage: RuleStorage
  readonly #onChange: (change: RuleChange) => void | Promise<void>
  readonly #enqueue: (action: () => Promise<void>) => Promise<void>
  /** Keys of what has ended and is not deleted yet. */
  readonly #ended = new Set<string>()
  /** Deletions that failed, by key. */
  readonly #failed = new Map<string, () => void>()

  /** @param enqueue runs an action after all other writes to the storage */
  constructor(
    storage: RuleStorage,
    onChange: (change: RuleChange) => void | Promise<void>,
    enqueue: (action: () => Promise<void>) => Promise<void>,
  ) {
    this.#storage = storage
    this.#onChange = onChange
    this.#enqueue = enqueue
  }

  /** The rules that have not ended. */
  activeRules(rules: readonly ApiRule[]): readonly ApiRule[] {
    return rules.filter(({ id }) => !this.#ended.has(id))
  }

  /** The overrides that have not ended. */
  activeOverrides(overrides: readonly RuleOverride[]): readonly RuleOverride[] {
    return overrides.filter((override) => !this.#ended.has(overrideKey(override)))
  }

  /** Lets a new override count, even if an older one of the same rule and millisecond has ended. */
  revive(override: RuleOverride): void {
    this.#ended.delete(overrideKey(override))
    this.#failed.delete(overrideKey(override))
  }

  /** Repeats the deletions that failed. */
  retry(): void {
    const failed = [...this.#failed.values()]
    this.#failed.clear()
    for (const repeat of failed) repeat()
  }

  endOverride({ override, cause }: EndedOverride): void {
    const { ruleId, ruleName } = override
    const change = { type: 'rule_override_ended', ruleId, ruleName, cause, actor: GATEWAY_ACTOR } as const
    this.#delete(overrideKey(override), change, (sealed) => this.#storage.deleteOverride(override, sealed))
  }

  dropRule(rule: ApiRule): void {
    const change = { type: 'rule_deleted', rule, cause: 'declared_in_file', actor: GATEWAY_ACTOR } as const
    this.#delete(rule.id, change, (sealed) => this.#storage.deleteRule(rule.id, sealed))
  }

  #delete(key: string, change: SealedChange, remove: (sealed: ChangeDraft) => Promise<void>): void {
    this.#ended.add(key)
    void this.#enqueue(async () => {
      try {
        await remove(draftOf(change))
      } catch (error) {
        this.#failed.set(key, () => this.#delete(key, change, remove))
        await this.#onChange({ type: 'state_write_failed', error })
        return
      }
      this.#ended.delete(key)
      await this.#onChange(change)
    }).catch(() => {
      // The listener has failed. The next start finds and deletes the same records.
    })
  }
}
