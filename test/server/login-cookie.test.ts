// The cookie of a sign-in that is under way: what it takes back, and everything that it refuses.

import fc from 'fast-check'
import t from 'tap'
import { LoginCookie } from '../../src/server/login-cookie.ts'
import { testClock } from '../store/fixture.ts'

const LOGIN = {
  state: 'the state',
  nonce: 'the nonce',
  verifier: 'the verifier',
  redirectUri: 'https://gateway.example/api/v1/session/oidc/callback',
  returnTo: '/console/',
}

/** The cookie that a browser would return. */
const sentBack = (setCookie: string) => setCookie.split(';', 1)[0] ?? ''

t.test('a sign-in comes back as it was, and nothing of it can be read', async (t) => {
  const cookie = new LoginCookie(testClock())
  const set = cookie.seal(LOGIN, false)
  t.match(set, /^sidegate_oidc=[\w-]+; HttpOnly; SameSite=Lax; Path=\/api\/v1\/session\/oidc; Max-Age=600$/)
  t.match(cookie.seal(LOGIN, true), /; Secure$/)
  t.strictSame(cookie.open(sentBack(set)), LOGIN)
  t.strictSame(cookie.open(`a=b; ${sentBack(set)}; c=d`), LOGIN)
  const bytes = Buffer.from(sentBack(set).slice('sidegate_oidc='.length), 'base64url').toString('latin1')
  t.notMatch(bytes, /state|nonce|verifier|console/)
  t.not(sentBack(cookie.seal(LOGIN, false)), sentBack(set), 'no two are equal')
  t.match(cookie.clear(true), /^sidegate_oidc=; .*Max-Age=0; Secure$/)
})

t.test('a sign-in ends after ten minutes', async (t) => {
  const clock = testClock()
  const cookie = new LoginCookie(clock)
  const mine = sentBack(cookie.seal(LOGIN, false))
  clock.advance(599_999)
  t.ok(cookie.open(mine))
  clock.advance(1)
  t.equal(cookie.open(mine), null)
})

t.test('the cookie of another process, a changed one and none are refused', async (t) => {
  const cookie = new LoginCookie(testClock())
  const mine = sentBack(cookie.seal(LOGIN, false))
  t.equal(cookie.open(sentBack(new LoginCookie(testClock()).seal(LOGIN, false))), null)
  for (const other of [undefined, '', 'sidegate_oidc=', 'sidegate_oidc=AAAA', `x${mine}`, mine.slice(0, 60)])
    t.equal(cookie.open(other), null, String(other))
  t.equal(cookie.open(`${mine}${'A'.repeat(5000)}`), null, 'longer than any browser keeps')
  const bytes = Buffer.from(mine.slice('sidegate_oidc='.length), 'base64url')
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const forged = Buffer.from(bytes)
      forged[at] = forged[at]! ^ change
      return cookie.open(`sidegate_oidc=${forged.toString('base64url')}`) === null
    }),
  )
})
