import fc from 'fast-check'
import t from 'tap'
import { MAXIMUM_NANO_USD } from '../../src/core/money.ts'
import { compileGlob } from '../../src/policy/glob.ts'
import {
  costOf,
  NO_PRICES,
  NO_USAGE,
  type Price,
  PriceBook,
  type PricedUsage,
} from '../../src/prices/price-book.ts'
import { FREE } from './fixture.ts'

const USD = 1e9
const bookOf = (...globs: readonly string[]) =>
  new PriceBook(
    globs.map((glob, index) => ({ glob, price: { ...FREE, request: index } })),
    'r',
  )

t.test('the cost of a call has a part for each kind of use', async (t) => {
  const price: Price = {
    ...FREE,
    input: 1.25 * USD,
    cachedInput: 0.125 * USD,
    cacheWrite: 1.5 * USD,
    cacheWrite1h: 2.5 * USD,
    audioInput: 4 * USD,
    output: 10 * USD,
    reasoning: 20 * USD,
    audioOutput: 40 * USD,
    request: 0.001 * USD,
    image: 0.002 * USD,
  }
  const cases: readonly (readonly [string, Partial<PricedUsage>, number])[] = [
    ['a request alone', {}, 1_000_000],
    ['a million tokens of a prompt', { promptTokens: 1e6 }, 1_251_000_000],
    ['half of them from the cache', { promptTokens: 1e6, cachedTokens: 5e5 }, 688_500_000],
    ['half of them written into it', { promptTokens: 1e6, cacheWriteTokens: 5e5 }, 1_376_000_000],
    [
      'a part of those for an hour',
      { promptTokens: 1e6, cacheWriteTokens: 5e5, cacheWrite1hTokens: 1e5 },
      1_476_000_000,
    ],
    ['half of them sound', { promptTokens: 1e6, audioInputTokens: 5e5 }, 2_626_000_000],
    ['half of the answer sound', { completionTokens: 1e6, audioOutputTokens: 5e5 }, 25_001_000_000],
    ['more written than there is', { promptTokens: 1, cacheWriteTokens: 9 }, 1_001_500],
    ['a million tokens of an answer', { completionTokens: 1e6 }, 10_001_000_000],
    ['half of them not shown', { completionTokens: 1e6, reasoningTokens: 5e5 }, 15_001_000_000],
    ['two images', { images: 2 }, 5_000_000],
    ['more from the cache than there is', { promptTokens: 1, cachedTokens: 9 }, 1_000_125],
    ['more not shown than there is', { completionTokens: 1, reasoningTokens: 9 }, 1_020_000],
  ]
  for (const [name, usage, cost] of cases) t.equal(costOf(price, { ...NO_USAGE, ...usage }), cost, name)
})

t.test('the parts of a cost are rounded together, halves up', async (t) => {
  const price: Price = { ...FREE, input: 250_000, output: 250_000 }
  t.equal(costOf(price, { ...NO_USAGE, promptTokens: 1 }), 0)
  t.equal(costOf(price, { ...NO_USAGE, promptTokens: 1, completionTokens: 1 }), 1)
  t.equal(costOf(price, { ...NO_USAGE, promptTokens: 3, completionTokens: 2 }), 1)
})

t.test('a cost is at most the largest amount', async (t) => {
  const price: Price = { ...FREE, input: MAXIMUM_NANO_USD, image: MAXIMUM_NANO_USD, request: 1 }
  t.equal(costOf(price, { ...NO_USAGE, promptTokens: 1e6 }), MAXIMUM_NANO_USD)
  t.equal(costOf(price, { ...NO_USAGE, images: 2 }), MAXIMUM_NANO_USD)
})

t.test('a long prompt and a service tier have prices of their own', async (t) => {
  const tokens = { ...FREE, input: USD, output: 10 * USD }
  const price: Price = {
    ...tokens,
    request: 5,
    above: { tokens: 200_000, prices: { ...tokens, input: 2 * USD, output: 15 * USD } },
    tiers: new Map([
      ['flex', { ...tokens, input: USD / 2, output: 5 * USD, above: null }],
      [
        'priority',
        { ...tokens, input: 2 * USD, above: { tokens: 10, prices: { ...tokens, input: 3 * USD } } },
      ],
    ]),
  }
  const cases: readonly (readonly [Partial<PricedUsage>, number])[] = [
    [{ promptTokens: 200_000, completionTokens: 100 }, 201_000_005],
    [{ promptTokens: 200_001, completionTokens: 100 }, 401_502_005],
    [{ promptTokens: 200_001, tier: 'flex' }, 100_000_505],
    [{ promptTokens: 10, tier: 'priority' }, 20_005],
    [{ promptTokens: 11, tier: 'priority' }, 33_005],
    [{ promptTokens: 10, tier: 'standard' }, 10_005],
    [{ promptTokens: 10, tier: 'constructor' }, 10_005],
  ]
  for (const [usage, cost] of cases)
    t.equal(costOf(price, { ...NO_USAGE, ...usage }), cost, JSON.stringify(usage))
})

t.test('any cost equals the exact one, rounded, and no token has two prices', async () => {
  const amount = fc.nat({ max: 1e15 })
  const count = fc.nat({ max: 1e9 })
  const prices = fc.record({
    input: amount,
    cachedInput: amount,
    cacheWrite: amount,
    cacheWrite1h: amount,
    audioInput: amount,
    output: amount,
    reasoning: amount,
    audioOutput: amount,
    request: amount,
    image: amount,
  })
  const usages = fc.record({
    promptTokens: count,
    cachedTokens: count,
    cacheWriteTokens: count,
    cacheWrite1hTokens: count,
    audioInputTokens: count,
    completionTokens: count,
    reasoningTokens: count,
    audioOutputTokens: count,
    images: fc.nat({ max: 1000 }),
  })
  const least = (a: number, b: number) => (a < b ? a : b)
  fc.assert(
    fc.property(prices, usages, (some, usage) => {
      const price = { ...FREE, ...some }
      const long = least(usage.cacheWrite1hTokens, usage.cacheWriteTokens)
      const prompt: [number, number][] = [
        [usage.cachedTokens, price.cachedInput],
        [long, price.cacheWrite1h],
        [usage.cacheWriteTokens - long, price.cacheWrite],
        [usage.audioInputTokens, price.audioInput],
        [usage.promptTokens, price.input],
      ]
      const answer: [number, number][] = [
        [usage.audioOutputTokens, price.audioOutput],
        [usage.reasoningTokens, price.reasoning],
        [usage.completionTokens, price.output],
      ]
      // In units of 10⁻¹⁵ USD, of which the last six digits are rounded away.
      let exact = 1_000_000n * (BigInt(price.request) + BigInt(usage.images) * BigInt(price.image))
      for (const [parts, total] of [
        [prompt, usage.promptTokens],
        [answer, usage.completionTokens],
      ] as const) {
        let rest = total
        for (const [tokens, each] of parts) {
          exact += BigInt(least(tokens, rest)) * BigInt(each)
          rest -= least(tokens, rest)
        }
      }
      const rounded = exact / 1_000_000n + (exact % 1_000_000n >= 500_000n ? 1n : 0n)
      const most = BigInt(MAXIMUM_NANO_USD)
      return costOf(price, { ...usage, tier: null }) === Number(rounded > most ? most : rounded)
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
  t.same(
    ['openai/gpt-5', 'a/x', 'gpt-5'].map((model) => book.names(model)),
    [true, true, false],
  )
  t.notOk(bookOf('*').names('gpt-5'), 'a line for all models names none')
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
