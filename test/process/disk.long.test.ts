// Small disks that are filled while the gateway runs and then emptied.

import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN, prompt, UPSTREAM_KEY, writeDeployment } from './gateway.ts'
import { type GatewayProcess, openProgram } from './gateway-process.ts'
import { programArgs } from './program.ts'
import { runProgram } from './run-command.ts'
import { eventually, fetchInTime, inTime, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const MOUNT_MS = 30_000

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

/**
 * Mounts a small disk until the end of the test.
 * @returns null, after a skipped assertion, on a machine that does not allow it
 */
function mountSmallDisk(t: Test, size: string): string | null {
  const disk = mkdtempSync(join(tmpdir(), 'sidegate-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk], {
      stdio: 'ignore',
      timeout: MOUNT_MS,
    })
  } catch {
    rmSync(disk, { recursive: true, force: true })
    t.pass('a full disk', { skip: 'NOT TESTED: a tmpfs cannot be mounted here' })
    return null
  }
  t.teardown(() => {
    execFileSync('umount', [disk], { timeout: MOUNT_MS })
    rmSync(disk, { recursive: true, force: true })
  })
  return disk
}

/** Fills the disk to its last page. @returns a function that frees the space */
function fill(disk: string): () => void {
  const path = join(disk, 'filler')
  const file = openSync(path, 'w')
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4096))
  } catch {
    closeSync(file)
  }
  return () => rmSync(path)
}

/** Starts a gateway whose data folder is on the disk. */
async function startOn(t: Test, disk: string): Promise<GatewayProcess> {
  const path = join(disk, 'data')
  mkdirSync(path)
  return openProgram(t, { upstreamUrl: upstream.baseUrl, config: { data: { path } } })
}

const call = (words: number) => prompt('word '.repeat(words))

const becomes = (gateway: GatewayProcess, status: number) =>
  until(`readiness ${status}`, async () => (await gateway.readiness()).status === status)

t.test('a full disk refuses calls and says why, and serves once there is room', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  const { key } = await gateway.createKey()
  const answered: string[] = []
  const send = async () => {
    const response = await gateway.chat(key, call(20_000))
    const text = await response.text()
    if (response.status === 200) answered.push(response.headers.get('x-request-id') ?? '')
    return { status: response.status, text, headers: response.headers }
  }
  t.equal((await send()).status, 200)
  const free = fill(disk)
  let refused = await send()
  for (let i = 0; i < 200 && refused.status === 200; i++) refused = await send()
  t.match(refused, { status: 503, text: /audit_unavailable/ })
  t.equal(refused.headers.get('retry-after'), '1')
  const before = upstream.received.length
  t.equal((await send()).status, 503)
  t.equal(upstream.received.length, before, 'a call that cannot be logged is not forwarded')
  t.equal((await gateway.readiness()).status, 503)
  t.equal(gateway.child.exitCode, null)
  const [line, ...more] = gateway.logs.filter(({ level }) => level === 'error')
  t.match(line, { msg: /^disk full: the usage log cannot be written/, freeBytes: Number })
  t.match(line, { err: { code: 'ENOSPC' } })
  t.same(more, [])
  free()
  await becomes(gateway, 200)
  t.equal((await send()).status, 200)
  for (const id of answered) t.equal((await gateway.api('GET', `/usage/logs/${id}`)).status, 200)
  t.same(gateway.stderr, [], 'the database library prints nothing')
})

t.test('a command on a full disk says so in one line', async (t) => {
  const disk = mountSmallDisk(t, '4m')
  if (disk === null) return
  const config = { data: { path: join(disk, 'data') } }
  const { file } = writeDeployment({ upstreamUrl: upstream.baseUrl, folder: t.testdir(), config })
  fill(disk)
  const { code, stderr } = await runProgram(['keys', 'create', '--config', file, '--name', 'app'])
  t.equal(code, 2)
  t.match(stderr, /^[^\n]*disk full[^\n]*\n$/)
})

t.test('a full disk with room in the database refuses calls before they are forwarded', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  const { key, id } = await gateway.createKey()
  for (let n = 0; n < 20; n++) t.equal((await gateway.chat(key, call(40_000))).status, 200)
  t.equal((await gateway.api('POST', '/audit/erase', { key_id: id })).status, 200)
  const free = fill(disk)
  const statuses: number[] = []
  while (statuses.at(-1) !== 503 && statuses.length < 100) {
    statuses.push((await gateway.chat(key, call(1))).status)
  }
  t.equal(statuses.at(-1), 503)
  const { status, body } = await gateway.readiness()
  // The file of intents or the log notices first.
  t.match([status, JSON.stringify(body)], [503, /the usage log cannot be written|calls cannot be recorded/])
  t.match(await gateway.metrics(), /\nsidegate_audit_available 0\n/)
  const forwarded = upstream.received.length
  t.match(await (await gateway.chat(key, call(1))).json(), { error: { code: 'audit_unavailable' } })
  t.equal(upstream.received.length, forwarded)
  free()
  await becomes(gateway, 200)
  t.match(await gateway.metrics(), /\nsidegate_audit_available 1\n/)
  t.equal((await gateway.chat(key, call(1))).status, 200)
  await gateway.stop()
  // Which file needs a page first depends on how full the last ones are.
  const lines = gateway.logs.filter(({ msg }) => /(usage log|intents) can/.test(String(msg)))
  t.match(lines, [
    { level: 'error', msg: /^(?=.*disk full).*cannot be written.*; calls are refused/ },
    { level: 'info', msg: /can be written again/ },
  ])
})

t.test('after the data folder is deleted no call succeeds, and the log says why', async (t) => {
  const gateway = await openProgram(t, { upstreamUrl: upstream.baseUrl })
  const { key } = await gateway.createKey()
  t.equal((await gateway.chat(key, call(1))).status, 200)
  const forwarded = upstream.received.length
  rmSync(join(gateway.folder, 'data'), { recursive: true })
  await becomes(gateway, 503)
  t.match(await (await gateway.chat(key, call(1))).json(), { error: { code: 'audit_unavailable' } })
  t.equal((await gateway.chat(key, call(1))).status, 503)
  t.equal(upstream.received.length, forwarded, 'a call that cannot be logged is not forwarded')
  t.equal((await gateway.api('POST', '/keys', { name: 'lost' })).status, 503)
  t.equal((await gateway.readiness()).status, 503)
  const lines = gateway.logs.filter(({ level }) => level === 'error')
  t.match(lines, [{ msg: /the usage log cannot be written/, err: { message: /was deleted/ } }])
  t.equal(await gateway.stop(), 0)
})

t.test('a command cannot read a log on a read-only disk and says to copy it', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  await gateway.stop()
  execFileSync('mount', ['-o', 'remount,ro', disk], { timeout: MOUNT_MS })
  const config = join(gateway.folder, 'sidegate.yaml')
  for (const action of ['verify', 'export']) {
    t.match(await runProgram(['audit', action, '--config', config]), {
      code: 2,
      stderr: /cannot be opened: Read-only file system.*; readers write a lock file there: copy it to/,
    })
  }
})

t.test('a full disk for log lines delays no call, and no line is lost', async (t) => {
  const disk = mountSmallDisk(t, '128k')
  if (disk === null) return
  const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const path = join(disk, 'log')
  const log = openSync(path, 'w')
  const child = spawn('env', programArgs(['serve', '--config', file]), {
    env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
    stdio: ['ignore', log, 'pipe'],
  })
  closeSync(log)
  const exited = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  )
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await inTime('the gateway exits', exited)
    rmSync(folder, { recursive: true, force: true })
  })
  const lines = (): Record<string, any>[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const listening = () => lines().find(({ msg }) => msg === 'listening')
  const addresses = await eventually('the gateway listens', listening, (line) => line !== undefined)
  const chat = () =>
    fetchInTime(`http://${addresses?.['gateway'][0]}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
      body: JSON.stringify(call(1)),
    })
  const free = fill(disk)
  const ops = `http://${addresses?.['ops'][0]}`
  // Each SIGHUP reads the rules again, which writes a line.
  await until('the error is reported', async () => {
    child.kill('SIGHUP')
    t.equal((await chat()).status, 401)
    return stderr.includes('\n')
  })
  t.match(stderr, /^sidegate: log lines cannot be written \(ENOSPC\); \d+ bytes of them are kept\n$/)
  t.equal((await fetchInTime(`${ops}/readyz`)).status, 200)
  free()
  await until('the recovery is reported', async () => {
    child.kill('SIGHUP')
    await chat()
    return stderr.includes('again')
  })
  t.match(stderr, /sidegate: log lines are written again; none is lost\n$/)
  child.kill('SIGTERM')
  t.equal(await inTime('the gateway exits', exited), 0)
  t.equal(lines().at(-1)?.['msg'], 'stopped', 'all lines are whole')
})
