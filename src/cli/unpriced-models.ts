// Finds the models that calls used lately and that a price book has no price for.

import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { PriceBook } from '../prices/price-book.ts'
import type { Store } from '../store/store.ts'
import { requireLog } from '../store/verification/log-source.ts'
import { openConfiguredStore } from './open-store.ts'

export const UNPRICED_DAYS = 7
const MS_PER_DAY = 86_400_000
/** Newest calls that are read. */
const MAXIMUM_CALLS = 100_000
const PAGE_CALLS = 1000
/** Models that are found before the search ends: clients choose their names. */
const MAXIMUM_MODELS = 1000

/**
 * Returns the models of calls of the last UNPRICED_DAYS that used tokens, by name; none when there
 * is no usage log or it cannot be read.
 */
export async function unpricedModels(config: Config, book: PriceBook): Promise<string[]> {
  let store: Store | null = null
  try {
    requireLog(config.data.path)
    store = openConfiguredStore(config)
    return await findUnpriced(store, book)
  } catch {
    // Files can be checked where no gateway has run, or without a right to its log.
    return []
  } finally {
    await store?.close()
  }
}

async function findUnpriced({ log }: Store, book: PriceBook): Promise<string[]> {
  const sinceMs = systemClock.now() - UNPRICED_DAYS * MS_PER_DAY
  const found = new Set<string>()
  for (let offset = 0; offset < MAXIMUM_CALLS && found.size < MAXIMUM_MODELS; offset += PAGE_CALLS) {
    const { logs } = await log.list({ limit: PAGE_CALLS, offset })
    const recent = logs.filter(({ created_at: time }) => Date.parse(time) >= sinceMs)
    for (const { model, total_tokens: tokens } of recent)
      if (tokens > 0 && book.priceOf(model) === null) found.add(model)
    // Calls that began earlier may have ended later, but not by a whole page.
    if (recent.length === 0) break
  }
  return [...found].sort()
}
