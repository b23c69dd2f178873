// Prices over REST: those in force, and the errors of the price file.

import { toUsd } from '../../core/money.ts'
import { formatProblem, type Problem } from '../../core/problem.ts'
import type { PriceBook, PriceLine } from '../../prices/price-book.ts'
import { type ApiRoute, ok } from '../api.ts'

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
      async answer() {
        const book = view?.current()
        return ok({
          revision: book?.revision ?? null,
          prices: (book?.lines ?? []).map(describeLine),
          problems: (view?.problems() ?? []).map((problem) => ({ ...problem, text: formatProblem(problem) })),
        })
      },
    },
  ]
}

function describeLine({ glob, price }: PriceLine): Record<string, string | number> {
  return {
    model: glob,
    input: toUsd(price.input),
    cached_input: toUsd(price.cachedInput),
    output: toUsd(price.output),
    reasoning: toUsd(price.reasoning),
    request: toUsd(price.request),
    image: toUsd(price.image),
  }
}
