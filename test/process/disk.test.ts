// Disks that are really full: small ones, filled while the gateway runs, then given room again.

import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  ADMIN_TOKEN,
  discard,
  MAIN,
  runCli,
  startGateway,
  type TestGateway,
  UPSTREAM_KEY,
  writeDeployment,
} from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

/** Mounts a small disk, to be unmounted last; null, and that is said, where it is not allowed. */
function mountSmallDisk(t: Test, size: string): string | null {
  const disk = mkdtempSync(join(tmpdir(), 'sidegate-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk], { stdio: 'ignore' })
  } catch {
    rmSync(disk, { recursive: true, force: true })
    t.pass('a full disk', { skip: 'NOT TESTED: a tmpfs cannot be mounted here' })
    return null
  }
  t.teardown(() => {
    execFileSync('umount', [disk])
    rmSync(disk, { recursive: true, force: true })
  })
  return disk
}

/** Leaves no page free; returns what gives all of it back. */
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

/** A gateway whose data folder is there. */
async function startOn(t: Test, disk: string): Promise<TestGateway> {
  const path = join(disk, 'data')
  mkdirSync(path)
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, config: { data: { path } } })
  t.teardown(() => discard(gateway))
  return gateway
}

const call = (words: number) => ({
  model: 'm',
  messages: [{ role: 'user', content: 'word '.repeat(words) }],
})

t.test('a full disk: refused, told, and over when there is room again', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  const { key } = await gateway.createKey()
  const told: string[] = []
  const send = async () => {
    const response = await gateway.chat(key, call(20_000))
    const text = await response.text()
    if (response.status === 200) told.push(response.headers.get('x-request-id') ?? '')
    return { status: response.status, text, headers: response.headers }
  }
  t.equal((await send()).status, 200)
  const giveBack = fill(disk)
  let refused = await send()
  for (let i = 0; i < 200 && refused.status === 200; i++) refused = await send()
  t.match(refused, { status: 503, text: /audit_unavailable/ })
  t.equal(refused.headers.get('retry-after'), '1')
  const before = upstream.received.length
  t.equal((await send()).status, 503)
  t.equal(upstream.received.length, before, 'nothing is forwarded that cannot be logged')
  t.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 503)
  t.equal(gateway.child.exitCode, null)
  const [said] = gateway.logs.filter(({ level }) => level === 'error')
  t.match(said, { msg: /the usage log cannot be written/, freeBytes: Number })
  giveBack()
  while ((await fetch(`${gateway.opsUrl}/readyz`)).status !== 200);
  t.equal((await send()).status, 200)
  for (const id of told) t.equal((await gateway.api('GET', `/usage/logs/${id}`)).status, 200)
})

t.test('the same with room left within the database alone: calls cannot be written down', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  const { key, id } = await gateway.createKey()
  for (let n = 0; n < 20; n++) t.equal((await gateway.chat(key, call(40_000))).status, 200)
  t.equal((await gateway.api('POST', '/audit/erase', { key_id: id })).status, 200)
  const giveBack = fill(disk)
  const statuses: number[] = []
  // What is left of its last page is used up first.
  while (statuses.at(-1) !== 503 && statuses.length < 100) {
    statuses.push((await gateway.chat(key, call(1))).status)
  }
  t.equal(statuses.at(-1), 503)
  const ready = await fetch(`${gateway.opsUrl}/readyz`)
  t.match([ready.status, await ready.text()], [503, /the usage log cannot be written/])
  const metrics = async () => (await fetch(`${gateway.opsUrl}/metrics`)).text()
  t.match(await metrics(), /\nsidegate_audit_available 0\n/)
  const forwarded = upstream.received.length
  t.match(await (await gateway.chat(key, call(1))).json(), { error: { code: 'audit_unavailable' } })
  t.equal(upstream.received.length, forwarded)
  giveBack()
  while ((await fetch(`${gateway.opsUrl}/readyz`)).status !== 200);
  t.match(await metrics(), /\nsidegate_audit_available 1\n/)
  t.equal((await gateway.chat(key, call(1))).status, 200)
  await gateway.stop()
  const said = gateway.logs.filter(({ msg }) => /^intents /.test(String(msg)))
  t.match(said, [
    { level: 'error', msg: /intents cannot be written/, err: { code: 'ENOSPC' } },
    { level: 'info', msg: /intents can be written again/ },
  ])
})

t.test(
  'a data folder that is removed under the gateway: no call is a success whose entry goes with it',
  async (t) => {
    const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
    t.teardown(() => discard(gateway))
    const { key } = await gateway.createKey()
    t.equal((await gateway.chat(key, call(1))).status, 200)
    const forwarded = upstream.received.length
    rmSync(join(gateway.folder, 'data'), { recursive: true })
    while ((await fetch(`${gateway.opsUrl}/readyz`)).status !== 503);
    t.match(await (await gateway.chat(key, call(1))).json(), { error: { code: 'audit_unavailable' } })
    t.equal((await gateway.chat(key, call(1))).status, 503)
    t.equal(upstream.received.length, forwarded, 'nothing is forwarded that cannot be logged')
    t.equal((await gateway.api('POST', '/keys', { name: 'lost' })).status, 503)
    t.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 503)
    const said = gateway.logs.filter(({ level }) => level === 'error')
    t.match(said, [{ msg: /the usage log cannot be written/, err: { message: /was deleted/ } }])
    t.equal(await gateway.stop(), 0)
  },
)

t.test('a log on a disk that is read-only: not read, and what to do about it', async (t) => {
  const disk = mountSmallDisk(t, '16m')
  if (disk === null) return
  const gateway = await startOn(t, disk)
  await gateway.stop()
  execFileSync('mount', ['-o', 'remount,ro', disk])
  const config = join(gateway.folder, 'sidegate.yaml')
  for (const action of ['verify', 'export']) {
    t.match(await runCli(['audit', action, '--config', config]), {
      code: 2,
      stderr: /cannot be opened: Read-only file system.*; readers write a lock file there: copy it to/,
    })
  }
})

t.test('a full disk under the log lines keeps no call from its answer', async (t) => {
  const disk = mountSmallDisk(t, '128k')
  if (disk === null) return
  const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const path = join(disk, 'log')
  const log = openSync(path, 'w')
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', file], {
    env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
    stdio: ['ignore', log, 'pipe'],
  })
  closeSync(log)
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const lines = (): Record<string, any>[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const listening = () => lines().find(({ msg }) => msg === 'listening')
  while (listening() === undefined) await new Promise(setImmediate)
  const chat = () =>
    fetch(`http://${listening()?.['gateway'][0]}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
      body: JSON.stringify(call(1)),
    })
  const giveBack = fill(disk)
  const ops = `http://${listening()?.['ops'][0]}`
  // Each makes a line: the rules are read again.
  while (!stderr.includes('\n')) {
    child.kill('SIGHUP')
    t.equal((await chat()).status, 401)
  }
  t.match(stderr, /^sidegate: log lines cannot be written \(ENOSPC\); \d+ bytes of them are kept\n$/)
  t.equal((await fetch(`${ops}/readyz`)).status, 200)
  giveBack()
  while (!stderr.includes('again')) {
    child.kill('SIGHUP')
    await chat()
  }
  t.match(stderr, /sidegate: log lines are written again; none is lost\n$/)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
  t.equal(lines().at(-1)?.['msg'], 'stopped', 'whole lines, to the end')
})
