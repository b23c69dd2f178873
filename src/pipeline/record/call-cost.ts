// What a call cost: as its upstream says, else by the price book.

import type { RequestDraft } from '../../audit/entry.ts'
import { costOf, NO_USAGE, type Price } from '../../prices/price-book.ts'
import type { CallRecord } from '../call/call-record.ts'

/** The members of an entry that say what its call cost. */
export type SealedCost = Pick<RequestDraft, 'cost' | 'cost_source' | 'price_revision'>

type PricedRecord = Pick<
  CallRecord,
  'usage' | 'prices' | 'images' | 'model' | 'models' | 'sentModel' | 'servedModel' | 'response'
>

export const UNKNOWN_COST: SealedCost = { cost: null }

/** @param tokens of the call, estimated where the upstream counted none; some are used */
export function costOfCall(
  noted: PricedRecord,
  tokens: { readonly prompt: number; readonly completion: number },
): SealedCost {
  const { usage, prices, images } = noted
  if (usage !== null && usage.cost !== null) return { cost: usage.cost, cost_source: 'upstream' }
  const price = priceOfServed(noted)
  if (price === null) return UNKNOWN_COST
  const cost = costOf(price, {
    ...NO_USAGE,
    ...usage,
    promptTokens: tokens.prompt,
    completionTokens: tokens.completion,
    images,
  })
  return { cost, cost_source: 'book', price_revision: prices.revision }
}

/**
 * The price of the model that ran: the one that the answer names, else the one that was asked of
 * the upstream, if the book names it; else the price of the model as the call names it.
 */
function priceOfServed(noted: PricedRecord): Price | null {
  const { prices, model, models, sentModel, servedModel, response } = noted
  const served = servedModel ?? response?.['model']
  for (const name of [served, sentModel])
    if (typeof name === 'string' && prices.names(name)) return prices.priceOf(name)
  return prices.priceOf(models.find((one) => one === served) ?? model)
}
