// A write to the log that never comes back: nobody is told of a success, and the process ends, so that whoever looks
// after it can start another.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { discard, startGateway } from './gateway.ts'
import { startUpstream } from './upstream.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const HOLD = fileURLToPath(new URL('../store/processes/hold.ts', import.meta.url))

/** A gateway with its upstream, and what makes its disk hang as far as it can tell. */
async function setting(t: Test) {
  const upstream = await startUpstream()
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  const hang = async () => {
    const holder = spawn(process.execPath, [HOLD, join(gateway.folder, 'data')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    return holder
  }
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  return { upstream, gateway, hang }
}

t.test('a commit that hangs ends the process with the reason', async (t) => {
  const { upstream, gateway, hang } = await setting(t)
  const { key } = await gateway.createKey()
  const holder = await hang()
  const call = await gateway
    .chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    .then((response) => response.status)
    .catch(() => 'the connection ended')
  t.match(call, /503|the connection ended/, 'no success without an entry')
  t.equal(upstream.received.length, 1)
  t.equal(await gateway.exited, 'SIGKILL', 'an ordinary exit would wait for the disk')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const next = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  const response = await next.chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  t.equal(response.status, 200, 'the next process goes on')
  await response.text()
  const outcomes = (await next.api('GET', '/usage/logs')).body.logs.map(({ outcome }: any) => outcome)
  t.same(outcomes, ['ok', 'interrupted'], 'the call that was hanging is not forgotten')
  await next.stop()
})

t.test('so does a write of another kind, though no call is there to notice', async (t) => {
  const { gateway, hang } = await setting(t)
  await hang()
  const signedIn = gateway.signIn().catch(() => 'the connection ended')
  t.equal(await gateway.exited, 'SIGKILL')
  t.equal(await signedIn, 'the connection ended')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
})

t.test('an error that nobody foresaw ends the process, though calls wait for the disk', async (t) => {
  const upstream = await startUpstream()
  const throwing = 'process.on("SIGUSR2",()=>{throw new Error("as nobody foresaw")})'
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    env: {
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=data:text/javascript,${encodeURIComponent(throwing)}`,
    },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  const calls = Array.from({ length: 64 }, () => gateway.chat(key, body).catch(() => null))
  await Promise.race(calls)
  gateway.child.kill('SIGUSR2')
  t.equal(await gateway.exited, 'SIGKILL', 'an ordinary exit would wait for a commit that waits for it')
  t.match(gateway.stderr.join(''), /sidegate: unexpected error: Error: as nobody foresaw\n {4}at /)
  await Promise.all(calls)
})
