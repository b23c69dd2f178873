// The built program of a hub: its command, its signals, and that a gateway holds no line of it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { signIn, startHub, TOKENS, writeHub } from '../hub/fixture.ts'
import { emptyDatabase, fleetDatabase } from '../ledger/postgres.ts'
import { PROGRAM, programArgs } from './program.ts'
import { inTime, until } from './until.ts'

t.setTimeout(180_000)

/** Runs `sidegate hub` with these arguments. */
const start = (args: readonly string[], env: Record<string, string>) => startProgram(['hub', ...args], env)

function startProgram(args: readonly string[], env: Record<string, string>) {
  const child = spawn('env', programArgs(args), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', (data) => {
    output.out += data
  })
  child.stderr.on('data', (data) => {
    output.err += data
  })
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  return { child, output, exit: () => inTime('the hub exits', exited) }
}

t.test('a hub is migrated, serves, and stops at a signal', async (t) => {
  const database = await emptyDatabase()
  const { file, env } = writeHub(t, database)
  const early = start(['--config', file], { ...env, DATABASE: database.owner })
  t.equal(await early.exit(), 2)
  t.match(early.output.err, /database\.url: The tables have version 0.*run `sidegate hub migrate`/)
  const owner = { ...env, DATABASE: database.owner }
  const migrated = start(['migrate', '--config', file], owner)
  t.equal(await migrated.exit(), 0, migrated.output.err)
  t.match(migrated.output.out, /^The tables have version \d+; before, 0\.\n$/)
  const again = start(['migrate', '--new-epoch', '--config', file], owner)
  t.equal(await again.exit(), 0)
  t.match(again.output.out, /already\.\nA new epoch has begun: [0-9a-f-]{36}\.\n$/)
  const hub = start(['--config', file], env)
  t.teardown(() => hub.child.kill('SIGKILL'))
  const lines = createInterface({ input: hub.child.stdout })
  const [first] = (await inTime('the hub listens', once(lines, 'line'))) as [string]
  const { msg, hub: address } = JSON.parse(first)
  t.equal(msg, 'listening')
  const line = readFileSync(`/proc/${hub.child.pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  t.match(line, /--max-semi-space-size=4/, 'its heap is that of a hub')
  t.match(line, /--no-memory-reducer.* --memory-reducer/, 'which shrinks after a busy time')
  const api = await signIn(`http://${address}`, TOKENS.platform.token)
  t.match(await api('POST', '/keys', { name: 'web' }), { status: 201 })
  writeFileSync(file, readFileSync(file, 'utf8').replace(/}$/, ',"log":{"level":"debug"}}'))
  hub.child.kill('SIGHUP')
  await until('the hub reloads', () => /"reloaded":\["log\.level"\]/.test(hub.output.out))
  hub.child.kill('SIGTERM')
  t.equal(await hub.exit(), 0)
  t.match(hub.output.out, /"audit checkpoint".*\n.*"stopped"/s)
})

t.test('audit verify --fleet reads the database that a variable or a file names', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database)
  const api = await hub.signIn()
  await api('POST', '/keys', { name: 'web' })
  const verify = async (args: readonly string[], env: Record<string, string>) => {
    const { exit, output } = startProgram(['audit', 'verify', '--fleet', ...args], env)
    return { code: await exit(), ...output }
  }
  const url = { SIDEGATE_DATABASE_URL: database.hub }
  const passed = await verify([], url)
  t.equal(passed.code, 0, passed.err)
  t.match(JSON.parse(passed.out), { ok: true, logs: [{ sidecar: null, ok: true, beginning: 'genesis' }] })
  const pretty = await verify(['--format', 'pretty'], url)
  t.match(pretty.out, /^Log of the hubs\nlog +[0-9a-f-]{36}\n.*verdict +PASS\n\n1 log: PASS\n$/s)
  const file = join(t.testdir(), 'url')
  writeFileSync(file, `${database.hub}\n`)
  t.equal((await verify(['--database-file', file], {})).code, 0)
  const cases: readonly [args: readonly string[], url: string, error: RegExp][] = [
    [[], '', /needs the URL of the database in SIDEGATE_DATABASE_URL, or in a file: --database-file/],
    [
      [],
      'mysql://ann:hush@x/y',
      /^sidegate audit: SIDEGATE_DATABASE_URL holds no URL of a PostgreSQL database/,
    ],
    [[], 'postgres://ann:hush@127.0.0.1:1/y', /cannot be read: .*cannot be reached.*\(connect ECONNREFUSED/],
    [[], (await emptyDatabase()).owner, /cannot be read: relation "sidegate.log_head" does not exist/],
    [['--database-file', `${file}-none`], '', /cannot be read \(ENOENT\); check the path/],
    [['--config', 'x.yaml'], '', /verify --fleet takes no --config/],
  ]
  for (const [args, place, error] of cases) {
    const { code, err, out } = await verify(args, { SIDEGATE_DATABASE_URL: place })
    t.equal(code, 2, err)
    t.match(err, error)
    t.notMatch(err + out, 'hush')
  }
})

t.test('keys are managed on the command line as at a gateway', async (t) => {
  const database = await fleetDatabase()
  const { file, env } = writeHub(t, database)
  const run = async (...args: string[]) => {
    const { exit, output } = startProgram(['keys', ...args, '--config', file], env)
    return { code: await exit(), ...output }
  }
  const none = await run('list')
  t.match(none, { code: 0, out: '' }, none.err)
  const made = await run('create', '--name', 'web', '--namespaces', 'shop,shop-*')
  t.equal(made.code, 0, made.err)
  const { id } = JSON.parse(made.out)
  t.match(JSON.parse((await run('list')).out), { id, state: 'active', namespaces: ['shop', 'shop-*'] })
  t.match(await run('create', '--name', 'x', '--namespaces', 'No'), { code: 2, err: /--namespaces/ })
  t.match(JSON.parse((await run('rotate', id, '--grace', '60')).out), { name: 'web' })
  t.match(JSON.parse((await run('revoke', id)).out), { id, state: 'revoked' })
  const api = await (await startHub(t, database)).signIn()
  const { body } = await api('GET', '/audit/changes?type=key_revoked')
  t.match(body.changes, [{ key_id: id, actor: /^cli:/ }])
})

t.test('a check reads the configuration of a hub without its credentials', async (t) => {
  const { file } = writeHub(t, { owner: '', hub: '' })
  const { exit, output } = startProgram(['check', '--config', file], {})
  t.equal(await exit(), 0, output.err)
  t.match(output.out, /database\.url: environment variable DATABASE is not set/)
  writeFileSync(file, 'database: { url: x }\naudit: {}\n')
  const wrong = startProgram(['check', '--config', file], {})
  t.equal(await wrong.exit(), 1)
  t.match(wrong.output.out, /:1:\d+ database\.url.*audit\.signingKey/s)
})

t.test('wrong arguments are refused with the ones that exist', async (t) => {
  const wrong = start(['mirate'], {})
  t.equal(await wrong.exit(), 2)
  t.match(wrong.output.err, /there is no action mirate; did you mean migrate\?/)
  const help = start(['--help'], {})
  t.equal(await help.exit(), 0)
  t.match(help.output.out, /^Usage: sidegate hub \[--config FILE\]/)
})

t.test('a gateway holds no line of the client of PostgreSQL', async (t) => {
  const program = readFileSync(join(PROGRAM, '../program.cjs'), 'latin1')
  t.notOk(/pg-protocol|pgpass|fleet_head|add_month/.test(program))
})
