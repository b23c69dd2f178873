// What a call may cost, before it is forwarded.

import type { ModelRequest } from '../../chat/model-request.ts'
import type { UnknownPrice } from '../../core/config.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import type { NanoUsd } from '../../core/money.ts'
import { EXPECTED_ANSWER_TOKENS } from '../../policy/limit.ts'
import {
  costOf,
  NO_USAGE,
  type Price,
  type PriceBook,
  type TokenPrices,
  tokenPricesOf,
} from '../../prices/price-book.ts'

/** `refused` and `ignored`: a model of the call has no price. */
export type MoneyDemand = { readonly type: 'refused' | 'ignored' } | PricedDemand

interface PricedDemand {
  readonly type: 'priced'
  /** Cost of the prompt, and of the longest answer that the call allows. */
  readonly most: NanoUsd
  /** Cost of an expected answer, for those without a length limit. */
  readonly answer: NanoUsd
}

export const NO_COST: MoneyDemand = { type: 'priced', most: 0, answer: 0 }

/** What a call may use. */
interface EstimatedUsage {
  readonly models: readonly string[]
  readonly promptTokens: number
  /** Null when the answer is not limited. */
  readonly maxTokens: number | null
  readonly images: number
  /** Service tier that the call asks for; null without one. */
  readonly tier: string | null
}

/**
 * The models that a call may be priced by: those that it names, and those that its upstreams are
 * asked for, if the book names them.
 */
export const pricedModels = (
  book: PriceBook,
  models: readonly string[],
  routes: readonly { readonly model: string }[],
): readonly string[] => [...models, ...routes.map(({ model }) => model).filter((model) => book.names(model))]

/** Estimates the cost of a call by the most expensive model that it may end up at. */
export function moneyDemand(book: PriceBook, unknown: UnknownPrice, usage: EstimatedUsage): MoneyDemand {
  const { models, promptTokens, maxTokens, images, tier } = usage
  let most = 0
  let answer = 0
  for (const model of models) {
    const price = book.priceOf(model)
    if (price === null) return { type: unknown === 'block' ? 'refused' : 'ignored' }
    const highest = highestOf(price, tokenPricesOf(price, { tier, promptTokens }))
    const asked = { ...NO_USAGE, promptTokens, completionTokens: maxTokens ?? 0, images }
    most = Math.max(most, costOf(highest, asked))
    answer = Math.max(
      answer,
      costOf({ ...highest, request: 0 }, { ...NO_USAGE, completionTokens: EXPECTED_ANSWER_TOKENS }),
    )
  }
  return { type: 'priced', most, answer }
}

/** What a call is expected to cost at most; an answer without a limit has the expected length. */
export const expectedCost = (
  { most, answer }: Pick<PricedDemand, 'most' | 'answer'>,
  { maxTokens, choices }: Pick<ModelRequest, 'maxTokens' | 'choices'>,
): NanoUsd => most + (maxTokens === null ? answer * choices : 0)

/** Each token at the highest price that it may have. */
function highestOf(price: Price, prices: TokenPrices): Price {
  const { cachedInput, cacheWrite, cacheWrite1h, audioInput, reasoning, audioOutput } = prices
  return {
    ...price,
    above: null,
    tiers: new Map(),
    input: Math.max(prices.input, cachedInput, cacheWrite, cacheWrite1h, audioInput),
    output: Math.max(prices.output, reasoning, audioOutput),
  }
}

/** Types of parts that are an image: of chat, of responses and of messages. */
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image'])

/** Counts the images of a request. The parser bounds the depth. */
export function countImages(value: JsonValue): number {
  let images = 0
  if (Array.isArray(value)) for (const item of value) images += countImages(item)
  else if (isObject(value)) {
    if (IMAGE_TYPES.has(value['type'])) return 1
    for (const name in value) images += countImages(value[name]!)
  }
  return images
}
