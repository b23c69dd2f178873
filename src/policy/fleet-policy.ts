// Rules, overrides and prices of a hub as sidecars get them, and the limits of their size. JSON;
// times are RFC 3339.

import { hash } from 'node:crypto'
import type { RuleDeclaration } from './rule.ts'

/** Rules of a hub, of all its files and its API together. */
export const MAXIMUM_FLEET_RULES = 5000
/** Bytes of their JSON: a sidecar reads a change of such a set in some 20 ms. */
export const MAXIMUM_FLEET_RULE_BYTES = 1024 * 1024
/** Overrides that a hub has at a time. */
export const MAXIMUM_FLEET_OVERRIDES = 1000
/** Characters of the text of a price file. */
export const MAXIMUM_FLEET_PRICE_CHARACTERS = 128 * 1024

export interface FleetRule {
  readonly id: string
  /** Fields with a default are there. */
  readonly declaration: RuleDeclaration
  /** Name of the rule file; null for a rule made through the API. */
  readonly path: string | null
  readonly line: number | null
  readonly created_at: string
  readonly updated_at: string
}

/** A set of rules, taken whole or not at all. */
export interface FleetRules {
  /** Names the content: equal revisions mean equal rules. */
  readonly revision: string
  readonly rules: readonly FleetRule[]
}

export interface FleetOverride {
  readonly rule_id: string
  readonly rule_name: string
  readonly enabled: boolean
  readonly reason: string
  /** By the clock of the hub; null for an override that lasts until the declaration changes. */
  readonly expires_at: string | null
  readonly declared_hash: string
  readonly created_at: string
  /** Revision of its change. */
  readonly rev: number
}

export interface FleetPrices {
  /** That of the price book; null for no prices. */
  readonly revision: string | null
  /** The text of the price file; empty for no prices. */
  readonly prices: string
  readonly unknown_price: 'block' | 'ignore'
}

/** A hub without prices. */
export const NO_FLEET_PRICES: FleetPrices = { revision: null, prices: '', unknown_price: 'block' }

/** Why something that a hub sent is not in force. */
export interface PolicyRefusal {
  /** Name of the rule; null for all of it. */
  readonly rule: string | null
  /** JSON path in the rule; empty for the whole of it. */
  readonly path: string
  readonly message: string
}

/** What a sidecar keeps of it over a restart. Rows that are absent are as they were. */
export interface KeptPolicy {
  /** As the hub has them; null for a hub without. */
  readonly rules?: FleetRules | null
  readonly prices?: FleetPrices | null
  readonly overrides?: readonly FleetOverride[]
  /** Those in force, while the newest ones are not; null otherwise. */
  readonly goodRules?: FleetRules | null
  readonly goodPrices?: FleetPrices | null
}

/** Hexadecimal digits of a revision. */
const REVISION_DIGITS = 16

/** Returns the set of these rules. */
export const fleetRulesOf = (rules: readonly FleetRule[]): FleetRules => ({
  revision: hash('sha256', JSON.stringify(rules)).slice(0, REVISION_DIGITS),
  rules,
})
