// Changes rules through the API: creates, switches and deletes them. Each change is stored and
// sealed, with its actor, before it is in force. Knows neither requests nor the store.

import type { Actor } from '../core/actor.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { ApiRule } from '../policy/rule.ts'
import { assertFits, assertFree, assertKindsDefined, conflict, sourceOf } from './conflicts.ts'
import { declarationHash, readDeclaration, readNamespaces } from './declaration.ts'
import type { EffectiveRules } from './effective.ts'
import type { EffectiveRule } from './merge.ts'
import type { RuleStorage } from './ports.ts'

export interface RuleEditorOptions {
  readonly rules: EffectiveRules
  readonly storage: RuleStorage
  readonly clock: Clock
  readonly apiWrites: 'overlay' | 'readonly'
  /** URL of the hub that manages the rules; null without one. */
  readonly hub: string | null
  /** Returns a new UUIDv7. */
  readonly newId: () => string
}

export class RuleEditor {
  readonly #options: RuleEditorOptions
  readonly #rules: EffectiveRules
  readonly #storage: RuleStorage

  constructor(options: RuleEditorOptions) {
    this.#options = options
    this.#rules = options.rules
    this.#storage = options.storage
  }

  /**
   * Creates an API rule.
   * @param fields a declaration; at a hub `namespaces`, too
   * @throws GatewayError `managed_by_hub`, 400 naming the field, 409 for a name that exists or when
   * the API may not write
   */
  create({ namespaces, ...fields }: JsonObject, actor: Actor): Promise<EffectiveRule> {
    return this.#write(async () => {
      const { rule: declaration, pattern } = readDeclaration(fields)
      const scope = readNamespaces(namespaces)
      assertFree(this.#rules.list(), declaration.name)
      if (this.#options.apiWrites === 'readonly')
        throw conflict('Rules are declared in files only (rules.apiWrites is readonly).')
      const nowMs = this.#options.clock.now()
      const id = this.#options.newId()
      const rule: ApiRule = { ...declaration, ...scope, id, createdAtMs: nowMs, updatedAtMs: nowMs }
      const added = { rule: { ...rule, declaredEnabled: rule.enabled }, pattern }
      assertFits([...this.#rules.parsed, added], 'pattern')
      assertKindsDefined(added, this.#rules.parsed, this.#rules.openKinds)
      await this.#rules.apply({ type: 'rule_created', rule, cause: 'api', actor }, (sealed) =>
        this.#storage.putRule(rule, sealed),
      )
      // A file read during the write may have replaced the rule.
      if (this.#rules.list().every((one) => one.id !== id)) assertFree(this.#rules.list(), rule.name)
      return this.#get(id)
    })
  }

  /**
   * Enables or disables a rule. A file rule, or a change with a time to live, gets an override.
   * Setting what the rule declares withdraws its override.
   * @throws GatewayError `managed_by_hub`, 404 for an unknown id, 409 when the API may not write,
   * 400 when a limit would be exceeded
   */
  setEnabled(
    id: string,
    enabled: boolean,
    { reason, ttlSeconds }: { readonly reason: string; readonly ttlSeconds: number | null },
    actor: Actor,
  ): Promise<EffectiveRule> {
    return this.#write(async () => {
      const rule = this.#get(id)
      this.#assertWritable(rule)
      if (enabled) {
        const changed = this.#rules.parsed.map((one) =>
          one.rule.id === id ? { ...one, rule: { ...one.rule, enabled } } : one,
        )
        assertFits(changed, 'enabled')
      }
      if (rule.source.kind === 'api' && ttlSeconds === null) return this.#changeApiRule(rule, enabled, actor)
      if (enabled === rule.declaredEnabled) return this.#withdraw(rule, actor)
      const nowMs = this.#options.clock.now()
      const expiresAtMs = ttlSeconds === null ? null : nowMs + ttlSeconds * 1000
      const declaredHash = declarationHash({ ...rule, enabled: rule.declaredEnabled })
      const named = { ruleId: id, ruleName: rule.name }
      const override = { ...named, enabled, reason, expiresAtMs, declaredHash, createdAtMs: nowMs }
      const changed = { rule: { ...rule, enabled }, reason, expiresAtMs }
      const change = { type: 'rule_override', ...changed, actor } as const
      await this.#rules.applyOverride(override, change, (sealed) =>
        this.#storage.putOverride(override, sealed),
      )
      return this.#get(id)
    })
  }

  /**
   * Deletes an API rule and returns it as it was.
   * @throws GatewayError `managed_by_hub`, 404 for an unknown id, 409 for a file rule or when the
   * API may not write
   */
  delete(id: string, actor: Actor): Promise<EffectiveRule> {
    return this.#write(async () => {
      const rule = this.#get(id)
      this.#assertWritable(rule)
      if (rule.source.kind === 'file') {
        throw conflict(`The rule is declared in ${sourceOf(rule)}; delete it there, or disable it here.`)
      }
      await this.#rules.apply({ type: 'rule_deleted', rule, cause: 'api', actor }, (sealed) =>
        this.#storage.deleteRule(id, sealed),
      )
      return rule
    })
  }

  async #write<Result>(action: () => Promise<Result>): Promise<Result> {
    const { hub } = this.#options
    if (hub === null) return this.#rules.enqueue(action)
    throw new GatewayError(
      'managed_by_hub',
      `The rules of this gateway are managed by its hub, besides its own rule files; make this change there: ${hub}.`,
    )
  }

  async #changeApiRule(rule: EffectiveRule, enabled: boolean, actor: Actor): Promise<EffectiveRule> {
    const { source: _source, declaredEnabled, override, ...declared } = rule
    if (declaredEnabled === enabled && override === null) return rule
    const updatedAtMs = this.#options.clock.now()
    if (override !== null) await this.#withdraw(rule, actor)
    const changed = { ...declared, enabled, updatedAtMs }
    await this.#rules.apply({ type: 'rule_changed', rule: changed, cause: 'api', actor }, (sealed) =>
      this.#storage.putRule(changed, sealed),
    )
    return this.#get(rule.id)
  }

  async #withdraw(rule: EffectiveRule, actor: Actor): Promise<EffectiveRule> {
    const { id: ruleId, name: ruleName } = rule
    const stored = this.#storage.overrides().find((override) => override.ruleId === ruleId)
    if (rule.override === null || stored === undefined) return rule
    const change = { type: 'rule_override_ended', ruleId, ruleName, cause: 'withdrawn', actor } as const
    await this.#rules.apply(change, (sealed) => this.#storage.deleteOverride(stored, sealed))
    return this.#get(ruleId)
  }

  #get(id: string): EffectiveRule {
    const rule = this.#rules.list().find((candidate) => candidate.id === id)
    if (rule === undefined) throw new GatewayError('not_found', 'There is no rule with this id.')
    return rule
  }

  #assertWritable(rule: EffectiveRule): void {
    if (this.#options.apiWrites === 'overlay') return
    const where = `The rule is declared in ${sourceOf(rule)}; change it there`
    throw conflict(`${where} (rules.apiWrites is readonly).`)
  }
}
