import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { clientHeaders, type OwnHeaders, passedHeaders, upstreamHeaders } from '../../src/upstream/headers.ts'

const pairs = (raw: string[]) =>
  Object.fromEntries(raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1]]] : [])))

type Own = Partial<OwnHeaders> & { readonly defaults?: Readonly<Record<string, string>> }

const sentFor = (
  client: IncomingHttpHeaders,
  credential: string | null,
  { defaults = {}, ...own }: Own = {},
): string[] =>
  upstreamHeaders(client, { auth: 'bearer', headers: {}, forwardHeaders: [], ...own }, credential, defaults)

t.test('only allowed request headers are sent, with the credential of the upstream', async (t) => {
  const sent = pairs(
    sentFor(
      {
        host: 'localhost:8484',
        authorization: 'Bearer sgate_live_secret',
        'x-api-key': 'sgate_live_secret',
        cookie: 'sidegate_session=1',
        'user-agent': 'OpenAI/JS',
        traceparent: '00-1-2-01',
        'x-title': 'app',
        'x-forwarded-for': '10.0.0.1',
        'transfer-encoding': 'chunked',
        'proxy-authorization': 'x',
      },
      'upstream-secret',
    ),
  )
  t.same(sent, {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'OpenAI/JS',
    traceparent: '00-1-2-01',
    'x-title': 'app',
    authorization: 'Bearer upstream-secret',
  })
})

t.test('no authorization header is sent to an upstream without a credential', async (t) => {
  t.notOk('authorization' in pairs(sentFor({ authorization: 'Bearer x' }, null)))
})

t.test('headers named in Connection are not forwarded', async (t) => {
  const sent = pairs(sentFor({ connection: 'close, X-Title', 'x-title': 'app', accept: '*/*' }, null))
  t.notOk('x-title' in sent)
  t.equal(sent['accept'], '*/*')
})

/** What the client receives of these headers. */
const returned = (headers: IncomingHttpHeaders, hasOwnLimits = false, credential: string | null = null) =>
  clientHeaders({ headers, credential }, hasOwnLimits)

t.test('response headers with an unexpected value are dropped', async (t) => {
  const valid = {
    'content-type': 'text/event-stream; charset=utf-8',
    'retry-after': 'Mon, 23 Nov 2026 06:00:00 GMT',
    'retry-after-ms': '1500.5',
    'x-should-retry': 'false',
    'openai-processing-ms': '31',
    'openai-version': '2020-10-01',
  }
  t.same(returned(valid), valid)
  t.same(returned({ 'content-type': 'application/problem+json;charset=UTF-8' }), {
    'content-type': 'application/problem+json;charset=UTF-8',
  })
  t.same(returned({ 'content-type': 'application/json; key=sk-upstream-credential' }), {
    'content-type': 'application/json',
  })
  t.same(
    returned({
      'content-type': 'sk-upstream-credential',
      'retry-after': 'bob@example.com',
      'retry-after-ms': 'sk-upstream-credential',
      'x-should-retry': 'maybe',
      'openai-processing-ms': '4111 1111 1111 1111',
      'openai-version': 'bob@example.com',
    }),
    {},
  )
})

t.test('only allowed response headers are returned', async (t) => {
  t.same(
    returned({
      'content-type': 'application/json',
      'set-cookie': ['a=b'],
      server: 'cloudflare',
      'alt-svc': 'h3=":443"',
      'strict-transport-security': 'max-age=1',
      'transfer-encoding': 'chunked',
      'retry-after': '3',
      'x-request-id': 'theirs',
    }),
    { 'content-type': 'application/json', 'retry-after': '3' },
  )
})

t.test('configured headers replace those of the client, and credentials never pass', async (t) => {
  const client = {
    'api-key': 'client',
    'x-team': 'client',
    'openai-project': 'p',
    cookie: 'c',
    'x-api-key': 'k',
  }
  const sent = sentFor(client, 'secret', {
    auth: { header: 'api-key' },
    headers: { 'x-team': fixedSecret('search') },
    forwardHeaders: ['openai-project', 'x-team', 'api-key', 'cookie', 'x-api-key'],
  })
  t.match(pairs(sent), { 'api-key': 'secret', 'x-team': 'search', 'openai-project': 'p' })
  for (const name of ['authorization', 'cookie', 'x-api-key']) t.notOk(name in pairs(sent), name)
  t.equal(sent.filter((name) => name === 'x-team').length, 1)
  t.notOk('authorization' in pairs(sentFor({}, 'secret', { auth: 'none' })))
})

t.test('a default header is sent when the client leaves it out', async (t) => {
  const defaults = { 'anthropic-version': '2023-06-01' }
  t.equal(pairs(sentFor({}, null, { defaults }))['anthropic-version'], '2023-06-01')
  const newer = { 'anthropic-version': '2026-01-01' }
  t.equal(pairs(sentFor(newer, null, { defaults }))['anthropic-version'], '2026-01-01')
})

const OPENAI_LIMITS = {
  'x-ratelimit-limit-requests': '5000',
  'x-ratelimit-remaining-tokens': '149984',
  'x-ratelimit-reset-requests': '1s',
  'x-ratelimit-reset-tokens': '6m0s',
}
const UPSTREAM_LIMITS = {
  'x-upstream-ratelimit-limit-requests': '5000',
  'x-upstream-ratelimit-remaining-tokens': '149984',
  'x-upstream-ratelimit-reset-requests': '1s',
  'x-upstream-ratelimit-reset-tokens': '6m0s',
}
const ANTHROPIC_LIMITS = {
  'anthropic-ratelimit-requests-limit': '50',
  'anthropic-ratelimit-input-tokens-remaining': '80000000',
  'anthropic-ratelimit-tokens-reset': '2026-11-27T16:03:11Z',
  'anthropic-ratelimit-unified-status': 'allowed_warning',
  'anthropic-ratelimit-unified-reset': '1764259200',
  'anthropic-ratelimit-unified-5h-utilization': '0.07',
  'anthropic-ratelimit-unified-representative-claim': 'five_hour',
  'anthropic-priority-output-tokens-limit': '10000',
}

t.test("the provider's rate limits come back, OpenAI's also under names of their own", async (t) => {
  const strange = {
    'x-ratelimit-reset': '4111111111111111',
    'x-ratelimit-reset-project': 'bob@example.com',
    'anthropic-ratelimit-requests-reset': '4155552671',
    'anthropic-ratelimit-unified-status': 'Bob Smith',
    'anthropic-ratelimit-4111111111111111-limit': '5',
    'anthropic-organization-id': '0199b6c4-0000-7000-8000-000000000000',
    'x-request-id': 'r',
  }
  t.same(returned({ ...OPENAI_LIMITS, ...strange }), { ...OPENAI_LIMITS, ...UPSTREAM_LIMITS })
  t.same(returned({ ...OPENAI_LIMITS, ...strange }, true), UPSTREAM_LIMITS, 'the gateway sets its own')
  for (const hasOwnLimits of [true, false])
    t.same(returned({ ...strange, ...ANTHROPIC_LIMITS }, hasOwnLimits), ANTHROPIC_LIMITS)
  const many = Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index)).flatMap((letter) => [
    [`anthropic-ratelimit-${letter}-limit`, '1'],
    [`anthropic-ratelimit-${letter}-reset`, '1'],
  ])
  t.equal(Object.keys(returned(Object.fromEntries(many))).length, 32)
})

t.test('no header repeats the credential of the upstream', async (t) => {
  const headers = { 'anthropic-ratelimit-unified-status': 'secret_word', 'retry-after': '31' }
  t.same(returned(headers, false, 'secret_word'), { 'retry-after': '31' })
  const passed = { etag: '"secret_word"', 'openai-version': '2020-10-01' }
  t.same(passedHeaders({ headers: { ...headers, ...passed }, credential: 'secret_word' }, false), {
    'retry-after': '31',
    'openai-version': '2020-10-01',
  })
})
