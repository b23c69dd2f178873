// Which keys a token stands for, and that no other text stands for one.

import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { JWTPayload } from 'jose'
import t from 'tap'
import type { KeySetSource } from '../../src/core/key-set-source.ts'
import { fileSecret, fixedSecret, type Secret } from '../../src/core/secret.ts'
import { systemTimers } from '../../src/core/timers.ts'
import type { TokenIdentity } from '../../src/core/token-identity.ts'
import { MAXIMUM_PENDING, TokenKeys, type TokenKeysParts } from '../../src/jwt/token-keys.ts'
import { MAXIMUM_REMEMBERED, TokenMemory } from '../../src/jwt/token-memory.ts'
import { type Algorithm, ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { testClock } from '../store/fixture.ts'

const KEY = newKey()
const OTHER_KEY = newKey()
const CI = 'https://ci.example'

const inFile = (file: Secret, place = '/jwks.json'): KeySetSource => ({ declaredAt: [], place, file })
const identity = (change: Partial<TokenIdentity> = {}): TokenIdentity => ({
  ...{ issuer: ISSUER, keySet: inFile(fixedSecret(keySetOf(KEY))), audience: 'sidegate' },
  ...{ account: { namespace: 'jobs', name: 'batch' }, claims: [] },
  ...change,
})
const withClaims = (claims: Readonly<Record<string, string>>, change: Partial<TokenIdentity> = {}) =>
  identity({ issuer: CI, account: null, claims: Object.entries(claims), ...change })

/** Keys by the tokens that stand for them. Their hash is their name. */
function tokenKeys(keys: Readonly<Record<string, TokenIdentity>>, more: Partial<TokenKeysParts> = {}) {
  const clock = testClock()
  const loads: (string | null)[] = []
  const tokens = new TokenKeys({
    keys: Object.entries(keys).map(([sha256, one]) => ({ sha256, identity: one })),
    clock,
    timers: systemTimers,
    onRefused: () => {},
    onLoad: (_issuer, _place, problem) => loads.push(problem),
    ...more,
  })
  const now = Math.floor(clock.now() / 1000)
  const accountClaims = (more: JWTPayload = {}): JWTPayload => ({
    ...podClaims(clock.now(), { namespace: 'jobs', account: 'batch' }),
    aud: ['sidegate'],
    ...more,
  })
  const ciClaims = (more: JWTPayload = {}): JWTPayload => ({
    ...{ iss: CI, aud: 'sidegate', sub: 'repo', iat: now, exp: now + 3600, repository: 'acme/web' },
    ...more,
  })
  return { clock, loads, tokens, now, accountClaims, ciClaims }
}

t.test('a token of a ServiceAccount stands for its key, in a Pod or not', async (t) => {
  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as Algorithm[]) {
    const key = newKey('k', algorithm)
    const { tokens, accountClaims } = tokenKeys({
      batch: identity({ keySet: inFile(fixedSecret(keySetOf(OTHER_KEY, key))) }),
      other: identity({ account: { namespace: 'jobs', name: 'other' } }),
    })
    t.same(await tokens.find(await signed(accountClaims(), key)), ['batch'], algorithm)
    const place = accountClaims()['kubernetes.io'] as Record<string, object>
    const { pod: _pod, node: _node, ...outside } = place
    t.same(await tokens.find(await signed(accountClaims({ 'kubernetes.io': outside }), key)), ['batch'])
  }
})

t.test('a token with the claims stands for its key', async (t) => {
  const { tokens, ciClaims } = tokenKeys({
    ci: withClaims({ repository: 'acme/*', 'realm_access.roles': 'dep?oy', ref_protected: 'true', run: '7' }),
    lists: withClaims({ groups: 'team-*' }),
    address: withClaims({ 'https://ci.example/role': 'x' }),
  })
  const find = async (more: JWTPayload) => tokens.find(await signed(ciClaims(more), KEY))
  const whole = { realm_access: { roles: ['read', 'deploy'] }, ref_protected: true, run: 7 }
  t.same(await find(whole), ['ci'])
  t.equal(await find({ ...whole, repository: 'evil/acme/web' }), 'claims')
  t.equal(await find({ ...whole, repository: 'ACME/web' }), 'claims', 'case counts')
  t.equal(await find({ ...whole, realm_access: { roles: [] } }), 'claims')
  t.equal(await find({ ...whole, realm_access: 'deploy' }), 'claims')
  t.equal(await find({ ...whole, run: null }), 'claims')
  t.same(await find({ groups: ['x', { a: 1 }, 'team-a'] }), ['lists'])
  t.equal(await find({ groups: { 'team-a': true } }), 'claims')
  t.same(await find({ 'https://ci.example/role': 'x' }), ['address'])
  const groups = Array.from({ length: 256 }, (_, index) => `group ${index}`)
  t.same(await find({ groups: [...groups.slice(1), 'team-a'] }), ['lists'], 'the last one that is compared')
  t.equal(await find({ groups: [...groups, 'team-a'] }), 'claims')
  t.same(await find({ groups: `team-${'a'.repeat(1019)}` }), ['lists'])
  t.equal(await find({ groups: `team-${'a'.repeat(1020)}` }), 'claims')
  t.same(await find({ ...whole, groups: 'team-b' }), ['ci', 'lists'], 'a token of two keys')
})

t.test('an issuer may sign with several sets, and be for several audiences', async (t) => {
  const { tokens, accountClaims } = tokenKeys({
    batch: identity(),
    elsewhere: identity({
      keySet: inFile(fixedSecret(keySetOf(OTHER_KEY)), '/other.json'),
      audience: 'other',
    }),
    second: identity({ audience: 'second' }),
  })
  const find = async (aud: string[], key = KEY) => tokens.find(await signed(accountClaims({ aud }), key))
  t.same(await find(['x', 'sidegate']), ['batch'])
  t.same(await find(['second']), ['second'])
  t.same(await find(['second', 'sidegate']), ['batch', 'second'])
  t.same(await find(['other'], OTHER_KEY), ['elsewhere'])
  t.equal(await find(['other']), 'audience', 'signed with the other set')
  t.equal(await find(['sidegate'], OTHER_KEY), 'audience')
})

t.test('any other token is refused by the check that it does not pass', async (t) => {
  const { tokens, accountClaims, ciClaims, now } = tokenKeys({
    batch: identity(),
    ci: withClaims({ repository: 'acme/*' }),
  })
  const claims = accountClaims()
  const { exp: _exp, ...endless } = claims
  const { aud: _aud, ...forAnyone } = claims
  const place = claims['kubernetes.io'] as Record<string, object>
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const byHand = (header: object, signature: (text: string) => string, body: object = claims) => {
    const text = `${segment(header)}.${segment(body)}`
    return `${text}.${signature(text)}`
  }
  const hmac = (text: string) => createHmac('sha256', KEY.publicPem).update(text).digest('base64url')
  const change = (more: JWTPayload) => signed({ ...claims, ...more }, KEY)
  const whole = await signed(claims, KEY)
  const [header = '', payload = '', signature = ''] = whole.split('.')
  const cases: [name: string, check: string, token: string][] = [
    ['expired', 'expired', await change({ exp: now })],
    ['not yet valid', 'expired', await change({ nbf: now + 31 })],
    ['made in the future', 'expired', await change({ iat: now + 31 })],
    ['without an end', 'malformed', await signed(endless, KEY)],
    ['a time that is a text', 'malformed', await change({ exp: 'soon' as unknown as number })],
    ['for another audience', 'audience', await change({ aud: ['vault'] })],
    ['for a part of the audience', 'audience', await change({ aud: 'side' })],
    ['for no audience', 'audience', await signed(forAnyone, KEY)],
    ['foreign issuer', 'issuer', await change({ iss: 'https://elsewhere' })],
    ['issuer with a slash more', 'issuer', await change({ iss: `${ISSUER}/` })],
    ['no issuer', 'issuer', await change({ iss: undefined as unknown as string })],
    ['a list of issuers', 'issuer', await change({ iss: [ISSUER] as unknown as string })],
    ['name of a member of every object', 'issuer', await change({ iss: '__proto__' })],
    ['key of another', 'signature', await signed(claims, OTHER_KEY)],
    ['unknown key', 'key', await signed(claims, { ...OTHER_KEY, id: 'two' })],
    ['another algorithm', 'algorithm', await signed(claims, newKey('one', 'EdDSA'))],
    ['no id of a key', 'malformed', await signed(claims, KEY, { kid: undefined })],
    ['alg none', 'algorithm', byHand({ alg: 'none', kid: 'one' }, () => 'AA')],
    ['alg None', 'algorithm', byHand({ alg: 'None', kid: 'one' }, () => 'AA')],
    ['HS256 with the public key', 'algorithm', byHand({ alg: 'HS256', kid: 'one' }, hmac)],
    ['no algorithm', 'algorithm', byHand({ kid: 'one' }, hmac)],
    ['a list of algorithms', 'algorithm', byHand({ alg: ['ES256'], kid: 'one' }, hmac)],
    ['a critical header', 'signature', byHand({ alg: 'ES256', kid: 'one', crit: ['x'], x: 1 }, hmac)],
    ['a key in the header', 'key', await signed(claims, OTHER_KEY, { kid: 'x', jwk: OTHER_KEY.publicPem })],
    [
      'claims of another token',
      'signature',
      `${header}.${segment(accountClaims({ exp: now + 7200 }))}.${signature}`,
    ],
    ['another account', 'claims', await signed(accountClaims({ sub: 'system:serviceaccount:jobs:db' }), KEY)],
    ['subject alone', 'claims', await change({ 'kubernetes.io': null })],
    ['another place', 'claims', await change({ 'kubernetes.io': { ...place, namespace: 'web' } })],
    ['of the issuer of others', 'claims', await signed(ciClaims({ repository: 'evil/web' }), KEY)],
    ['no token', 'malformed', 'a.b'],
    ['no signature', 'malformed', `${header}.${payload}.`],
    ['four parts', 'malformed', `${whole}.x`],
    ['an encrypted one', 'malformed', `${header}.${payload}.${signature}.${payload}.${signature}`],
    ['no JSON', 'malformed', 'eHh4.eHh4.eHh4'],
    ['no objects', 'malformed', `${segment([])}.${segment([])}.AA`],
    ['padding', 'malformed', `${header}=.${payload}.${signature}`],
    ['a long text', 'malformed', `${header}.${payload}.${'A'.repeat(8192)}`],
  ]
  for (const [name, check, token] of cases) t.equal(await tokens.find(token), check, name)
  t.equal(tokens.remembered, 0)
  t.same(
    await tokens.find(await change({ iat: now + 30, nbf: now + 30 })),
    ['batch'],
    'clocks differ a little',
  )
})

t.test('a long text is refused before anything of it is read', async (t) => {
  const { tokens } = tokenKeys({ batch: identity() })
  const long = new Proxy(new String('x'.repeat(8193)), {
    get: (text, name) => (name === 'length' ? text.length : t.fail(`reads ${String(name)}`)),
  })
  t.equal(tokens.find(long as unknown as string), 'malformed')
})

t.test('a token is verified once, and remembered until it ends', async (t) => {
  const { tokens, clock, accountClaims } = tokenKeys({ batch: identity() })
  const token = await signed(accountClaims(), KEY)
  const [first, second] = [tokens.find(token), tokens.find(token)]
  t.ok(first instanceof Promise)
  t.equal(first, second, 'calls at the same time share the verification')
  t.same(await first, ['batch'])
  t.same(tokens.find(token), ['batch'], 'from now on at once')
  clock.advance(3_600_000 - 1)
  t.same(tokens.find(token), ['batch'])
  clock.advance(1)
  t.equal(await tokens.find(token), 'expired', 'no difference of clocks makes a token longer')
  const years = await signed(
    accountClaims({
      ...podClaims(clock.now(), { namespace: 'jobs', account: 'batch' }),
      aud: 'sidegate',
      exp: clock.now() / 1000 + 1e9,
    }),
    KEY,
  )
  t.same(await tokens.find(years), ['batch'])
  clock.advance(86_400_000)
  t.ok(tokens.find(years) instanceof Promise, 'verified again after a day')
})

t.test('nothing is remembered of a token but its hash', async (t) => {
  const { tokens, accountClaims } = tokenKeys({ batch: identity() })
  const token = await signed(accountClaims(), KEY)
  await tokens.find(token)
  t.equal(tokens.remembered, 1)
  const { inspect } = await import('node:util')
  const shown = inspect(tokens, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null })
  for (const part of token.split('.')) t.notOk(shown.includes(part))
})

t.test('a changed file of keys counts at once, and empties the memory', async (t) => {
  const clock = testClock()
  const path = join(t.testdir(), 'jwks.json')
  writeFileSync(path, keySetOf(KEY))
  const file = fileSecret(path, clock)
  const { tokens, loads, accountClaims } = tokenKeys({ batch: identity({ keySet: inFile(file) }) }, { clock })
  const later = newKey('two', 'RS256')
  const [token, another, next] = [
    await signed(accountClaims(), KEY),
    await signed(accountClaims({ jti: '2' }), KEY),
    await signed(accountClaims(), later),
  ]
  t.same([await tokens.find(token), await tokens.find(another)], [['batch'], ['batch']])
  t.equal(await tokens.find(next), 'key')
  writeFileSync(path, keySetOf(KEY, later))
  clock.advance(1000)
  t.same(await tokens.find(next), ['batch'])
  t.equal(tokens.remembered, 1)
  t.same(await tokens.find(token), ['batch'])
  writeFileSync(path, 'half a fi')
  clock.advance(1000)
  t.same(tokens.find(token), ['batch'], 'a file that is being written changes nothing')
  writeFileSync(path, keySetOf(later))
  clock.advance(1000)
  t.equal(await tokens.find(token), 'key', 'its key was removed')
  t.same(await tokens.find(next), ['batch'])
  writeFileSync(path, keySetOf({ ...KEY, id: 'two' }))
  clock.advance(1000)
  t.equal(await tokens.find(next), 'algorithm', 'another key has its id')
  t.ok(loads.length > 0)
})

t.test('at most ten thousand tokens are remembered, the newest ones', async (t) => {
  const memory = new TokenMemory<number>()
  for (let n = 0; n <= MAXIMUM_REMEMBERED; n++) memory.keep(String(n), n, 1000)
  t.equal(memory.size, MAXIMUM_REMEMBERED)
  t.equal(memory.find('0', 0), undefined)
  t.equal(memory.find('1', 0), 1)
  t.equal(memory.find('1', 1000), undefined, 'over')
  memory.keep('2', 7, 2000)
  t.equal(memory.find('2', 1000), 7)
  memory.clear()
  t.equal(memory.size, 0)
})

t.test('tokens that wait for keys are bounded', async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const keySet = { declaredAt: [], place: 'https://ci.example/jwks', file: null }
  const { tokens, ciClaims } = tokenKeys(
    { ci: withClaims({ repository: 'acme/*' }, { keySet }) },
    { request: () => promise },
  )
  const token = await signed(ciClaims(), KEY)
  const [header, payload] = token.split('.')
  const waiting = Array.from({ length: MAXIMUM_PENDING - 1 }, (_, index) =>
    tokens.find(`${header}.${payload}.${Buffer.from(String(index)).toString('base64url')}`),
  )
  const good = tokens.find(token)
  await t.rejects(Promise.resolve(tokens.find(`${header}.${payload}.AAAA`)), {
    ...{ code: 'overloaded', status: 503, headers: { 'retry-after': '1' } },
  })
  resolve(keySetOf(KEY))
  t.same(await good, ['ci'])
  t.ok((await Promise.all(waiting)).every((one) => one === 'signature'))
  t.equal(await tokens.find(`${header}.${payload}.AAAA`), 'signature', 'there is room again')
  tokens.close()
})

t.test('no mutation of a token stands for a key', async (t) => {
  const keys = (['RS256', 'ES256', 'EdDSA'] as Algorithm[]).map((one) => newKey(one, one))
  const set = inFile(fixedSecret(keySetOf(...keys)))
  const { tokens, accountClaims, ciClaims } = tokenKeys({
    batch: identity({ keySet: set }),
    ci: withClaims({ repository: 'acme/*' }, { keySet: set }),
  })
  const good = await Promise.all(
    keys.flatMap((key) => [signed(accountClaims(), key), signed(ciClaims(), key)]),
  )
  for (const token of good) t.ok(Array.isArray(await tokens.find(token)))
  const remembered = tokens.remembered
  const token = fc.constantFrom(...good)
  const character = fc.constantFrom(...'ABCXYZabcxyz0189-_.=+/ {\u00e9'.split(''))
  const mutation = fc.oneof(
    fc
      .record({ token, at: fc.nat(), count: fc.nat(3), character })
      .map(({ token: text, at, count, character: put }) => {
        const place = at % text.length
        return text.slice(0, place) + put + text.slice(place + count)
      }),
    // A bit of the bytes of a part.
    fc.record({ token, part: fc.nat(2), bit: fc.nat() }).map(({ token: text, part, bit }) => {
      const parts = text.split('.').map((one) => Buffer.from(one, 'base64url'))
      const at = bit % (parts[part]!.length * 8)
      parts[part]![at >> 3]! ^= 1 << (at & 7)
      return parts.map((one) => one.toString('base64url')).join('.')
    }),
    // Parts of different tokens.
    fc.tuple(token, token, token).map((ones) => ones.map((one, index) => one.split('.')[index]).join('.')),
    fc.record({ token, to: fc.nat() }).map(({ token: text, to }) => text.slice(0, to % text.length)),
  )
  let tried = 0
  await fc.assert(
    fc.asyncProperty(mutation, async (mutated) => {
      if (good.includes(mutated)) return
      tried++
      const found = await tokens.find(mutated)
      if (typeof found !== 'string') throw new Error(`stands for ${found}: ${mutated}`)
    }),
    { numRuns: 3000 },
  )
  t.ok(tried >= 2500, `${tried} mutations`)
  t.equal(tokens.remembered, remembered)
})

t.test(
  'an issuer that stays keeps its keys when others come, and one that goes is asked no more',
  async (t) => {
    const asked: string[] = []
    const aborted: string[] = []
    const answers = Promise.withResolvers<string>()
    const request: TokenKeysParts['request'] = (url, signal) => {
      asked.push(url)
      signal.addEventListener('abort', () => aborted.push(url))
      return url.endsWith('/stays') ? Promise.resolve(keySetOf(KEY)) : answers.promise
    }
    const at = (name: string) => ({ declaredAt: [], place: `https://ci.example/${name}`, file: null })
    const stays = withClaims({ repository: 'acme/*' }, { keySet: at('stays') })
    const goes = withClaims({ repository: 'old/*' }, { issuer: 'https://old.example', keySet: at('goes') })
    const { tokens, ciClaims, clock } = tokenKeys({ stays, goes }, { request })
    tokens.start()
    const token = await signed(ciClaims(), KEY)
    t.same(await tokens.find(token), ['stays'])
    const parts = { clock, timers: systemTimers, onRefused: () => {}, onLoad: () => {}, request }
    const issued = [
      { sha256: 'renamed', identity: withClaims({ repository: 'acme/*' }, { keySet: at('stays') }) },
    ]
    const next = new TokenKeys({ ...parts, keys: issued }, tokens)
    tokens.close(next)
    t.same(aborted, ['https://ci.example/goes'])
    t.same(await next.find(token), ['renamed'], 'the keys are those that were read')
    t.same(asked, ['https://ci.example/stays', 'https://ci.example/goes'])
    t.equal(next.remembered, 1)
    next.close()
    t.same(aborted, ['https://ci.example/goes', 'https://ci.example/stays'])
  },
)
