// The events of a feed about rules, overrides and prices, and their schemas. Part of the protocol.

import {
  type FleetOverride,
  type FleetPrices,
  type FleetRules,
  MAXIMUM_FLEET_OVERRIDES,
  MAXIMUM_FLEET_PRICE_CHARACTERS,
  MAXIMUM_FLEET_RULES,
} from '../policy/fleet-policy.ts'

/** All rules, overrides and prices of a sidecar. */
export interface SentPolicy {
  readonly rules: FleetRules
  readonly overrides: readonly FleetOverride[]
  readonly prices: FleetPrices
}

/** All rules of the sidecar, in place of those that it has. */
interface RulesChange extends FleetRules {
  readonly event: 'rules'
  readonly rev: number
}

/** The price book, in place of the one that the sidecar has. */
interface PricesChange extends FleetPrices {
  readonly event: 'prices'
  readonly rev: number
}

/** A new or changed override of a rule of the hub, by the id of the rule. */
interface OverridePut {
  readonly event: 'override'
  readonly rev: number
  readonly id: string
  readonly op: 'put'
  readonly body: FleetOverride
}

/** An override that has ended. */
interface OverrideRemoval extends Omit<OverridePut, 'op' | 'body'> {
  readonly op: 'del'
  readonly body: null
}

/** A change of what a hub says of the policy. Several have the revision of one change. */
export type PolicyChange = RulesChange | PricesChange | OverridePut | OverrideRemoval

const TEXT = { type: 'string', minLength: 1, maxLength: 256 }
const TIME = { type: 'string', maxLength: 64 }
const REV = { type: 'integer', minimum: 0 }
const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

const RULES = {
  revision: TEXT,
  rules: {
    type: 'array',
    maxItems: MAXIMUM_FLEET_RULES,
    items: object({
      id: TEXT,
      declaration: { type: 'object' },
      path: { type: ['string', 'null'] },
      line: { type: ['integer', 'null'] },
      created_at: TIME,
      updated_at: TIME,
    }),
  },
}
const OVERRIDE = object({
  rule_id: TEXT,
  rule_name: { type: 'string' },
  enabled: { type: 'boolean' },
  reason: { type: 'string' },
  expires_at: { type: ['string', 'null'], maxLength: 64 },
  declared_hash: TEXT,
  created_at: TIME,
  rev: REV,
})
const PRICES = {
  revision: { type: ['string', 'null'], maxLength: 256 },
  prices: { type: 'string', maxLength: MAXIMUM_FLEET_PRICE_CHARACTERS },
  unknown_price: { enum: ['block', 'ignore'] },
}

/** JSON Schema of a SentPolicy. */
export const SENT_POLICY_SCHEMA = object({
  rules: object(RULES),
  overrides: { type: 'array', maxItems: MAXIMUM_FLEET_OVERRIDES, items: OVERRIDE },
  prices: object(PRICES),
})

/** JSON Schema of the data of each of these events. */
export const POLICY_SCHEMAS: Readonly<Record<PolicyChange['event'], object>> = {
  rules: object({ rev: REV, ...RULES }),
  prices: object({ rev: REV, ...PRICES }),
  override: {
    oneOf: [
      object({ rev: REV, id: TEXT, op: { const: 'put' }, body: OVERRIDE }),
      object({ rev: REV, id: TEXT, op: { const: 'del' }, body: { type: 'null' } }),
    ],
  },
}
