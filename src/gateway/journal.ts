// Entries that are not calls: starts and stops, rule sets loaded, rules changed. Logged, counted and sealed here.

import type { ChangeDraft } from '../audit/entry.ts'
import { VERSION } from '../core/version.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import { draftOf, type RuleChange } from '../rules/ports.ts'
import type { UsageLog } from '../store/log/log.ts'
import type { PolicyStore } from '../store/policies.ts'
import type { Store } from '../store/store.ts'
import type { GatewayLogger } from './logger.ts'

/** Newest entries looked through for the end of the run before: keys and rules may have changed since. */
const RUN_END_SEARCH = 1000

/** Who this run is. */
export type Identity = Pick<Extract<ChangeDraft, { type: 'boot' }>, 'instance' | 'signer' | 'key_source'>

export class Journal {
  readonly #log: UsageLog
  readonly #policies: PolicyStore
  /** Of the rule set that was sealed last; null before the first, empty where that failed. */
  #revision: string | null = null
  readonly #metrics: Metrics
  readonly #logger: GatewayLogger

  constructor({ log, policies }: Pick<Store, 'log' | 'policies'>, metrics: Metrics, logger: GatewayLogger) {
    this.#log = log
    this.#policies = policies
    this.#metrics = metrics
    this.#logger = logger
  }

  /** To be waited for before the calls are sealed that the run before left behind: it says how that ended. */
  boot(identity: Identity): Promise<void> {
    // A log that was begun just now, before anybody counted.
    if (this.#log.head.seq === 0) this.#metrics.auditEntries.inc({ type: 'genesis' })
    return this.#append({ type: 'boot', version: VERSION, clean: this.#endedCleanly(), ...identity })
  }

  stop(): Promise<void> {
    return this.#append({ type: 'stop', version: VERSION })
  }

  /** The rule set now in force, in whole where the log does not have it. */
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

  /** Seals the rule set in force where that could not be done before. */
  async catchUp(rules: EffectiveRules): Promise<void> {
    // Before the start has sealed the first set, it is that one.
    if (this.#revision !== null && rules.revision !== this.#revision) await this.rulesLoaded(rules)
  }

  /** A change of rules through the API, or an override that ended; sealed by then. */
  async ruleChanged(change: RuleChange, rules: () => EffectiveRules): Promise<void> {
    if (change.type === 'state_write_failed') {
      const message = 'what ended could not be deleted; it will be tried again'
      this.#logger.error({ err: change.error }, message)
      return
    }
    const draft = draftOf(change)
    this.#logger.info(draft, 'rules changed')
    await this.catchUp(rules())
  }

  /** That something could not be sealed is logged; calls are refused then anyway. */
  async #append(draft: ChangeDraft): Promise<void> {
    try {
      await this.#log.append(draft)
    } catch (error) {
      this.#logger.error({ err: error, type: draft.type }, 'an entry could not be sealed')
    }
  }

  /** Whether the run before this one sealed its end; true for a new log. */
  #endedCleanly(): boolean {
    const { seq } = this.#log.head
    const types = this.#log
      .records(Math.max(0, seq - RUN_END_SEARCH), RUN_END_SEARCH + 1)
      .map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as { type: string }).type)
    const last = types.findLast((type) => type === 'stop' || type === 'boot' || type === 'request')
    return last === undefined || last === 'stop'
  }
}
