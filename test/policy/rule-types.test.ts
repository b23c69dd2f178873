import t from 'tap'
import { CALENDAR_MONTH, RUN_WINDOW } from '../../src/policy/limit.ts'
import { parsePattern } from '../../src/policy/rule-types.ts'

const DAY_MS = 86_400_000

t.test('a pii pattern names kinds, each once', async (t) => {
  t.match(parsePattern('pii', '*'), { type: 'pii', kinds: '*', exceptions: null })
  t.match(parsePattern('pii', 'email | phone|email'), { kinds: ['email', 'phone'], exceptions: null })
  t.match(parsePattern('pii', 'email|case_number'), { kinds: ['email', 'case_number'] })
  t.match(parsePattern('pii', 'ip_address:public'), {
    ...{ kinds: ['ip_address'], exceptions: { privateAddresses: true } },
  })
})

const wrongKinds: [pattern: string, message: RegExp][] = [
  ['emial', /`emial` is not a kind.*did you mean `email`\?.*us_ssn/],
  ['*|email', /means every kind/],
  ['', /must name kinds.*email, phone/],
  ['email|', /must name kinds/],
  ['x'.repeat(10_000), /^`x{40}…`/],
  ['ip_address|ip_address:public', /keep one of them/],
  ['email:public', /`email:public` is not a kind/],
]
for (const [pattern, message] of wrongKinds) {
  t.test(`the kinds «${pattern.slice(0, 40)}» are refused`, async (t) => {
    t.match(parsePattern('pii', pattern), { messages: [message] })
  })
}

const thresholds: [pattern: string, threshold: number | null | undefined][] = [
  ['', null],
  ['  ', null],
  ['score>=0.70', 0.7],
  ['score >= 1', 1],
  ['score>=1.0', 1],
  ['score>=0', undefined],
  ['score>=1.1', undefined],
  ['score>0.5', undefined],
  ['0.5', undefined],
  ['score>=.5', undefined],
  ['score>=0.7x', undefined],
]
for (const [pattern, threshold] of thresholds) {
  t.test(`the threshold «${pattern}» is ${threshold === undefined ? 'refused' : threshold}`, async (t) => {
    t.match(
      parsePattern('prompt_injection', pattern),
      threshold === undefined ? { messages: [/must be empty, or a threshold/] } : { threshold },
    )
  })
}

t.test('a capture pattern is full or metadata', async (t) => {
  for (const capture of ['full', 'metadata'])
    t.same(parsePattern('capture', ` ${capture} `), { type: 'capture', capture })
  for (const wrong of ['', 'none', 'Metadata', 'full|metadata'])
    t.match(parsePattern('capture', wrong), { messages: [/^must be `full` or `metadata`$/] })
})

const limits: [pattern: string, tokens: number, windowMs: number][] = [
  ['60000/1m', 60_000, 60_000],
  ['2M/1d', 2_000_000, DAY_MS],
  ['500k / 90s', 500_000, 90_000],
  ['1/30d', 1, 30 * DAY_MS],
  ['1000000M/1h', 1e12, 3_600_000],
]
for (const [pattern, tokens, windowMs] of limits) {
  t.test(`the limit ${pattern} is ${tokens} tokens in ${windowMs} ms`, async (t) => {
    t.same(parsePattern('rate_limit', pattern), {
      type: 'rate_limit',
      limit: { unit: 'tokens', amount: tokens, windowMs },
    })
  })
}

const wrongLimits: [pattern: string, message: RegExp][] = [
  ['', /must be <tokens>\/<window>/],
  ['60000', /must be <tokens>\/<window>/],
  ['60000/m', /must be <tokens>\/<window>/],
  ['1.5M/1d', /must be <tokens>\/<window>/],
  ['-1/1m', /must be <tokens>\/<window>/],
  ['5K/1m', /must be <tokens>\/<window>/],
  ['0/1m', /tokens must be from 1/],
  ['1000001M/1m', /tokens must be from 1/],
  ['5/0s', /window must be from 1s to 30d/],
  ['5/31d', /window must be from 1s to 30d/],
]
for (const [pattern, message] of wrongLimits) {
  t.test(`the limit «${pattern}» is refused`, async (t) => {
    t.match(parsePattern('rate_limit', pattern), { messages: [message] })
  })
}

t.test('a limit counts tokens, requests or calls at a time', async (t) => {
  const limits: Record<string, object> = {
    '60000 tokens/1m': { unit: 'tokens', amount: 60_000, windowMs: 60_000 },
    '100 requests/1m': { unit: 'requests', amount: 100, windowMs: 60_000 },
    '2k requests / 1mo': { unit: 'requests', amount: 2000, windowMs: CALENDAR_MONTH },
    '1M/1mo': { unit: 'tokens', amount: 1e6, windowMs: CALENDAR_MONTH },
    '5 parallel': { unit: 'parallel', amount: 5, windowMs: 0 },
  }
  for (const [pattern, limit] of Object.entries(limits))
    t.same(parsePattern('rate_limit', pattern), { type: 'rate_limit', limit }, pattern)
  for (const pattern of [
    '5 parallel/1m',
    '5 requests',
    '5 calls/1m',
    '5 requests/1y',
    '5 requests/2mo',
    '0 parallel',
  ])
    t.ok('messages' in parsePattern('rate_limit', pattern), pattern)
})

t.test('a limit counts money in 10⁻⁹ USD', async (t) => {
  for (const [pattern, amount, windowMs] of [
    ['20 USD/1d', 20_000_000_000, 86_400_000],
    ['500 USD/1mo', 500_000_000_000, CALENDAR_MONTH],
    ['0.000000001USD / 1h', 1, 3_600_000],
    ['1000000 USD/30d', 1e15, 30 * 86_400_000],
  ] as const)
    t.same(
      parsePattern('rate_limit', pattern),
      { type: 'rate_limit', limit: { unit: 'usd', amount, windowMs } },
      pattern,
    )
  for (const [pattern, message] of [
    ['20 EUR/1d', /`EUR` is not a currency of limits; write USD/],
    ['20 usd/1d', /`usd` is not a currency of limits; write USD/],
    ['20 $/1d', /`\$` is not a currency of limits; write USD/],
    ['0 USD/1d', /USD must be above 0 and at most 1,000,000/],
    ['1000001 USD/1d', /USD must be above 0 and at most 1,000,000/],
    ['20 USD/2mo', /one month, `1mo`/],
    ['20 USD/31d', /window must be from 1s to 30d, or 1mo/],
    ['20 USD/1y', /or <amount> USD\/<window>/],
    ['-20 USD/1d', /or <amount> USD\/<window>/],
    ['20 USD', /or <amount> USD\/<window>/],
    ['1.0000000001 USD/1d', /or <amount> USD\/<window>/],
  ] as const)
    t.match(parsePattern('rate_limit', pattern), { messages: [message] }, pattern)
})

t.test('the pattern of a model_access rule is a list of globs', async (t) => {
  const globs = ['gpt-*', '!gpt-secret']
  t.same(parsePattern('model_access', globs), { type: 'model_access', globs })
  t.same(parsePattern('model_access', []), { type: 'model_access', globs: [] })
  t.match(parsePattern('model_access', 'gpt-*'), { messages: [/must be a list of globs/] })
  t.match(parsePattern('model_access', ['!']), { messages: [/item 1 has no glob/] })
  t.match(parsePattern('model_access', ['a', 'b\b']), { messages: [/item 2 contains the control character/] })
  t.match(parsePattern('keyword_block', ['a']), { messages: [/must be a text/] })
})

t.test('a tool_access pattern is a list that can refuse something', async (t) => {
  const none = { arguments: null, after: null, afterInjection: null }
  const globs = ['search_*', '!bash']
  t.same(parsePattern('tool_access', globs), { type: 'tool_access', globs, ...none })
  t.match(parsePattern('tool_access', 'bash'), { messages: [/must be a list of globs of the tools/] })
  t.match(parsePattern('tool_access', ['*']), { messages: [/refuses no tool/] })
  t.match(parsePattern('tool_access', ['a', '!']), { messages: [/item 2 has no glob/] })
})

const UNUSABLE_CONDITIONS: [beside: Parameters<typeof parsePattern>[2], path: string, message: RegExp][] = [
  [{ arguments: [{ path: 'command', pattern: 'x' }] }, 'arguments[0].path', /must be a JSON pointer such as/],
  [{ arguments: [{ path: '/a~2', pattern: 'x' }] }, 'arguments[0].path', /must be a JSON pointer such as/],
  [{ arguments: [{ path: '', pattern: '' }] }, 'arguments[0].pattern', /must not be empty/],
  [{ arguments: [{ path: '', pattern: '(' }] }, 'arguments[0].pattern', /alternative 1/],
  [{ arguments: [{ path: '', pattern: '(?=x)' }] }, 'arguments[0].pattern', /alternative 1/],
  [{ after: ['!web'] }, 'after[0]', /without `!`/],
]
for (const [beside, path, message] of UNUSABLE_CONDITIONS)
  t.test(`the condition ${JSON.stringify(beside)} is refused where it is`, async (t) => {
    t.match(parsePattern('tool_access', ['*', '!bash'], beside), { others: [{ path, message }] })
  })

t.test('a rule with conditions names the tools that it refuses', async (t) => {
  for (const beside of [
    { arguments: [{ path: '', pattern: 'x' }] },
    { after: ['a'] },
    { afterInjection: 0.7 },
  ])
    t.match(parsePattern('tool_access', ['bash'], beside), { messages: [/needs the tools that it refuses/] })
})

t.test('a pointer is read with its escapes', async (t) => {
  const beside = { arguments: [{ path: '/files/*/a~1b~0c', pattern: 'x' }] }
  t.match(parsePattern('tool_access', ['*', '!bash'], beside), {
    arguments: [{ path: ['files', '*', 'a/b~c'] }],
  })
})

t.test('a limit of a run says so, and counts tool calls too', async (t) => {
  const run = { per: 'run' }
  t.match(parsePattern('rate_limit', '5 USD/run', run), { limit: { unit: 'usd', windowMs: RUN_WINDOW } })
  t.match(parsePattern('rate_limit', '50 tool_calls/run', run), {
    limit: { unit: 'tool_calls', amount: 50, windowMs: RUN_WINDOW },
  })
  t.match(parsePattern('rate_limit', '5 tool_calls/1d'), { limit: { unit: 'tool_calls', windowMs: DAY_MS } })
  t.match(parsePattern('rate_limit', '5 parallel', run), { limit: { unit: 'parallel' } })
  t.match(parsePattern('rate_limit', '5 USD/run'), { messages: [/needs `per: run`/] })
  t.match(parsePattern('rate_limit', '5 USD/week', run), { messages: [/windows s, m, h, d, 1mo and run/] })
  t.match(parsePattern('rate_limit', '5 tool_calls', run), { messages: [/tool_calls\/<window>/] })
})
