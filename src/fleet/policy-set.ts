// The rules, overrides and prices of a hub as a sidecar holds them: all that the hub has, and the
// part in force. A set that cannot be in force leaves the one before it, also over restarts.

import {
  type FleetOverride,
  type FleetPrices,
  type FleetRules,
  fleetRulesOf,
  type KeptPolicy,
  NO_FLEET_PRICES,
  type PolicyRefusal,
} from '../policy/fleet-policy.ts'
import type { PolicyChange, SentPolicy } from './policy-events.ts'
import type { Nack } from './protocol.ts'
import { type HeldVersion, StateHash } from './state-hash.ts'

/** Puts what a hub sent in force, whole or not at all. */
export interface PolicyEnforcer {
  /** @returns why the rules cannot be in force, and nothing has changed; null when they are */
  rules(rules: FleetRules, overrides: readonly FleetOverride[]): PolicyRefusal | null
  /** @returns as `rules` */
  prices(prices: FleetPrices): PolicyRefusal | null
}

const NO_RULES = fleetRulesOf([])

/** What the state hash counts of rules and prices: content, so that all hubs count the same. */
const rulesVersion = ({ revision }: FleetRules): HeldVersion => ({ id: `rules ${revision}`, rev: 0 })
const pricesVersion = ({ revision, unknown_price }: FleetPrices): HeldVersion => ({
  id: `prices ${revision} ${unknown_price}`,
  rev: 0,
})
const overrideVersion = ({ rule_id, rev }: FleetOverride): HeldVersion => ({ id: `override ${rule_id}`, rev })

/** Adds what a sidecar holds of the policy to a state hash, or removes it. */
export function togglePolicy(hash: StateHash, { rules, prices, overrides }: SentPolicy): void {
  hash.toggle(rulesVersion(rules))
  hash.toggle(pricesVersion(prices))
  for (const override of overrides) hash.toggle(overrideVersion(override))
}

/** A set, and the one in force while it is not; null for none. */
interface Kept<Set> {
  readonly newest: Set | null
  readonly good: Set | null
  readonly refusal: PolicyRefusal | null
}

export class PolicySet {
  #rules: Kept<FleetRules>
  #prices: Kept<FleetPrices>
  #overrides: ReadonlyMap<string, FleetOverride>
  /** Revision of the newest change; for reports. */
  #rev = 0
  #enforcer: Partial<PolicyEnforcer> = {}
  #changed = new Set<keyof KeptPolicy>()

  constructor({ rules = null, prices = null, overrides = [], goodRules, goodPrices }: KeptPolicy = {}) {
    this.#rules = { newest: rules, good: goodRules ?? null, refusal: null }
    this.#prices = { newest: prices, good: goodPrices ?? null, refusal: null }
    this.#overrides = new Map(overrides.map((one) => [one.rule_id, one]))
  }

  /** The state hash of what the hub has; that of nothing for a hub without. */
  get stateHash(): StateHash {
    const hash = new StateHash()
    const [rules, prices] = [this.#rules.newest, this.#prices.newest]
    if (rules !== null && prices !== null)
      togglePolicy(hash, { rules, prices, overrides: [...this.#overrides.values()] })
    return hash
  }

  /** What is not in force here. */
  refusals(): Nack[] {
    return [
      { what: 'rules', refusal: this.#rules.refusal },
      { what: 'prices', refusal: this.#prices.refusal },
    ].flatMap(({ what, refusal }) => {
      if (refusal === null) return []
      const { rule, path, message } = refusal
      const place = rule === null ? {} : { rule, path }
      const at = rule === null ? what : `rule ${rule}${path === '' ? '' : `, ${path}`}`
      return [{ rev: this.#rev, reason: `${at}: ${message}`, ...place }]
    })
  }

  /** Puts the sets in force from now on, those of the last process first. */
  connect(enforcer: Partial<PolicyEnforcer>): void {
    this.#enforcer = { ...this.#enforcer, ...enforcer }
    if (enforcer.rules !== undefined) this.#enforceRules()
    if (enforcer.prices !== undefined) this.#enforcePrices()
  }

  /** Tries again what could not be in force: the own files may have changed. */
  retry(): void {
    this.#enforceRules()
    this.#enforcePrices()
  }

  /** Takes all that a hub has. @param policy absent from a hub without */
  replace(policy: SentPolicy | undefined, rev: number): void {
    this.#rev = rev
    const { rules = null, prices = null, overrides = [] } = policy ?? {}
    this.#take('rules', rules)
    this.#take('prices', prices)
    this.#overrides = new Map(overrides.map((one) => [one.rule_id, one]))
    this.#changed.add('overrides')
    this.retry()
  }

  change(event: PolicyChange): void {
    this.#rev = event.rev
    if (event.event === 'prices') {
      const { revision, prices, unknown_price } = event
      this.#take('prices', { revision, prices, unknown_price })
      this.#enforcePrices()
      return
    }
    if (event.event === 'rules') this.#take('rules', { revision: event.revision, rules: event.rules })
    else {
      const overrides = new Map(this.#overrides)
      if (event.op === 'put') overrides.set(event.id, event.body)
      else overrides.delete(event.id)
      this.#overrides = overrides
      this.#changed.add('overrides')
    }
    this.#enforceRules()
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0
  }

  /** Returns what the disk lacks, which counts as written from now on. */
  takeChanges(): KeptPolicy {
    const rows: KeptPolicy = {
      rules: this.#rules.newest,
      prices: this.#prices.newest,
      overrides: [...this.#overrides.values()],
      goodRules: this.#rules.refusal === null ? null : this.#rules.good,
      goodPrices: this.#prices.refusal === null ? null : this.#prices.good,
    }
    const changed = this.#changed
    this.#changed = new Set()
    return Object.fromEntries(Object.entries(rows).filter(([name]) => changed.has(name as keyof KeptPolicy)))
  }

  /** Counts changes as not written. */
  giveBack(rows: KeptPolicy): void {
    for (const name of Object.keys(rows)) this.#changed.add(name as keyof KeptPolicy)
  }

  #take(what: 'rules', set: FleetRules | null): void
  #take(what: 'prices', set: FleetPrices | null): void
  #take(what: 'rules' | 'prices', set: FleetRules | FleetPrices | null): void {
    if (what === 'rules') this.#rules = { ...this.#rules, newest: set as FleetRules | null }
    else this.#prices = { ...this.#prices, newest: set as FleetPrices | null }
    this.#changed.add(what)
  }

  #enforceRules(): void {
    const enforce = this.#enforcer.rules
    if (enforce === undefined) return
    const overrides = [...this.#overrides.values()]
    const next = enforced(this.#rules, NO_RULES, (rules) => enforce(rules, overrides))
    if (hasOtherGood(this.#rules, next)) this.#changed.add('goodRules')
    this.#rules = next
  }

  #enforcePrices(): void {
    const enforce = this.#enforcer.prices
    if (enforce === undefined) return
    const next = enforced(this.#prices, NO_FLEET_PRICES, enforce)
    if (hasOtherGood(this.#prices, next)) this.#changed.add('goodPrices')
    this.#prices = next
  }
}

/** Puts the newest set in force, or the last good one. */
function enforced<Set>(
  { newest, good }: Kept<Set>,
  none: Set,
  enforce: (set: Set) => PolicyRefusal | null,
): Kept<Set> {
  const refusal = enforce(newest ?? none)
  if (refusal === null) return { newest, good: newest, refusal }
  enforce(good ?? none)
  return { newest, good, refusal }
}

/** Reports whether the row of the good set differs. */
const hasOtherGood = <Set>(before: Kept<Set>, after: Kept<Set>): boolean =>
  (before.refusal === null) !== (after.refusal === null) || after.refusal !== null
