// Prices over REST: those in force, and the errors of the price file.

import type { JsonObject } from '../../core/json.ts'
import { toUsd } from '../../core/money.ts'
import { formatProblem, type Problem } from '../../core/problem.ts'
import type { PriceBook, PriceLine, TierPrices, TokenPrices } from '../../prices/price-book.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

/** The part of the live prices that the route reads. */
export interface PricesView {
  current(): PriceBook
  problems(): readonly Problem[]
}

/** @param view null without prices in the configuration */
export function priceRoutes(view: PricesView | null): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/prices',
      access: 'viewer',
      operation: operation('Lists the prices of models in force, in the order of the price file.', {
        answer: 'Prices',
      }),
      async answer() {
        const book = view?.current()
        return ok({
          revision: book?.revision || null,
          prices: (book?.lines ?? []).map(describeLine),
          problems: (view?.problems() ?? []).map((problem) => ({ ...problem, text: formatProblem(problem) })),
        })
      },
    },
  ]
}

const describeLine = ({ glob, price }: PriceLine): JsonObject => ({
  model: glob,
  ...describeTier(price),
  tiers: Object.fromEntries([...price.tiers].map(([name, tier]) => [name, describeTier(tier)])),
  request: toUsd(price.request),
  image: toUsd(price.image),
})

const describeTier = (prices: TierPrices): JsonObject => ({
  ...describeTokens(prices),
  above: prices.above && { tokens: prices.above.tokens, ...describeTokens(prices.above.prices) },
})

const describeTokens = (prices: TokenPrices): JsonObject => ({
  input: toUsd(prices.input),
  cached_input: toUsd(prices.cachedInput),
  cache_write: toUsd(prices.cacheWrite),
  cache_write_1h: toUsd(prices.cacheWrite1h),
  audio_input: toUsd(prices.audioInput),
  output: toUsd(prices.output),
  reasoning: toUsd(prices.reasoning),
  audio_output: toUsd(prices.audioOutput),
})
