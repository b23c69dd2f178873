// A listening socket: its errors, and TLS.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, get, type RequestOptions } from 'node:https'
import { Server } from 'node:net'
import { constants } from 'node:os'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { TlsMaterial } from '../../src/core/certificate.ts'
import { certificateOf } from '../../src/server/client-certificate.ts'
import { type Handler, listen, whyNotServed } from '../../src/server/listener.ts'
import { inTime } from '../process/until.ts'
import { makeCertificate, selfSigned, servedWith, type TestCertificate } from './certificate.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Time of a program under strace, milliseconds. */
const STRACE_MS = 60_000

/** Node's internal handle of a listening socket, which receives connections and their errors. */
interface Handle {
  onconnection(status: number): void
}

t.test('a connection that the system fails to accept does not affect others', async (t) => {
  const handles = () => (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles()
  const before = new Set(handles())
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, (_request, response) =>
    response.end('here'),
  )
  t.teardown(() => listener!.close())
  const server = handles().find((one) => one instanceof Server && !before.has(one))
  const { _handle: handle } = server as unknown as { _handle: Handle }
  // As without memory, or with a firewall rule.
  for (const code of [constants.errno.ENOMEM, constants.errno.EPERM]) handle.onconnection(-code)
  const response = await fetch(`http://127.0.0.2:${listener!.address.port}/`)
  t.equal(await response.text(), 'here')
})

/** Listens on all addresses and prints those that it has. */
const LISTENING = `
  import { listen } from './src/server/listener.ts'
  const listeners = await listen({ host: '::', port: 0 }, () => {})
  process.stdout.write(listeners.map(({ address }) => address.host).join())
  process.exit()`

t.test('all addresses are those of IPv4 on a machine without IPv6', async (t) => {
  const trace = (...options: string[]) =>
    spawnSync('strace', [...options, process.execPath, '--input-type=module', '-e', LISTENING], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      timeout: STRACE_MS,
    })
  const traced = trace('-f', '-qq', '-e', 'trace=none')
  if (traced.status !== 0) {
    t.pass('no IPv6', { skip: 'NOT TESTED: strace is not installed or may not trace' })
    return
  }
  t.equal(traced.stdout, '::')
  const fault = 'inject=socket:error=EAFNOSUPPORT:when=1'
  const { stdout, stderr } = trace('-f', '-qq', '-e', 'trace=socket', '-e', fault)
  t.equal(stdout, '0.0.0.0', stderr)
})

t.test('a listener with a certificate serves TLS alone, and its requests say so', async (t) => {
  const tls = selfSigned()
  const listeners = await listen(
    { host: '127.0.0.1', port: 0 },
    (request, response) => response.end(String(request.headers['x-forwarded-proto'])),
    servedWith(tls),
  )
  const close = () => {
    for (const one of listeners) one.close()
  }
  t.teardown(close)
  const { port } = listeners[0]!.address
  const options = { host: '127.0.0.1', port, ca: tls.certificate, headers: { 'x-forwarded-proto': 'http' } }
  const [answer] = (await inTime('the answer', once(get(options), 'response'))) as [IncomingMessage]
  t.equal((await answer.toArray()).join(''), 'https')
  const [refusal] = await inTime(
    'a refusal',
    once(get({ ...options, ca: selfSigned().certificate }), 'error'),
  )
  t.match(refusal, { code: /CERT|VERIFY/ })
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'no plain HTTP')
  await inTime('every answer', Promise.all(listeners.map((one) => one.written())))
})

const AUTHORITY = makeCertificate({ subject: 'authority', isAuthority: true })
const WEB = 'spiffe://cluster.local/ns/shop/sa/web'
const clientOf = (issuer: TestCertificate) =>
  makeCertificate({ subject: 'web', names: [['uri', WEB]], issuer })

/** A listener of 127.0.0.2, and a request to it that returns the answer and its connection. */
async function serve(t: Pick<Test, 'teardown'>, tls: TlsMaterial, handler: Handler) {
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, handler, tls)
  t.teardown(() => listener!.close())
  const ask = async (options: RequestOptions = {}) => {
    const { port } = listener!.address
    const request = get({ host: '127.0.0.2', port, rejectUnauthorized: false, agent: false, ...options })
    const [answer] = (await inTime('the answer', once(request, 'response'))) as [IncomingMessage]
    const socket = answer.socket as TLSSocket
    return { body: (await answer.toArray()).join(''), headers: answer.headers, socket }
  }
  return { listener: listener!, ask }
}

t.test('a new certificate is for new connections, and open ones stay', async (t) => {
  const [first, second] = [selfSigned(), selfSigned()]
  let finish = () => {}
  const { listener, ask } = await serve(t, servedWith(first), (request, response) => {
    response.write('a')
    finish = () => response.end('b')
    if (request.url !== '/slow') finish()
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const before = await ask({ agent })
  const slow = ask({ agent, path: '/slow' })
  await new Promise((resolve) => setTimeout(resolve, 50))
  listener.renew(servedWith(second))
  finish()
  const during = await slow
  const after = await ask({ agent })
  t.match([during.body, after.body], ['ab', 'ab'])
  t.equal(after.socket, before.socket, 'the connection goes on')
  t.equal(after.headers.connection, 'keep-alive')
  const trusting = (one: TestCertificate) =>
    ask({ ca: one.certificate, rejectUnauthorized: true, servername: 'localhost' })
  t.equal((await trusting(second)).body, 'ab', 'a new one sees the new certificate')
  await t.rejects(trusting(first), { code: /SELF_SIGNED|VERIFY/ })
})

t.test('the oldest version of TLS is 1.2, or 1.3', async (t) => {
  const tls = servedWith(selfSigned())
  const version = async (
    minVersion: TlsMaterial['minVersion'],
    maxVersion: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3',
  ) => {
    const { ask } = await serve(t, { ...tls, minVersion }, (_, response) => response.end('x'))
    const ciphers = 'DEFAULT@SECLEVEL=0'
    return (await ask({ minVersion: 'TLSv1.1', maxVersion, ciphers })).socket.getProtocol()
  }
  t.equal(await version('1.2', 'TLSv1.2'), 'TLSv1.2')
  t.equal(await version('1.2', 'TLSv1.3'), 'TLSv1.3')
  t.equal(await version('1.3', 'TLSv1.3'), 'TLSv1.3')
  await t.rejects(version('1.2', 'TLSv1.1'), /protocol version/)
  await t.rejects(version('1.3', 'TLSv1.2'), /protocol version/)
})

t.test('a client certificate is known if an authority of the listener signed it', async (t) => {
  const tls = servedWith(selfSigned(), { clientCa: AUTHORITY.certificate })
  const { listener, ask } = await serve(t, tls, (request, response) =>
    response.end(JSON.stringify(certificateOf(request.socket)?.names ?? null)),
  )
  const good = clientOf(AUTHORITY)
  const other = makeCertificate({ subject: 'other', isAuthority: true })
  const impostor = makeCertificate({ subject: 'authority', isAuthority: true })
  const old = makeCertificate({
    ...{ subject: 'old', names: [['uri', WEB]], issuer: AUTHORITY },
    untilMs: Date.now() - 60_000,
  })
  const shown = async (one: TestCertificate, maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
    (await ask({ cert: one.certificate, key: one.key, maxVersion })).body
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    t.equal(await shown(good, version), `["URI:${WEB}"]`)
    t.equal(await shown(clientOf(other), version), 'null', 'of another authority')
    t.equal(await shown(old, version), 'null', 'expired')
    // OpenSSL may also end a connection whose signature does not verify.
    t.notMatch(await shown(clientOf(impostor), version), WEB, 'of an authority with the same name')
    t.equal(await shown(selfSigned(), version), 'null')
  }
  t.equal((await ask()).body, 'null', 'none is needed')
  const { ask: plain } = await serve(t, servedWith(selfSigned()), (request, response) =>
    response.end(JSON.stringify(certificateOf(request.socket))),
  )
  t.equal((await plain({ cert: good.certificate, key: good.key })).body, 'null', 'none is requested')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const kept = { agent, cert: good.certificate, key: good.key }
  const first = await ask(kept)
  listener.renew({ ...tls, clientCa: other.certificate })
  const last = await ask(kept)
  t.match([last.body, last.headers.connection], [`["URI:${WEB}"]`, 'close'])
  t.equal(last.socket, first.socket, 'the call under way is not cut')
  t.equal((await ask(kept)).body, 'null', 'the next connection is checked by the new authority')
})

t.test('what OpenSSL cannot serve is said before it is served', async (t) => {
  t.equal(whyNotServed(servedWith(selfSigned())), null)
  t.match(
    whyNotServed(servedWith({ ...selfSigned(), key: selfSigned().key })),
    /^OpenSSL refuses it \(.*mismatch/,
  )
})

t.test('a listener without TLS loads neither https nor tls', async (t) => {
  const script = `
    const { listenWith } = await import('./src/gateway/live-certificate.ts')
    const listeners = await listenWith({ host: '127.0.0.2', port: 0 }, () => {}, null)
    for (const one of listeners) one.close()
    console.log(process.moduleLoadList.filter((one) => /NativeModule (https?|tls)$/.test(one)).join())`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    ...{ cwd: fileURLToPath(new URL('../../', import.meta.url)), encoding: 'utf8', timeout: 60_000 },
  })
  t.equal(stdout, 'NativeModule http\n', stderr)
})
