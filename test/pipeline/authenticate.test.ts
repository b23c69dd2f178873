import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import type { CallKey } from '../../src/core/key-terms.ts'
import type { TokenCheck } from '../../src/jwt/token-check.ts'
import type { TokenFinding } from '../../src/jwt/token-keys.ts'
import { authenticate } from '../../src/pipeline/call/authenticate.ts'
import type { ClientCertificate } from '../../src/pipeline/call/client.ts'
import { callKey } from '../policy/keys.ts'

const OWNER = callKey()
const asked: string[] = []
const keys = {
  authenticate(key: string): CallKey | 'expired' | null {
    asked.push(key)
    if (key === 'old') return 'expired'
    if (key === 'second') return callKey('2')
    return key === 'right' ? OWNER : null
  },
  /** As a key ring: an answer for each name that a key has. */
  authenticateCertificate({ names }: ClientCertificate) {
    const found = { a: OWNER, b: callKey('2'), old: 'expired', revoked: null } as const
    return names.flatMap((name) => (name in found ? [found[name as keyof typeof found]] : []))
  },
  authenticateDeclared: (hashes: readonly string[]) =>
    hashes.map((hash) => ({ a: OWNER, b: callKey('2'), old: 'expired' as const })[hash] ?? null),
}
const keyFor = (headers: IncomingHttpHeaders, ...names: string[]) =>
  authenticate(
    { keys, tokens: null },
    { headers, certificate: names.length === 0 ? null : { names, expiresAtMs: 0 } },
  ) as CallKey

t.test('reads the bearer token as RFC 6750 and clients write it', async (t) => {
  for (const authorization of ['Bearer right', 'bearer right', 'BEARER   right'])
    t.equal(keyFor({ authorization }), OWNER, authorization)
})

t.test('reads x-api-key, as clients of Anthropic send it', async (t) => {
  t.equal(keyFor({ 'x-api-key': 'right' }), OWNER)
  t.equal(keyFor({ 'x-api-key': 'right', authorization: 'Basic x' }), OWNER)
})

t.test('the credential that is a key counts, in either header', async (t) => {
  for (const [authorization, key] of [
    ['Bearer theirs', 'right'],
    ['Bearer right', 'theirs'],
    ['Bearer old', 'right'],
    ['Bearer right', 'right'],
    ['Basic dXNlcjpwYXNz', 'right'],
  ])
    t.equal(keyFor({ authorization, 'x-api-key': key }), OWNER, `${authorization}, ${key}`)
  t.throws(() => keyFor({ authorization: 'Bearer right', 'x-api-key': 'second' }), {
    code: 'invalid_parameter',
    message: /two different Sidegate keys/,
  })
  for (const [authorization, key] of [
    ['Bearer old', 'theirs'],
    ['Bearer theirs', 'old'],
  ])
    t.throws(() => keyFor({ authorization, 'x-api-key': key }), { code: 'expired_api_key' })
})

t.test('every kind of bad key gets the same error', async (t) => {
  const headers: IncomingHttpHeaders[] = [
    {},
    { authorization: '' },
    { authorization: 'right' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: 'Bearerright' },
    { authorization: 'Bearer\tright' },
    { authorization: 'Bearer wrong' },
    { authorization: 'Bearer right right' },
    { authorization: 'Bearer right, Bearer right' },
    { authorization: 'Basic right' },
    { authorization: 'XBearer right' },
    { 'x-api-key': 'wrong' },
    { 'x-api-key': 'Bearer right' },
    { authorization: 'Bearer wrong', 'x-api-key': 'wrong too' },
    { cookie: 'authorization=Bearer right' },
  ]
  const messages = new Set<string>()
  for (const one of headers) {
    try {
      keyFor(one)
      t.fail(JSON.stringify(one))
    } catch (error: any) {
      t.match(
        error,
        { code: 'invalid_api_key', headers: { 'www-authenticate': 'Bearer' } },
        JSON.stringify(one),
      )
      messages.add(JSON.stringify({ ...error, message: error.message }))
    }
  }
  t.equal(messages.size, 1)
})

t.test('the key store is asked for every call', async (t) => {
  asked.length = 0
  for (let i = 0; i < 3; i++) keyFor({ authorization: 'Bearer right' })
  t.same(asked, ['right', 'right', 'right'])
})

t.test('a client certificate counts where no key is sent', async (t) => {
  t.equal(keyFor({}, 'a'), OWNER)
  t.equal(keyFor({ authorization: 'Basic x' }, 'other', 'a', 'revoked'), OWNER)
  t.equal(keyFor({ authorization: 'Bearer right' }, 'b'), OWNER, 'a bearer counts instead')
  t.throws(() => keyFor({ authorization: 'Bearer wrong' }, 'a'), { code: 'invalid_api_key' })
  t.throws(() => keyFor({ 'x-api-key': 'wrong' }, 'a'), { code: 'invalid_api_key' })
  for (const name of ['other', 'revoked'])
    t.throws(() => keyFor({}, name), { code: 'invalid_api_key', headers: { 'www-authenticate': 'Bearer' } })
  t.throws(() => keyFor({}, 'old'), { code: 'expired_api_key' })
  t.throws(() => keyFor({}, 'a', 'b'), { code: 'invalid_parameter', message: /names of two keys/ })
})

/** Tokens by what they stand for. `later.` ones have to be verified first. */
function withTokens(found: Readonly<Record<string, TokenFinding>>) {
  const refused: string[] = []
  const tokens = {
    find(token: string): TokenFinding | Promise<TokenFinding> {
      const finding = found[token] ?? 'malformed'
      return token.startsWith('later.') ? Promise.resolve(finding) : finding
    },
    refused: (check: TokenCheck) => refused.push(check),
  }
  const ask = (headers: IncomingHttpHeaders) => authenticate({ keys, tokens }, { headers, certificate: null })
  return { refused, ask }
}

t.test('a token of an issuer stands for its key wherever a key may be', async (t) => {
  const { ask, refused } = withTokens({
    'x.a.z': ['a'],
    'x.b.z': ['b'],
    'later.a.z': ['a'],
    'theirs.b.z': 'issuer',
  })
  t.equal(ask({ authorization: 'Bearer x.a.z' }), OWNER, 'a known one at once')
  t.equal(ask({ 'x-api-key': 'x.a.z' }), OWNER)
  const verifying = ask({ authorization: 'Bearer later.a.z' })
  t.ok(verifying instanceof Promise)
  t.equal(await verifying, OWNER)
  t.equal(ask({ authorization: 'Bearer theirs.b.z', 'x-api-key': 'right' }), OWNER, 'a token of the provider')
  t.equal(
    await ask({ authorization: 'Bearer right', 'x-api-key': 'later.a.z' }),
    OWNER,
    'the key and its token',
  )
  t.equal(
    await ask({ authorization: 'Bearer later.a.z', 'x-api-key': 'x.a.z' }),
    OWNER,
    'two tokens of one key',
  )
  t.throws(() => ask({ authorization: 'Bearer right', 'x-api-key': 'x.b.z' }), {
    code: 'invalid_parameter',
    message: /two different Sidegate keys/,
  })
  t.same(refused, [], 'a call with a key is none that a token refuses')
})

t.test('a token that stands for no key, or for two, is refused like any other key', async (t) => {
  const { ask, refused } = withTokens({
    ...{ 'x.old.z': ['old'], 'x.revoked.z': ['revoked'], 'x.two.z': ['a', 'b'], 'x.late.z': 'expired' },
    ...{ 'later.late.z': 'expired', 'theirs.b.z': 'issuer' },
  })
  const messageOf = async (headers: IncomingHttpHeaders) => {
    try {
      await ask(headers)
    } catch (error: any) {
      t.match(error, {
        status: 401,
        headers: { 'www-authenticate': 'Bearer' },
        extra: { code: 'invalid_api_key' },
      })
      return error.message
    }
    return t.fail(JSON.stringify(headers))
  }
  const messages = new Set<string>()
  for (const token of ['x.late.z', 'later.late.z', 'theirs.b.z', 'x.y.z', 'x.old.z', 'x.revoked.z', 'wrong'])
    messages.add(await messageOf({ authorization: `Bearer ${token}` }))
  t.equal(messages.size, 1, 'a client cannot tell them apart')
  t.same(refused, ['expired', 'expired', 'issuer', 'malformed'])
  t.throws(() => ask({ authorization: 'Bearer x.two.z' }), { code: 'invalid_parameter', message: /two keys/ })
})
