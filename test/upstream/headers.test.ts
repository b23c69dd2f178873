import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { clientHeaders, type OwnHeaders, upstreamHeaders } from '../../src/upstream/headers.ts'

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

t.test('response headers with an unexpected value are dropped', async (t) => {
  const valid = {
    'content-type': 'text/event-stream; charset=utf-8',
    'retry-after': 'Mon, 23 Nov 2026 06:00:00 GMT',
    'retry-after-ms': '1500.5',
    'x-should-retry': 'false',
    'openai-processing-ms': '31',
  }
  t.same(clientHeaders(valid), valid)
  t.same(clientHeaders({ 'content-type': 'application/problem+json;charset=UTF-8' }), {
    'content-type': 'application/problem+json;charset=UTF-8',
  })
  t.same(clientHeaders({ 'content-type': 'application/json; key=sk-upstream-credential' }), {
    'content-type': 'application/json',
  })
  t.same(
    clientHeaders({
      'content-type': 'sk-upstream-credential',
      'retry-after': 'bob@example.com',
      'retry-after-ms': 'sk-upstream-credential',
      'x-should-retry': 'maybe',
      'openai-processing-ms': '4111 1111 1111 1111',
    }),
    {},
  )
})

t.test('only allowed response headers are returned', async (t) => {
  t.same(
    clientHeaders({
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

t.test("the provider's rate limits come back under names of their own", async (t) => {
  const sent = clientHeaders({
    'x-ratelimit-limit-requests': '5000',
    'x-ratelimit-remaining-tokens': '149984',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-reset-tokens': '6m0s',
    'x-ratelimit-reset': '4111111111111111',
    'x-ratelimit-reset-project': 'bob@example.com',
    'x-request-id': 'r',
  })
  t.same(sent, {
    'x-upstream-ratelimit-limit-requests': '5000',
    'x-upstream-ratelimit-remaining-tokens': '149984',
    'x-upstream-ratelimit-reset-requests': '1s',
    'x-upstream-ratelimit-reset-tokens': '6m0s',
  })
})
