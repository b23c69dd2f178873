// Files, API rules and overrides put together: what is in force, and which overrides are over. Pure.

import type { Milliseconds } from '../core/clock.ts'
import type { Problem } from '../core/problem.ts'
import type { ApiRule, Rule, RuleOverride } from '../policy/rule.ts'
import { validateRule } from '../policy/validate.ts'
import { declarationHash } from './declaration.ts'
import type { FileRule } from './snapshot.ts'

/** A rule in force or listed as disabled, with where it comes from. */
export interface EffectiveRule extends Rule {
  readonly source:
    | { readonly kind: 'file'; readonly path: string; readonly line: number }
    | { readonly kind: 'api' }
  readonly declaredEnabled: boolean
  readonly override: { readonly reason: string; readonly expiresAtMs: Milliseconds | null } | null
  readonly createdAtMs: Milliseconds
  /** When the declaration or its override last changed, as far as this process or the store knows. */
  readonly updatedAtMs: Milliseconds
}

/** Why an override ended. */
export type OverrideEnd = 'expired' | 'withdrawn' | 'declaration_changed' | 'rule_removed'

export interface EndedOverride {
  readonly override: RuleOverride
  readonly cause: Exclude<OverrideEnd, 'withdrawn'>
}

/** A file rule since this process knows it. */
export interface KnownFileRule {
  readonly rule: FileRule
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

export interface Merged {
  /** Files first, in their order; then API rules by age. */
  readonly rules: readonly EffectiveRule[]
  readonly ended: readonly EndedOverride[]
  /** When the next override expires. */
  readonly nextExpiryMs: Milliseconds
}

export function mergeRules(
  files: readonly KnownFileRule[],
  apiRules: readonly ApiRule[],
  overrides: readonly RuleOverride[],
  nowMs: Milliseconds,
): Merged {
  const declared = [
    ...files.map(({ rule, createdAtMs, updatedAtMs }) => fromFile(rule, createdAtMs, updatedAtMs)),
    ...apiRules.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)).map(fromApi),
  ]
  const hashes = new Map(declared.map((rule) => [rule.id, declarationHash(rule)]))
  const running = new Map<string, RuleOverride>()
  const ended: EndedOverride[] = []
  let nextExpiryMs = Number.POSITIVE_INFINITY
  for (const override of overrides) {
    const cause = endOf(override, hashes.get(override.ruleId), nowMs)
    if (cause !== null) ended.push({ override, cause })
    else {
      running.set(override.ruleId, override)
      nextExpiryMs = Math.min(nextExpiryMs, override.expiresAtMs ?? Number.POSITIVE_INFINITY)
    }
  }
  const rules = declared.map((rule) => Object.freeze(overridden(rule, running.get(rule.id))))
  return { rules, ended, nextExpiryMs }
}

function endOf(
  override: RuleOverride,
  declaredHash: string | undefined,
  nowMs: Milliseconds,
): EndedOverride['cause'] | null {
  if (declaredHash === undefined) return 'rule_removed'
  if (declaredHash !== override.declaredHash) return 'declaration_changed'
  return override.expiresAtMs !== null && override.expiresAtMs <= nowMs ? 'expired' : null
}

function overridden(rule: EffectiveRule, override: RuleOverride | undefined): EffectiveRule {
  if (override === undefined) return rule
  const { enabled, reason, expiresAtMs, createdAtMs } = override
  return { ...rule, enabled, override: { reason, expiresAtMs }, updatedAtMs: createdAtMs }
}

function fromFile(rule: FileRule, createdAtMs: Milliseconds, updatedAtMs: Milliseconds): EffectiveRule {
  const { path, line, ...declaration } = rule
  return {
    ...declaration,
    source: { kind: 'file', path, line },
    declaredEnabled: rule.enabled,
    override: null,
    createdAtMs,
    updatedAtMs,
  }
}

const fromApi = (rule: ApiRule): EffectiveRule => ({
  ...rule,
  source: { kind: 'api' },
  declaredEnabled: rule.enabled,
  override: null,
})

/** The API's rules beside the files. */
export interface StoredRules {
  readonly valid: readonly ApiRule[]
  /** A file declares a rule of that name, which goes before. */
  readonly yielding: readonly ApiRule[]
  /** Rules stored by another version that this one refuses. They are listed nowhere else. */
  readonly errors: readonly Problem[]
}

/** What stands for a file in mistakes of rules that the API stored; no file has this name. */
const STORED_RULES = '/api/v1/rules'

export function sortStoredRules(files: readonly Rule[], stored: readonly ApiRule[]): StoredRules {
  const names = new Set(files.map(({ name }) => name))
  const own = stored.filter(({ name }) => !names.has(name))
  const errors = own.flatMap((rule) =>
    validateRule(rule).map(({ path, message }) => ({
      file: STORED_RULES,
      line: 0,
      column: 0,
      path: `${rule.name}.${path}`,
      message,
    })),
  )
  return {
    valid: own.filter((rule) => validateRule(rule).length === 0),
    yielding: stored.filter(({ name }) => names.has(name)),
    errors,
  }
}
