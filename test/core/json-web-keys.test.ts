// Sets of public keys: which keys verify tokens, with which algorithm, and which sets are refused.

import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import {
  MAXIMUM_KEY_SET_BYTES,
  readKeySet,
  TOKEN_ALGORITHMS,
  whyNotKeySet,
} from '../../src/core/json-web-keys.ts'

const rsa = (bits = 2048) => generateKeyPairSync('rsa', { modulusLength: bits }).privateKey
const ec = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve }).privateKey
const ed25519 = () => generateKeyPairSync('ed25519').privateKey
const publicOf = (key: KeyObject, more: object = {}) => ({
  ...createPublicKey(key).export({ format: 'jwk' }),
  ...{ kid: 'one', ...more },
})
const RSA = publicOf(rsa())
const EC = publicOf(ec())
const set = (...keys: unknown[]) => JSON.stringify({ keys })
const algorithmsOf = (...keys: unknown[]) => {
  const reading = readKeySet(set(...keys))
  return 'problem' in reading ? reading.problem : reading.keys.map(({ alg }) => alg)
}

t.test('no algorithm of tokens is symmetric, or none', async (t) => {
  t.ok(TOKEN_ALGORITHMS.includes('RS256'))
  t.same(
    TOKEN_ALGORITHMS.filter((one) => /^HS|none/i.test(one)),
    [],
  )
})

t.test('a key has one algorithm: the one it names, or that of its type', async (t) => {
  t.same(algorithmsOf(RSA), ['RS256'])
  t.same(algorithmsOf({ ...RSA, alg: 'PS384' }), ['PS384'])
  t.same(algorithmsOf(EC), ['ES256'])
  t.same(algorithmsOf(publicOf(ec('P-384'))), ['ES384'])
  t.same(algorithmsOf(publicOf(ec('P-521'))), ['ES512'])
  t.same(algorithmsOf(publicOf(ed25519())), ['EdDSA'])
  t.same(algorithmsOf(RSA, { ...RSA, alg: 'PS256' }), ['RS256', 'PS256'], 'one id for two algorithms')
})

t.test('keys that cannot verify tokens are left out', async (t) => {
  const unfit: [name: string, key: unknown][] = [
    ['for encryption', { ...RSA, use: 'enc' }],
    ['for other operations', { ...RSA, key_ops: ['encrypt'] }],
    ['without an id', { ...RSA, kid: undefined }],
    ['with an id that is no text', { ...RSA, kid: 7 }],
    ['for an algorithm of another type', { ...RSA, alg: 'ES256' }],
    ['for a symmetric algorithm', { ...RSA, alg: 'HS256' }],
    ['for RSA encryption', { ...RSA, alg: 'RSA-OAEP' }],
    ['of a weak size', publicOf(rsa(1024))],
    ['of a curve of a coin', publicOf(ec('secp256k1'))],
    ['off its curve', { ...EC, x: 'AA' }],
    ['of an unknown type', { kty: 'constructor', kid: 'one' }],
    ['of an unknown curve', { kty: 'EC', crv: 'toString', kid: 'one' }],
  ]
  for (const [name, key] of unfit) {
    t.same(algorithmsOf({ ...EC, kid: 'two' }, key), ['ES256'], name)
    t.match(whyNotKeySet(set(key)), /no key that may verify tokens/, `${name}, alone`)
  }
})

t.test('a set that is no set of public keys is refused, without its text', async (t) => {
  const secret = ec().export({ format: 'jwk' })
  const cases: [text: string, wanted: RegExp][] = [
    ['', /is not JSON/],
    ['[]', /has no keys/],
    ['{"keys": {}}', /has no keys/],
    [set(), /has no keys/],
    [set('x'), /has no keys/],
    [set(EC, null), /has no keys/],
    [set(EC, { ...secret, kid: 'two' }), /private or symmetric key \(keys\[1\]\)/],
    [set({ ...rsa().export({ format: 'jwk' }), kid: 'x' }), /private or symmetric key \(keys\[0\]\)/],
    [set({ kty: 'oct', k: 'c2VjcmV0', kid: 'x' }), /private or symmetric/],
    [set(EC, EC), /two keys with one `kid`/],
    [
      set(...Array.from({ length: 101 }, (_, index) => ({ ...EC, kid: String(index) }))),
      /more than 100 keys/,
    ],
    [set({ ...EC, note: 'x'.repeat(MAXIMUM_KEY_SET_BYTES) }), /larger than 262144 bytes/],
  ]
  for (const [text, wanted] of cases) {
    const reason = whyNotKeySet(text)
    t.match(reason, wanted)
    t.notMatch(reason, String(secret.d))
  }
  t.equal(whyNotKeySet(set(EC, RSA)), null)
})

t.test('only public members of a key are kept', async (t) => {
  const reading = readKeySet(set({ ...EC, x5c: ['x'], x5u: 'https://evil.example', ext: true }))
  t.same('keys' in reading && Object.keys(reading.keys[0]!).sort(), ['alg', 'crv', 'kid', 'kty', 'x', 'y'])
})
