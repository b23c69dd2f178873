// The rules in force: those of the files, those made through the API, and overrides of either, as one frozen set that
// is replaced whole. Two owners, no silent drift: whatever changes is reported. Knows neither files nor the store.

import type { ChangeDraft } from '../audit/entry.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import { systemTimers, type Timers } from '../core/timers.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import type { ApiRule, Rule } from '../policy/rule.ts'
import { validateTogether } from '../policy/validate.ts'
import { Leftovers } from './cleanup.ts'
import { assertFits, assertFree, conflict, sourceOf } from './conflicts.ts'
import { declarationHash, printRules, readDeclaration, revisionOf } from './declaration.ts'
import {
  type EffectiveRule,
  type KnownFileRule,
  type Merged,
  mergeRules,
  type StoredRules,
  sortStoredRules,
} from './merge.ts'
import { draftOf, type RuleChange, type RuleState, type SealedChange } from './ports.ts'
import type { RuleSnapshot } from './snapshot.ts'

export type { EffectiveRule } from './merge.ts'

export interface EffectiveRulesOptions {
  readonly state: RuleState
  readonly clock: Clock
  /** `readonly`: the files alone rule; what the API stored earlier sleeps. */
  readonly apiWrites: 'overlay' | 'readonly'
  /** A new UUIDv7. */
  readonly newId: () => string
  /** Told of every change; writes wait for it before they answer. */
  readonly onChange: (change: RuleChange) => void | Promise<void>
  readonly timers?: Timers
}

/** Longest wait of a timer in one go; Node's own limit is 2^31 − 1. */
const MAX_TIMER_MS: Milliseconds = 86_400_000

export class EffectiveRules {
  readonly #options: EffectiveRulesOptions
  #files: readonly KnownFileRule[] = []
  #declaredRevision = revisionOf([])
  #merged: Merged = { rules: [], ended: [], nextExpiryMs: Number.POSITIVE_INFINITY }
  #current: RuleSet
  /** Why newer rule files are not in force; empty while they are. */
  fileErrors: readonly Problem[] = []
  #stateErrors: readonly Problem[] = []
  readonly #timers: Timers
  #timer: unknown = null
  /** Writes one after the other, so that each sees what the one before left. */
  #writes: Promise<unknown> = Promise.resolve()
  readonly #leftovers: Leftovers

  /** Nothing is in force until replaceFiles. */
  constructor(options: EffectiveRulesOptions) {
    this.#options = options
    this.#timers = options.timers ?? systemTimers
    this.#current = compileRules([], revisionOf([]))
    this.#leftovers = new Leftovers(options.state, options.onChange, (action) => this.#write(action))
  }

  /** The set in force. An override that has expired is no part of it, be its timer late or not. */
  get current(): RuleSet {
    if (this.#options.clock.now() >= this.#merged.nextExpiryMs) this.#refresh()
    return this.#current
  }

  get revision(): string {
    return this.current.revision
  }

  /** Every rule, disabled ones included: files in their order, then the API's by age. */
  list(): readonly EffectiveRule[] {
    void this.current
    return this.#merged.rules
  }

  /** What the files alone would come to: differs from `revision` exactly when the API has changed something. */
  get declaredRevision(): string {
    return this.#declaredRevision
  }

  /** Rules that are not as the files have them: overridden ones, and those made through the API. */
  drift(): readonly EffectiveRule[] {
    return this.list().filter(({ source, override }) => source.kind === 'api' || override !== null)
  }

  /** Why newer rule files are not in force, and stored rules that cannot be; empty when all is well. */
  errors(): readonly Problem[] {
    return [...this.fileErrors, ...this.#stateErrors]
  }

  /** What is in force as a file ready to commit. */
  toYaml(): string {
    return printRules(this.list())
  }

  /**
   * Puts the rules of the files in force, whole or not at all: with problems the last good ones stay. Overrides of
   * declarations that changed end, and API rules whose name a file now declares give way.
   */
  replaceFiles(snapshot: RuleSnapshot): void {
    const problems = snapshot.problems.length > 0 ? snapshot.problems : this.#conflicts(snapshot)
    this.fileErrors = problems
    if (problems.length > 0) return
    const nowMs = this.#options.clock.now()
    const known = new Map(this.#files.map((file) => [file.rule.id, file]))
    this.#files = snapshot.rules.map((rule) => {
      const before = known.get(rule.id)
      const same = before !== undefined && declarationHash(before.rule) === declarationHash(rule)
      return {
        rule,
        createdAtMs: before?.createdAtMs ?? nowMs,
        updatedAtMs: same ? before.updatedAtMs : nowMs,
      }
    })
    this.#declaredRevision = revisionOf(snapshot.rules)
    this.#refresh()
  }

  /**
   * Adds a rule of the API's own.
   * @throws GatewayError 400 naming the field, 409 for a name that exists or when the API may not write
   */
  create(fields: JsonObject): Promise<EffectiveRule> {
    return this.#write(async () => {
      const declaration = readDeclaration(fields)
      assertFree(this.list(), declaration.name)
      if (this.#options.apiWrites === 'readonly')
        throw conflict('Rules are declared in files only (rules.apiWrites is readonly).')
      const nowMs = this.#options.clock.now()
      const id = this.#options.newId()
      const rule: ApiRule = { ...declaration, id, createdAtMs: nowMs, updatedAtMs: nowMs }
      assertFits([...this.list(), { ...rule, declaredEnabled: rule.enabled }], 'pattern')
      await this.#apply({ type: 'rule_created', rule, cause: 'api' }, (sealed) =>
        this.#options.state.putRule(rule, sealed),
      )
      // It may have given way to a file that was read meanwhile.
      if (this.list().every((one) => one.id !== id)) assertFree(this.list(), rule.name)
      return this.#get(id)
    })
  }

  /**
   * Switches a rule on or off. On a file rule, or with a time to live, as an override; back to what the rule
   * declares, its override is withdrawn.
   * @throws GatewayError 404 for an unknown id, 409 when the API may not write, 400 when it is one too many
   */
  setEnabled(
    id: string,
    enabled: boolean,
    { reason, ttlSeconds }: { readonly reason: string; readonly ttlSeconds: number | null },
  ): Promise<EffectiveRule> {
    return this.#write(async () => {
      const rule = this.#get(id)
      this.#assertWritable(rule)
      if (enabled)
        assertFits(
          this.list().map((one) => (one.id === id ? { ...one, enabled } : one)),
          'enabled',
        )
      if (rule.source.kind === 'api' && ttlSeconds === null) return this.#changeApiRule(rule, enabled)
      if (enabled === rule.declaredEnabled) return this.#withdraw(rule)
      const nowMs = this.#options.clock.now()
      const expiresAtMs = ttlSeconds === null ? null : nowMs + ttlSeconds * 1000
      const declaredHash = declarationHash({ ...rule, enabled: rule.declaredEnabled })
      const named = { ruleId: id, ruleName: rule.name }
      const override = { ...named, enabled, reason, expiresAtMs, declaredHash, createdAtMs: nowMs }
      const changed = { ...rule, enabled }
      await this.#apply({ type: 'rule_override', rule: changed, reason, expiresAtMs }, async (sealed) => {
        await this.#options.state.putOverride(override, sealed)
        this.#leftovers.revive(override)
      })
      return this.#get(id)
    })
  }

  /**
   * Deletes a rule of the API's own and answers what it was.
   * @throws GatewayError 404 for an unknown id, 409 for a file rule or when the API may not write
   */
  delete(id: string): Promise<EffectiveRule> {
    return this.#write(async () => {
      const rule = this.#get(id)
      this.#assertWritable(rule)
      if (rule.source.kind === 'file') {
        throw conflict(`The rule is declared in ${sourceOf(rule)}; delete it there, or switch it off here.`)
      }
      await this.#apply({ type: 'rule_deleted', rule, cause: 'api' }, (sealed) =>
        this.#options.state.deleteRule(id, sealed),
      )
      return rule
    })
  }

  /** To be called when the store can be written again. */
  readonly storeAvailable = (): void => this.#leftovers.retry()

  /** Stops the timer. */
  close(): void {
    this.#timers.clear(this.#timer)
  }

  async #changeApiRule(rule: EffectiveRule, enabled: boolean): Promise<EffectiveRule> {
    const { source: _source, declaredEnabled, override, ...declared } = rule
    if (declaredEnabled === enabled && override === null) return rule
    const updatedAtMs = this.#options.clock.now()
    if (override !== null) await this.#withdraw(rule)
    const changed = { ...declared, enabled, updatedAtMs }
    await this.#apply({ type: 'rule_changed', rule: changed, cause: 'api' }, (sealed) =>
      this.#options.state.putRule(changed, sealed),
    )
    return this.#get(rule.id)
  }

  async #withdraw(rule: EffectiveRule): Promise<EffectiveRule> {
    const { state } = this.#options
    const { id: ruleId, name: ruleName } = rule
    const stored = state.overrides().find((override) => override.ruleId === ruleId)
    if (rule.override === null || stored === undefined) return rule
    await this.#apply({ type: 'rule_override_ended', ruleId, ruleName, cause: 'withdrawn' }, (sealed) =>
      state.deleteOverride(stored, sealed),
    )
    return this.#get(ruleId)
  }

  /** Writes and seals a change, puts it in force, and tells of it. */
  async #apply(change: SealedChange, write: (sealed: ChangeDraft) => Promise<void>): Promise<void> {
    await write(draftOf(change))
    this.#refresh()
    await this.#options.onChange(change)
  }

  #write<Result>(action: () => Promise<Result>): Promise<Result> {
    const result = this.#writes.then(action)
    this.#writes = result.catch(() => {})
    return result
  }

  #get(id: string): EffectiveRule {
    const rule = this.list().find((candidate) => candidate.id === id)
    if (rule === undefined) throw new GatewayError('not_found', 'There is no rule with this id.')
    return rule
  }

  #assertWritable(rule: EffectiveRule): void {
    if (this.#options.apiWrites === 'overlay') return
    const where = `The rule is declared in ${sourceOf(rule)}; change it there`
    throw conflict(`${where} (rules.apiWrites is readonly).`)
  }

  /** The API's rules, if they count at all, sorted by what becomes of them beside the files. */
  #storedRules(files: readonly Rule[]): StoredRules {
    const stored = this.#options.apiWrites === 'overlay' ? this.#options.state.apiRules() : []
    return sortStoredRules(files, this.#leftovers.withoutRules(stored))
  }

  /** What new files and the API's rules together exceed. */
  #conflicts(snapshot: RuleSnapshot): readonly Problem[] {
    const { valid } = this.#storedRules(snapshot.rules)
    const message = validateTogether([...snapshot.rules, ...valid])
    return message === null
      ? []
      : [{ file: snapshot.rules[0]?.path ?? '', line: 0, column: 0, path: '', message }]
  }

  /** Works out what is in force now. */
  #refresh(): void {
    const { state, clock, apiWrites } = this.#options
    const { valid, yielding, errors } = this.#storedRules(this.#files.map(({ rule }) => rule))
    const overrides = apiWrites === 'overlay' ? state.overrides() : []
    this.#merged = mergeRules(this.#files, valid, this.#leftovers.withoutOverrides(overrides), clock.now())
    this.#stateErrors = errors
    const revision = revisionOf(this.#merged.rules)
    if (revision !== this.#current.revision) this.#current = compileRules(this.#merged.rules, revision)
    this.#leftovers.retry()
    for (const ended of this.#merged.ended) this.#leftovers.endOverride(ended)
    for (const rule of yielding) this.#leftovers.dropRule(rule)
    this.#armTimer()
  }

  #armTimer(): void {
    this.#timers.clear(this.#timer)
    const waitMs = this.#merged.nextExpiryMs - this.#options.clock.now()
    if (waitMs === Number.POSITIVE_INFINITY) return
    const wake = () => {
      void this.current
      this.#armTimer()
    }
    this.#timer = this.#timers.set(wake, Math.min(Math.max(waitMs, 1), MAX_TIMER_MS))
  }
}
