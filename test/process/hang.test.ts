// A write to the log that never returns: no call succeeds, and the process ends so that a
// supervisor can start another.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { deploy, discard, prompt, startGateway } from './gateway.ts'
import { inTime } from './until.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const HOLD = fileURLToPath(new URL('../store/processes/hold.ts', import.meta.url))

/** A deployment, and `hang`, which blocks its writes as a hanging disk would. */
async function deployOnDisk(t: Test) {
  const { upstream, gateway, key } = await deploy(t)
  const hang = async () => {
    const holder = spawn(process.execPath, [HOLD, join(gateway.folder, 'data')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => holder.kill('SIGKILL'))
    await inTime('the writes are blocked', once(holder.stdout, 'data'))
    return holder
  }
  return { upstream, gateway, key, hang }
}

t.test('a call whose commit hangs fails, and the process ends with the reason', async (t) => {
  const { upstream, gateway, key, hang } = await deployOnDisk(t)
  const holder = await hang()
  const call = await gateway
    .chat(key, prompt('hi'))
    .then((response) => response.status)
    .catch(() => 'the connection ended')
  t.match(call, /503|the connection ended/, 'no success without an entry')
  t.equal(upstream.received.length, 1)
  t.equal(await gateway.exit(), 'SIGKILL', 'an ordinary exit would wait for the disk')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
  const freed = once(holder, 'exit')
  holder.kill('SIGKILL')
  await inTime('the writes are possible again', freed)
  const next = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(next))
  const response = await next.chat(key, prompt('hi'))
  t.equal(response.status, 200, 'the next process serves')
  await response.text()
  const outcomes = (await next.api('GET', '/usage/logs')).body.logs.map(({ outcome }: any) => outcome)
  t.same(outcomes, ['ok', 'interrupted'], 'the interrupted call has an entry')
  await next.stop()
})

t.test('a hanging write of a session ends the process too', async (t) => {
  const { gateway, hang } = await deployOnDisk(t)
  await hang()
  const signedIn = gateway.signIn().catch(() => 'the connection ended')
  t.equal(await gateway.exit(), 'SIGKILL')
  t.equal(await signedIn, 'the connection ended')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
})

t.test('an unexpected error ends the process while calls wait for the disk', async (t) => {
  const throwing = 'process.on("SIGUSR2",()=>{throw new Error("a test error")})'
  const module = `data:text/javascript,${encodeURIComponent(throwing)}`
  const env = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${module}` }
  const { gateway, key } = await deploy(t, undefined, { env })
  const calls = Array.from({ length: 64 }, () => gateway.chat(key, prompt('hi')).catch(() => null))
  await Promise.race(calls)
  gateway.child.kill('SIGUSR2')
  t.equal(await gateway.exit(), 'SIGKILL', 'an ordinary exit would wait for a commit that waits for it')
  t.match(gateway.stderr.join(''), /sidegate: unexpected error: Error: a test error\n {4}at /)
  await Promise.all(calls)
})
