// What a hub sends of its policy to sidecars of one namespace that know the same rules, and how it
// sends a change of it.

import { isoTime, isoTimeOrNull } from '../core/time.ts'
import type { PolicyChange, SentPolicy } from '../fleet/policy-events.ts'
import { togglePolicy } from '../fleet/policy-set.ts'
import { StateHash } from '../fleet/state-hash.ts'
import type { LedgerOverride, LedgerPolicy, LedgerRule } from '../ledger/policy-ledger.ts'
import {
  type FleetOverride,
  type FleetRule,
  type FleetRules,
  fleetRulesOf,
  NO_FLEET_PRICES,
} from '../policy/fleet-policy.ts'
import { featuresOf, POLICY_FEATURE } from '../policy/rule-features.ts'
import { isForNamespace } from './namespaces.ts'

/** A rule as sidecars get it. */
export const fleetRuleOf = ({
  id,
  declaration,
  path,
  line,
  createdAtMs,
  updatedAtMs,
}: LedgerRule): FleetRule => ({
  ...{ id, declaration, path, line },
  ...{ created_at: isoTime(createdAtMs), updated_at: isoTime(updatedAtMs) },
})

const fleetOverrideOf = ({ ruleId, ruleName, expiresAtMs, ...override }: LedgerOverride): FleetOverride => ({
  ...{ rule_id: ruleId, rule_name: ruleName, enabled: override.enabled, reason: override.reason },
  expires_at: isoTimeOrNull(expiresAtMs),
  declared_hash: override.declaredHash,
  created_at: isoTime(override.createdAtMs),
  rev: override.rev,
})

export class GroupPolicy {
  readonly sent: SentPolicy
  /** The part of it in the state hash. */
  readonly hash = new StateHash()

  constructor(sent: SentPolicy) {
    this.sent = sent
    togglePolicy(this.hash, sent)
  }

  /** Returns the events by which sidecars that have another policy come to have this one. */
  changesAfter({ sent: before }: GroupPolicy, rev: number): PolicyChange[] {
    const { rules, overrides, prices } = this.sent
    const events: PolicyChange[] = []
    if (rules.revision !== before.rules.revision) events.push({ event: 'rules', rev, ...rules })
    const known = new Map(before.overrides.map((one) => [one.rule_id, one.rev]))
    for (const body of overrides) {
      if (known.get(body.rule_id) !== body.rev)
        events.push({ event: 'override', rev, id: body.rule_id, op: 'put', body })
      known.delete(body.rule_id)
    }
    for (const id of known.keys()) events.push({ event: 'override', rev, id, op: 'del', body: null })
    if (prices.revision !== before.prices.revision || prices.unknown_price !== before.prices.unknown_price)
      events.push({ event: 'prices', rev, ...prices })
    return events
  }
}

/** The policy of all groups. Groups with the same rules share one set of them. */
export class GroupPolicies {
  #policy: LedgerPolicy = { rules: [], overrides: [], prices: NO_FLEET_PRICES }
  /** By the places of the rules in the policy. */
  #sets = new Map<string, FleetRules>()

  take(policy: LedgerPolicy): void {
    this.#policy = policy
    this.#sets = new Map()
  }

  /** Returns null for sidecars that take no policy. */
  of(namespace: string, features: ReadonlySet<string>): GroupPolicy | null {
    if (!features.has(POLICY_FEATURE)) return null
    const { rules, overrides, prices } = this.#policy
    const places = Array.from(rules.keys()).filter((place) => {
      const { namespaces, declaration } = rules[place]!
      return (
        isForNamespace(namespaces, namespace) && featuresOf(declaration).every((one) => features.has(one))
      )
    })
    const key = places.join()
    const set = this.#sets.get(key) ?? fleetRulesOf(places.map((place) => fleetRuleOf(rules[place]!)))
    this.#sets.set(key, set)
    const ids = new Set(set.rules.map(({ id }) => id))
    const sent = overrides.filter(({ ruleId }) => ids.has(ruleId)).map(fleetOverrideOf)
    return new GroupPolicy({ rules: set, overrides: sent, prices })
  }
}
