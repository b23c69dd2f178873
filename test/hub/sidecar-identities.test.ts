// Who a sidecar is: which tokens show it, and that no other text does.

import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import type { JoinCluster } from '../../src/core/hub-config.ts'
import { fileSecret } from '../../src/core/secret.ts'
import { SidecarIdentities } from '../../src/hub/sidecar-identities.ts'
import type { JoinedSidecar } from '../../src/ledger/join-tokens.ts'
import { createHubMetrics } from '../../src/metrics/hub-metrics.ts'
import { testClock } from '../store/fixture.ts'
import {
  type Algorithm,
  clusterOf,
  ISSUER,
  joinedClaims,
  keySetOf,
  newKey,
  podClaims,
  type SigningKey,
  signed,
} from './tokens.ts'

const KEY = newKey()
const OTHER_KEY = newKey()
const SIDECAR = '8f1a36c5-0d6f-5a8e-9d7b-2f4c1e6a7b90'
const bearer = (token: string) => `Bearer ${token}`

/** Identities over clusters and joined sidecars, which a test may change. */
function identitiesOf(clusters: readonly JoinCluster[]) {
  const clock = testClock()
  const metrics = createHubMetrics('0', {
    certificates: () => [],
    isConfigStale: () => false,
    areRuleFilesInForce: () => true,
    isPriceFileInForce: () => true,
  })
  const joined = new Map<string, JoinedSidecar>()
  const asked: string[] = []
  const sidecars = {
    find: async (id: string) => {
      asked.push(id)
      return joined.get(id) ?? null
    },
  }
  const parts = { join: { audience: 'sidegate-hub', clusters }, sidecars, clock, metrics }
  const identities = new SidecarIdentities(parts)
  const verify = (token: string) => identities.verify(bearer(token))
  const refusals = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...(await metrics.page()).matchAll(/^sidegate_sidecars_refused_total\{reason="(\w+)"\} (\d+)$/gm)]
        .map(([, reason, count]) => [reason!, Number(count)] as const)
        .filter(([, count]) => count > 0),
    )
  const join = (key: SigningKey, isGone = false, name = 'shop/web-1'): void => {
    joined.set(SIDECAR, {
      ...{
        sidecar: SIDECAR,
        cluster: null,
        namespace: 'shop',
        name,
        publicKey: key.publicPem,
        isGone,
      },
    })
  }
  return { clock, identities, joined, asked, verify, refusals, join }
}

const inProd = () => identitiesOf([clusterOf({ text: keySetOf(KEY) })])

/** Expects each token to be refused by a check, with the same words. */
async function refuses(
  t: Test,
  { verify, refusals }: Pick<ReturnType<typeof inProd>, 'verify' | 'refusals'>,
  cases: readonly [name: string, check: string, token: string][],
): Promise<void> {
  const wanted: Record<string, number> = {}
  const messages = new Set<string>()
  for (const [name, check, token] of cases) {
    const error = await verify(token).then(
      () => null,
      (reason) => reason,
    )
    t.match(error, { code: 'invalid_token', status: 401 }, name)
    messages.add(error?.message)
    wanted[check] = (wanted[check] ?? 0) + 1
    t.strictSame(await refusals(), wanted, `${name}: ${check}`)
  }
  t.equal(messages.size, 1, 'the client does not learn which check failed')
}

t.test('a Pod is its namespace and uid, whatever algorithm its cluster signs with', async (t) => {
  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as Algorithm[]) {
    const key = newKey('k', algorithm)
    const { clock, verify } = identitiesOf([clusterOf({ text: keySetOf(OTHER_KEY, key) })])
    const identity = await verify(await signed(podClaims(clock.now()), key))
    const exp = podClaims(clock.now()).exp! * 1000
    t.match(identity, { cluster: 'prod', namespace: 'shop', name: 'shop/web-0', expiresAtMs: exp }, algorithm)
    clock.advance(60_000)
    const later = await verify(await signed(podClaims(clock.now()), key))
    t.equal(later.id, identity.id, 'the next token of the Pod')
    const next = podClaims(clock.now(), { uid: 'another' })
    t.not((await verify(await signed(next, key))).id, identity.id, 'a new Pod with the same name')
  }
})

t.test('clusters with one issuer are told apart by their keys', async (t) => {
  const allow = [{ namespace: '*', serviceAccount: 'w?b' }]
  const { clock, verify } = identitiesOf([
    clusterOf({ text: keySetOf(OTHER_KEY) }, { name: 'test', allow }),
    clusterOf({ text: keySetOf(KEY) }),
  ])
  const claims = podClaims(clock.now())
  const prod = await verify(await signed(claims, KEY))
  t.match(prod, { cluster: 'prod', name: 'prod/shop/web-0' })
  const test = await verify(await signed(claims, OTHER_KEY))
  t.match(test, { cluster: 'test', name: 'test/shop/web-0' })
  t.not(prod.id, test.id)
  await t.rejects(verify(await signed(podClaims(clock.now(), { namespace: 'bank' }), KEY)))
  t.match(await verify(await signed(podClaims(clock.now(), { namespace: 'bank' }), OTHER_KEY)), {
    name: 'test/bank/web-0',
  })
})

t.test('any other token of a Pod is refused, and a metric says why', async (t) => {
  const hub = inProd()
  const now = Math.floor(hub.clock.now() / 1000)
  const claims = podClaims(hub.clock.now())
  const { exp: _exp, ...endless } = claims
  const { aud: _aud, ...forAnyone } = claims
  const place = claims['kubernetes.io'] as Record<string, object>
  const { pod: _pod, ...noPod } = place
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const byHand = (header: object, signature: (text: string) => string) => {
    const text = `${segment(header)}.${segment(claims)}`
    return `${text}.${signature(text)}`
  }
  const hmac = (text: string) => createHmac('sha256', KEY.publicPem).update(text).digest('base64url')
  const withClaims = (more: JWTPayload) => signed({ ...claims, ...more }, KEY)
  const small = newKey('one', 'EdDSA')
  await refuses(t, hub, [
    ['expired', 'expired', await withClaims({ exp: now })],
    ['not yet', 'expired', await withClaims({ nbf: now + 31 })],
    ['made in the future', 'expired', await withClaims({ iat: now + 31 })],
    ['without an end', 'malformed', await signed(endless, KEY)],
    ['a time that is a text', 'malformed', await withClaims({ exp: 'soon' as unknown as number })],
    ['for another audience', 'audience', await withClaims({ aud: ['vault'] })],
    ['for no audience', 'audience', await signed(forAnyone, KEY)],
    ['foreign issuer', 'issuer', await withClaims({ iss: 'https://elsewhere' })],
    ['no issuer', 'issuer', await withClaims({ iss: undefined as unknown as string })],
    ['key of another', 'signature', await signed(claims, OTHER_KEY)],
    ['unknown key', 'signature', await signed(claims, { ...OTHER_KEY, id: 'two' })],
    ['another algorithm', 'signature', await signed(claims, small)],
    ['no id of a key', 'malformed', await signed(claims, KEY, { kid: undefined })],
    ['alg none', 'signature', byHand({ alg: 'none', kid: 'one' }, () => 'AA')],
    ['HS256 with the public key', 'signature', byHand({ alg: 'HS256', kid: 'one' }, hmac)],
    ['a critical header', 'signature', byHand({ alg: 'ES256', kid: 'one', crit: ['x'], x: 1 }, hmac)],
    ['no Pod', 'account', await withClaims({ 'kubernetes.io': noPod })],
    ['no claims of Kubernetes', 'account', await withClaims({ 'kubernetes.io': null })],
    [
      'an unfit uid',
      'account',
      await withClaims({ 'kubernetes.io': { ...place, pod: { name: 'a', uid: '' } } }),
    ],
    ['another account', 'account', await signed(podClaims(hub.clock.now(), { account: 'db' }), KEY)],
    ['another namespace', 'account', await signed(podClaims(hub.clock.now(), { namespace: 'bank' }), KEY)],
    ['another subject', 'account', await withClaims({ sub: 'system:serviceaccount:shop:db' })],
    ['no token', 'malformed', 'x'],
    ['no signature', 'malformed', byHand({ alg: 'none', kid: 'one' }, () => '')],
    ['no JSON', 'malformed', 'eHh4.eHh4.eHh4'],
    ['a long text', 'malformed', `${'a'.repeat(4000)}.${'a'.repeat(4000)}.${'a'.repeat(4000)}`],
  ])
  for (const header of [undefined, '', 'Bearer', `Basic ${await signed(claims, KEY)}`])
    await t.rejects(hub.identities.verify(header), { code: 'invalid_token' }, String(header))
  const early = await withClaims({ iat: now + 30, nbf: now + 30 })
  t.match(await hub.identities.verify(`bearer  ${early}`), { name: 'shop/web-0' }, 'clocks differ a little')
})

t.test('both globs of one entry must match', async (t) => {
  const allow = [
    { namespace: 'shop', serviceAccount: 'db' },
    { namespace: 'team-*', serviceAccount: 'web' },
  ]
  const { clock, verify } = identitiesOf([clusterOf({ text: keySetOf(KEY) }, { allow })])
  const token = (namespace: string, account: string) =>
    signed(podClaims(clock.now(), { namespace, account }), KEY)
  t.ok(await verify(await token('shop', 'db')))
  t.ok(await verify(await token('team-a', 'web')))
  for (const [namespace, account] of [
    ['shop', 'web'],
    ['team-a', 'db'],
    ['shop2', 'db'],
    ['a-team-b', 'web'],
  ] as const)
    await t.rejects(verify(await token(namespace, account)), { code: 'invalid_token' })
})

t.test('a changed key set counts at once, also for tokens that were verified before', async (t) => {
  const clock = testClock()
  const file = join(t.testdir(), 'jwks.json')
  writeFileSync(file, keySetOf(KEY))
  const cluster = { ...clusterOf({ text: '' }), jwks: fileSecret(file, clock) }
  const hub = identitiesOf([cluster])
  const token = await signed(podClaims(clock.now()), KEY)
  const later = newKey('two', 'RS256')
  const next = await signed(podClaims(clock.now()), later)
  t.ok(await hub.verify(token))
  await t.rejects(hub.verify(next), { code: 'invalid_token' })
  writeFileSync(file, keySetOf(KEY, later))
  clock.advance(1000)
  t.ok(await hub.verify(next))
  t.ok(await hub.verify(token))
  writeFileSync(file, keySetOf(later))
  clock.advance(1000)
  await t.rejects(hub.verify(token), { code: 'invalid_token' }, 'its key was removed')
  t.ok(await hub.verify(next))
  writeFileSync(file, keySetOf({ ...KEY, id: 'two' }))
  clock.advance(1000)
  await t.rejects(hub.verify(next), { code: 'invalid_token' }, 'another key has its id')
  t.strictSame(await hub.refusals(), { signature: 3 })
})

t.test('a verified token is remembered until it ends', async (t) => {
  const hub = inProd()
  const token = await signed(podClaims(hub.clock.now()), KEY)
  const identity = await hub.verify(token)
  t.equal(await hub.verify(token), identity, 'nothing is verified anew')
  hub.clock.advance(identity.expiresAtMs - hub.clock.now() - 1)
  t.equal(await hub.verify(token), identity)
  hub.clock.advance(1)
  await refuses(t, hub, [['its time is over', 'expired', token]])
  const years = { ...podClaims(hub.clock.now()), exp: hub.clock.now() / 1000 + 1e9 }
  t.equal((await hub.verify(await signed(years, KEY))).expiresAtMs, hub.clock.now() + 86_400_000)
})

t.test('a sidecar that joined shows the key it joined with', async (t) => {
  const hub = inProd()
  const key = newKey('x', 'EdDSA')
  hub.join(key)
  const claims = joinedClaims(hub.clock.now(), SIDECAR)
  const token = await signed(claims, key)
  t.match(await hub.verify(token), {
    ...{ id: SIDECAR, cluster: null, namespace: 'shop', name: 'shop/web-1' },
    expiresAtMs: claims.exp! * 1000,
  })
  const now = claims.iat!
  const { iat: _iat, ...ageless } = claims
  const withClaims = (more: JWTPayload) => signed({ ...claims, ...more }, key)
  await refuses(t, hub, [
    ['expired', 'expired', await withClaims({ iat: now - 900, exp: now })],
    ['made in the future', 'expired', await withClaims({ iat: now + 31 })],
    ['for too long', 'malformed', await withClaims({ exp: now + 901 })],
    ['of no age', 'malformed', await signed(ageless, key)],
    ['for another audience', 'audience', await withClaims({ aud: ISSUER })],
    ['key of another', 'signature', await signed(claims, newKey('x', 'EdDSA'))],
    ['key of a cluster', 'signature', await signed(claims, KEY)],
    ['of an unknown one', 'unknown_sidecar', await withClaims({ sub: SIDECAR.replace('8', '9') })],
    ['of no id', 'unknown_sidecar', await withClaims({ sub: 'shop/web-1' })],
    ['in the name of a cluster', 'issuer', await withClaims({ iss: 'x' })],
  ])
})

t.test('a sidecar that is gone, or has another key, is refused with a token that was verified', async (t) => {
  const hub = inProd()
  const key = newKey('x', 'EdDSA')
  const token = await signed(joinedClaims(hub.clock.now(), SIDECAR), key)
  hub.join(key)
  await hub.verify(token)
  await hub.verify(token)
  t.equal(hub.asked.length, 2, 'its state is asked for each request')
  hub.join(newKey('x', 'EdDSA'))
  await t.rejects(hub.verify(token), { code: 'invalid_token' })
  hub.join(key)
  t.ok(await hub.verify(token))
  hub.join(key, true)
  await t.rejects(hub.verify(token), { code: 'forbidden', message: /declared this sidecar gone/ })
  hub.joined.clear()
  await t.rejects(hub.verify(token), { code: 'invalid_token' })
  t.strictSame(await hub.refusals(), { signature: 1, unknown_sidecar: 1 })
})

t.test('no token with another character is accepted', async (t) => {
  const hub = inProd()
  const key = newKey('x', 'EdDSA')
  hub.join(key)
  const tokens = [
    await signed(podClaims(hub.clock.now()), KEY),
    await signed(joinedClaims(hub.clock.now(), SIDECAR), key),
  ]
  for (const token of tokens) t.ok(await hub.verify(token))
  const character = fc.constantFrom(...'ABCXYZabcxyz0189-_.=+/ {'.split(''))
  const change = fc.record({ token: fc.constantFrom(...tokens), at: fc.nat(), count: fc.nat(2), character })
  await fc.assert(
    fc.asyncProperty(change, async ({ token, at, count, character }) => {
      const place = at % token.length
      const mutated = token.slice(0, place) + character + token.slice(place + count)
      // Any number of spaces may be before a token.
      if (mutated.trimStart() === token) return
      await hub.verify(mutated).then(
        () => {
          throw new Error(`accepted ${mutated}`)
        },
        ({ code }) => {
          if (code !== 'invalid_token') throw new Error(code)
        },
      )
    }),
    { numRuns: 2000 },
  )
})
