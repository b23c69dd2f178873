// Access to the management API: hosts, origins, sign-ins, sessions. Tests advance the clock.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { fixedSecret, type Secret } from '../../src/core/secret.ts'
import { Gatekeeper } from '../../src/server/session.ts'
import { openTestStore } from '../store/fixture.ts'

/** Fields an error must have. */
const like = (fields: object) => fields as Error

const TOKEN = 'the right token'
const MINUTE_MS = 60_000
const UNSAFE = ['POST', 'PATCH', 'DELETE', 'PUT', 'ANYTHING']

function setting(t: Test, token: Secret | null = fixedSecret(TOKEN), allowedHosts: readonly string[] = []) {
  const { store, clock } = openTestStore(t)
  const options = { sessions: store.sessions, clock, token, sessionTtlSeconds: 600, allowedHosts }
  return { gatekeeper: new Gatekeeper(options), clock }
}

/** The cookie that a browser would return. */
const sentBack = (setCookie: string) => setCookie.split(';', 1)[0] ?? ''

t.test('only loopback and allowed hosts are served', async (t) => {
  const { gatekeeper } = setting(t, null, ['Gateway.Example', '10.0.0.7'])
  const served = [
    'localhost',
    'LocalHost:8484',
    '127.0.0.1',
    '127.0.0.1:80',
    '127.8.9.10:1',
    '[::1]',
    '[::1]:8484',
    'gateway.example',
    'GATEWAY.example:443',
    '10.0.0.7:8484',
  ]
  for (const host of served) t.doesNotThrow(() => gatekeeper.checkOrigin('GET', { host }), host)
  const foreign = [
    '',
    'evil.example',
    'localhost.evil.example',
    'evil-localhost',
    'localhost.',
    'localhost@evil.example',
    'evil.example:localhost',
    '127.0.0.1.evil.example',
    '128.0.0.1',
    '127.0.0.1:80:80',
    '0.0.0.0',
    '[::]',
    '::1',
    '[::ffff:127.0.0.1]',
    'sub.gateway.example',
    'gateway.example.evil',
    'gatewayxexample',
    '10.0.0.77',
    'localhost:80a',
    ' localhost',
  ]
  for (const host of foreign) {
    t.throws(() => gatekeeper.checkOrigin('GET', { host }), like({ code: 'misdirected_request' }), host)
  }
  t.throws(() => gatekeeper.checkOrigin('GET', {}), like({ code: 'misdirected_request' }), 'none at all')
})

t.test('unsafe requests are accepted from the same origin only', async (t) => {
  const { gatekeeper } = setting(t, null, ['gateway.example'])
  const host = 'gateway.example:8484'
  const cases: [boolean, Record<string, string>][] = [
    [true, {}],
    [true, { origin: 'http://gateway.example:8484' }],
    [true, { origin: 'https://GATEWAY.example:8484' }],
    [true, { 'sec-fetch-site': 'same-origin' }],
    [true, { 'sec-fetch-site': 'same-origin', origin: 'https://gateway.example:8484' }],
    [true, { 'sec-fetch-site': 'none' }],
    [false, { origin: 'https://evil.example' }],
    [false, { origin: 'http://gateway.example' }],
    [false, { origin: 'http://gateway.example:8485' }],
    [false, { origin: 'http://gateway.example:8484@evil.example' }],
    [false, { origin: 'null' }],
    [false, { origin: '' }],
    [false, { origin: 'not a url' }],
    [false, { 'sec-fetch-site': 'cross-site' }],
    [false, { 'sec-fetch-site': 'same-site' }],
    [false, { 'sec-fetch-site': '' }],
    [false, { 'sec-fetch-site': 'same-origin, cross-site' }],
    [false, { 'sec-fetch-site': 'cross-site', origin: 'http://gateway.example:8484' }],
  ]
  for (const [allowed, headers] of cases) {
    for (const method of UNSAFE) {
      const check = () => gatekeeper.checkOrigin(method, { host, ...headers })
      const name = `${method} ${JSON.stringify(headers)}`
      if (allowed) t.doesNotThrow(check, name)
      else t.throws(check, like({ code: 'cross_site' }), name)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      t.doesNotThrow(() => gatekeeper.checkOrigin(method, { host, ...headers }), `${method} changes nothing`)
    }
  }
})

t.test('no other origin passes, even one that looks similar', async (t) => {
  const { gatekeeper } = setting(t, null)
  const piece = fc.constantFrom(
    'http://',
    'localhost',
    ':8484',
    '@',
    '.evil.example',
    '/',
    '\\',
    '#',
    '%00',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const origin = pieces.join('')
      const passes = URL.parse(origin)?.host === 'localhost:8484'
      try {
        gatekeeper.checkOrigin('POST', { host: 'localhost:8484', origin })
        return passes
      } catch {
        return !passes
      }
    }),
  )
})

t.test('the right token opens a session until it expires', async (t) => {
  const { gatekeeper, clock } = setting(t)
  const { cookie, expiresAtMs } = await gatekeeper.signIn(TOKEN, false)
  t.equal(expiresAtMs, clock.now() + 600_000)
  t.match(
    cookie,
    /^sidegate_session=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=600$/,
    'and not Secure, which a browser would drop without TLS',
  )
  t.match((await gatekeeper.signIn(TOKEN, true)).cookie, /; Secure$/)
  const mine = sentBack(cookie)
  t.equal(gatekeeper.require({ cookie: mine }).expiresAtMs, expiresAtMs)
  clock.advance(599_999)
  t.equal(gatekeeper.require({ cookie: mine }).expiresAtMs, expiresAtMs)
  clock.advance(1)
  t.throws(() => gatekeeper.require({ cookie: mine }), like({ code: 'session_required' }), 'over')
})

t.test('the session cookie is found among others and in any position', async (t) => {
  const { gatekeeper } = setting(t)
  const mine = sentBack((await gatekeeper.signIn(TOKEN, false)).cookie)
  for (const cookie of [mine, `a=b; ${mine}`, `${mine};c=d`, `  ${mine}  `, `a; ${mine}`, `=; ${mine}`]) {
    t.ok(gatekeeper.require({ cookie }), cookie.replace(mine, 'ours'))
  }
  const id = mine.split('=')[1] ?? ''
  const wrong = [
    '',
    'sidegate_session=',
    `x${mine}`,
    `Sidegate_Session=${id}`,
    `sidegate_session="${id}"`,
    `sidegate_session=${id}x`,
    `sidegate_session=${id.slice(1)}`,
    `sidegate_session=${'A'.repeat(43)}`,
    `other=${id}`,
    id,
  ]
  for (const cookie of wrong) {
    t.throws(
      () => gatekeeper.require({ cookie }),
      like({ code: 'session_required' }),
      cookie.replace(id, 'id'),
    )
  }
  t.throws(() => gatekeeper.require({}), like({ code: 'session_required' }))
})

t.test('signing out ends the session', async (t) => {
  const { gatekeeper } = setting(t)
  const mine = { cookie: sentBack((await gatekeeper.signIn(TOKEN, false)).cookie) }
  const other = { cookie: sentBack((await gatekeeper.signIn(TOKEN, false)).cookie) }
  t.match(await gatekeeper.signOut(mine, true), /^sidegate_session=; .*Max-Age=0; Secure$/)
  t.throws(() => gatekeeper.require(mine), like({ code: 'session_required' }))
  t.ok(gatekeeper.require(other), 'the other session stays')
  await t.resolves(gatekeeper.signOut({}, false), 'without a session')
})

t.test('after five wrong tokens the next sign-in must wait, longer each time', async (t) => {
  const { gatekeeper, clock } = setting(t)
  const wrong = () => gatekeeper.signIn('guess', false)
  const waits = (seconds: number) =>
    like({ code: 'too_many_attempts', headers: { 'retry-after': String(seconds) } })
  for (let i = 0; i < 5; i++) await t.rejects(wrong(), like({ code: 'invalid_token' }))
  await t.rejects(
    gatekeeper.signIn(TOKEN, false),
    waits(60),
    'the right one waits as well: it could be a guess',
  )
  clock.advance(59_001)
  await t.rejects(wrong(), waits(1))
  clock.advance(999)
  await t.rejects(wrong(), like({ code: 'invalid_token' }), 'one guess a wait')
  for (const minutes of [2, 4, 5, 5]) {
    await t.rejects(wrong(), waits(minutes * 60))
    clock.advance(minutes * MINUTE_MS)
    await t.rejects(wrong(), like({ code: 'invalid_token' }))
  }
  clock.advance(5 * MINUTE_MS)
  await t.resolves(gatekeeper.signIn(TOKEN, false))
  for (let i = 0; i < 4; i++)
    await t.rejects(wrong(), like({ code: 'invalid_token' }), 'and all is forgotten')
  await t.resolves(gatekeeper.signIn(TOKEN, false))
})

t.test('one wrong token an hour does not lock out the owner', async (t) => {
  const { gatekeeper, clock } = setting(t)
  for (let hour = 0; hour < 20; hour++) {
    await t.rejects(gatekeeper.signIn('guess', false), like({ code: 'invalid_token' }))
    clock.advance(60 * MINUTE_MS)
  }
  for (let i = 0; i < 4; i++)
    await t.rejects(gatekeeper.signIn('guess', false), like({ code: 'invalid_token' }))
  await t.resolves(gatekeeper.signIn(TOKEN, false))
})

t.test('concurrent guesses are counted one by one', async (t) => {
  const { gatekeeper } = setting(t)
  const guesses = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => gatekeeper.signIn(`guess ${i}`, false)),
  )
  const codes = guesses.map((guess) => (guess.status === 'rejected' ? guess.reason.code : 'in'))
  t.equal(codes.filter((code) => code === 'invalid_token').length, 5)
  t.equal(codes.filter((code) => code === 'too_many_attempts').length, 45)
})

t.test('only the exact token is accepted', async (t) => {
  for (const guess of ['', TOKEN.slice(1), `${TOKEN} `, TOKEN.toUpperCase(), `${TOKEN}\0`]) {
    const { gatekeeper } = setting(t)
    await t.rejects(gatekeeper.signIn(guess, false), like({ code: 'invalid_token' }), JSON.stringify(guess))
  }
})

t.test('without an admin token nobody can sign in', async (t) => {
  const { gatekeeper } = setting(t, null)
  const refusal = like({ code: 'invalid_token', message: /no admin token .*admin\.token/i })
  for (const guess of ['', 'null', 'undefined', 'a', 'b', 'c']) {
    await t.rejects(gatekeeper.signIn(guess, false), refusal, 'every guess gets the same answer')
  }
  const cookie = `sidegate_session=${'A'.repeat(43)}`
  t.throws(() => gatekeeper.require({ cookie }), like({ code: 'session_required' }))
})

t.test('a changed admin token ends the sessions of the old one', async (t) => {
  let value = 'first'
  const { gatekeeper } = setting(t, { current: () => value, onTurn: () => {} })
  const first = { cookie: sentBack((await gatekeeper.signIn('first', false)).cookie) }
  value = 'second'
  t.throws(() => gatekeeper.require(first), like({ code: 'session_required' }))
  await t.rejects(gatekeeper.signIn('first', false), like({ code: 'invalid_token' }))
  t.ok(gatekeeper.require({ cookie: sentBack((await gatekeeper.signIn('second', false)).cookie) }))
})
