// A hub: the management API over PostgreSQL, shared by two hubs; its log, checkpoints and health.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readCheckpoint } from '../../src/audit/checkpoint.ts'
import { systemClock } from '../../src/core/clock.ts'
import { readHubConfig } from '../../src/core/hub-config.ts'
import { runHub } from '../../src/hub/hub.ts'
import { emptyDatabase, fleetDatabase, run, takeAway } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { selfSigned } from '../server/certificate.ts'
import { startHub, TOKENS, writeHub } from './fixture.ts'

t.setTimeout(180_000)

t.test('two hubs share keys, sessions and one log, and each seals its changes', async (t) => {
  const database = await fleetDatabase()
  const one = await startHub(t, database)
  const other = await startHub(t, database)
  const session = await fetchInTime(`${one.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: TOKENS.platform.token }),
  })
  t.equal(session.status, 201)
  const cookie = session.headers.getSetCookie()[0]!.split(';', 1)[0]!
  const answer = await fetchInTime(`${other.url}/api/v1/session`, { headers: { cookie } })
  t.match(await answer.json(), { name: 'platform', role: 'admin' }, 'a session opens at every hub')
  const api = await one.signIn()
  const made = await api('POST', '/keys', { name: 'web', namespaces: ['shop'], labels: { team: 'web' } })
  t.match(made, { status: 201, body: { key: /^sgate_live_/, namespaces: ['shop'] } })
  const there = await other.signIn()
  t.match(await there('GET', '/keys'), { body: { total: 1, keys: [{ id: made.body.id, state: 'active' }] } })
  const rotated = await there('POST', `/keys/${made.body.id}/rotate`, { grace_seconds: 60 })
  t.match(rotated, { status: 201, body: { replaces: made.body.id } })
  t.match(await api('PATCH', `/keys/${rotated.body.id}`, { max_parallel: 2 }), { body: { max_parallel: 2 } })
  const revoked = await there('DELETE', `/keys/${rotated.body.id}?revoke_predecessor=true`)
  t.match(revoked, { status: 200, body: { state: 'revoked' } })
  t.notOk('working_predecessors' in revoked.body)
  const { body: log } = await api('GET', '/audit/changes?limit=3')
  t.match(log.changes, [
    { type: 'key_revoked', actor: 'platform' },
    { type: 'key_revoked', actor: 'platform' },
    { type: 'key_changed', actor: 'platform' },
  ])
  const older = await api('GET', `/audit/changes?before=${log.next_before}&type=key_created`)
  t.match(older.body.changes, [{ key_id: made.body.id, terms: { namespaces: ['shop'] } }])
  t.match(await there('DELETE', '/keys/none'), { status: 404 })
  const reader = await one.signIn('reader')
  t.match(await reader('POST', '/keys', { name: 'x' }), {
    status: 403,
    body: { error: { code: 'forbidden' } },
  })
  await one.stop()
  t.match(await there('GET', '/keys'), { status: 200 }, 'the other goes on')
  const { body: checkpoint } = await there('GET', '/audit/checkpoint')
  t.match(readCheckpoint(`${checkpoint.checkpoint.split('\n\n')[0]}\n`), { size: checkpoint.size })
  t.notMatch(JSON.stringify([...one.logs, ...other.logs]), made.body.key)
})

t.test('a hub tells whether it reaches its database', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database)
  const ready = async () => {
    const response = await fetchInTime(`http://${hub.opsAddress}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  t.match(await ready(), { status: 200, body: { database: 'ok' } })
  const api = await hub.signIn()
  const name = new URL(database.owner).pathname.slice(1)
  await run(database.owner, `alter role sidegate_hub in database ${name} set statement_timeout = 1`)
  await run(
    database.owner,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
  )
  await run(database.owner, `alter role sidegate_hub in database ${name} reset statement_timeout`)
  await until('the hub has connected again', async () => (await ready()).status === 200)
  t.match(await api('GET', '/keys'), { status: 200 })
  const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
  t.match(page, /^sidegate_sign_ins_total\{result="ok"\} 1$/m)

  const comeBack = await takeAway(database)
  await until('the hub notices', async () => (await ready()).status === 503)
  const { body: away } = await ready()
  const [, since] =
    /^the database cannot be reached since (\S+Z)$/.exec((away as { database: string }).database) ?? []
  t.ok(Math.abs(Date.parse(since!) - Date.now()) < 60_000)
  for (const path of ['/keys', '/status', '/session/methods', '/usage/report'])
    t.match(await api('GET', path), {
      status: 503,
      body: { error: { message: `The database of the hub cannot be reached since ${since}; try again.` } },
    })
  const methods = await fetchInTime(`${hub.url}/api/v1/session/methods`)
  t.match(await methods.json(), { token: true, session: null }, 'who is not signed in needs no database')
  await comeBack()
  await until('the hub has connected again', async () => (await api('GET', '/keys')).status === 200)
  t.match(await ready(), { status: 200, body: { database: 'ok' } })
})

t.test('a hub that cannot start says why, at the key of its configuration', async (t) => {
  const database = await fleetDatabase()
  const problems = async (
    more: object,
    change: (env: Record<string, string>, folder: string) => void = () => {},
  ) => {
    const { file, env, folder } = writeHub(t, database, more)
    change(env, folder)
    const started = await runHub(readHubConfig(file, env, systemClock))
    if ('problems' in started) return started.problems.map(({ path, message }) => `${path}: ${message}`)
    await started.stop()
    return []
  }
  const cases: [object, RegExp, ((env: Record<string, string>, folder: string) => void)?][] = [
    [{ listen: { hub: '0.0.0.0:0', ops: '127.0.0.1:0' } }, /^listen\.hub: .*needs listen\.tls/],
    [{ database: { url: { env: 'NONE' } } }, /^database\.url: environment variable NONE is not set/],
    [{}, /^database\.url: is not the URL of a PostgreSQL database/, (env) => (env['DATABASE'] = 'mysql://x')],
    [
      {},
      /^audit\.signingKey: is not an Ed25519 private key/,
      (_, folder) => writeFileSync(join(folder, 'hub.pem'), 'x'),
    ],
    [{ audit: undefined }, /^audit: is required/],
    [
      {},
      /^database\.url: The database of the hub cannot be reached; try again\. \(connect ECONNREFUSED/,
      (env) => (env['DATABASE'] = 'postgres://x@127.0.0.1:1/x'),
    ],
  ]
  for (const [more, wanted, change] of cases) t.match(await problems(more, change), [wanted], String(wanted))
  const empty = await emptyDatabase()
  const unmade = (env: Record<string, string>) => (env['DATABASE'] = empty.owner)
  t.match(await problems({}, unmade), [/^database\.url: .*run `sidegate hub migrate`/])
})

t.test('a hub with a certificate serves TLS alone, and says when it ends', async (t) => {
  const database = await fleetDatabase()
  const { file, env, folder } = writeHub(t, database, {
    listen: {
      hub: '127.0.0.1:0',
      ops: '127.0.0.1:0',
      tls: { certificate: { file: 'tls.crt' }, key: { file: 'tls.key' } },
    },
  })
  const { certificate, key } = selfSigned()
  writeFileSync(join(folder, 'tls.crt'), certificate)
  writeFileSync(join(folder, 'tls.key'), key)
  const hub = await runHub(readHubConfig(file, env, systemClock), { write: () => {} })
  if ('problems' in hub) throw new Error(hub.problems.map(({ message }) => message).join())
  t.teardown(() => hub.stop())
  await t.rejects(fetchInTime(`http://${hub.address}/api/v1/session`), 'no plain HTTP')
  const ready: any = await (await fetchInTime(`http://${hub.opsAddress}/readyz`)).json()
  t.match(ready, { certificates: 'ok', certificate_expires_at: { hub: /^20/ } })
  const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
  t.match(page, /^sidegate_certificate_in_force\{listener="hub"\} 1$/m)
})

t.test('a hub says that its configuration changed, and a reload takes administrators', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database)
  const file = join(hub.folder, 'hub.yaml')
  const ready = async () =>
    ((await (await fetchInTime(`http://${hub.opsAddress}/readyz`)).json()) as any).configuration
  t.match(await ready(), { changed: false, needs_restart: [] })
  const api = await hub.signIn()
  const reader = await hub.signIn('reader')
  const before = JSON.parse(readFileSync(file, 'utf8'))
  const tokens = before.admin.tokens.filter(({ name }: { name: string }) => name !== 'platform')
  writeFileSync(file, JSON.stringify({ ...before, admin: { tokens }, join: { audience: 'other' } }))
  await hub.reload()
  t.match(await ready(), { changed: true, needs_reload: [], needs_restart: ['join.audience'] })
  t.match(await api('GET', '/keys'), { status: 401 }, 'the session of a removed token is over')
  t.match(await reader('GET', '/keys'), { status: 200 })
  const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
  t.match(page, /^sidegate_configuration_stale 1$/m)
  t.ok(hub.logs.some(({ needsRestart }) => String(needsRestart) === 'join.audience'))
  writeFileSync(file, 'x: [')
  await hub.reload()
  t.match(await ready(), { changed: true, errors: [/hub\.yaml:\d+/] })
  t.match(await reader('GET', '/keys'), { status: 200 })
})
