import t from 'tap'
import { readParts } from '../../src/chat/token-counts.ts'
import { countImages, moneyDemand, pricedModels } from '../../src/pipeline/limits/money-demand.ts'
import { costOfCall } from '../../src/pipeline/record/call-cost.ts'
import { denialError } from '../../src/pipeline/record/failure.ts'
import { CALENDAR_MONTH, RUN_WINDOW } from '../../src/policy/limit.ts'
import { type Price, PriceBook } from '../../src/prices/price-book.ts'
import { FREE } from '../prices/fixture.ts'

const USD = 1_000_000_000
const SMALL: Price = { ...FREE, input: USD, cachedInput: USD / 10, output: 10 * USD, reasoning: 20 * USD }
const LARGE: Price = { ...SMALL, input: 2 * USD, request: 5, image: 7 }
const BOOK = new PriceBook(
  [
    { glob: 'small-*', price: SMALL },
    { glob: 'large*', price: LARGE },
  ],
  'revision',
)
const COUNTED = {
  promptTokens: 1000,
  completionTokens: 100,
  totalTokens: 1100,
  ...readParts({}),
  cost: null,
  tier: null,
}
const TOKENS = { prompt: 1000, completion: 100 }
const NOTED = {
  usage: COUNTED,
  prices: BOOK,
  images: 0,
  model: 'small-1',
  models: ['small-1'],
  sentModel: 'small-1',
  servedModel: null,
  response: null,
}

t.test('the cost that an upstream reports wins over the book', async (t) => {
  t.same(costOfCall({ ...NOTED, usage: { ...COUNTED, cost: 3 } }, TOKENS), {
    cost: 3,
    cost_source: 'upstream',
  })
  t.match(costOfCall({ ...NOTED, usage: { ...COUNTED, cost: 0 } }, TOKENS), { cost: 0 })
})

t.test('the book prices each kind of token, the request and the images', async (t) => {
  const book = { cost_source: 'book', price_revision: 'revision' }
  t.same(costOfCall(NOTED, TOKENS), { cost: 1000 * 1000 + 100 * 10_000, ...book })
  const usage = { ...COUNTED, cachedTokens: 400, reasoningTokens: 30 }
  const cost = 600 * 1000 + 400 * 100 + 70 * 10_000 + 30 * 20_000
  t.same(costOfCall({ ...NOTED, usage }, TOKENS), { cost, ...book })
  t.match(
    costOfCall({ ...NOTED, model: 'large', models: ['large'], sentModel: 'large', images: 2 }, TOKENS),
    {
      cost: 1000 * 2000 + 100 * 10_000 + 5 + 2 * 7,
    },
  )
  t.match(costOfCall({ ...NOTED, usage: null }, TOKENS), { cost: 2_000_000 }, 'estimated tokens')
})

t.test('each sampling is priced by its model and by the length of its own prompt', async (t) => {
  const long = { ...SMALL, above: { tokens: 900, prices: LARGE } }
  const book = new PriceBook(
    [
      { glob: 'small-*', price: long },
      { glob: 'large*', price: LARGE },
    ],
    'r',
  )
  const sampling = (model: string | null, promptTokens: number, completionTokens: number) => ({
    ...readParts({}),
    ...{ model, promptTokens, completionTokens },
  })
  const costOf = (...samplings: ReturnType<typeof sampling>[]) =>
    costOfCall({ ...NOTED, prices: book, usage: { ...COUNTED, samplings } }, TOKENS).cost
  t.equal(costOf(), 1000 * 2000 + 100 * 10_000)
  t.equal(costOf(sampling(null, 600, 60), sampling(null, 400, 40)), 1000 * 1000 + 100 * 10_000)
  t.equal(
    costOf(sampling(null, 600, 60), sampling('large-7', 400, 40)),
    600 * 1000 + 400 * 2000 + 100 * 10_000,
    'another model, without the price of a request',
  )
  t.equal(costOf(sampling('unheard-of', 600, 60)), 1000 * 1000 + 100 * 10_000, 'as the own model')
})

t.test('a model without a price costs nothing that is known', async (t) => {
  t.same(costOfCall({ ...NOTED, model: 'other', models: ['other'], sentModel: 'other' }, TOKENS), {
    cost: null,
  })
})

t.test('with fallbacks the model that answered is priced', async (t) => {
  const models = ['small-1', 'large']
  t.match(costOfCall({ ...NOTED, models, response: { model: 'large' } }, TOKENS), { cost: 3_000_005 })
  t.match(costOfCall({ ...NOTED, models, response: { model: 'unheard-of' } }, TOKENS), { cost: 2_000_000 })
})

t.test('the model that ran is priced, not the one that the call names', async (t) => {
  const free = new PriceBook(
    [
      { glob: 'free', price: FREE },
      { glob: 'large*', price: LARGE },
      { glob: '*', price: SMALL },
    ],
    'r',
  )
  const noted = { ...NOTED, prices: free, model: 'free', models: ['free'], sentModel: 'free' }
  const large = { cost: 3_000_005 }
  t.match(costOfCall(noted, TOKENS), { cost: 0 })
  t.match(costOfCall({ ...noted, sentModel: 'large' }, TOKENS), large, 'a fallback renames it')
  t.match(costOfCall({ ...noted, response: { model: 'large' } }, TOKENS), large, 'the answer names it')
  t.match(costOfCall({ ...noted, response: { model: 'large-2026-01-01' } }, TOKENS), large, 'by a glob')
  t.match(costOfCall({ ...noted, sentModel: 'deployment-7' }, TOKENS), { cost: 0 }, 'a line for all models')
  for (const model of ['unheard-of', 7, null])
    t.match(costOfCall({ ...noted, response: { model } }, TOKENS), { cost: 0 }, String(model))
})

t.test('a call reserves for the models that its upstreams are asked for', async (t) => {
  const routes = [{ model: 'small-1' }, { model: 'large' }, { model: 'deployment-7' }]
  t.same(pricedModels(BOOK, ['small-1'], routes), ['small-1', 'small-1', 'large'])
})

t.test('a call is expected to cost what its most expensive model takes', async (t) => {
  const asked = { models: ['small-1', 'large'], promptTokens: 1000, maxTokens: 100, images: 1, tier: null }
  t.same(moneyDemand(BOOK, 'block', asked), {
    type: 'priced',
    most: 1000 * 2000 + 100 * 20_000 + 5 + 7,
    answer: 512 * 20_000,
  })
  t.match(moneyDemand(BOOK, 'block', { ...asked, maxTokens: null }), { most: 1000 * 2000 + 5 + 7 })
  t.same(moneyDemand(BOOK, 'block', { ...asked, models: ['small-1', 'x'] }), { type: 'refused' })
  t.same(moneyDemand(BOOK, 'ignore', { ...asked, models: ['x'] }), { type: 'ignored' })
})

t.test('images are counted where each API has them', async (t) => {
  const url = 'data:image/png;base64,AAAA'
  t.equal(
    countImages({ messages: [{ content: [{ type: 'image_url', image_url: { url } }, { type: 'text' }] }] }),
    1,
  )
  t.equal(countImages({ input: [{ content: [{ type: 'input_image' }, { type: 'input_image' }] }] }), 2)
  t.equal(countImages({ messages: [{ content: [{ type: 'image', source: { type: 'base64' } }] }] }), 1)
  t.equal(countImages({ messages: [{ content: 'image_url' }] }), 0)
})

t.test('a refusal names the budget and the day on which it ends', async (t) => {
  const rule = { id: 'r1', name: 'team-budget', type: 'rate_limit', action: 'block' } as const
  const limit = {
    unit: 'usd',
    amount: 500 * USD,
    windowMs: CALENDAR_MONTH,
    scope: { label: 'team' },
    rule,
  } as const
  const denial = { outcome: 'denial', reason: 'rate_limited', rule, hits: [] } as const
  const refusal = {
    limit,
    retryAfterMs: 86_400_000,
    isHeld: false,
    neverFits: false,
    nowMs: Date.UTC(2026, 10, 29, 12),
    hasNoPrice: false,
  }
  const errorOf = (change: object) =>
    denialError(denial, { refusal: { ...refusal, ...change } } as never, '00000000')
  t.match(errorOf({}), {
    status: 429,
    code: 'budget_exceeded',
    message:
      'The budget "team-budget" of 500.00 USD is used up for all API keys with the same label "team" until 2026-11-30.',
    headers: { 'retry-after': '86400', 'x-should-retry': 'false' },
    extra: { rule_name: 'team-budget' },
  })
  const short = { limit: { ...limit, windowMs: 20_000 }, retryAfterMs: 6400 }
  t.match(errorOf(short), { message: /is used up for .* until 2026-11-29T12:00:07Z\.$/ })
  const ofDay = { limit: { ...limit, windowMs: 86_400_000 } }
  t.match(errorOf(ofDay), { message: /is used up for .* until 2026-11-30\.$/ })
  const never = errorOf({ neverFits: true })
  t.match(never, { code: 'budget_exceeded', message: /may cost more, max_tokens included/ })
  t.same(never.headers, { 'x-should-retry': 'false' })
  const ofRun = { limit: { ...limit, windowMs: RUN_WINDOW, scope: 'run' } }
  t.match(errorOf({ ...ofRun, isHeld: true, retryAfterMs: 5000 }), {
    message:
      'The budget "team-budget" of 500.00 USD is used up by what running calls may cost for this run; wait for one to end.',
    headers: { 'retry-after': '5' },
  })
  const over = errorOf({ ...ofRun, isRunOver: true, hasRun: true, retryAfterMs: 0 })
  t.match(over, {
    code: 'budget_exceeded',
    message: 'The budget "team-budget" of 500.00 USD is used up for this run; begin another run.',
    extra: { rule_name: 'team-budget' },
  })
  t.same(over.headers, { 'x-should-retry': 'false' })
  t.match(errorOf({ ...ofRun, isRunOver: true, hasRun: false, retryAfterMs: 0 }), {
    message:
      'The budget "team-budget" of 500.00 USD is used up for the calls of this API key that name no run; name each run in x-sidegate-run.',
  })
  t.match(errorOf({ isAway: true, retryAfterMs: 1000 }), {
    message:
      'No hub answers in time, and what this gateway may use of the budget "team-budget" of 500.00 USD without one does not cover the call; try again soon.',
    headers: { 'retry-after': '1' },
  })
  t.match(errorOf({ hasNoPrice: true }), {
    status: 403,
    code: 'price_unknown',
    param: 'model',
    message: /no price.*"team-budget".*add the model to the price book/,
  })
  for (const [amount, calls] of [
    [1, '1 call at a time'],
    [12, '12 calls at a time'],
  ] as const) {
    const ofKey = errorOf({ limit: { ...limit, rule: null, unit: 'parallel', windowMs: 0, amount } })
    t.equal(ofKey?.message, `This API key allows ${calls} (max_parallel); wait for one to end.`)
  }
})
