// The certificate of a listener while its files change, with real sockets and timers of the test.

import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/core/config.ts'
import {
  CERTIFICATE_POLL_MS,
  certificatesHealth,
  LiveCertificate,
  listenWith,
} from '../../src/gateway/live-certificate.ts'
import type { GatewayLogger } from '../../src/gateway/logger.ts'
import { inTime } from '../process/until.ts'
import { ManualTimers, publish, temporaryFolder } from '../rules/fixture.ts'
import { DAY_MS, makeCertificate, rsaKeys, type TestCertificate } from '../server/certificate.ts'

const START_MS = Date.UTC(2027, 0, 15)
const [FROM_MS, UNTIL_MS] = [START_MS - DAY_MS, START_MS + 30 * DAY_MS]
const make = (more: Parameters<typeof makeCertificate>[0] = {}) =>
  makeCertificate({ fromMs: FROM_MS, untilMs: UNTIL_MS, isAuthority: true, ...more })
const filesOf = (certificate: TestCertificate, key = certificate) => ({
  'tls.crt': certificate.certificate,
  'tls.key': key.key,
})

/** A listener whose files are published as kubelet does. */
async function serve(t: Pick<Test, 'teardown'>, first: TestCertificate) {
  const folder = temporaryFolder(t)
  let moments = 0
  const put = (files: Readonly<Record<string, string>>) => publish(folder, `moment-${moments++}`, files)
  put(filesOf(first))
  let spanMs = 0
  const clock = { now: () => START_MS + spanMs, monotonic: () => spanMs }
  const text = `upstream: { baseUrl: http://h }
listen: { tls: { certificate: { file: tls.crt }, key: { file: tls.key } } }`
  const { config } = parseConfig(text, resolve(folder, 'sidegate.yaml'), {}, clock)
  const timers = new ManualTimers()
  const lines: [level: string, fields: object][] = []
  const logger = {
    info: (fields: object) => lines.push(['info', fields]),
    error: (fields: object) => lines.push(['error', fields]),
  } as unknown as GatewayLogger
  const terms = config!.listen.tls!
  const certificate = new LiveCertificate({ listener: 'gateway', terms, clock, timers, logger })
  const [listener] = await listenWith(
    { host: '127.0.0.2', port: 0 },
    (_, response) => response.end('x'),
    certificate,
  )
  t.teardown(() => listener!.close())
  /** Lets the files be read so many times. */
  const poll = (times: number) => {
    for (let i = 0; i < times; i++) {
      spanMs += CERTIFICATE_POLL_MS
      timers.advance(CERTIFICATE_POLL_MS)
    }
  }
  const served = async () => {
    const { port } = listener!.address
    const socket = connect({ host: '127.0.0.2', port, rejectUnauthorized: false })
    await inTime('the handshake', once(socket, 'secureConnect'))
    const found = socket.getPeerX509Certificate()!.toString()
    socket.destroy()
    return found
  }
  return { folder, put, poll, served, certificate, lines, timers }
}

t.test('a new pair is served once it is read the same twice', async (t) => {
  const [first, second] = [make(), make({ untilMs: UNTIL_MS + DAY_MS })]
  const { put, poll, served, certificate, lines, timers } = await serve(t, first)
  t.equal(await served(), first.certificate)
  poll(3)
  t.same(lines, [], 'nothing is said while nothing changes')
  put(filesOf(second))
  poll(1)
  t.equal(await served(), first.certificate, 'the files may be in the middle of a change')
  poll(1)
  t.equal(await served(), second.certificate)
  t.match(lines, [['info', { setting: 'listen.tls', expires: /^2027-02-15/ }]])
  t.match(certificate.state(), {
    listener: 'gateway',
    isCurrent: true,
    expiresAtSeconds: (UNTIL_MS + DAY_MS) / 1000,
    lifetimeSeconds: (32 * DAY_MS) / 1000,
  })
  certificate.close()
  t.equal(timers.waiting, 0)
})

t.test('a bad new pair keeps the last good one and is reported once, until it is fixed', async (t) => {
  const [first, second] = [make(), make()]
  const { folder, put, poll, served, certificate, lines } = await serve(t, first)
  const weak = make({ keys: rsaKeys(1024) })
  const cases: [Readonly<Record<string, string>>, RegExp][] = [
    [filesOf(second, first), /^listen\.tls\.key: is not the key of the certificate/],
    [filesOf(make({ untilMs: START_MS })), /^listen\.tls\.certificate: expired at 2027-01-15/],
    [filesOf(weak), /^listen\.tls\.certificate: has an RSA key of 1024 bits/],
    [{ ...filesOf(second), 'tls.crt': 'x' }, /^listen\.tls\.certificate: holds no certificate in PEM/],
    [
      { ...filesOf(second), 'tls.key': '\n' },
      /^listen\.tls\.key: the file cannot be used \(the file is empty/,
    ],
  ]
  for (const [files, wanted] of cases) {
    const before = lines.length
    put(files)
    poll(4)
    const said = lines.slice(before)
    t.match(said[0], ['error', { errors: [wanted] }], `${wanted}`)
    t.equal(said.length, 1)
    t.equal(await served(), first.certificate)
    t.match(certificatesHealth([certificate]), {
      certificates: 'the last good certificate is in force',
      certificate_errors: [wanted],
      certificate_expires_at: { gateway: /^2027-02-14/ },
    })
    t.equal(certificate.state().isCurrent, false)
    t.notMatch(JSON.stringify(said), /PRIVATE/)
  }
  put(filesOf(second))
  poll(2)
  t.equal(await served(), second.certificate)
  t.match(certificatesHealth([certificate]), { certificates: 'ok', certificate_errors: [] })
  rmSync(resolve(folder, '..data'))
  poll(2)
  t.match(certificate.problems(), [/certificate: the file cannot be used \(ENOENT\)/, /\.key: .*ENOENT/])
  put(filesOf(second))
  poll(2)
  t.same(certificate.problems(), [])
  t.same(certificatesHealth([]), {}, 'nothing is said without TLS')
})

t.test('a pair that becomes valid later is served then', async (t) => {
  const [first, later] = [make(), make({ fromMs: START_MS + 6 * CERTIFICATE_POLL_MS })]
  const { put, poll, served, certificate } = await serve(t, first)
  put(filesOf(later))
  poll(3)
  t.match(certificate.problems(), [/is not valid before/])
  poll(3)
  t.equal(await served(), later.certificate)
  t.same(certificate.problems(), [])
})
