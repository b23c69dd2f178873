// How much of each limit is used, and by what: the counts of the store, named by the rules in force
// and the keys there are.

import type { Milliseconds } from '../../core/clock.ts'
import { type KeyRecord, stateOf } from '../../keys/key-record.ts'
import { type LimitRule, matchedKey, type RuleSet, type Selection } from '../../policy/compile.ts'
import {
  ALL_KEYS,
  countOf,
  isBoundedScope,
  type LimitScope,
  labelSubject,
  subjectOf,
} from '../../policy/limit-scope.ts'
import { windowName } from '../../store/limits/counter-changes.ts'
import type { CountInUse } from '../../store/limits/counters.ts'
import { NO_COST } from './money-demand.ts'
import type { ParallelCalls } from './parallel-calls.ts'
import { type AppliedLimit, limitsOf } from './quota.ts'

/** Maximum limits that one answer lists. */
const MAXIMUM_LISTED_LIMITS = 1000

export interface LimitInUse {
  readonly limit: LimitRule
  readonly subject: SubjectName
  /** In the unit of the limit, what running calls reserve included. */
  readonly used: number
  /** Time until nothing used now counts; null when nothing is used. */
  readonly resetMs: Milliseconds | null
}

/** A limit that applies to the calls of one key. Without a rule it is the key's own. */
export interface LimitOfKey {
  readonly limit: AppliedLimit
  /** What shares the count, such as `team = batch`. */
  readonly subject: string
  /** As in LimitInUse; null for a limit that counts each run or end user apart. */
  readonly used: number | null
  readonly resetMs: Milliseconds | null
}

/** What shares a count, for people. */
export interface SubjectName {
  readonly scope: 'key' | 'label' | 'all'
  /** Id of a key, value of a label (empty for keys without it), or empty for all keys. */
  readonly subject: string
  /** Null unless the scope is a key. */
  readonly keyName: string | null
}

interface CountedKeys {
  /** Every key, in the order of creation. */
  readonly keys: readonly KeyRecord[]
  /** Lists only limits that count its calls, unused ones too; null for all limits in use. */
  readonly key: KeyRecord | null
}

/**
 * Lists limits of tokens, requests and money by the share used, highest first, at most
 * MAXIMUM_LISTED_LIMITS. Leaves out counts that no key adds to, such as those of a former scope.
 */
export function limitsInUse(
  rules: Pick<RuleSet, 'limits'>,
  counts: readonly CountInUse[],
  { keys, key }: CountedKeys,
  nowMs: Milliseconds,
): { readonly limits: readonly LimitInUse[]; readonly truncated: boolean } {
  const limits = rules.limits(key === null ? null : matchedKey(key)).filter(isListed)
  const nameOf = subjectNames(limits, keys, nowMs)
  const uses = key === null ? usesOfAll(limits, counts) : usesOfKey(limits, counts, key)
  const named = uses.flatMap(({ limit, subject, used, resetMs }) => {
    const name = nameOf(limit.scope, subject)
    return name === null ? [] : [{ limit, subject: name, used, resetMs }]
  })
  return { limits: highest(named), truncated: named.length > MAXIMUM_LISTED_LIMITS }
}

/**
 * Lists the limits that decide on the calls of a key for any model, in the order of the rules; at
 * most MAXIMUM_LISTED_LIMITS.
 */
export function limitsOfKey(
  selection: Selection,
  counts: readonly CountInUse[],
  parallel: Pick<ParallelCalls, 'running'>,
  { keys, key }: CountedKeys & { readonly key: KeyRecord },
  nowMs: Milliseconds,
): readonly LimitOfKey[] {
  const { limits } = selection
  const nameOf = subjectNames(limits, keys, nowMs)
  const counted = new Map(usesOfKey(limits.filter(isListed), counts, key).map((use) => [use.limit, use]))
  return limitsOf(selection, key, NO_COST)
    .slice(0, MAXIMUM_LISTED_LIMITS)
    .map((limit): LimitOfKey => {
      const { scope, unit } = limit
      if (!isBoundedScope(scope))
        return { limit, subject: scope === 'run' ? 'each run' : 'each end user', used: null, resetMs: null }
      const count = subjectOf(scope, key)
      const named = nameOf(scope, count) ?? { scope: 'key', subject: key.id, keyName: key.name }
      const subject = subjectText(limit, named)
      if (unit === 'parallel')
        return { limit, subject, used: parallel.running(limit.rule, count), resetMs: null }
      const { used, resetMs } = counted.get(limit as LimitRule)!
      return { limit, subject, used, resetMs }
    })
}

/** Names what shares a count in a few words, such as `team = batch`. */
export function subjectText({ scope }: Pick<LimitRule, 'scope'>, { subject, keyName }: SubjectName): string {
  if (typeof scope === 'object') return subject === '' ? `no ${scope.label}` : `${scope.label} = ${subject}`
  return scope === 'all' ? 'all keys' : `key = ${keyName}`
}

/** Runs and end users are not listed: there may be any number of them. */
const isListed = ({ unit, scope }: LimitRule): boolean => unit !== 'parallel' && isBoundedScope(scope)

interface SubjectUse extends Omit<LimitInUse, 'subject'> {
  /** As `subjectOf` names it. */
  readonly subject: string
}

function usesOfAll(limits: readonly LimitRule[], counts: readonly CountInUse[]): SubjectUse[] {
  const byCount = new Map(limits.map((limit) => [countOf(limit), limit]))
  return counts.flatMap(({ ruleId, windowMs, subject, used, resetMs }) => {
    const limit = byCount.get(ruleId)
    return limit?.windowMs === windowMs ? [{ limit, subject, used, resetMs }] : []
  })
}

function usesOfKey(
  limits: readonly LimitRule[],
  counts: readonly CountInUse[],
  key: KeyRecord,
): SubjectUse[] {
  const byName = new Map(counts.map((one) => [windowName(one.ruleId, one.subject, one.windowMs), one]))
  return limits.map((limit) => {
    const subject = subjectOf(limit.scope, key)
    const count = byName.get(windowName(countOf(limit), subject, limit.windowMs))
    return { limit, subject, used: count?.used ?? 0, resetMs: count?.resetMs ?? null }
  })
}

const shareOf = ({ used, limit }: LimitInUse): number => used / limit.amount

/** Returns the MAXIMUM_LISTED_LIMITS highest, in order. Compares the names of those alone. */
function highest(uses: readonly LimitInUse[]): LimitInUse[] {
  const least = Float64Array.from(uses, shareOf).sort().at(-MAXIMUM_LISTED_LIMITS) ?? 0
  const chosen = uses.filter((use) => shareOf(use) >= least)
  return chosen.sort(compareUses).slice(0, MAXIMUM_LISTED_LIMITS)
}

/** Highest share first; between equal shares by name, so that the order stays. */
const compareUses = (a: LimitInUse, b: LimitInUse): number =>
  shareOf(b) - shareOf(a) ||
  compareTexts(a.limit.rule.name, b.limit.rule.name) ||
  compareTexts(a.subject.subject, b.subject.subject)

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** Returns a function from the name of a count to that of its subject; null when no key has it. */
function subjectNames(
  limits: readonly LimitRule[],
  keys: readonly KeyRecord[],
  nowMs: Milliseconds,
): (scope: LimitScope, subject: string) => SubjectName | null {
  const lines = newestOfLines(keys, nowMs)
  const labels = valuesOfLabels(limits, keys)
  return (scope, subject) => {
    if (scope === 'all') return subject === ALL_KEYS ? { scope, subject: '', keyName: null } : null
    if (scope === 'key') {
      const key = lines.get(subject)
      return key === undefined ? null : { scope, subject: key.id, keyName: key.name }
    }
    if (typeof scope === 'string') return null
    const value = labels.get(scope.label)?.get(subject)
    return value === undefined ? null : { scope: 'label', subject: value, keyName: null }
  }
}

/** The newest active key of each line; the newest of all when none is active. */
function newestOfLines(keys: readonly KeyRecord[], nowMs: Milliseconds): ReadonlyMap<string, KeyRecord> {
  const isActive = (key: KeyRecord) => stateOf(key, nowMs) === 'active'
  const ordered = [...keys.filter((key) => !isActive(key)), ...keys.filter(isActive)]
  return new Map(ordered.map((key) => [key.line, key]))
}

/** The values of each label that a limit names, by the names of their counts. */
function valuesOfLabels(
  limits: readonly LimitRule[],
  keys: readonly KeyRecord[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const values = new Map<string, Set<string | null>>()
  for (const { scope } of limits) if (typeof scope === 'object') values.set(scope.label, new Set([null]))
  for (const { terms } of keys) {
    for (const [label, value] of Object.entries(terms.labels)) values.get(label)?.add(value)
  }
  return new Map(
    Array.from(values, ([label, all]) => [
      label,
      new Map(Array.from(all, (value) => [labelSubject(label, value), value ?? ''])),
    ]),
  )
}
