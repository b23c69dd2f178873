// Keys of the configuration that are tokens of an issuer: how they are read, and the line of every
// error.

import { resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { parseConfig } from '../../src/core/config.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { globsMeet } from '../../src/core/token-identity.ts'
import { compileGlob } from '../../src/policy/glob.ts'
import { keySetOf, newKey } from '../hub/tokens.ts'

const { privateKey } = newKey()
const folder = t.testdir({
  'jwks.json': keySetOf(newKey()),
  'other.json': keySetOf(newKey()),
  'private.json': JSON.stringify({ keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one' }] }),
  'text.json': 'x',
  'large.json': ' '.repeat(1024 * 1024 + 1),
})
const HEAD = 'upstream: { baseUrl: https://h }\nkeys:\n'
/** Keys of a configuration, each on a line from the third on. */
const read = (...keys: object[]) => {
  const text = HEAD + keys.map((one) => `  - ${JSON.stringify(one)}\n`).join('')
  const { config, problems } = parseConfig(text, resolve(folder, 'sidegate.yaml'), {}, systemClock)
  return { config, found: problems.map((one) => formatProblem(one)) }
}

const ISSUER = { issuer: 'https://kubernetes.default.svc', jwks: { file: 'jwks.json' }, audience: 'sidegate' }
const account = (change: object = {}, name = 'batch') => ({
  name,
  serviceAccount: { ...ISSUER, namespace: 'jobs', name: 'batch', ...change },
})
const jwt = (claims: object = { repository: 'acme/*' }, change: object = {}) => ({
  name: 'ci',
  jwt: {
    ...ISSUER,
    issuer: 'https://ci.example',
    jwks: { url: 'https://ci.example/jwks' },
    claims,
    ...change,
  },
})

t.test('a key may be a ServiceAccount or a token with some claims, with every term of a key', async (t) => {
  const { config, found } = read(
    { ...account(), labels: { team: 'data' }, models: ['gpt-*'], maxParallel: 2 },
    jwt({ ref: 'refs/heads/main', repository: 'acme/*' }),
  )
  t.same(found, [])
  t.match(config?.keys, [
    {
      ...{ name: 'batch', clientName: null, sha256: /^[0-9a-f]{64}$/ },
      token: {
        ...{ issuer: ISSUER.issuer, audience: 'sidegate', account: { namespace: 'jobs', name: 'batch' } },
        keySet: { place: resolve(folder, 'jwks.json'), file: {} },
      },
      terms: { labels: { team: 'data' }, models: ['gpt-*'], maxParallel: 2 },
    },
    {
      ...{ name: 'ci', sha256: /^[0-9a-f]{64}$/ },
      token: {
        account: null,
        claims: [
          ['ref', 'refs/heads/main'],
          ['repository', 'acme/*'],
        ],
        keySet: { place: 'https://ci.example/jwks', file: null },
      },
    },
  ])
})

t.test('a key stays the same one when its terms, its name or the place of the keys change', async (t) => {
  const idOf = (key: object) => read(key).config?.keys[0]?.sha256
  const first = idOf(account())
  t.equal(idOf({ ...account({ jwks: { file: 'other.json' } }, 'renamed'), labels: { a: 'b' } }), first)
  t.equal(idOf(jwt({ b: '2', a: '1' })), idOf(jwt({ a: '1', b: '2' })), 'the order of claims says nothing')
  const others = [
    account({ issuer: 'x' }),
    account({ audience: 'x' }),
    account({ namespace: 'x' }),
    account({ name: 'x' }),
    jwt({ sub: 'system:serviceaccount:jobs:batch' }, ISSUER),
  ]
  t.equal(new Set([first, ...others.map(idOf)]).size, 1 + others.length)
})

t.test('keys in one file are read once', async (t) => {
  const { config } = read(
    account(),
    account({ name: 'other' }),
    account({ jwks: { file: 'other.json' }, name: 'x' }),
  )
  const [first, second, third] = config?.keys.map(({ token }) => token?.keySet?.file) ?? []
  t.equal(first, second)
  t.not(first, third)
})

t.test('every error has its line and its key', async (t) => {
  const without = ({ name, serviceAccount }: ReturnType<typeof account>, key: string) => ({
    name,
    serviceAccount: Object.fromEntries(Object.entries(serviceAccount).filter(([one]) => one !== key)),
  })
  const both = { ...account(), ...jwt(), name: 'both' }
  const url = (text: string) => jwt(undefined, { jwks: { url: text } })
  const cases: [key: object, wanted: RegExp][] = [
    [without(account(), 'audience'), /:3:\d+ keys\[0\]\.serviceAccount\.audience: is required/],
    [without(account(), 'issuer'), /:3:\d+ keys\[0\]\.serviceAccount\.issuer: is required/],
    [without(account(), 'jwks'), /:3:\d+ keys\[0\]\.serviceAccount\.jwks: is required/],
    [without(account(), 'namespace'), /:3:\d+ keys\[0\]\.serviceAccount\.namespace: is required/],
    [account({ audience: '' }), /serviceAccount\.audience: must not be empty/],
    [account({ name: '*' }), /:3:\d+ keys\[0\]\.serviceAccount\.name: has the wrong format: Name of the/],
    [account({ jwks: {} }), /:3:\d+ .*\.jwks: must have at least 1 of its keys: file, url/],
    [
      account({ jwks: { file: 'jwks.json', url: 'https://x' } }),
      /jwks: must have at most 1 of its keys: file, url/,
    ],
    [
      account({ jwks: { file: 'none.json' } }),
      /:3:\d+ .*\.jwks\.file: file none\.json cannot be read \(ENOENT\); .*kubectl/,
    ],
    [account({ jwks: { file: 'text.json' } }), /jwks\.file: file text\.json is not JSON; /],
    [account({ jwks: { file: 'large.json' } }), /jwks\.file: file large\.json .*is larger than/],
    [
      account({ jwks: { file: 'private.json' } }),
      /:3:\d+ .*jwks\.file: file private\.json holds a private or symmetric key/,
    ],
    [url('http://ci.example/jwks'), /:3:\d+ keys\[0\]\.jwt\.jwks\.url: must use https/],
    [url('ftp://ci.example/jwks'), /jwks\.url: is not an https URL/],
    [url('jwks'), /jwks\.url: is not an https URL/],
    [url('https://me:pw@ci.example/jwks'), /jwks\.url: must not carry a credential/],
    [url('https://ci.example/jwks#x'), /jwks\.url: must have no fragment/],
    [jwt({}), /:3:\d+ keys\[0\]\.jwt\.claims: must have at least 1/],
    [jwt(undefined, { claims: undefined }), /:3:\d+ keys\[0\]\.jwt\.claims: is required/],
    [jwt({ repository: '' }), /jwt\.claims\.repository: must not be empty/],
    [jwt({ repository: 7 }), /jwt\.claims\.repository: must be a string/],
    [both, /:3:\d+ keys\[0\]\.jwt: must not be next to serviceAccount/],
    [
      { ...account(), sha256: 'a'.repeat(64) },
      /:3:\d+ keys\[0\]\.serviceAccount: must not be next to sha256/,
    ],
    [{ name: 'none' }, /:3:\d+ keys\[0\]\.sha256: is required, unless .* serviceAccount or jwt/],
  ]
  for (const [key, wanted] of cases) {
    const { found } = read(key)
    t.match(found, [wanted], String(wanted))
    t.notMatch(found.join(), String(privateKey.export({ format: 'jwk' }).d))
  }
  for (const one of ['http://localhost:8080/jwks', 'http://127.0.0.1/jwks', 'http://[::1]:1/jwks'])
    t.same(read(url(one)).found, [], one)
})

t.test('two keys that one token may stand for are refused', async (t) => {
  const clash = /:4:\d+ keys\[1\]\.jwt\.claims: may match the same token as keys\[0\]/
  const cases: [one: object, other: object, wanted: RegExp | null][] = [
    [
      account(),
      account({}, 'again'),
      /:4:\d+ keys\[1\]\.serviceAccount: is also the ServiceAccount of keys\[0\]/,
    ],
    [account(), account({ name: 'other' }), null],
    [account(), account({ audience: 'other' }), null],
    [jwt({ repository: 'acme/*' }), jwt({ repository: 'acme/web' }), clash],
    [jwt({ repository: 'acme/*' }), jwt({ repository: '*/web' }), clash],
    [jwt({ repository: 'acme/*' }), jwt({ repository: 'acme/*', ref: 'main' }), clash],
    [jwt({ repository: 'acme/*' }), jwt({ ref: 'main' }), clash],
    [jwt({ repository: 'acme/*' }), jwt({ repository: 'other/*' }), null],
    [jwt({ repository: 'acme/*', ref: 'main' }), jwt({ repository: 'acme/*', ref: 'dev*' }), null],
    [jwt(), jwt(undefined, { issuer: 'https://other.example' }), null],
    [account(), jwt({ sub: 'system:serviceaccount:jobs:*' }, ISSUER), clash],
    [account(), jwt({ sub: 'system:serviceaccount:web:*' }, ISSUER), null],
  ]
  for (const [one, other, wanted] of cases)
    t.match(read(one, other).found, wanted === null ? [] : [wanted], JSON.stringify([one, other]))
  t.equal(read(jwt(), jwt()).found.length, 1)
})

t.test('there may be a thousand keys with claims, and a hundred sets of keys', async (t) => {
  const many = (count: number, change: (index: number) => object) =>
    read(...Array.from({ length: count }, (_, index) => jwt({ repository: `acme/${index}` }, change(index))))
      .found
  t.same(
    many(1000, () => ({})),
    [],
  )
  t.match(
    many(1001, () => ({})),
    [/:1003:\d+ keys\[1000\]\.jwt: is one more than the 1000/],
  )
  const at = (index: number) => ({ jwks: { url: `https://ci.example/${index}` } })
  t.same(many(100, at), [])
  t.match(many(101, at), [/:103:\d+ keys\[100\]\.jwt\.jwks: is one more key set than the 100/])
})

t.test('globs meet when some text matches both', async (t) => {
  const cases: [one: string, other: string, meets: boolean][] = [
    ...([
      ['a', 'a', true],
      ['a', 'b', false],
      ['*', '', true],
      ['?', '', false],
      ['a*', '*b', true],
    ] as const),
    ...([
      ['a*c', 'ab?', true],
      ['a?', 'a??', false],
      ['*a*', 'b', false],
      ['a*b*c', 'a*c', true],
    ] as const),
    ...([
      ['x*y', 'x?z*', true],
      ['x*y', 'z*', false],
      ['acme/*', 'acme', false],
      ['**', '?', true],
      ['😀', '?', true],
    ] as const),
  ].map(([one, other, meets]) => [one, other, meets])
  for (const [one, other, meets] of cases) {
    t.equal(globsMeet(one, other), meets, `${one} ${other}`)
    t.equal(globsMeet(other, one), meets, `${other} ${one}`)
  }
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 6 })
  const texts = ['']
  for (let length = 1; length <= 6; length++)
    texts.push(
      ...texts.filter((text) => text.length === length - 1).flatMap((text) => [`${text}a`, `${text}b`]),
    )
  fc.assert(
    fc.property(part, part, (one, other) => {
      const [isOne, isOther] = [compileGlob(one), compileGlob(other)]
      const isFound = texts.some((text) => isOne(text) && isOther(text))
      // A common text that is longer than those tried has a shorter one within each asterisk.
      return isFound ? globsMeet(one, other) : !globsMeet(one, other) || one.length + other.length > 6
    }),
    { numRuns: 2000 },
  )
})
