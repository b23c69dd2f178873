// The cookie of a sign-in that is under way: what it takes back, and everything that it refuses.

import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { LOGIN_KEY_BYTES, LoginCookie } from '../../src/server/login-cookie.ts'
import { testClock } from '../store/fixture.ts'

const LOGIN = {
  state: 'the-state-of-the-first-tab',
  nonce: 'the nonce',
  verifier: 'the verifier',
  redirectUri: 'https://gateway.example/api/v1/session/oidc/callback',
  returnTo: '/console/',
}

const NAME = 'sidegate_oidc_the-state-of'
const sealedOf = (pair: string) => pair.slice(NAME.length + 1)

/** The cookie that a browser would return. */
const sentBack = (setCookie: string) => setCookie.split(';', 1)[0] ?? ''

t.test('a sign-in comes back as it was, and nothing of it can be read', async (t) => {
  const cookie = new LoginCookie(testClock(), randomBytes(LOGIN_KEY_BYTES))
  const set = cookie.seal(LOGIN, false)
  t.match(
    set,
    /^sidegate_oidc_the-state-of=[\w-]+; HttpOnly; SameSite=Lax; Path=\/api\/v1\/session\/oidc; Max-Age=600$/,
  )
  t.match(cookie.seal(LOGIN, true), /; Secure$/)
  t.strictSame(cookie.open(sentBack(set), LOGIN.state), LOGIN)
  t.strictSame(cookie.open(`a=b; ${sentBack(set)}; c=d`, LOGIN.state), LOGIN)
  const bytes = Buffer.from(sealedOf(sentBack(set)), 'base64url').toString('latin1')
  t.notMatch(bytes, /state|nonce|verifier|console/)
  t.not(sentBack(cookie.seal(LOGIN, false)), sentBack(set), 'no two are equal')
  t.match(cookie.clear(LOGIN.state, true), /^sidegate_oidc_the-state-of=; .*Max-Age=0; Secure$/)
})

t.test('a sign-in ends after ten minutes', async (t) => {
  const clock = testClock()
  const cookie = new LoginCookie(clock, randomBytes(LOGIN_KEY_BYTES))
  const mine = sentBack(cookie.seal(LOGIN, false))
  clock.advance(599_999)
  t.ok(cookie.open(mine, LOGIN.state))
  clock.advance(1)
  t.equal(cookie.open(mine, LOGIN.state), null)
})

t.test('the cookie of another process, a changed one and none are refused', async (t) => {
  const cookie = new LoginCookie(testClock(), randomBytes(LOGIN_KEY_BYTES))
  const mine = sentBack(cookie.seal(LOGIN, false))
  t.equal(
    cookie.open(
      sentBack(new LoginCookie(testClock(), randomBytes(LOGIN_KEY_BYTES)).seal(LOGIN, false)),
      LOGIN.state,
    ),
    null,
  )
  for (const other of [undefined, '', `${NAME}=`, `${NAME}=AAAA`, `x${mine}`, mine.slice(0, 60)])
    t.equal(cookie.open(other, LOGIN.state), null, String(other))
  t.equal(cookie.open(`${mine}${'A'.repeat(5000)}`, LOGIN.state), null, 'longer than any browser keeps')
  const bytes = Buffer.from(sealedOf(mine), 'base64url')
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const forged = Buffer.from(bytes)
      forged[at] = forged[at]! ^ change
      return cookie.open(`${NAME}=${forged.toString('base64url')}`, LOGIN.state) === null
    }),
  )
})

t.test('sign-ins in several tabs do not replace each other', async (t) => {
  const cookie = new LoginCookie(testClock(), randomBytes(LOGIN_KEY_BYTES))
  const other = { ...LOGIN, state: 'another-state-of-a-tab' }
  const header = [LOGIN, other].map((login) => sentBack(cookie.seal(login, false))).join('; ')
  t.strictSame(cookie.open(header, LOGIN.state), LOGIN)
  t.strictSame(cookie.open(header, other.state), other)
  t.equal(cookie.open(header, 'the-state-of-nobody'), null, 'a state with the same beginning')
  t.equal(cookie.open(header, ''), null)
})

t.test('a browser has at most eight sign-ins under way; the oldest is deleted for one more', async (t) => {
  const clock = testClock()
  const cookie = new LoginCookie(clock, randomBytes(LOGIN_KEY_BYTES))
  const pairs = Array.from({ length: 8 }, (_, tab) => {
    clock.advance(1000)
    return sentBack(cookie.seal({ ...LOGIN, state: `tab-${tab}` }, false))
  })
  t.strictSame(cookie.makeRoom(pairs.slice(1).join('; '), false), [])
  t.match(cookie.makeRoom(`a=b; ${pairs.join('; ')}`, false), [/^sidegate_oidc_tab-0=;.* Max-Age=0$/])
  t.match(cookie.makeRoom(`${NAME}=junk`, false), [new RegExp(`^${NAME}=;`)], 'one that nobody can open')
  clock.advance(600_000)
  t.equal(cookie.makeRoom(pairs.join('; '), false).length, 8, 'those that are over')
  t.strictSame(cookie.makeRoom(undefined, false), [])
})
