// Full verifications by schedule and by the command: their results reach the metric that the alert
// watches.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { VerificationSchedule } from '../../src/gateway/verification-schedule.ts'
import { prompt } from '../process/gateway.ts'
import { type GatewayProcess, openProgram } from '../process/gateway-process.ts'
import { runProgram } from '../process/run-command.ts'
import { eventually, until } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const verified = async (gateway: GatewayProcess): Promise<number> =>
  Number(/^sidegate_audit_verified (\S+)$/m.exec(await gateway.metrics())?.[1])

async function start(t: Test, verifyEverySeconds: number, folder?: string): Promise<GatewayProcess> {
  const config = { audit: { verifyEverySeconds } }
  const more = folder === undefined ? {} : { folder }
  const gateway = await openProgram(t, { upstreamUrl: upstream.baseUrl, config, ...more })
  if (folder !== undefined) return gateway
  const { key } = await gateway.createKey()
  await (await gateway.chat(key, prompt('hello'))).text()
  return gateway
}

/** Changes the status of each sealed call in place, which keeps the file open for the gateway. */
async function tamper(gateway: GatewayProcess): Promise<void> {
  await gateway.applied()
  const file = join(gateway.folder, 'data/data.mdb')
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf('"status":200'); at >= 0; at = bytes.indexOf('"status":200', at + 1)) {
    bytes.write('"status":201', at)
  }
  writeFileSync(file, bytes, { flag: 'r+' })
}

const verify = ({ folder }: GatewayProcess) =>
  runProgram(['audit', 'verify', '--config', join(folder, 'sidegate.yaml')])

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
  const line = await eventually(
    'the change is logged',
    () => gateway.logs.find(({ level }) => level === 'error'),
    (found) => found !== undefined,
  )
  t.match(line, { msg: /the full check found that the usage log was changed/ })
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

/** Waits until the gateway checks its log, and returns the child process that does, stopped. */
async function stoppedChecker({ child: { pid: parent = 0 } }: GatewayProcess): Promise<number> {
  const children = () =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').split(' ').map(Number)
  const checkerOf = () =>
    children().find((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('checker'))
  const pid = (await eventually('a check runs', checkerOf, (found) => found !== undefined)) ?? 0
  process.kill(pid, 'SIGSTOP')
  return pid
}

t.test('a cancelled check ends at once and alarms nobody, and the schedule goes on', async (t) => {
  const gateway = await start(t, 1)
  const checker = await stoppedChecker(gateway)
  const joined = gateway.api('POST', '/audit/verify')
  t.match((await gateway.api('GET', '/audit/verify')).body, { running: true, error: null })
  const cancelled = await gateway.api('DELETE', '/audit/verify')
  const state = { running: false, ok: null, result: null, error: 'The check was cancelled.' }
  t.match([cancelled.status, cancelled.body], [200, state])
  t.notOk(existsSync(`/proc/${checker}`), 'the process is gone')
  t.match((await joined).status, 200, 'who waits for the check gets an answer')
  const ofChecks = () => gateway.logs.filter(({ msg }) => /full check/.test(String(msg)))
  const isCancelled = ({ msg }: { msg?: unknown }) => msg === 'the full check of the usage log was cancelled'
  const [, next] = await eventually(
    'the next check ends',
    () => ofChecks().slice(ofChecks().findIndex(isCancelled)),
    ([first, second]) => first !== undefined && isCancelled(first) && second !== undefined,
  )
  t.match(next, { msg: 'the full check found the usage log intact' })
  t.same(
    ofChecks().filter(({ level }) => level !== 'info'),
    [],
    'the cancelled check is no failure',
  )
  t.equal(await verified(gateway), 1)
})

t.test('a cancel without a running check changes nothing', async (t) => {
  const gateway = await start(t, 0)
  const before = await gateway.api('DELETE', '/audit/verify')
  t.match([before.status, before.body], [200, { running: false, started_at: null, error: null }])
  const { body: result } = await gateway.api('POST', '/audit/verify')
  t.match(result, { running: false, ok: true })
  t.same((await gateway.api('DELETE', '/audit/verify')).body, result)
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
