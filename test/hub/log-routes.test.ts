// The routes of a hub over the logs of all sidecars, by HTTP: answers as described, roles, exports
// that verify, and a check of every log.

import { randomBytes, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import {
  cosignCheckpoint,
  hubCosigner,
  type OpenedCheckpoint,
  openCheckpoint,
  signCheckpoint,
} from '../../src/audit/checkpoint.ts'
import { openNote } from '../../src/audit/note.ts'
import { verifyConsistency, verifyInclusion } from '../../src/audit/proof.ts'
import { verifyReceipt } from '../../src/audit/receipt-verify.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { systemClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import { Database } from '../../src/ledger/database.ts'
import { LedgerCheckpoints } from '../../src/ledger/ledger-checkpoints.ts'
import { LedgerReceipts } from '../../src/ledger/ledger-receipts.ts'
import { LogChecks } from '../../src/ledger/log-checks.ts'
import { rebuildSums } from '../../src/ledger/usage-rebuild.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openDatabase } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { logId, newSigner, ShippedLog } from '../ledger/shipped.ts'
import { registerSidecar, StoredTestLog } from '../ledger/stored-log.ts'
import { fetchInTime, until } from '../process/until.ts'
import { startHub } from './fixture.ts'

t.setTimeout(120_000)

const DAY_MS = 86_400_000
const database = await fleetDatabase()
const queries = openDatabase(t, database.hub)
const hub = await startHub(t, database)
const [admin, reader] = [await hub.signIn(), await hub.signIn('reader')]
await registerSidecar(queries, 'id-1', 'shop/web-1')
await registerSidecar(queries, 'id-2', 'shop/web-2')
await registerSidecar(queries, 'id-3', 'shop/idle')
const nowMs = Date.now()
const first = await StoredTestLog.begin(queries, 'id-1', nowMs - DAY_MS)
const second = await StoredTestLog.begin(queries, 'id-2', nowMs - DAY_MS)
const third = await StoredTestLog.begin(queries, 'id-2', nowMs)
const content = JSON.stringify({ request: { prompt: 'a secret' }, response: { text: 'another' } })
const ids = [randomUUID(), randomUUID(), randomUUID()] as const
const created_at = new Date(nowMs).toISOString()
await first.append([{ draft: requestDraft({ id: ids[0], created_at }), content }], nowMs)
await second.append(
  [
    { draft: requestDraft({ id: ids[1], created_at, blocked: true, outcome: 'blocked' }) },
    { draft: { type: 'key_revoked', key_id: 'k', key_name: 'k', actor: 'vera' } },
  ],
  nowMs,
)
await third.append([{ draft: requestDraft({ id: ids[2], created_at }) }], nowMs)

const document: any = await (await fetchInTime(`${hub.url}/openapi.json`)).json()
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(document, 'api')

/** Asks, and compares the answer with its schema. */
async function check(t: Test, path: string, target: string, api = admin, method = 'GET'): Promise<any> {
  const { status, body } = await api(method, target)
  const pointer = `api#/paths/${`/api/v1${path}`.replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`
  const validate = ajv.getSchema(pointer.replaceAll('{', '%7B').replaceAll('}', '%7D'))
  t.ok(validate?.(body), `${method} ${target} ${status}: ${ajv.errorsText(validate?.errors)}`)
  return body
}

t.test('the status names the pages of the console that a hub has the API for', async (t) => {
  const { serves } = await check(t, '/status', '/status')
  t.strictSame(serves, [
    'fleet',
    'overview',
    'log',
    'security',
    'rules',
    'keys',
    'usage',
    'audit',
    'live-log',
    'receipts',
  ])
})

t.test('calls of all sidecars are listed as described, and those of one alone', async (t) => {
  const page = await check(t, '/usage/logs', '/usage/logs')
  t.equal(page.total, 3)
  t.strictSame(
    new Set(page.logs.map(({ id, sidecar }: any) => `${id} ${sidecar}`)),
    new Set([`${ids[0]} shop/web-1`, `${ids[1]} shop/web-2`, `${ids[2]} shop/web-2`]),
  )
  t.match(await check(t, '/usage/logs', '/usage/logs?sidecar=id-1'), { total: 1, logs: [{ id: ids[0] }] })
  t.match(await check(t, '/usage/logs', '/usage/logs?sidecar=shop/web-2&blocked=true'), {
    ...{ total: 1, logs: [{ id: ids[1] }] },
  })
  t.match(await check(t, '/usage/logs', '/usage/logs?sidecar=shop/idle'), { total: 0, logs: [] })
  t.match(await check(t, '/usage/logs', '/usage/logs?sidecar=shop/none'), { total: 0, logs: [] })
  const { next_cursor } = await check(t, '/usage/logs', '/usage/logs?limit=2')
  t.match(await check(t, '/usage/logs', `/usage/logs?limit=2&cursor=${next_cursor}`), { logs: { length: 1 } })
  t.match(await check(t, '/usage/logs', `/usage/logs?offset=0&cursor=${next_cursor}`), { error: Object })
})

t.test('a viewer sees a call without its texts', async (t) => {
  const path = '/usage/logs/{id}'
  t.match(await check(t, path, `/usage/logs/${ids[0]}`), { request: { prompt: 'a secret' }, erased: false })
  const seen = await check(t, path, `/usage/logs/${ids[0]}`, reader)
  t.match(seen, { id: ids[0], sidecar: 'shop/web-1', request: null, response: null, erased: false })
  t.notMatch(JSON.stringify(seen), /secret|another/)
  t.match(await check(t, path, '/usage/logs/none'), { error: { code: 'not_found' } })
})

t.test('security events of all sidecars are reported as described', async (t) => {
  t.match(await check(t, '/usage/security', '/usage/security?days=2', reader), {
    ...{ totals: { blocked_requests: 1 }, total: 1, by_day: { length: 2 } },
    events: [{ type: 'blocked_request', log_id: ids[1], sidecar: 'shop/web-2' }],
  })
})

t.test('usage is summed over all sidecars as described, and by each of them', async (t) => {
  const own = new Database({ url: database.hub, connections: 1, onError: () => {} })
  await rebuildSums(own, 'hash', () => {})
  await own.close()
  const path = '/usage/report'
  const today = new Date(nowMs).toISOString().slice(0, 10)
  const report = await check(t, path, `${path}?group_by=sidecar,day&since=${today}&until=${today}`, reader)
  t.match(report, { complete: true, total: { requests: 3, blocked: 1, total_tokens: 126 } })
  t.strictSame(
    new Set(report.rows.map((row: any) => `${row.sidecar} ${row.day} ${row.requests}`)),
    new Set([`shop/web-1 ${today} 1`, `shop/web-2 ${today} 2`]),
  )
  t.match(await check(t, path, path), { rows: [{ key_name: 'batch-jobs', requests: 3 }] })
  for (const fields of ['sidecar,user', 'sidecar,tool', 'nothing'])
    t.match((await check(t, path, `${path}?group_by=${fields}`)).error, { param: 'group_by' }, fields)
  const series = await check(t, '/usage/series', '/usage/series?days=2')
  t.equal(
    series.requests.reduce((sum: number, count: number) => sum + count, 0),
    3,
  )
  t.match(await check(t, '/usage/series', '/usage/series'), { step_seconds: 60, requests: { length: 60 } })
})

t.test('what is used and lent of a limit of the hub is listed as described', async (t) => {
  const rule = { name: 'daily', type: 'rate_limit', pattern: '1000/24h', per: 'all', action: 'block' }
  const made = await admin('POST', '/rules', rule)
  t.equal(made.status, 201, JSON.stringify(made.body))
  const count = `${made.body.id}`
  const dayMs = DAY_MS
  const bucket = Math.floor(Date.now() / (dayMs / 60))
  await queries.rows('insert into limit_subject values ($1, $2, $3, 1000)', [count, 'all', dayMs])
  await queries.rows('insert into limit_bucket values ($1, $2, $3, $4, $5, 150), ($1, $2, $3, $4, $6, 50)', [
    ...[count, 'all', dayMs, bucket, 'id-1', 'id-2'],
  ])
  const { limits } = await check(t, '/usage/limits', '/usage/limits', reader)
  t.match(limits, [{ rule_name: 'daily', source: 'hub', used: 200, allowed: 1000 }])
})

t.test('changes of all logs are listed, newest first, and those of one by its sequence', async (t) => {
  const path = '/audit/changes'
  const all = await check(t, path, '/audit/changes?type=key_revoked', reader)
  t.match(all.changes, [{ key_id: 'k', actor: 'vera', sidecar: 'shop/web-2', log: second.id, seq: 2 }])
  const sidecars: unknown[] = []
  const times: string[] = []
  for (let cursor = ''; ; ) {
    const page = await check(t, path, `/audit/changes?limit=2${cursor}`)
    sidecars.push(...page.changes.map(({ sidecar }: any) => sidecar))
    times.push(...page.changes.map((change: any) => change.created_at))
    if (page.next_cursor === undefined) break
    t.notOk('next_before' in page, 'sequence numbers of several logs are no order')
    cursor = `&cursor=${page.next_cursor}`
  }
  t.strictSame(times, times.toSorted().toReversed())
  t.strictSame(new Set(sidecars), new Set([null, 'shop/web-1', 'shop/web-2']))
  t.equal(sidecars.filter((name) => name === 'shop/web-2').length, 3, 'two logs begin, one key ends')
  const one = await check(t, path, `/audit/changes?log=${second.id}&limit=1`)
  t.match(one, { changes: [{ type: 'key_revoked' }], next_before: 2, next_cursor: String })
  t.match(await check(t, path, `/audit/changes?log=${second.id}&before=2`), { changes: [{ seq: 0 }] })
  t.match(await check(t, path, `/audit/changes?cursor=${one.next_cursor}`), { changes: [{ seq: 0 }] })
  t.match(await check(t, path, '/audit/changes?before=5'), { changes: [{ sidecar: null }] })
  for (const wrong of ['cursor=x', 'before=1&sidecar=shop/web-2', 'log=x', 'log=x&sidecar=y'])
    t.match(await check(t, path, `/audit/changes?${wrong}`), { error: { code: 'invalid_parameter' } }, wrong)
})

t.test('an export of each log verifies, and names the log of a sidecar that has several', async (t) => {
  const session = await fetchInTime(`${hub.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: 'the token of the platform team' }),
  })
  const cookie = session.headers.getSetCookie()[0]!.split(';', 1)[0]!
  const exported = (search: string) =>
    fetchInTime(`${hub.url}/api/v1/audit/export${search}`, { headers: { cookie } })
  for (const [search, entries] of [
    ['?sidecar=shop/web-1', 2],
    [`?log=${second.id}`, 3],
  ] as const) {
    const text = await (await exported(search)).text()
    const verdict = await verdictOn(t, text)
    t.match(verdict, { ok: true, entries, beginning: 'genesis' }, search)
  }
  await until(
    'the hub has signed a checkpoint',
    async () => (await admin('GET', '/audit/checkpoint')).status === 200,
  )
  const own = await (await exported('')).text()
  t.match(await verdictOn(t, own), { ok: true, agreeing: { beside: 1 } })
  t.equal(await (await exported('?until=2020-01-01')).text(), '')
  const several: any = await (await exported('?sidecar=shop/web-2')).json()
  t.match(several.error.message, new RegExp(`has 2 logs.*${third.id}, ${second.id}`))
  for (const search of ['?sidecar=shop/idle', '?log=x']) t.equal((await exported(search)).status, 400, search)
  t.match(await reader('GET', '/audit/export'), { status: 403 })
})

t.test('every log is checked on demand, and the result lists them', async (t) => {
  const path = '/audit/verify'
  t.match(await reader('POST', path), { status: 403 })
  const checked = await check(t, path, path, admin, 'POST')
  t.match(checked, { running: false, progress: 1, ok: true, result: { ok: true, omitted: 0 } })
  const logs = checked.result.logs.map(({ log }: any) => log)
  t.ok([first, second, third].every(({ id }) => logs.includes(id)))
  t.equal(logs.length, 4, 'that of the hubs as well')
  t.match(await check(t, path, path, reader), { ok: true })
  await queries.rows("update log_head set hash = sha256('x') where log_id = $1", [third.id])
  const tampered = await check(t, path, path, admin, 'POST')
  t.match(tampered, { ok: false, result: { ok: false, logs: [{ log: third.id, ok: false }] } })
  await queries.rows(
    'update log_head set hash = (select hash from entry e where e.log_id = log_head.log_id and e.seq = log_head.seq)',
  )
  t.match(await check(t, path, path, admin, 'DELETE'), { running: false, ok: false })
  const checks = new LogChecks(queries)
  t.equal(await checks.damaged(), 1)
  t.ok(await checks.begin(randomUUID()))
  t.equal(await checks.damaged(), 1, 'until another check has a verdict')
  await queries.rows('update log_check set finished_at = now()')
  t.match(await check(t, path, path, admin, 'POST'), { ok: true, result: { damaged: 0 } })
  t.equal(await checks.damaged(), 0)
})

t.test('a call of a sidecar that is gone is proved from tiles and the cosigned checkpoint', async (t) => {
  const path = '/audit/receipts/{id}'
  const id = randomUUID()
  const { id: line } = (await admin('POST', '/keys', { name: 'app', namespaces: ['shop'] })).body
  const draft = requestDraft({ id, key_id: line })
  const log = new ShippedLog(logId(7), 'gone').addCalls(600).add(draft)
  const later = randomUUID()
  await queries.transaction((on) => log.addCalls(300).ship(on))
  t.match(await check(t, path, `/audit/receipts/${id}`), { error: { code: 'audit_unavailable' } })
  const hubs = newSigner(logId(99))
  const checkpoints = new LedgerCheckpoints(queries)
  for (const size of [100, 603, 800]) {
    const unsigned = openCheckpoint(log.checkpoint(size), () => []) as OpenedCheckpoint
    const checkpoint = { ...unsigned, time: created_at }
    const note = cosignCheckpoint(signCheckpoint(checkpoint, log.signer), hubs, nowMs)
    await checkpoints.save(checkpoint, note)
  }
  await queries.transaction((on) => log.add(requestDraft({ id: later })).ship(on))
  const receipt = await check(t, path, `/audit/receipts/${id}`, reader)
  t.match(receipt, { log: log.id, seq: 602, checkpoint: { size: 800, public_key: log.signer.verifier.text } })
  const verdict = verifyReceipt(Buffer.from(JSON.stringify(receipt)), [log.signer.verifier])
  t.ok(verdict.ok, JSON.stringify(verdict.steps))
  t.match(verdict.entry, { id })
  const ofHubs = { name: null, key: hubs.verifier.key }
  t.ok(verifyReceipt(Buffer.from(JSON.stringify(receipt)), [ofHubs]).ok, 'the key of the hubs is enough')
  t.match(openNote(receipt.checkpoint.checkpoint, [hubCosigner(hubs.verifier)!]), { verified: { length: 1 } })
  t.match(await check(t, path, `/audit/receipts/${later}`), { error: { code: 'audit_unavailable' } })
  t.match(await check(t, path, '/audit/receipts/none'), { error: { code: 'not_found' } })
  const madeAt = (ms: number) => `/audit/receipts/${uuidv7(ms, randomBytes(16))}`
  t.match(await check(t, path, madeAt(Date.now() - 30_000)), { error: { code: 'audit_unavailable' } })
  t.match(
    await check(t, path, madeAt(Date.now() - 90_000)),
    { error: { code: 'not_found' } },
    'it would be here',
  )
  const end = (state: string, ago: string) =>
    queries.rows('update log_head set state = $2, last_at = now() - $3::interval where log_id = $1', [
      ...[log.id, state, ago],
    ])
  const final = { error: { code: 'conflict', message: /entry 903 of the log .* --fleet checks that/ } }
  for (const [state, ago, answer] of [
    ['closed', '30 s', { error: { code: 'audit_unavailable' } }],
    ['closed', '90 s', final],
    ['cut', '0 s', final],
    ['forked', '0 s', final],
    ['open', '1 h', { error: { code: 'audit_unavailable' } }],
  ] as const) {
    await end(state, ago)
    t.match(await check(t, path, `/audit/receipts/${later}`), answer, `${state} ${ago}`)
  }
  await end('cut', '0 s')
  t.match(await check(t, path, `/audit/receipts/${id}`), { seq: 602 }, 'a covered call keeps its receipt')
  await end('open', '0 s')
  const receipts = new LedgerReceipts(queries, systemClock)
  const given = (namespace: string) => (globs: readonly string[] | null) => globs?.[0] === namespace
  t.strictSame(await receipts.receipt(id, { line, isGiven: given('shop') }), receipt)
  t.equal(await receipts.receipt(id, { line, isGiven: given('bank') }), null, 'a key of others')
  t.equal(await receipts.receipt(id, { line: 'other', isGiven: () => true }), null)

  const proof = '/audit/proof'
  for (const [seq, size] of [
    [0, 1],
    [602, 800],
    [255, 603],
  ] as const) {
    const one = await check(t, proof, `${proof}?log=${log.id}&seq=${seq}&size=${size}`, reader)
    const [leaf, root, ...nodes] = [one.leaf_hash, one.root, ...one.proof].map((text) =>
      Buffer.from(text, 'base64'),
    )
    t.ok(verifyInclusion(seq, size, leaf!, root!, nodes), `${seq} ${size}`)
  }
  const extension = await check(t, proof, `${proof}?log=${log.id}&from=100`)
  t.equal(extension.size, 800, 'that of the newest checkpoint')
  const [from, root, ...nodes] = [extension.from_root, extension.root, ...extension.proof].map((text) =>
    Buffer.from(text, 'base64'),
  )
  t.ok(verifyConsistency(100, 800, from!, root!, nodes))
  t.equal(extension.root, receipt.checkpoint.root)
  for (const wrong of [
    'seq=1',
    `log=${log.id}`,
    `log=${log.id}&seq=904`,
    `log=${log.id}&from=1&seq=1`,
    'seq=1&sidecar=x',
  ])
    t.match((await check(t, proof, `${proof}?${wrong}`)).error, { code: 'invalid_parameter' }, wrong)
})

t.test('the description of a hub has these routes, with their roles', async (t) => {
  const roleOf = (path: string, method = 'get') =>
    document.paths[`/api/v1${path}`]?.[method]?.['x-sidegate-role']
  t.equal(roleOf('/usage/logs'), 'viewer')
  t.equal(roleOf('/usage/logs/{id}'), 'viewer')
  t.equal(roleOf('/usage/security'), 'viewer')
  t.equal(roleOf('/audit/changes'), 'viewer')
  t.equal(roleOf('/audit/export'), 'auditor')
  for (const path of [
    '/audit/proof',
    '/audit/receipts/{id}',
    '/usage/report',
    '/usage/series',
    '/usage/limits',
  ])
    t.equal(roleOf(path), 'viewer', path)
  t.equal(roleOf('/audit/verify'), 'viewer')
  t.equal(roleOf('/audit/verify', 'post'), 'auditor')
  const names = document.paths['/api/v1/usage/logs'].get.parameters.map(({ name }: any) => name)
  t.ok(names.includes('sidecar'))
})

/** Verifies an export as `sidegate audit verify --export` does. */
async function verdictOn(t: Test, text: string) {
  const file = join(t.testdir(), 'log.jsonl')
  writeFileSync(file, text)
  return verifyLog(new ExportSource(file), NO_EVIDENCE, () => {})
}
