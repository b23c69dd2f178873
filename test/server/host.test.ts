// Whether a client uses TLS, as proxies and browsers report it.

import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { overTls } from '../../src/server/host.ts'

t.test('TLS is reported by a proxy, or by an https origin', async (t) => {
  const cases: [boolean, IncomingHttpHeaders][] = [
    [false, {}],
    [true, { 'x-forwarded-proto': 'https' }],
    [true, { 'x-forwarded-proto': 'HTTPS, http' }],
    [false, { 'x-forwarded-proto': 'http, https' }],
    [false, { 'x-forwarded-proto': 'httpsx' }],
    [true, { forwarded: 'proto=https' }],
    [true, { forwarded: 'for=192.0.2.1; Proto="https" ;by=10.0.0.1, for=10.0.0.2;proto=http' }],
    [true, { forwarded: 'for="[2001:db8::1]:80,x";proto=HTTPS' }],
    [false, { forwarded: 'for=192.0.2.1;proto=http, for=10.0.0.2;proto=https' }],
    [false, { forwarded: 'for=192.0.2.1, proto=https' }],
    [false, { forwarded: 'for=192.0.2.1;xproto=https' }],
    [false, { forwarded: 'for=192.0.2.1;proto=httpsx' }],
    [false, { forwarded: 'for="a;proto=https"' }],
    [false, { forwarded: 'for="a;proto=https' }],
    [true, { origin: 'https://gateway.example' }],
    [true, { origin: 'HTTPS://gateway.example' }],
    [false, { origin: 'http://gateway.example' }],
    [false, { origin: 'null' }],
  ]
  for (const [secure, headers] of cases) t.equal(overTls(headers), secure, JSON.stringify(headers))
})

t.test('a long header is read in linear time', async (t) => {
  for (const piece of ['"', 'proto=', ';', 'a ', '"a" ', '\\"'])
    t.equal(overTls({ forwarded: piece.repeat(16_384 / piece.length) }), false, piece)
})
