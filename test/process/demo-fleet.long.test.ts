// `npm run demo:fleet -- --json` from its start to its end: a revocation, a frozen sidecar, a limit over
// all sidecars, also with the hub killed, and that nothing is left.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { signIn } from '../hub/fixture.ts'
import { run } from '../ledger/postgres-server.ts'
import { ROOT } from './program.ts'
import { fetchInTime, inTime, until } from './until.ts'

t.setTimeout(120_000)

/** The longest time in which a frozen sidecar is named. */
const NAMED_MS = 1100

interface Started {
  readonly child: ChildProcess
  readonly exit: () => Promise<number | string>
  readonly stderr: () => string
}

function startDemo(t: Test, args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(process.execPath, ['test/fleet/demo-fleet.ts', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += data
  })
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  return { child, exit: () => inTime('the demo exits', exited), stderr: () => stderr }
}

const foldersOfFleets = () => readdirSync(tmpdir()).filter((name) => /^sidegate-fleet-/.test(name))

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const statusAt = async (url: string, key: string): Promise<number> => {
  const response = await fetchInTime(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

t.test('a key works everywhere, its end is confirmed, and a frozen sidecar is named', async (t) => {
  const before = foldersOfFleets()
  const { child, exit, stderr } = startDemo(t, ['--json'])
  const lines = createInterface({ input: child.stdout! })
  const early = exit().then((code) => Promise.reject(new Error(`ended with ${code}: ${stderr()}`)))
  early.catch(() => {})
  const [line] = (await Promise.race([inTime('all is ready', once(lines, 'line')), early])) as [string]
  const fleet = JSON.parse(line)
  t.same(Object.keys(fleet), [
    ...['hub', 'hub_pid', 'hub_token', 'database', 'database_owner', 'sidecars', 'upstream'],
  ])
  t.same(
    fleet.sidecars.map(({ name }: { name: string }) => name),
    ['shop/web-0', 'shop/web-1', 'shop/web-2'],
  )
  t.same(await run(fleet.database, 'select current_user as role'), [{ role: 'sidegate_hub' }])
  t.match(await run(fleet.database_owner, 'select rev from sidegate.fleet_head'), [{ rev: /^\d+$/ }])
  for (const { ops_url } of fleet.sidecars) t.equal((await fetchInTime(`${ops_url}/readyz`)).status, 200)
  t.equal((await fetchInTime(`${fleet.upstream}/models`)).status, 200)

  const api = await signIn(fleet.hub, fleet.hub_token)
  const statuses = (key: string) =>
    Promise.all(fleet.sidecars.map(({ url }: { url: string }) => statusAt(url, key)))
  const [first, second] = [
    (await api('POST', '/keys', { name: 'first' })).body,
    (await api('POST', '/keys', { name: 'second' })).body,
  ]
  t.match(second.fleet, { registered: 3, acked: 3, unconfirmed: 0 })
  t.same(await statuses(first.key), [200, 200, 200])
  t.match((await api('DELETE', `/keys/${first.id}`)).body.fleet, { registered: 3, acked: 3, unconfirmed: 0 })
  t.same(await statuses(first.key), [401, 401, 401])

  const [{ pid, url }, ...others] = fleet.sidecars
  process.kill(pid, 'SIGSTOP')
  const startedMs = performance.now()
  const { body } = await api('DELETE', `/keys/${second.id}`)
  const tookMs = performance.now() - startedMs
  t.match(body.fleet, { registered: 3, acked: 2, unconfirmed: 1, unconfirmed_names: ['shop/web-0'] })
  t.ok(tookMs <= NAMED_MS, `${Math.round(tookMs)} ms`)
  for (const other of others) t.equal(await statusAt(other.url, second.key), 401)
  process.kill(pid, 'SIGCONT')
  await until('the frozen one refuses it too', async () => (await statusAt(url, second.key)) === 401, 5000)

  const limited = await api('POST', '/keys', { name: 'limited' })
  const admitted = async (rounds: number) => {
    let count = 0
    for (let round = 0; round < rounds; round++)
      for (const status of await statuses(limited.body.key)) count += Number(status === 200)
    return count
  }
  t.equal(await admitted(30), 60, 'of 90 calls')
  process.kill(fleet.hub_pid, 'SIGKILL')
  t.equal(await admitted(2), 0, 'what is used up stays so without the hub')
  await until('the hub is back', () => /the hub is back/.test(stderr()))
  t.match((await api('GET', '/fleet')).body.sidecars, { length: 3 })

  process.kill(others[0].pid, 'SIGSTOP')
  child.kill('SIGTERM')
  t.equal(await exit(), 0, stderr())
  for (const one of fleet.sidecars) t.notOk(isRunning(one.pid), one.name)
  await t.rejects(fetchInTime(`${fleet.hub}/api/v1/status`))
  await t.rejects(run(fleet.database, 'select 1'))
  t.same(
    foldersOfFleets().filter((name) => !before.includes(name)),
    [],
    'no folder is left',
  )
})

t.test('a signal during the start, and a part that does not start', async (t) => {
  const early = startDemo(t, [])
  await until('it starts', () => /Starting/.test(early.stderr()))
  early.child.kill('SIGINT')
  t.equal(await early.exit(), 0)
  const wrong = startDemo(t, [], { PATH: '/nonexistent' })
  t.equal(await wrong.exit(), 1)
  t.match(wrong.stderr(), /the hub did not start.*ENOENT/s)
  const unknown = startDemo(t, ['--jsn'])
  t.equal(await unknown.exit(), 2)
})
