// The rules in force as a gateway runs them: follows the rule files and the hub, seals changes, and
// logs and counts reloads.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { formatProblem } from '../core/problem.ts'
import { openKindsIn } from '../core/recogniser-config.ts'
import type { PolicySet } from '../fleet/policy-set.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { RuleSet } from '../policy/compile.ts'
import type { FleetOverride, FleetRules, PolicyRefusal } from '../policy/fleet-policy.ts'
import { DeclaredRules, hubOverride } from '../rules/declared-rules.ts'
import { RuleEditor } from '../rules/editor.ts'
import { EffectiveRules } from '../rules/effective.ts'
import { openRules, type RuleSnapshot } from '../rules/load.ts'
import type { RuleChange, RuleStorage } from '../rules/ports.ts'
import { FileWatcher } from '../rules/watch.ts'
import type { Journal } from './journal.ts'
import type { GatewayLogger } from './logger.ts'

/** Names of rules in one line of the log. */
const MAXIMUM_NAMES = 20

/** A hub that manages rules. */
export interface HubOfRules {
  readonly url: string
  readonly policy: Pick<PolicySet, 'connect' | 'retry' | 'refusals'>
  /** The time by which its overrides end. */
  now(): Milliseconds
}

interface LiveRulesParts {
  readonly config: Config
  /** The rule files as read before the start, without problems. */
  readonly snapshot: RuleSnapshot
  readonly storage: RuleStorage
  /** Null without a hub. */
  readonly hub: HubOfRules | null
  readonly clock: Clock
  readonly newId: () => string
  readonly journal: Journal
  readonly metrics: Metrics
  readonly logger: GatewayLogger
}

/** Returns a listener that logs when what is at a path cannot be watched. */
export const logWatching =
  (logger: GatewayLogger, path: string, what: 'rule files' | 'price file' | 'configuration file') =>
  (reason: string | null): void => {
    if (reason === null) logger.info({ path }, `the ${what} can be watched again`)
    else
      logger.warn(
        { path, reason },
        `the ${what} cannot be watched, and a survey each second takes its place; raise fs.inotify.max_user_instances or max_user_watches if the reason is EMFILE or ENOSPC`,
      )
  }

export class LiveRules {
  /** Its `fileErrors` is not empty when the rule files conflict with rules made through the API. */
  readonly effective: EffectiveRules
  readonly editor: RuleEditor
  readonly #watcher: FileWatcher<RuleSnapshot>
  readonly #parts: Omit<LiveRulesParts, 'snapshot'>
  readonly #declared = new DeclaredRules()
  #hidden = ''

  /** Puts the files and the rules of the hub in force; files are followed from `start`. */
  constructor({ snapshot, ...parts }: LiveRulesParts) {
    const { storage, hub, clock, newId, logger } = parts
    const { path, apiWrites } = parts.config.rules
    this.#parts = parts
    this.effective = new EffectiveRules({
      storage,
      clock,
      apiWrites,
      openKinds: openKindsIn(parts.config),
      onChange: (change) => this.#changed(change),
      ...(hub !== null && { hubNow: () => hub.now(), onHubExpiry: () => this.#overrideEnded() }),
    })
    this.editor = new RuleEditor({
      rules: this.effective,
      storage,
      clock,
      apiWrites,
      hub: hub?.url ?? null,
      newId,
    })
    this.#watcher = new FileWatcher({
      path,
      open: openRules,
      initial: snapshot,
      onSnapshot: (loaded) => this.#replace(loaded),
      onError: (error) => logger.error({ err: error }, 'the new rules could not be put in force'),
      onWatching: logWatching(logger, path, 'rule files'),
    })
    // First, so that own files that do not fit with the rules of the hub are errors of a start.
    hub?.policy.connect({ rules: (sent, overrides) => this.#takeHub(sent, overrides) })
    this.effective.replaceFiles(snapshot)
    this.#reportHidden()
    this.#count('ok')
  }

  /** The rule set for a call that begins now: expired overrides end first. */
  current(): RuleSet {
    this.effective.expire(this.#parts.clock.now())
    return this.effective.current
  }

  /** Resolves once the files are watched. */
  start(): Promise<void> {
    return this.#watcher.start()
  }

  reload(): Promise<void> {
    return this.#watcher.reload()
  }

  /** Follows the files no longer. */
  close(): Promise<void> {
    return this.#watcher.close()
  }

  /** Stops the timer of expiring overrides. */
  release(): void {
    this.effective.close()
  }

  /**
   * Retries what could not be written or sealed. To be called when the store can be written again.
   */
  storeAvailable(): void {
    this.effective.storeAvailable()
    void this.#parts.journal.catchUp(this.effective)
  }

  async #changed(change: RuleChange): Promise<void> {
    await this.#parts.journal.ruleChanged(change, this.effective)
    // Files that exceeded a limit together with rules of the API may fit now.
    if (this.effective.fileErrors.length > 0) void this.#watcher.reload()
  }

  /** Takes new rule files whole or not at all. */
  #replace(snapshot: RuleSnapshot): void {
    const { journal, logger } = this.#parts
    const rules = this.effective
    const { problems, changed } = rules.replaceFiles(snapshot)
    this.#count(problems.length === 0 ? 'ok' : 'error')
    if (problems.length > 0) {
      const errors = problems.map(formatProblem)
      logger.error({ errors }, 'the rule files have errors; the last good rules stay in force')
      return
    }
    logger.info({ revision: rules.revision, rules: rules.list().length }, 'rules loaded')
    if (changed) void journal.rulesLoaded(rules)
    this.#reportHidden()
    const policy = this.#parts.hub?.policy
    if (policy !== undefined && policy.refusals().length > 0) policy.retry()
  }

  /** Takes the rules of the hub whole or not at all. @returns why not */
  #takeHub(sent: FleetRules, overrides: readonly FleetOverride[]): PolicyRefusal | null {
    const { journal, logger } = this.#parts
    const { revision } = this.effective
    const reading = this.#declared.read(sent)
    if ('refusal' in reading) return reading.refusal
    const { rules } = reading
    const reason = this.effective.replaceHub({ rules, overrides: overrides.map(hubOverride) })
    if (reason !== null) return { rule: null, path: '', message: reason }
    if (this.effective.revision !== revision) {
      logger.info({ revision: this.effective.revision, rules: rules.length }, 'rules of the hub are in force')
      void journal.catchUp(this.effective)
    }
    this.#reportHidden()
    return null
  }

  #overrideEnded(): void {
    this.#parts.logger.info({ revision: this.effective.revision }, 'an override of the hub has ended')
    void this.#parts.journal.catchUp(this.effective)
  }

  /** Logs own rules that are not in force, when they are others than before. */
  #reportHidden(): void {
    const hidden = this.effective.hidden.map(({ name }) => name).slice(0, MAXIMUM_NAMES)
    const names = hidden.join('\n')
    if (names !== '' && names !== this.#hidden)
      this.#parts.logger.warn(
        { rules: hidden },
        'own rules are not in force: the hub has rules of these names',
      )
    this.#hidden = names
  }

  #count(result: 'ok' | 'error'): void {
    const { clock, metrics } = this.#parts
    metrics.ruleReloads.inc({ result })
    if (result === 'ok') metrics.ruleReloadTime.set(clock.now() / 1000)
  }
}
