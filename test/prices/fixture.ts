// A price of nothing, which tests change.

import type { Price } from '../../src/prices/price-book.ts'

export const FREE: Price = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  output: 0,
  reasoning: 0,
  audioOutput: 0,
  above: null,
  tiers: new Map(),
  request: 0,
  image: 0,
}
