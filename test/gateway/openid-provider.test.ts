// What the adapter of OpenID Connect makes of providers that are down, slow to come back or wrong. The
// flow itself has a test with a real provider, test/process/oidc.long.test.ts.

import { createSign, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { OpenIdProvider } from '../../src/gateway/openid-provider.ts'
import { testClock } from '../store/fixture.ts'

const CALLBACK = 'http://localhost/api/v1/session/oidc/callback'

/** An adapter for a server that answers requests for metadata like this. */
async function setting(t: Test, answer: (issuer: string, response: ServerResponse) => void) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(issuer, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = testClock()
  const terms = { clientId: 'c', clientSecret: fixedSecret('s'), groupsClaim: 'groups', actorClaim: 'email' }
  return { provider: new OpenIdProvider({ ...terms, issuer, roles: new Map() }, clock), clock, asked, server }
}

const metadata = (issuer: string, more: object = {}) =>
  JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    ...more,
  })

const sendJson = (response: ServerResponse, text: string) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)

const failure = (kind: string, reason: RegExp) => ({ name: 'ProviderFailure', kind, message: reason }) as any

t.test('sign-ins share the metadata, which is asked for again after ten minutes', async (t) => {
  const { provider, clock, asked } = await setting(t, (issuer, response) =>
    sendJson(response, metadata(issuer, { scopes_supported: ['openid', 'email', 'address'] })),
  )
  const begun = await Promise.all(Array.from({ length: 20 }, () => provider.begin(CALLBACK)))
  t.strictSame(asked, ['/.well-known/openid-configuration'])
  t.equal(new Set(begun.map(({ checks }) => checks.state)).size, 20, 'each has a state of its own')
  t.equal(new URL(begun[0]?.address ?? '').searchParams.get('scope'), 'openid email', 'only known scopes')
  clock.advance(10 * 60_000)
  await provider.begin(CALLBACK)
  t.equal(asked.length, 2)
})

t.test('a provider that fails is asked once a second at most', async (t) => {
  let isDown = true
  const { provider, clock, asked } = await setting(t, (issuer, response) => {
    if (isDown) response.writeHead(503).end()
    else sendJson(response, metadata(issuer))
  })
  for (let count = 0; count < 20; count++)
    await t.rejects(provider.begin(CALLBACK), failure('unreachable', /status_503/))
  t.equal(asked.length, 1)
  isDown = false
  clock.advance(1000)
  await t.resolves(provider.begin(CALLBACK))
})

t.test('metadata that cannot be trusted is refused', async (t) => {
  const answers: [string, (issuer: string) => string, RegExp][] = [
    [
      'of another issuer',
      () => metadata('http://127.0.0.1:1'),
      /^invalid: the issuer is http:\/\/127\.0\.0\.1:1\/, and admin\.oidc\.issuer is http:\/\/127\.0\.0\.1:\d+\/$/,
    ],
    ['that is no JSON', () => '<html>', /OAUTH_PARSE_ERROR/],
    ['over a mebibyte', (issuer) => metadata(issuer, { more: 'x'.repeat(1024 * 1024) }), /invalid: \w+/],
  ]
  for (const [what, text, reason] of answers) {
    const { provider } = await setting(t, (issuer, response) => sendJson(response, text(issuer)))
    await t.rejects(provider.begin(CALLBACK), failure('invalid', reason), what)
  }
})

t.test('a provider that nobody runs is unreachable', async (t) => {
  const { provider, server } = await setting(t, () => {})
  server.close()
  await t.rejects(provider.begin(CALLBACK), failure('unreachable', /ECONNREFUSED/))
})

t.test('a code that the provider does not redeem opens nothing', async (t) => {
  const { provider, asked } = await setting(t, (issuer, response) => {
    if (asked.length === 1) sendJson(response, metadata(issuer))
    else sendJson(response, JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 60 }))
  })
  const { checks } = await provider.begin(CALLBACK)
  const answer = new URL(`${CALLBACK}?code=c&state=${checks.state}`)
  await t.rejects(
    provider.finish(answer, checks),
    failure('invalid', /OAUTH_INVALID_RESPONSE/),
    'no id token',
  )
  t.strictSame(asked.slice(1), ['/token'])
  const foreign = [
    '?code=c&state=other',
    '?code=c',
    `?state=${checks.state}`,
    `?code=c&code=d&state=${checks.state}`,
    `?code=c&state=${checks.state}&iss=http://other.example`,
    `?code=c&state=${checks.state}&id_token=x`,
  ]
  for (const query of foreign)
    await t.rejects(
      provider.finish(new URL(`${CALLBACK}${query}`), checks),
      failure('foreign', /^foreign/),
      query,
    )
  t.equal(asked.length, 2, 'nothing is asked for an answer that is not one to this sign-in')
})

t.test('a provider that lists no scopes is asked for names and groups', async (t) => {
  const { provider } = await setting(t, (issuer, response) => sendJson(response, metadata(issuer)))
  const { address } = await provider.begin(CALLBACK)
  t.equal(new URL(address).searchParams.get('scope'), 'openid profile groups')
})

const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 })
const JWKS = { keys: [{ ...KEYS.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'k' }] }

/** Signs claims as a JWT (RFC 7519). */
function signed(claims: object): string {
  const text = [{ alg: 'RS256', kid: 'k' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${createSign('RSA-SHA256').update(text).sign(KEYS.privateKey, 'base64url')}`
}

/** Redeems a code at a provider whose id token has these claims besides the usual ones. */
async function redeem(t: Test, more: object, userinfo?: (claims: object) => string) {
  let nonce = ''
  const { provider, asked } = await setting(t, (issuer, response) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, sub: 'sub-vera', aud: 'c', iat: now, exp: now + 60, nonce, ...more }
    const answers: Record<string, () => string> = {
      '/.well-known/openid-configuration': () =>
        metadata(issuer, userinfo && { userinfo_endpoint: `${issuer}/me` }),
      '/keys': () => JSON.stringify(JWKS),
      '/token': () =>
        JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: signed(claims) }),
    }
    const path = asked.at(-1) ?? ''
    if (path === '/me') response.writeHead(200, { 'content-type': 'application/jwt' }).end(userinfo?.(claims))
    else sendJson(response, answers[path]?.() ?? '{}')
  })
  const { checks } = await provider.begin(CALLBACK)
  nonce = checks.nonce
  return provider.finish(new URL(`${CALLBACK}?code=c&state=${checks.state}`), checks)
}

t.test('a token for another client is refused', async (t) => {
  t.match(await redeem(t, { azp: 'c' }), { sub: 'sub-vera' })
  for (const azp of ['other', ['c'], ''])
    await t.rejects(redeem(t, { azp }), failure('invalid', /azp of another client/), JSON.stringify(azp))
})

t.test('a clock that differs by a minute is accepted', async (t) => {
  const now = Math.floor(Date.now() / 1000)
  for (const times of [{ exp: now - 50 }, { iat: now + 50 }, { nbf: now + 50 }])
    t.match(await redeem(t, times), { sub: 'sub-vera' }, JSON.stringify(times))
  for (const times of [{ exp: now - 70 }, { nbf: now + 90 }])
    await t.rejects(redeem(t, times), failure('invalid', /OAUTH_JWT/), JSON.stringify(times))
})

t.test('a token of another issuer is refused with both names', async (t) => {
  await t.rejects(
    redeem(t, { iss: 'https://user:word@other.example/a?b' }),
    failure('invalid', /the issuer is https:\/\/other\.example\/a, and admin\.oidc\.issuer is http/),
  )
})

t.test('signed claims at userinfo are read, and their signature is checked', async (t) => {
  const userinfo = (claims: object) => signed({ ...claims, groups: ['readers'], email: 'v@example.com' })
  t.match(await redeem(t, {}, userinfo), { groups: ['readers'], email: 'v@example.com' })
  const forged = (claims: object) => `${userinfo(claims).split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`
  await t.rejects(redeem(t, {}, forged), failure('invalid', /./))
})
