// Keeps the rules in force: file rules, API rules, overrides and those of a hub, merged into one
// frozen set that is replaced whole. Every change that does not come from the files is reported.
// Knows neither files nor the store.

import type { ChangeDraft } from '../audit/change-draft.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { PiiKind } from '../core/finding.ts'
import type { Problem } from '../core/problem.ts'
import { systemTimers, type Timers } from '../core/timers.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import type { Rule, RuleOverride } from '../policy/rule.ts'
import { Cleanup } from './cleanup.ts'
import { printRules, revisionOf } from './declaration.ts'
import {
  besideHub,
  dateFileRules,
  type EffectiveRule,
  type HubPart,
  type KnownFileRule,
  type MergedRules,
  mergeRules,
  NO_RULES,
  type StoredRules,
  sortStoredRules,
} from './merge.ts'
import { draftOf, type RuleChange, type RuleStorage, type SealedChange } from './ports.ts'
import { ruleSetOf } from './rule-set.ts'
import { type FileRule, problemsOf, type RuleSnapshot } from './snapshot.ts'

export type { EffectiveRule } from './merge.ts'

export interface EffectiveRulesOptions {
  readonly storage: RuleStorage
  readonly clock: Clock
  /** `readonly`: only file rules are in force; stored API rules and overrides are ignored. */
  readonly apiWrites: 'overlay' | 'readonly'
  /** The time by which overrides of a hub end; absent without a hub. */
  readonly hubNow?: () => Milliseconds
  /** Called after an override of the hub has ended by its time. */
  readonly onHubExpiry?: () => void
  /** Compiles the set in force; `compileRules` by default. */
  readonly compile?: typeof compileRules
  /** Kinds of personal data that the configuration defines. */
  readonly openKinds?: readonly PiiKind[]
  /** Called with every change. Writes wait for it before they resolve. */
  readonly onChange: (change: RuleChange) => void | Promise<void>
  readonly timers?: Timers
}

/** The outcome of new rule files. */
export interface FileReplacement {
  /** Errors for which the files are not in force; empty when they are. */
  readonly problems: readonly Problem[]
  /** The set in force has another revision than before. */
  readonly changed: boolean
}

/** Longest wait of the timer: a step of the wall clock delays an expiry by no more. */
const MAXIMUM_TIMER_MS: Milliseconds = 60_000

export class EffectiveRules {
  readonly #options: EffectiveRulesOptions
  #files: readonly KnownFileRule[] = []
  #hub: Pick<HubPart, 'rules' | 'overrides'> = { rules: [], overrides: [] }
  #declaredRevision = revisionOf([])
  #loadedAtMs: Milliseconds = 0
  #merged: MergedRules = NO_RULES
  #list: readonly EffectiveRule[] = []
  #current: RuleSet = ruleSetOf([])
  #fileErrors: readonly Problem[] = []
  #storedErrors: readonly Problem[] = []
  readonly #timers: Timers
  #timer: unknown = null
  /** Writes run one after another, so that each sees the result of the one before. */
  #writes: Promise<unknown> = Promise.resolve()
  readonly #cleanup: Cleanup

  /** No rule is in force until `replaceFiles`. */
  constructor(options: EffectiveRulesOptions) {
    this.#options = options
    this.#timers = options.timers ?? systemTimers
    this.#cleanup = new Cleanup(options.storage, options.onChange, (action) => this.enqueue(action))
  }

  /**
   * The set in force. Call `expire` first where an override that expires in this millisecond must
   * not count.
   */
  get current(): RuleSet {
    return this.#current
  }

  get revision(): string {
    return this.#current.revision
  }

  /** Every rule, disabled ones included, in the order of MergedRules. */
  list(): readonly EffectiveRule[] {
    return this.#list
  }

  /** Kinds of personal data that the configuration defines. */
  get openKinds(): readonly PiiKind[] {
    return this.#options.openKinds ?? []
  }

  /** The rules of `list` with their patterns parsed. */
  get parsed(): readonly ParsedRule<EffectiveRule>[] {
    return this.#merged.rules
  }

  /** Own rules that are not in force, because the hub has rules of the same names. */
  get hidden(): readonly EffectiveRule[] {
    return this.#merged.hidden
  }

  /**
   * The revision of the rules of files and hub alone. Differs from `revision` exactly when an API
   * has changed something here.
   */
  get declaredRevision(): string {
    return this.#declaredRevision
  }

  /** When rule files were last read without errors and put in force; 0 before. */
  get loadedAtMs(): Milliseconds {
    return this.#loadedAtMs
  }

  /** Rules that differ from the files: overridden rules and API rules. */
  drift(): readonly EffectiveRule[] {
    return this.#list.filter(({ source, override }) => source.kind === 'api' || override !== null)
  }

  /** Errors for which the newest rule files are not in force; empty when they are. */
  get fileErrors(): readonly Problem[] {
    return this.#fileErrors
  }

  /** The file errors, and the errors in stored rules that cannot be in force. */
  errors(): readonly Problem[] {
    return [...this.#fileErrors, ...this.#storedErrors]
  }

  /** Prints the rules in force as a rule file. */
  toYaml(): string {
    return printRules(this.#list)
  }

  /**
   * Puts the rules of the files in force, whole or not at all: with errors the set in force stays.
   * Ends overrides whose declaration changed, and replaces API rules whose name a file now
   * declares.
   */
  replaceFiles(snapshot: RuleSnapshot): FileReplacement {
    const { rules } = snapshot
    const problems = problemsOf(snapshot, this.openKinds)
    const stored = problems.length > 0 ? null : this.#storedRules(rules.map(({ rule }) => rule))
    this.#fileErrors = stored === null ? problems : exceededBy(rules, stored, this.#hubPart())
    if (stored === null || this.#fileErrors.length > 0) return { problems: this.#fileErrors, changed: false }
    const nowMs = this.#options.clock.now()
    const { revision } = this
    this.#files = dateFileRules(rules, this.#files, nowMs)
    this.#loadedAtMs = nowMs
    this.#refresh(nowMs, stored)
    return { problems: [], changed: this.revision !== revision }
  }

  /**
   * Puts the rules of a hub in force, whole or not at all, in place of those before.
   * @returns why they cannot be in force together with the own ones; null when they are
   */
  replaceHub(hub: Pick<HubPart, 'rules' | 'overrides'>): string | null {
    const files = this.#files.map(({ declared }) => declared)
    const stored = this.#storedRules(files.map(({ rule }) => rule))
    const [exceeded] = exceededBy(files, stored, { ...hub, nowMs: 0 })
    if (exceeded !== undefined) return exceeded.message
    this.#hub = hub
    this.#refresh(this.#options.clock.now(), stored)
    return null
  }

  /** Ends the overrides that have expired. A timer does so too, but may be late. */
  expire(nowMs: Milliseconds): void {
    const { nextExpiryMs, nextHubExpiryMs } = this.#merged
    const isHubs = nextHubExpiryMs !== Number.POSITIVE_INFINITY && this.#hubNow() >= nextHubExpiryMs
    if (isHubs || nowMs >= nextExpiryMs) this.#refresh(nowMs)
    if (isHubs) this.#options.onHubExpiry?.()
  }

  /** Runs an action after all other writes, on the rules in force at that time. */
  enqueue<Result>(action: () => Promise<Result>): Promise<Result> {
    const result = this.#writes.then(() => {
      this.expire(this.#options.clock.now())
      return action()
    })
    this.#writes = result.catch(() => {})
    return result
  }

  /**
   * Writes and seals a change, puts it in force, and reports it.
   * @throws GatewayError that `write` rejects with; the rules in force stay
   */
  async apply(change: SealedChange, write: (sealed: ChangeDraft) => Promise<void>): Promise<void> {
    await write(draftOf(change))
    this.#refresh(this.#options.clock.now())
    await this.#options.onChange(change)
  }

  /** As `apply`, for an override that `write` stores. */
  applyOverride(
    override: RuleOverride,
    change: SealedChange,
    write: (sealed: ChangeDraft) => Promise<void>,
  ): Promise<void> {
    return this.apply(change, async (sealed) => {
      await write(sealed)
      this.#cleanup.revive(override)
    })
  }

  /** Repeats deletions that failed. To be called when the store can be written again. */
  readonly storeAvailable = (): void => this.#cleanup.retry()

  /** Stops the timer. */
  close(): void {
    this.#timers.clear(this.#timer)
  }

  /** The stored API rules: valid ones, those that these files replace, and errors. */
  #storedRules(files: readonly Rule[]): StoredRules {
    const stored = this.#options.apiWrites === 'overlay' ? this.#options.storage.apiRules() : []
    return sortStoredRules(files, this.#cleanup.activeRules(stored))
  }

  /** Merges files, API rules and overrides anew, and compiles the result if it differs. */
  #refresh(
    nowMs: Milliseconds,
    stored: StoredRules = this.#storedRules(this.#files.map(({ declared }) => declared.rule)),
  ): void {
    const { storage, apiWrites } = this.#options
    const overrides = apiWrites === 'overlay' ? storage.overrides() : []
    const hub = this.#hubPart()
    this.#merged = mergeRules(this.#files, stored.valid, this.#cleanup.activeOverrides(overrides), nowMs, hub)
    const files = besideHub(
      this.#files.map(({ declared }) => declared),
      hub,
    )
    this.#declaredRevision = revisionOf([...hub.rules, ...files].map(({ rule }) => rule))
    this.#list = this.#merged.rules.map(({ rule }) => rule)
    this.#storedErrors = stored.errors
    const revision = revisionOf(this.#list)
    if (revision !== this.#current.revision) {
      const { compile = compileRules } = this.#options
      this.#current = compile(this.#merged.rules, revision, this.openKinds)
    }
    this.#cleanup.retry()
    for (const ended of this.#merged.ended) this.#cleanup.endOverride(ended)
    for (const rule of stored.replaced) this.#cleanup.dropRule(rule)
    this.#armTimer(nowMs)
  }

  #hubPart(): HubPart {
    return { ...this.#hub, nowMs: this.#hubNow() }
  }

  #hubNow(): Milliseconds {
    return this.#options.hubNow?.() ?? 0
  }

  #armTimer(nowMs: Milliseconds): void {
    this.#timers.clear(this.#timer)
    const { nextExpiryMs, nextHubExpiryMs } = this.#merged
    const waitMs = Math.min(nextExpiryMs - nowMs, nextHubExpiryMs - this.#hubNow())
    if (waitMs === Number.POSITIVE_INFINITY) return
    const wake = () => {
      const wokenMs = this.#options.clock.now()
      this.expire(wokenMs)
      this.#armTimer(wokenMs)
    }
    this.#timer = this.#timers.set(wake, Math.min(Math.max(waitMs, 1), MAXIMUM_TIMER_MS))
  }
}

/** The limit that the rules of all owners exceed together, as an error of the files. */
function exceededBy(
  files: readonly ParsedRule<FileRule>[],
  stored: StoredRules,
  hub: HubPart,
): readonly Problem[] {
  const own = new KeywordUsage().add(besideHub(files, hub)).add(besideHub(stored.valid, hub))
  const message = own.add(hub.rules).exceeded()
  return message === null ? [] : [{ file: files[0]?.rule.path ?? '', line: 0, column: 0, path: '', message }]
}
