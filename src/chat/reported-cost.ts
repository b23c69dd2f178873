// Reads what a call cost, where the known providers write it in their usage.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { MAXIMUM_NANO_USD, type NanoUsd, usdOf } from '../core/money.ts'

/** Ticks in 10⁻⁹ USD (https://docs.x.ai/developers/cost-tracking). */
const TICKS_A_NANO_USD = 10

/**
 * Returns the cost in the usage of an answer; null without one. A call through an aggregator with
 * an own key of the provider (`is_byok`) costs the aggregator's fee and what the provider charges;
 * without the latter the cost is not known.
 */
export function readCost(usage: JsonObject): NanoUsd | null {
  const cost = amountOf(usage['cost']) ?? ticksOf(usage['cost_in_usd_ticks'])
  if (usage['is_byok'] !== true) return cost
  const details = usage['cost_details']
  const charged = isObject(details) ? amountOf(details['upstream_inference_cost']) : null
  return charged === null ? null : Math.min(charged + (cost ?? 0), MAXIMUM_NANO_USD)
}

/** A number of USD, or the total of an object with the parts of a cost. */
function amountOf(value: JsonValue | undefined): NanoUsd | null {
  const usd = isObject(value) ? value['total_cost'] : value
  return typeof usd === 'number' ? usdOf(usd) : null
}

const ticksOf = (value: JsonValue | undefined): NanoUsd | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? Math.round(value / TICKS_A_NANO_USD)
    : null
