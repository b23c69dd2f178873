// Writes to the log that never return, or never succeed: the process ends so that a supervisor can
// start another.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { discard, prompt } from './gateway.ts'
import { deployProgram, startProgram } from './gateway-process.ts'
import { inTime } from './until.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const FAILING_META = fileURLToPath(new URL('failing-meta.ts', import.meta.url))
const HOLD = fileURLToPath(new URL('../store/processes/hold.ts', import.meta.url))

/** Longer than the process tries. */
const FAULT_MS = 60_000

/** A deployment, and `hang`, which blocks its writes as a hanging disk would. */
async function deployOnDisk(t: Test) {
  const { upstream, gateway, key } = await deployProgram(t)
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

t.test('a database that takes no rows ends the process, and no acknowledged entry is lost', async (t) => {
  const { upstream, gateway, key, hang } = await deployOnDisk(t)
  const holder = await hang()
  const call = await gateway.chat(key, prompt('hi'))
  t.equal(call.status, 200, 'its entry is in the journal')
  await call.text()
  t.equal(await gateway.exit(), 'SIGKILL', 'an ordinary exit would wait for the disk')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
  const freed = once(holder, 'exit')
  holder.kill('SIGKILL')
  await inTime('the writes are possible again', freed)
  const next = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(next))
  const response = await next.chat(key, prompt('hi'))
  t.equal(response.status, 200, 'the next process serves')
  await response.text()
  const outcomes = (await next.api('GET', '/usage/logs')).body.logs.map(({ outcome }: any) => outcome)
  t.same(outcomes, ['ok', 'ok'])
  await next.stop()
})

t.test('a database that cannot be opened anew ends the process, and nothing is lost', async (t) => {
  const fault = { FAULT_FILE: '/dev/full', FAULT_MS: String(FAULT_MS) }
  const env = { NODE_OPTIONS: `--import=${FAILING_META}`, ...fault }
  const { upstream, gateway, key } = await deployProgram(t, undefined, { env })
  gateway.child.kill('SIGUSR2')
  const call = await gateway.chat(key, prompt('hi'))
  t.equal(call.status, 200, 'its entry is in the journal')
  await call.text()
  t.equal(await gateway.exit(), 'SIGKILL')
  t.match(gateway.stderr.join(''), /sidegate: a write to the usage log hangs/)
  const next = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(next))
  const outcomes = (await next.api('GET', '/usage/logs')).body.logs.map(({ outcome }: any) => outcome)
  t.same(outcomes, ['ok'])
  await next.stop()
})

t.test('an unexpected error ends the process while calls wait for the disk', async (t) => {
  const throwing = 'process.on("SIGUSR2",()=>{throw new Error("a test error")})'
  const module = `data:text/javascript,${encodeURIComponent(throwing)}`
  const env = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${module}` }
  const { gateway, key } = await deployProgram(t, undefined, { env })
  const calls = Array.from({ length: 64 }, () => gateway.chat(key, prompt('hi')).catch(() => null))
  await Promise.race(calls)
  gateway.child.kill('SIGUSR2')
  t.equal(await gateway.exit(), 'SIGKILL', 'an ordinary exit would wait for a commit that waits for it')
  t.match(gateway.stderr.join(''), /sidegate: unexpected error: Error: a test error\n {4}at /)
  await Promise.all(calls)
})
