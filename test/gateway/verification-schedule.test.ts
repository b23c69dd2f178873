// Full verifications by schedule and by the command: their results reach the metric that the alert
// watches.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { VerificationSchedule } from '../../src/gateway/verification-schedule.ts'
import { openGateway, prompt, runCli, type TestGateway } from '../process/gateway.ts'
import { eventually, until } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const verified = async (gateway: TestGateway): Promise<number> =>
  Number(/^sidegate_audit_verified (\S+)$/m.exec(await gateway.metrics())?.[1])

async function start(t: Test, verifyEverySeconds: number, folder?: string): Promise<TestGateway> {
  const config = { audit: { verifyEverySeconds } }
  const more = folder === undefined ? {} : { folder }
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, config, ...more })
  if (folder !== undefined) return gateway
  const { key } = await gateway.createKey()
  await (await gateway.chat(key, prompt('hello'))).text()
  return gateway
}

/** Changes the status of each sealed call in place, which keeps the file open for the gateway. */
async function tamper(gateway: TestGateway): Promise<void> {
  await gateway.applied()
  const file = join(gateway.folder, 'data/data.mdb')
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf('"status":200'); at >= 0; at = bytes.indexOf('"status":200', at + 1)) {
    bytes.write('"status":201', at)
  }
  writeFileSync(file, bytes, { flag: 'r+' })
}

const verify = ({ folder }: TestGateway) =>
  runCli(['audit', 'verify', '--config', join(folder, 'sidegate.yaml')])

t.test('a scheduled check passes an unchanged log and finds a changed one', async (t) => {
  const gateway = await start(t, 1)
  await eventually(
    'the log is verified',
    () => verified(gateway),
    (value) => value === 1,
  )
  await tamper(gateway)
  await eventually(
    'the change is found',
    () => verified(gateway),
    (value) => value === 0,
  )
  t.match(
    gateway.logs.find(({ level }) => level === 'error'),
    { msg: /the full check found that the usage log was changed/ },
  )
  t.equal(await gateway.stop(), 0)
})

t.test('the result of the command reaches the metric, also after a restart', async (t) => {
  const gateway = await start(t, 0)
  t.equal(await verified(gateway), -1, 'no check was scheduled')
  t.equal((await verify(gateway)).code, 0)
  t.equal(await verified(gateway), 1)
  await tamper(gateway)
  t.equal((await verify(gateway)).code, 1)
  t.equal(await verified(gateway), 0)
  await gateway.stop()
  const again = await start(t, 0, gateway.folder)
  t.equal(await verified(again), 0)
  writeFileSync(
    join(again.folder, 'data/last-verification.json'),
    JSON.stringify({ ok: true, log: 'another', seq: 3, finishedAtMs: Date.now() }),
  )
  t.equal(await verified(again), -1, 'the result on another log says nothing')
})

t.test('the first check is random within the interval, and failures do not end the schedule', async (t) => {
  const starts: number[] = []
  const warnings: unknown[] = []
  const began = performance.now()
  const schedule = new VerificationSchedule({
    check: {
      start: () => {
        starts.push(performance.now() - began)
        return starts.length === 1 ? Promise.reject(new Error('no memory')) : Promise.resolve()
      },
    },
    everyMs: 40,
    logger: { warn: (fields: unknown) => warnings.push(fields) } as never,
    random: () => 0.5,
  })
  schedule.start()
  await until('three checks', async () => starts.length >= 3)
  schedule.stop()
  t.ok((starts[0] ?? 0) >= 19, String(starts))
  t.ok((starts[1] ?? 0) >= 59, String(starts))
  t.match(warnings, [{ err: { message: 'no memory' } }])
})
