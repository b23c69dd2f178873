// Rules of a hub in their forms: as files declare them, as the database has them, and as they are
// sent; and the limits of a fleet.

import { hash } from 'node:crypto'
import { basename } from 'node:path'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import type { DeclaredFileRule, LedgerPolicy, LedgerRule } from '../ledger/policy-ledger.ts'
import { type FleetRule, MAXIMUM_FLEET_RULE_BYTES, MAXIMUM_FLEET_RULES } from '../policy/fleet-policy.ts'
import type { ApiRule } from '../policy/rule.ts'
import type { FileRule } from '../rules/snapshot.ts'

export const isOfFile = ({ source }: LedgerRule): boolean => source === 'file'

/** Hubs may have their files at different paths. */
export function declaredOf({ id, path, line, namespaces, ...declaration }: FileRule): DeclaredFileRule {
  return { id, declaration, namespaces: namespaces ?? null, path: basename(path), line }
}

export const apiRuleOf = ({
  id,
  declaration,
  namespaces,
  createdAtMs,
  updatedAtMs,
}: LedgerRule): ApiRule => ({
  ...{ ...declaration, id, createdAtMs, updatedAtMs },
  ...(namespaces !== null && { namespaces }),
})

/** A rule as it is sent, for its size. */
export const sentOf = ({
  id,
  declaration,
  createdAtMs = 0,
  updatedAtMs = 0,
  ...place
}: Pick<LedgerRule, 'id' | 'declaration'> & {
  readonly path?: string | null
  readonly line?: number | null
  readonly createdAtMs?: Milliseconds
  readonly updatedAtMs?: Milliseconds
}): FleetRule => ({
  ...{ id, declaration, path: place.path ?? null, line: place.line ?? null },
  ...{ created_at: isoTime(createdAtMs), updated_at: isoTime(updatedAtMs) },
})

/** Returns the limit of a fleet that rules exceed, without a full stop; null when they fit. */
export function whyTooLarge(rules: readonly FleetRule[]): string | null {
  if (rules.length > MAXIMUM_FLEET_RULES)
    return `a fleet has at most ${MAXIMUM_FLEET_RULES} rules, and these are ${rules.length}; remove some`
  const bytes = rules.reduce((sum, rule) => sum + Buffer.byteLength(JSON.stringify(rule)), 0)
  if (bytes <= MAXIMUM_FLEET_RULE_BYTES) return null
  return `the rules of a fleet have at most ${MAXIMUM_FLEET_RULE_BYTES} bytes of JSON, and these ${bytes}; remove some`
}

/** Names the rules of files that are in force. */
export const versionOf = (rules: readonly Pick<LedgerRule, 'id' | 'declaration' | 'namespaces'>[]): string =>
  hash(
    'sha256',
    JSON.stringify(rules.map(({ id, declaration, namespaces }) => [id, declaration, namespaces])),
  )

export const pricesVersion = ({
  revision,
  unknown_price,
}: Pick<LedgerPolicy['prices'], 'revision' | 'unknown_price'>): string => `${revision} ${unknown_price}`
