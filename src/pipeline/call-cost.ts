// What a call cost: as its upstream says, else by the price book.

import type { RequestDraft } from '../audit/entry.ts'
import { costOf } from '../prices/price-book.ts'
import type { CallRecord } from './call-record.ts'

/** The members of an entry that say what its call cost. */
export type SealedCost = Pick<RequestDraft, 'cost' | 'cost_source' | 'price_revision'>

export const UNKNOWN_COST: SealedCost = { cost: null }

/** @param tokens of the call, estimated where the upstream counted none; some are used */
export function costOfCall(
  noted: Pick<CallRecord, 'usage' | 'prices' | 'images' | 'model' | 'models' | 'response'>,
  tokens: { readonly prompt: number; readonly completion: number },
): SealedCost {
  const { usage, prices, images } = noted
  if (usage !== null && usage.cost !== null) return { cost: usage.cost, cost_source: 'upstream' }
  const price = prices.priceOf(servedModel(noted))
  if (price === null) return UNKNOWN_COST
  const cost = costOf(price, {
    promptTokens: tokens.prompt,
    cachedTokens: usage?.cachedTokens ?? 0,
    completionTokens: tokens.completion,
    reasoningTokens: usage?.reasoningTokens ?? 0,
    images,
  })
  return { cost, cost_source: 'book', price_revision: prices.revision }
}

/** The model of the call that answered; its first one where the answer does not say. */
function servedModel({ model, models, response }: Pick<CallRecord, 'model' | 'models' | 'response'>): string {
  const served = models.length > 1 ? response?.['model'] : undefined
  return models.find((one) => one === served) ?? model
}
