// Merges rules of a hub, file rules, API rules and overrides into the rules in force, and finds the
// overrides that have ended. Pure.

import type { Milliseconds } from '../core/clock.ts'
import type { Problem } from '../core/problem.ts'
import { type ParsedRule, parseRule } from '../policy/parse-rule.ts'
import { type ApiRule, nameKey, type Rule, type RuleOverride } from '../policy/rule.ts'
import { declarationHash } from './declaration.ts'
import type { FileRule } from './snapshot.ts'

/** A rule in force, or listed as disabled, with its source. */
export interface EffectiveRule extends Rule {
  readonly source:
    | { readonly kind: 'file'; readonly path: string; readonly line: number }
    | { readonly kind: 'api' }
    /** With the file at the hub, if it is in one. */
    | { readonly kind: 'hub'; readonly path?: string; readonly line?: number }
  readonly declaredEnabled: boolean
  readonly override: { readonly reason: string; readonly expiresAtMs: Milliseconds | null } | null
  readonly createdAtMs: Milliseconds
  /**
   * When the declaration or its override last changed, as far as this process or the store knows.
   */
  readonly updatedAtMs: Milliseconds
  /** At a hub, globs of the namespaces whose sidecars get the rule; absent for all. */
  readonly namespaces?: readonly string[]
}

/** A rule that a hub sent. */
export interface HubRule extends Rule {
  /** Name of the file at the hub; null for a rule made through its API. */
  readonly path: string | null
  readonly line: number | null
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

/** The part of a hub. */
export interface HubPart {
  readonly rules: readonly ParsedRule<HubRule>[]
  /** For its own rules only. */
  readonly overrides: readonly RuleOverride[]
  /** The time by which its overrides end. */
  readonly nowMs: Milliseconds
}

const NO_HUB: HubPart = { rules: [], overrides: [], nowMs: 0 }

/** Why an override ended. */
export type OverrideEnd = 'expired' | 'withdrawn' | 'declaration_changed' | 'rule_removed'

export interface EndedOverride {
  readonly override: RuleOverride
  readonly cause: Exclude<OverrideEnd, 'withdrawn'>
}

/** A file rule with the times at which this process first saw it and saw it change. */
export interface KnownFileRule {
  readonly declared: ParsedRule<FileRule>
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

/** Adds times to the rules of new files: an unchanged declaration keeps its times. */
export function dateFileRules(
  rules: readonly ParsedRule<FileRule>[],
  before: readonly KnownFileRule[],
  nowMs: Milliseconds,
): KnownFileRule[] {
  const known = new Map(before.map((file) => [file.declared.rule.id, file]))
  return rules.map((declared) => {
    const old = known.get(declared.rule.id)
    const isSame = old !== undefined && declarationHash(old.declared.rule) === declarationHash(declared.rule)
    return {
      declared,
      createdAtMs: old?.createdAtMs ?? nowMs,
      updatedAtMs: isSame ? old.updatedAtMs : nowMs,
    }
  })
}

export interface MergedRules {
  /** Rules of a hub first, then files, both in their order; then API rules by age. */
  readonly rules: readonly ParsedRule<EffectiveRule>[]
  /** Own rules that are not in force, because the hub has rules of the same names. */
  readonly hidden: readonly EffectiveRule[]
  /** Own overrides that have ended. */
  readonly ended: readonly EndedOverride[]
  /** When the next own override expires; infinite when none does. */
  readonly nextExpiryMs: Milliseconds
  /** When the next override of the hub expires, by its time. */
  readonly nextHubExpiryMs: Milliseconds
}

export const NO_RULES: MergedRules = {
  rules: [],
  hidden: [],
  ended: [],
  nextExpiryMs: Number.POSITIVE_INFINITY,
  nextHubExpiryMs: Number.POSITIVE_INFINITY,
}

export function mergeRules(
  files: readonly KnownFileRule[],
  apiRules: readonly ParsedRule<ApiRule>[],
  overrides: readonly RuleOverride[],
  nowMs: Milliseconds,
  hub: HubPart = NO_HUB,
): MergedRules {
  const names = namesOf(hub)
  const own = overridden([...files.map(fromFile), ...apiRules.toSorted(byAge).map(fromApi)], overrides, nowMs)
  const sent = overridden(hub.rules.map(fromHub), hub.overrides, hub.nowMs)
  return {
    rules: [...sent.rules, ...own.rules.filter(({ rule }) => !names.has(nameKey(rule.name)))],
    hidden: own.rules.map(({ rule }) => rule).filter(({ name }) => names.has(nameKey(name))),
    ended: own.ended,
    nextExpiryMs: own.nextExpiryMs,
    nextHubExpiryMs: sent.nextExpiryMs,
  }
}

/** The names that a hub has taken, as they are compared. */
const namesOf = ({ rules }: HubPart): ReadonlySet<string> =>
  new Set(rules.map(({ rule }) => nameKey(rule.name)))

/** Returns the rules of others whose names a hub has not taken. */
export const besideHub = <Declared extends Rule>(
  rules: readonly ParsedRule<Declared>[],
  hub: HubPart,
): readonly ParsedRule<Declared>[] => {
  const names = namesOf(hub)
  return rules.filter(({ rule }) => !names.has(nameKey(rule.name)))
}

/** Applies overrides to the rules of one owner. */
function overridden(
  declared: readonly ParsedRule<EffectiveRule>[],
  overrides: readonly RuleOverride[],
  nowMs: Milliseconds,
): Pick<MergedRules, 'rules' | 'ended' | 'nextExpiryMs'> {
  const hashes = new Map(declared.map(({ rule }) => [rule.id, declarationHash(rule)]))
  const active = new Map<string, RuleOverride>()
  const ended: EndedOverride[] = []
  let nextExpiryMs = Number.POSITIVE_INFINITY
  for (const override of overrides) {
    const cause = endOf(override, hashes.get(override.ruleId), nowMs)
    if (cause !== null) ended.push({ override, cause })
    else {
      active.set(override.ruleId, override)
      nextExpiryMs = Math.min(nextExpiryMs, override.expiresAtMs ?? Number.POSITIVE_INFINITY)
    }
  }
  const rules = declared.map(({ rule, pattern }) => {
    return { rule: Object.freeze(applyOverride(rule, active.get(rule.id))), pattern }
  })
  return { rules, ended, nextExpiryMs }
}

const byAge = ({ rule: a }: ParsedRule<ApiRule>, { rule: b }: ParsedRule<ApiRule>): number =>
  a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)

function endOf(
  override: RuleOverride,
  declaredHash: string | undefined,
  nowMs: Milliseconds,
): EndedOverride['cause'] | null {
  if (declaredHash === undefined) return 'rule_removed'
  if (declaredHash !== override.declaredHash) return 'declaration_changed'
  return override.expiresAtMs !== null && override.expiresAtMs <= nowMs ? 'expired' : null
}

function applyOverride(rule: EffectiveRule, override: RuleOverride | undefined): EffectiveRule {
  if (override === undefined) return rule
  const { enabled, reason, expiresAtMs, createdAtMs } = override
  return { ...rule, enabled, override: { reason, expiresAtMs }, updatedAtMs: createdAtMs }
}

function fromFile({ declared, createdAtMs, updatedAtMs }: KnownFileRule): ParsedRule<EffectiveRule> {
  const { path, line, ...declaration } = declared.rule
  const rule: EffectiveRule = {
    ...declaration,
    source: { kind: 'file', path, line },
    declaredEnabled: declaration.enabled,
    override: null,
    createdAtMs,
    updatedAtMs,
  }
  return { rule, pattern: declared.pattern }
}

const fromHub = ({
  rule: { path, line, ...rule },
  pattern,
}: ParsedRule<HubRule>): ParsedRule<EffectiveRule> => ({
  rule: {
    ...rule,
    source: { kind: 'hub', ...(path !== null && { path }), ...(line !== null && { line }) },
    declaredEnabled: rule.enabled,
    override: null,
  },
  pattern,
})

const fromApi = ({ rule, pattern }: ParsedRule<ApiRule>): ParsedRule<EffectiveRule> => ({
  rule: { ...rule, source: { kind: 'api' }, declaredEnabled: rule.enabled, override: null },
  pattern,
})

/** The stored API rules: in force, replaced by a file, or refused. */
export interface StoredRules {
  readonly valid: readonly ParsedRule<ApiRule>[]
  /** Rules whose name a file now declares; the file's rule replaces them. */
  readonly replaced: readonly ApiRule[]
  /**
   * Errors in rules that another version stored and this one refuses. Those rules are listed
   * nowhere else.
   */
  readonly errors: readonly Problem[]
}

/** The `file` of errors in stored rules; no rule file has this path. */
const STORED_RULES = '/api/v1/rules'

export function sortStoredRules(files: readonly Rule[], stored: readonly ApiRule[]): StoredRules {
  const names = new Set(files.map(({ name }) => nameKey(name)))
  const valid: ParsedRule<ApiRule>[] = []
  const errors: Problem[] = []
  for (const rule of stored) {
    if (names.has(nameKey(rule.name))) continue
    const parsed = parseRule(rule)
    if (!('problems' in parsed)) valid.push(parsed)
    else {
      for (const { path, message } of parsed.problems)
        errors.push({ file: STORED_RULES, line: 0, column: 0, path: `${rule.name}.${path}`, message })
    }
  }
  return { valid, replaced: stored.filter(({ name }) => names.has(nameKey(name))), errors }
}
