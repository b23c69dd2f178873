// A sidecar and a real hub with PostgreSQL: what the database has of the log, over losses.

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readVerifier } from '../../src/audit/note.ts'
import { verifyReceipt } from '../../src/audit/receipt-verify.ts'
import { startHub } from '../hub/fixture.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { prompt, type TestGateway } from './gateway.ts'
import { openPod, POD_HUB } from './hub-pod.ts'
import { runCli } from './run-command.ts'
import { fetchInTime, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

t.setTimeout(120_000)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const opened = (t: Test, url: string, pod?: string): Promise<TestGateway> =>
  openPod(t, url, upstream.baseUrl, {
    ...(pod !== undefined && { pod }),
    config: { audit: { userFields: ['user'] } },
  })

t.test('the database has every entry within two seconds, and the whole log after a stop', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database, POD_HUB.config, POD_HUB.files)
  const api = await hub.signIn()
  const gateway = await opened(t, hub.url)
  const { key } = (await api('POST', '/keys', { name: 'app' })).body
  const rows = <Row>(sql: string) => run(database.owner, sql) as unknown as Promise<Row[]>
  for (let n = 0; n < 20; n++) {
    const answer = await gateway.chat(key, { ...prompt('hi'), user: 'ada' })
    await answer.arrayBuffer()
    t.equal(answer.status, 200)
  }
  const endedMs = performance.now()
  const count = async (from: string) =>
    Number((await rows<{ n: string }>(`select count(*) as n from sidegate.${from}`))[0]!.n)
  await until('the calls are stored', async () => (await count(`entry where type = 'request'`)) === 20)
  t.ok(performance.now() - endedMs < 2000)
  t.equal(await count('exchange'), 20)
  t.equal(await count('entry_user'), 20)
  const sums = async (ask: typeof api, fields: string) =>
    (await ask('GET', `/usage/report?group_by=${fields}`)).body
  const own = await sums(gateway.api, 'key,user')
  t.match(own.total, { requests: 20, answered: 20 })
  t.strictSame(await sums(api, 'key,user'), own, 'the hub reports what the sidecar reports')
  const [row] = (await sums(api, 'sidecar')).rows
  t.strictSame(row, { sidecar: row.sidecar, ...own.total })
  const args = ['audit', 'rollup', '--rebuild', '--config', join(hub.folder, 'hub.yaml')]
  const counted = await runCli(args, { DATABASE: database.hub })
  t.strictSame(JSON.parse(counted.stdout), { calls: 20, since: null }, counted.stderr)
  t.strictSame(await sums(api, 'key,user'), own, 'counted again')
  await gateway.stop()
  const [head] = await rows<{ state: string; seq: string }>(
    `select state, seq from sidegate.log_head where sidecar is not null`,
  )
  t.equal(head!.state, 'closed')
  t.equal(await count('conflict'), 0)
})

t.test('a sidecar has the receipt of a call of its key at another one that is gone', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database, POD_HUB.config, POD_HUB.files)
  const api = await hub.signIn()
  const [app, other] = await Promise.all(
    ['app', 'other'].map(async (name) => (await api('POST', '/keys', { name })).body.key as string),
  )
  const gone = await opened(t, hub.url)
  const answer = await gone.chat(app!, prompt('hi'))
  const id = answer.headers.get('x-request-id')
  await answer.arrayBuffer()
  await gone.stop()
  const gateway = await opened(t, hub.url, 'web-1')
  const ask = async (key: string, of = id) => {
    const headers = { authorization: `Bearer ${key}` }
    const receipt = await fetchInTime(`${gateway.url}/v1/audit/receipts/${of}`, { headers })
    return { status: receipt.status, text: await receipt.text() }
  }
  await until('the checkpoint of the other is cosigned', async () => (await ask(app!)).status === 200)
  const { text } = await ask(app!)
  const receipt = JSON.parse(text)
  const key = readVerifier(receipt.checkpoint.public_key, '')
  const verdict = verifyReceipt(Buffer.from(text), [key])
  t.ok(verdict.ok, JSON.stringify(verdict.steps))
  t.match(verdict.entry, { id, key_name: 'app' })
  t.equal((await ask(other!)).status, 404, 'another key has no such call')
  t.equal((await ask(app!, 'none')).status, 404)
  await hub.stop()
  const away = await ask(app!)
  t.match([away.status, JSON.parse(away.text).error.code], [503, 'fleet_unavailable'])
})
