// The rules in force: those of the files, those made through the API, and overrides of either, as one frozen set that
// is replaced whole. Two owners, no silent drift: whatever changes is reported. Knows neither files nor the store.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import { validateRule, validateTogether } from '../policy/validate.ts'
import { declarationHash, printRules, readDeclaration, revisionOf } from './declaration.ts'
import type { RuleSnapshot } from './load.ts'
import {
  type ApiRule,
  type EffectiveRule,
  type EndedOverride,
  type KnownFileRule,
  type Merged,
  mergeRules,
  type OverrideEnd,
  type RuleOverride,
} from './merge.ts'

export type { EffectiveRule } from './merge.ts'

/** What is kept of API rules and overrides. Promises resolve when durable and reject with a GatewayError. */
export interface RuleState {
  apiRules(): readonly ApiRule[]
  overrides(): readonly RuleOverride[]
  putRule(rule: ApiRule): Promise<void>
  deleteRule(id: string): Promise<void>
  putOverride(override: RuleOverride): Promise<void>
  deleteOverride(ruleId: string): Promise<void>
}

/** Something other than the files changed what is in force. */
export type RuleChange =
  | {
      readonly type: 'rule_created' | 'rule_changed' | 'rule_deleted'
      readonly rule: EffectiveRule
      /** `declared_in_file`: a file now declares a rule of that name, so the API's own gave way. */
      readonly cause: 'api' | 'declared_in_file'
    }
  | {
      readonly type: 'rule_override'
      readonly rule: EffectiveRule
      readonly reason: string
      readonly expiresAtMs: Milliseconds | null
    }
  | {
      readonly type: 'rule_override_ended'
      readonly ruleId: string
      /** Empty when the rule itself is gone. */
      readonly ruleName: string
      readonly cause: OverrideEnd
    }
  /** What ended is no longer in force, but may come back at the next start. */
  | { readonly type: 'state_write_failed'; readonly error: unknown }

export interface EffectiveRulesOptions {
  readonly state: RuleState
  readonly clock: Clock
  /** `readonly`: the files alone rule; what the API stored earlier sleeps. */
  readonly apiWrites: 'overlay' | 'readonly'
  /** A new UUIDv7. */
  readonly newId: () => string
  /** Told of every change; writes wait for it before they answer. */
  readonly onChange: (change: RuleChange) => void | Promise<void>
}

/** Longest wait of a timer in one go; Node's own limit is 2^31 − 1. */
const MAX_TIMER_MS: Milliseconds = 86_400_000

export class EffectiveRules {
  readonly #options: EffectiveRulesOptions
  #files: readonly KnownFileRule[] = []
  #merged: Merged = { rules: [], ended: [], nextExpiryMs: Number.POSITIVE_INFINITY }
  #current: RuleSet
  #fileErrors: readonly Problem[] = []
  #stateErrors: readonly Problem[] = []
  #timer: NodeJS.Timeout | undefined
  /** Writes one after the other, so that each sees what the one before left. */
  #writes: Promise<unknown> = Promise.resolve()
  /** What is over but may still be stored, until it is deleted: it no longer counts. */
  readonly #over = new Set<string>()

  /** Nothing is in force until replaceFiles. */
  constructor(options: EffectiveRulesOptions) {
    this.#options = options
    this.#current = compileRules([], revisionOf([]))
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

  /** Why newer rule files are not in force, and stored rules that cannot be; empty when all is well. */
  errors(): readonly Problem[] {
    return [...this.#fileErrors, ...this.#stateErrors]
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
    this.#fileErrors = problems
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
    this.#refresh()
  }

  /**
   * Adds a rule of the API's own.
   * @throws GatewayError 400 naming the field, 409 for a name that exists or when the API may not write
   */
  create(fields: JsonObject): Promise<EffectiveRule> {
    return this.#write(async () => {
      const declaration = readDeclaration(fields)
      const same = this.list().find(({ name }) => name === declaration.name)
      if (same !== undefined)
        throw conflict(`A rule named \`${same.name}\` exists already (${sourceOf(same)}).`)
      if (this.#options.apiWrites === 'readonly') {
        throw conflict('Rules are declared in files only (rules.apiWrites is readonly).')
      }
      const nowMs = this.#options.clock.now()
      const rule: ApiRule = {
        ...declaration,
        id: this.#options.newId(),
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      }
      const together = validateTogether([...this.list(), rule])
      if (together !== null) throw new GatewayError('invalid_body', `${together}.`, { param: 'pattern' })
      await this.#options.state.putRule(rule)
      this.#refresh()
      return this.#report('rule_created', this.#get(rule.id))
    })
  }

  /**
   * Switches a rule on or off. On a file rule, or with a time to live, as an override; back to what the rule
   * declares, its override is withdrawn.
   * @throws GatewayError 404 for an unknown id, 409 when the API may not write
   */
  setEnabled(
    id: string,
    enabled: boolean,
    { reason, ttlSeconds }: { readonly reason: string; readonly ttlSeconds: number | null },
  ): Promise<EffectiveRule> {
    return this.#write(async () => {
      const rule = this.#get(id)
      this.#assertWritable(rule)
      if (rule.source.kind === 'api' && ttlSeconds === null) return this.#changeApiRule(rule, enabled)
      if (enabled === rule.declaredEnabled) return this.#withdraw(rule)
      const nowMs = this.#options.clock.now()
      const expiresAtMs = ttlSeconds === null ? null : nowMs + ttlSeconds * 1000
      const declaredHash = declarationHash({ ...rule, enabled: rule.declaredEnabled })
      await this.#options.state.putOverride({
        ruleId: id,
        enabled,
        reason,
        expiresAtMs,
        declaredHash,
        createdAtMs: nowMs,
      })
      this.#over.delete(overrideKey({ ruleId: id, createdAtMs: nowMs }))
      this.#refresh()
      const changed = this.#get(id)
      await this.#options.onChange({ type: 'rule_override', rule: changed, reason, expiresAtMs })
      return changed
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
      await this.#options.state.deleteRule(id)
      this.#refresh()
      return this.#report('rule_deleted', rule)
    })
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer)
  }

  async #changeApiRule(rule: EffectiveRule, enabled: boolean): Promise<EffectiveRule> {
    const { source: _source, declaredEnabled, override, ...declared } = rule
    if (declaredEnabled === enabled && override === null) return rule
    const updatedAtMs = this.#options.clock.now()
    if (override !== null) await this.#withdraw(rule)
    await this.#options.state.putRule({ ...declared, enabled, updatedAtMs })
    this.#refresh()
    return this.#report('rule_changed', this.#get(rule.id))
  }

  async #withdraw(rule: EffectiveRule): Promise<EffectiveRule> {
    if (rule.override === null) return rule
    await this.#options.state.deleteOverride(rule.id)
    this.#refresh()
    const { id: ruleId, name: ruleName } = rule
    await this.#options.onChange({ type: 'rule_override_ended', ruleId, ruleName, cause: 'withdrawn' })
    return this.#get(ruleId)
  }

  async #report(
    type: 'rule_created' | 'rule_changed' | 'rule_deleted',
    rule: EffectiveRule,
  ): Promise<EffectiveRule> {
    await this.#options.onChange({ type, rule, cause: 'api' })
    return rule
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
    throw conflict(
      `The rule is declared in ${sourceOf(rule)}; change it there (rules.apiWrites is readonly).`,
    )
  }

  /** Stored rules that a file does not declare by the same name, if the API's rules count at all. */
  #storedRules(fileNames: ReadonlySet<string>): { valid: ApiRule[]; yielding: ApiRule[]; errors: Problem[] } {
    const stored = this.#options.apiWrites === 'overlay' ? this.#options.state.apiRules() : []
    const candidates = stored.filter(({ id }) => !this.#over.has(id))
    const yielding = candidates.filter(({ name }) => fileNames.has(name))
    const valid: ApiRule[] = []
    const errors: Problem[] = []
    for (const rule of candidates.filter(({ name }) => !fileNames.has(name))) {
      const problems = rule.enabled ? validateRule(rule) : []
      if (problems.length === 0) valid.push(rule)
      for (const { path, message } of problems) {
        // Written by another version; it stays listed nowhere, so it must be named here.
        errors.push({ file: 'api', line: 0, column: 0, path: `${rule.name}.${path}`, message })
      }
    }
    return { valid, yielding, errors }
  }

  /** What new files and the API's rules together exceed. */
  #conflicts(snapshot: RuleSnapshot): readonly Problem[] {
    const { valid } = this.#storedRules(new Set(snapshot.rules.map(({ name }) => name)))
    const message = validateTogether([...snapshot.rules, ...valid])
    return message === null
      ? []
      : [{ file: snapshot.rules[0]?.path ?? '', line: 0, column: 0, path: '', message }]
  }

  /** Works out what is in force now. */
  #refresh(): void {
    const { state, clock, apiWrites } = this.#options
    const { valid, yielding, errors } = this.#storedRules(new Set(this.#files.map(({ rule }) => rule.name)))
    const overrides = apiWrites === 'overlay' ? state.overrides() : []
    const running = overrides.filter((override) => !this.#over.has(overrideKey(override)))
    this.#merged = mergeRules(this.#files, valid, running, clock.now())
    this.#stateErrors = errors
    const revision = revisionOf(this.#merged.rules)
    if (revision !== this.#current.revision) this.#current = compileRules(this.#merged.rules, revision)
    for (const ended of this.#merged.ended) this.#endOverride(ended)
    for (const rule of yielding) this.#giveWay(rule)
    this.#armTimer()
  }

  #endOverride({ override, cause }: EndedOverride): void {
    const { ruleId } = override
    const ruleName = this.#merged.rules.find(({ id }) => id === ruleId)?.name ?? ''
    this.#forget(
      overrideKey(override),
      { type: 'rule_override_ended', ruleId, ruleName, cause },
      async () => {
        // Another one may have been put in its place meanwhile.
        const { state } = this.#options
        const stored = state.overrides().find((candidate) => candidate.ruleId === ruleId)
        if (stored?.createdAtMs === override.createdAtMs) await state.deleteOverride(ruleId)
      },
    )
  }

  #giveWay(rule: ApiRule): void {
    const described = mergeRules([], [rule], [], 0).rules[0]!
    const change: RuleChange = { type: 'rule_deleted', rule: described, cause: 'declared_in_file' }
    this.#forget(rule.id, change, () => this.#options.state.deleteRule(rule.id))
  }

  /** Deletes in the background what is over already, and reports it. */
  #forget(key: string, change: RuleChange, remove: () => Promise<void>): void {
    const { onChange } = this.#options
    this.#over.add(key)
    void this.#write(async () => {
      try {
        await onChange(change)
        await remove()
        this.#over.delete(key)
      } catch (error) {
        await onChange({ type: 'state_write_failed', error })
      }
    }).catch(() => {})
  }

  #armTimer(): void {
    clearTimeout(this.#timer)
    const waitMs = this.#merged.nextExpiryMs - this.#options.clock.now()
    if (waitMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => {
        void this.current
        this.#armTimer()
      },
      Math.min(Math.max(waitMs, 1), MAX_TIMER_MS),
    )
    this.#timer.unref()
  }
}

/** Names one override of a rule among those it had one after the other. */
const overrideKey = ({ ruleId, createdAtMs }: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>): string =>
  `${ruleId}@${createdAtMs}`

const conflict = (message: string): GatewayError => new GatewayError('conflict', message)

const sourceOf = ({ source }: EffectiveRule): string =>
  source.kind === 'file' ? `${source.path}:${source.line}` : 'made through the API'
