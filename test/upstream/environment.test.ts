import t from 'tap'
import { isLoopbackUrl } from '../../src/core/config-values.ts'
import { fixedSecret, type Secret } from '../../src/core/secret.ts'
import { type TrustedHosts, unsafeSettings } from '../../src/upstream/environment.ts'

const REMOTE = { declaredAt: ['upstream'], baseUrl: 'https://api.example.com/v1', proxy: null }
const LOCAL = { declaredAt: ['upstream'], baseUrl: 'https://localhost:8443/v1', proxy: null }

const hostsOf = (upstream: typeof REMOTE, more: Partial<TrustedHosts> = {}): TrustedHosts => ({
  ...{ upstreams: [upstream], keys: [], admin: { oidc: null }, recognisers: [] },
  ...more,
})
const messages = (upstream: typeof REMOTE, env: Record<string, string>, options: string[] = []) =>
  unsafeSettings(hostsOf(upstream), { env, options }).map(({ message }) => message)

t.test('a loopback name or address is recognised in each spelling, and nothing else is', (t) => {
  for (const host of ['localhost', 'LOCALHOST.', '127.0.0.1', '127.1', '127.8.9.1', '[::1]', '[0:0::1]'])
    t.ok(isLoopbackUrl(`https://${host}/v1`), host)
  for (const host of ['localhost.example.com', '128.0.0.1', '127.0.0.1.nip.io', '[::2]', '0.0.0.0', 'x@y'])
    t.notOk(isLoopbackUrl(`https://${host}/v1`), host)
  t.notOk(isLoopbackUrl('not a URL'))
  t.end()
})

t.test('unverified TLS is refused unless the upstream is loopback', (t) => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  t.match(messages(REMOTE, env), [/NODE_TLS_REJECT_UNAUTHORIZED=0 .*unset it/])
  t.match(messages({ ...REMOTE, baseUrl: 'http://10.0.0.1/v1' }, env), [/NODE_TLS/])
  t.same(messages(LOCAL, env), [])
  t.same(messages(REMOTE, { NODE_TLS_REJECT_UNAUTHORIZED: '1' }), [])
  t.end()
})

t.test('unverified TLS is refused unless the identity provider is loopback', (t) => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const found = (issuer: string) =>
    unsafeSettings(hostsOf(LOCAL, { admin: { oidc: { issuer } } }), { env, options: [] })
  t.match(found('https://login.example.com'), [{ path: ['admin', 'oidc', 'issuer'], message: /unset it/ }])
  t.same(found('https://localhost:8443'), [])
  t.end()
})

t.test('unverified TLS is refused unless a recogniser is on loopback', (t) => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const found = (url: string) =>
    unsafeSettings(hostsOf(LOCAL, { recognisers: [{ url }] }), { env, options: [] })
  t.match(found('https://names.example/analyze'), [{ path: ['recognisers', 0, 'url'], message: /unset it/ }])
  t.same(found('https://localhost:8443/analyze'), [])
  t.end()
})

t.test('unverified TLS is refused unless the keys of an issuer are on loopback or in a file', (t) => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const declaredAt = ['keys', 0, 'jwt', 'jwks']
  const found = (place: string, file: Secret | null = null) =>
    unsafeSettings(
      hostsOf(LOCAL, { keys: [{ token: { keySet: { declaredAt, place, file } } }, { token: null }] }),
      {
        ...{ env, options: [] },
      },
    )
  t.match(found('https://ci.example/jwks'), [{ path: [...declaredAt, 'url'], message: /unset it/ }])
  t.same(found('https://localhost:8443/jwks'), [])
  t.same(found('/etc/jwks.json', fixedSecret('{}')), [])
  t.end()
})

t.test('settings that write traffic, memory or keys somewhere are refused for any upstream', (t) => {
  for (const upstream of [REMOTE, LOCAL]) {
    t.match(messages(upstream, { NODE_DEBUG: 'net' }), [/NODE_DEBUG/])
    t.match(messages(upstream, { NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem' }), [/NODE_EXTRA_CA_CERTS/])
    for (const option of [
      '--inspect',
      '--inspect=0.0.0.0:9229',
      '--inspect_brk',
      '--inspect-wait',
      '--tls-keylog=/tmp/keys',
      '--trace-tls',
      '--insecure-http-parser',
      '--heapsnapshot-signal=SIGUSR2',
      '--report-on-signal',
    ]) {
      t.equal(messages(upstream, { NODE_OPTIONS: `--no-warnings "${option}"` }).length, 1, option)
      t.equal(messages(upstream, {}, ['--expose-gc', option]).length, 1, option)
    }
    t.same(messages(upstream, { NODE_OPTIONS: '--max-old-space-size=300', NODE_DEBUG: '' }), [])
  }
  t.end()
})

t.test('no message holds a value of the environment', (t) => {
  const env = {
    NODE_EXTRA_CA_CERTS: '/secret-path',
    NODE_DEBUG: 'secret-name',
    NODE_OPTIONS: '--tls-keylog=secret-file',
  }
  const found = messages(REMOTE, env)
  t.equal(found.length, 3)
  for (const message of found) t.notMatch(message, /secret/)
  t.end()
})
