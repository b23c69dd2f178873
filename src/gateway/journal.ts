// Seals the entries that are not calls: boots and stops, loaded rule sets, changes of rules.

import type { ChangeDraft } from '../audit/change-draft.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import { VERSION } from '../core/version.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import { draftOf, type RuleChange } from '../rules/ports.ts'
import type { UsageLog } from '../store/log/log.ts'
import type { PolicyStore } from '../store/rules/policies.ts'
import type { Store } from '../store/store.ts'
import type { GatewayLogger } from './logger.ts'

/**
 * Newest entries searched for the end of the last run. Commands may have sealed changes of keys
 * after it.
 */
const RUN_END_SEARCH = 1000

/** Fields of the boot entry that identify this run. */
export type Identity = Pick<Extract<ChangeDraft, { type: 'boot' }>, 'instance' | 'signer' | 'key_source'>

export class Journal {
  readonly #log: UsageLog
  readonly #policies: PolicyStore
  /** Revision of the rule set sealed last; null before the first, empty after a failure. */
  #revision: string | null = null
  readonly #metrics: Metrics
  readonly #logger: GatewayLogger

  constructor({ log, policies }: Pick<Store, 'log' | 'policies'>, metrics: Metrics, logger: GatewayLogger) {
    this.#log = log
    this.#policies = policies
    this.#metrics = metrics
    this.#logger = logger
  }

  /**
   * Seals the boot and how the last run ended. To be awaited before interrupted calls are sealed.
   */
  boot(identity: Identity): Promise<void> {
    // A new log: its genesis entry was sealed before entries were counted.
    if (this.#log.head.seq === 0) this.#metrics.auditEntries.inc({ type: 'genesis' })
    const clean = this.#endedCleanly()
    return this.#append({ type: 'boot', version: VERSION, clean, ...identity, actor: GATEWAY_ACTOR })
  }

  stop(): Promise<void> {
    return this.#append({ type: 'stop', version: VERSION, actor: GATEWAY_ACTOR })
  }

  /** Seals the rule set in force, in full where the log does not have it yet. */
  async rulesLoaded(rules: EffectiveRules): Promise<void> {
    const { revision } = rules
    this.#revision = revision
    try {
      await this.#policies.seal(revision, rules.list())
    } catch (error) {
      if (this.#revision === revision) this.#revision = ''
      this.#logger.error({ err: error, type: 'rules_loaded' }, 'an entry could not be sealed')
    }
  }

  /** Seals the rule set in force where that failed before. */
  async catchUp(rules: EffectiveRules): Promise<void> {
    // Before the first set is sealed there is nothing to catch up with.
    if (this.#revision !== null && rules.revision !== this.#revision) await this.rulesLoaded(rules)
  }

  /** Logs a change that the store has sealed already, and seals the rule set if that is due. */
  async ruleChanged(change: RuleChange, rules: EffectiveRules): Promise<void> {
    if (change.type === 'state_write_failed') {
      const message = 'an ended override or a replaced rule could not be deleted; it is retried'
      this.#logger.error({ err: change.error }, message)
      return
    }
    const draft = draftOf(change)
    this.#logger.info(draft, 'rules changed')
    await this.catchUp(rules)
  }

  /** Logs a failure and does not throw: calls are refused then anyway. */
  async #append(draft: ChangeDraft): Promise<void> {
    try {
      await this.#log.append(draft)
    } catch (error) {
      this.#logger.error({ err: error, type: draft.type }, 'an entry could not be sealed')
    }
  }

  /** Whether the last run sealed its stop; true for a new log. */
  #endedCleanly(): boolean {
    const { seq } = this.#log.head
    const types = this.#log
      .records(Math.max(0, seq - RUN_END_SEARCH), RUN_END_SEARCH + 1)
      .map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as { type: string }).type)
    const last = types.findLast((type) => type === 'stop' || type === 'boot' || type === 'request')
    return last === undefined || last === 'stop'
  }
}
