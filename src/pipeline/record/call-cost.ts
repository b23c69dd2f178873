// What a call cost: as its upstream says, else by the price book.

import type { RequestDraft } from '../../audit/entry.ts'
import { type Sampling, withoutSamplings } from '../../chat/samplings.ts'
import { MAXIMUM_NANO_USD } from '../../core/money.ts'
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
  const all = {
    ...NO_USAGE,
    ...usage,
    promptTokens: tokens.prompt,
    completionTokens: tokens.completion,
    images,
  }
  const samplings = usage?.samplings ?? []
  // Each has a price of its own: by its model, and by the length of its prompt.
  const cost = samplings.reduce(
    (sum, sampling) =>
      sum +
      costOf({ ...priceOfSampling(noted, sampling, price), request: 0 }, { ...all, ...sampling, images: 0 }),
    costOf(price, withoutSamplings(all, samplings)),
  )
  return {
    cost: Math.min(cost, MAXIMUM_NANO_USD),
    cost_source: 'book',
    price_revision: prices.revision,
  }
}

/** @param own price of the model that ran, also that of a sampling by a model without a price */
function priceOfSampling({ prices, models }: PricedRecord, { model }: Sampling, own: Price): Price {
  const isKnown = model !== null && (prices.names(model) || models.includes(model))
  return (isKnown ? prices.priceOf(model) : null) ?? own
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
