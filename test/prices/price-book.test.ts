import fc from 'fast-check'
import t from 'tap'
import { MAX_NANO_USD } from '../../src/core/money.ts'
import { compileGlob } from '../../src/policy/glob.ts'
import { costOf, NO_PRICES, type Price, PriceBook, type PricedUsage } from '../../src/prices/price-book.ts'

const ZERO: Price = { input: 0, cachedInput: 0, output: 0, reasoning: 0, request: 0, image: 0 }
const NOTHING: PricedUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  images: 0,
}
const USD = 1e9
const bookOf = (...globs: readonly string[]) =>
  new PriceBook(
    globs.map((glob, index) => ({ glob, price: { ...ZERO, request: index } })),
    'r',
  )

t.test('the cost of a call has a part for each kind of use', async (t) => {
  const price: Price = {
    input: 1.25 * USD,
    cachedInput: 0.125 * USD,
    output: 10 * USD,
    reasoning: 20 * USD,
    request: 0.001 * USD,
    image: 0.002 * USD,
  }
  const cases: readonly (readonly [string, Partial<PricedUsage>, number])[] = [
    ['a request alone', {}, 1_000_000],
    ['a million tokens of a prompt', { promptTokens: 1e6 }, 1_251_000_000],
    ['half of them from the cache', { promptTokens: 1e6, cachedTokens: 5e5 }, 688_500_000],
    ['a million tokens of an answer', { completionTokens: 1e6 }, 10_001_000_000],
    ['half of them not shown', { completionTokens: 1e6, reasoningTokens: 5e5 }, 15_001_000_000],
    ['two images', { images: 2 }, 5_000_000],
    ['more from the cache than there is', { promptTokens: 1, cachedTokens: 9 }, 1_000_125],
    ['more not shown than there is', { completionTokens: 1, reasoningTokens: 9 }, 1_020_000],
  ]
  for (const [name, usage, cost] of cases) t.equal(costOf(price, { ...NOTHING, ...usage }), cost, name)
})

t.test('the parts of a cost are rounded together, halves up', async (t) => {
  const price: Price = { ...ZERO, input: 250_000, output: 250_000 }
  t.equal(costOf(price, { ...NOTHING, promptTokens: 1 }), 0)
  t.equal(costOf(price, { ...NOTHING, promptTokens: 1, completionTokens: 1 }), 1)
  t.equal(costOf(price, { ...NOTHING, promptTokens: 3, completionTokens: 2 }), 1)
})

t.test('a cost is at most the largest amount', async (t) => {
  const price: Price = { ...ZERO, input: MAX_NANO_USD, image: MAX_NANO_USD, request: 1 }
  t.equal(costOf(price, { ...NOTHING, promptTokens: 1e6 }), MAX_NANO_USD)
  t.equal(costOf(price, { ...NOTHING, images: 2 }), MAX_NANO_USD)
})

t.test('any cost equals the exact one, rounded', async () => {
  const amount = fc.nat({ max: 1e15 })
  const count = fc.nat({ max: 1e9 })
  const prices = fc.record({
    input: amount,
    cachedInput: amount,
    output: amount,
    reasoning: amount,
    request: amount,
    image: amount,
  })
  const usages = fc.record({
    promptTokens: count,
    cachedTokens: count,
    completionTokens: count,
    reasoningTokens: count,
    images: fc.nat({ max: 1000 }),
  })
  fc.assert(
    fc.property(prices, usages, (price, usage) => {
      const least = (a: number, b: number) => BigInt(a < b ? a : b)
      const cached = least(usage.cachedTokens, usage.promptTokens)
      const hidden = least(usage.reasoningTokens, usage.completionTokens)
      // In units of 10⁻¹⁵ USD, of which the last six digits are rounded away.
      const exact =
        (BigInt(usage.promptTokens) - cached) * BigInt(price.input) +
        cached * BigInt(price.cachedInput) +
        (BigInt(usage.completionTokens) - hidden) * BigInt(price.output) +
        hidden * BigInt(price.reasoning) +
        1_000_000n * (BigInt(price.request) + BigInt(usage.images) * BigInt(price.image))
      const rounded = exact / 1_000_000n + (exact % 1_000_000n >= 500_000n ? 1n : 0n)
      const most = BigInt(MAX_NANO_USD)
      return costOf(price, usage) === Number(rounded > most ? most : rounded)
    }),
  )
})

t.test('the first glob that matches gives the price', async (t) => {
  const book = bookOf('openai/gpt-4o', 'openai/*-mini', 'openai/*', '?/x')
  const cases: readonly (readonly [string, number | null])[] = [
    ['openai/gpt-4o', 0],
    ['openai/gpt-4o-mini', 1],
    ['openai/gpt-5', 2],
    ['a/x', 3],
    ['OpenAI/gpt-5', null],
    ['gpt-5', null],
    ['', null],
  ]
  for (let round = 0; round < 2; round++)
    for (const [model, line] of cases) t.equal(book.priceOf(model)?.request ?? null, line, model)
  t.equal(NO_PRICES.priceOf('openai/gpt-4o'), null)
})

t.test('the order of the lines decides, also after models are forgotten', async () => {
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 4 })
  const model = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 })
  fc.assert(
    fc.property(fc.uniqueArray(glob, { maxLength: 8 }), fc.array(model), (globs, models) => {
      const book = bookOf(...globs)
      return models.every((name) => {
        const first = globs.findIndex((one) => compileGlob(one)(name))
        return (book.priceOf(name)?.request ?? -1) === first
      })
    }),
  )
  const book = bookOf('*9', '*')
  for (let n = 0; n < 3000; n++) {
    const expected = n % 10 === 9 ? 0 : 1
    if (book.priceOf(`m${n}`)?.request !== expected) throw new Error(`m${n} has the price of another line`)
  }
})
