// Pruning as an operator sees it: a gateway on a store with old entries, and on a store that is too
// large.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openGateway, prompt, type TestGateway, writeDeployment } from './gateway.ts'
import { programArgs } from './program.ts'
import { runProgram } from './run-command.ts'
import { eventually, inTime, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const DAY_MS = 86_400_000
const MIB = 1024 ** 2

const upstream = await startUpstream(json(completion('a fine answer')))
t.teardown(() => upstream.close())

/** Seals calls at a time in the past, before a gateway runs. */
async function seal(
  data: string,
  daysAgo: number,
  calls: number,
  bytes: number,
  labels: Record<string, string> | null = null,
): Promise<void> {
  const now = () => systemClock.now() - daysAgo * DAY_MS
  const clock: Clock = { now, monotonic: () => systemClock.monotonic() }
  const store = openStore({ path: data, clock, random: randomBytes, maxBytes: 1024 ** 3 })
  const created_at = new Date(now()).toISOString()
  const content = JSON.stringify({ request: 'x'.repeat(bytes), response: null })
  await Promise.all(
    Array.from({ length: calls }, (_, n) =>
      store.log.append(requestDraft({ id: `${daysAgo}-${n}`, created_at, ...(labels && { labels }) }), {
        content,
      }),
    ),
  )
  await store.close()
}

const PRUNED = 'the oldest entries of the usage log were pruned'

/**
 * Waits for the gateway to prune, which it does next to its calls.
 * @returns the number of entries
 */
async function pruned(gateway: TestGateway): Promise<number> {
  const line = () => gateway.logs.find(({ msg }) => msg === PRUNED)
  return (await eventually('the log is pruned', line, (found) => found !== undefined))?.['entries'] as number
}

/** Size of the store as the metrics report it. */
const storeBytes = async (gateway: TestGateway): Promise<number> =>
  Number(/\nsidegate_store_bytes (\d+)\n/.exec(await gateway.metrics())?.[1])

async function verify(t: Test, gateway: TestGateway): Promise<any> {
  const file = join(gateway.folder, 'sidegate.yaml')
  const { code, stdout } = await runProgram(['audit', 'verify', '--config', file])
  const verdict = JSON.parse(stdout)
  t.same([code, verdict.findings], [0, []])
  const exported = await runProgram(['audit', 'export', '--config', file])
  const dump = join(gateway.folder, 'dump.jsonl')
  writeFileSync(dump, exported.stdout)
  const { stdout: checked } = await runProgram(['audit', 'verify', '--export', dump])
  t.match(JSON.parse(checked), { ok: true, beginning: 'prune' })
  return verdict
}

t.test('a start prunes entries that are too old, and the log verifies while the gateway runs', async (t) => {
  const { folder } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const data = join(folder, 'data')
  await seal(data, 3, 1500, 50)
  await seal(data, 0, 5, 50)
  const config = { audit: { retainDays: 2 } }
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder, config })
  t.equal(await pruned(gateway), 1501, 'the genesis entry and all old calls')
  const verdict = await verify(t, gateway)
  t.match(verdict, { ok: true, beginning: 'prune', first_seq: 1501 })

  const { body } = await gateway.api('GET', '/usage/logs')
  t.match(body, { total: 5, logs: [{ id: '0-4' }, {}, {}, {}, { id: '0-0' }] })
  t.equal((await gateway.api('GET', '/usage/logs/3-0')).status, 404)
  const { key } = await gateway.createKey()
  const answer = await gateway.chat(key, prompt('hello'))
  t.equal(answer.status, 200)
  await answer.text()
  t.match(await gateway.metrics(), /\nsidegate_audit_pruned_entries_total 1501\n/)
  t.match(await verify(t, gateway), { ok: true, first_seq: 1501 })
})

t.test('exchanges of a label are erased at their own time, and the log verifies', async (t) => {
  const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const data = join(folder, 'data')
  await seal(data, 4, 3, 50, { team: 'legal' })
  await seal(data, 3, 2, 50, { team: 'search' })
  await seal(data, 1, 1, 50, { team: 'legal' })
  // A start long after the newest entry doubts the clock.
  await seal(data, 0, 1, 50)
  const config = { audit: { retain: [{ labels: { team: 'legal' }, days: 2 }] } }
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder, config })
  const erased = async (id: string) => (await gateway.api('GET', `/usage/logs/${id}`)).body.erased
  await until('an exchange is erased', () => erased('4-2'))
  t.same(await Promise.all(['4-0', '4-1', '3-0', '3-1', '1-0'].map(erased)), [
    true,
    true,
    false,
    false,
    false,
  ])
  t.equal((await runProgram(['audit', 'verify', '--config', file])).code, 0)
  const { stdout } = await runProgram(['audit', 'export', '--config', file])
  t.match(stdout, /"erased":3,.*"selection":\{"older_than_days":2\}/)

  await gateway.stop()
  writeDeployment({
    ...{ upstreamUrl: upstream.baseUrl, folder },
    config: { audit: { retain: [{ labels: {}, days: 0 }, { days: 5 }] } },
  })
  const { code, stdout: problems } = await runProgram(['check', '--config', file])
  t.equal(code, 1)
  t.match(problems, /sidegate\.yaml:1:\d+ audit\.retain\[0\]\.labels: must have at least 1 of its keys/)
  t.match(problems, /sidegate\.yaml:1:\d+ audit\.retain\[0\]\.days: must be from 1 to 36500/)
  t.match(problems, /sidegate\.yaml:1:\d+ audit\.retain\[1\]\.labels: is required/)
})

t.test(
  'a doubted clock waits, and removes at once when an administrator says that it is right',
  async (t) => {
    const ways = {
      'over REST': async (gateway: TestGateway) => {
        t.match(await gateway.api('POST', '/audit/clock', { trusted: false }), { status: 400 })
        t.match(await gateway.api('POST', '/audit/clock', { trusted: true }), {
          status: 200,
          body: { trusted: true },
        })
      },
      'by a command': async (_: TestGateway, file: string) => {
        t.match(await runProgram(['audit', 'trust-clock', '--config', file]), {
          code: 0,
          stdout: '{"trusted":true}\n',
        })
      },
    }
    for (const [way, trust] of Object.entries(ways))
      t.test(way, async (t) => {
        const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
        const data = join(folder, 'data')
        await seal(data, 400, 3, 50)
        await seal(data, 3, 2, 50)
        const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder })
        const retention = async () => (await gateway.api('GET', '/status')).body.audit.retention
        const waiting = await eventually('retention waits', retention, ({ waits }) => waits)
        t.match(waiting.reason, /sidegate audit trust-clock/)
        t.equal((await gateway.api('GET', '/usage/logs/400-0')).status, 200)
        await trust(gateway, file)
        await until(
          'it is pruned',
          async () => (await gateway.api('GET', '/usage/logs/400-0')).status === 404,
        )
        t.strictSame(await retention(), { waits: false, reason: null })
        const { changes } = (await gateway.api('GET', '/audit/changes?type=clock_trusted')).body
        t.equal(changes.length, 1)
        t.match(changes[0].actor, way === 'over REST' ? /^admin/ : /^cli:/)
      })
  },
)

t.test('a store that is too large is pruned until it fits, then the gateway serves', async (t) => {
  const { folder } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const data = join(folder, 'data')
  await seal(data, 0, 2000, 10_000)
  t.ok(statSync(join(data, 'data.mdb')).size > 20 * MIB)
  const config = { audit: { maxBytes: 16 * MIB } }
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder, config })
  t.ok((await pruned(gateway)) > 500)
  await until('the gateway is ready', async () => (await gateway.readiness()).status === 200)
  const { key } = await gateway.createKey()
  const answer = await gateway.chat(key, prompt('hello'))
  t.equal(answer.status, 200)
  await answer.text()
  t.match(await verify(t, gateway), { ok: true, beginning: 'prune' })
  t.ok((await storeBytes(gateway)) < 16 * MIB)
})

t.test('large concurrent calls are refused before they fill the store beyond its limit', async (t) => {
  const gateway = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: { audit: { maxBytes: 16 * MIB }, limits: { bodyBytes: 8_000_000 } },
  })
  const { key } = await gateway.createKey()
  const content = 'word and word. '.repeat(200_000)
  const call = async () => {
    const response = await gateway.chat(key, prompt(content))
    const code = /"code":"(\w+)"/.exec(await response.text())?.[1] ?? 'ok'
    return `${response.status} ${code}`
  }
  const ends = await Promise.all(Array.from({ length: 12 }, call))
  t.ok(ends.filter((end) => end === '200 ok').length >= 3, ends.join(', '))
  t.ok(ends.filter((end) => end === '503 audit_unavailable').length >= 3, 'the others are refused')
  const { logs } = (await gateway.api('GET', '/usage/logs?limit=20')).body
  for (const { id, status } of logs) {
    const found = await gateway.api('GET', `/usage/logs/${id}`)
    // The full store is pruned meanwhile.
    if (found.status === 404) continue
    t.equal(found.body.request !== null, status === 200, 'a refused call keeps no exchange')
  }
  const bytes = await storeBytes(gateway)
  // At most one call more than fits; all twelve would take 36 MB.
  t.ok(bytes < 16 * MIB + 1.5 * content.length, `${bytes} bytes`)
})

t.test('an export whose entries are pruned meanwhile says so, and its lines verify', async (t) => {
  const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  const data = join(folder, 'data')
  await seal(data, 3, 1500, 4000)
  await seal(data, 0, 5, 50)
  const child = spawn('env', programArgs(['audit', 'export', '--exchanges', '--config', file]))
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  // It has begun, and waits for a reader.
  await inTime('the export begins', once(child.stdout, 'readable'))
  const config = { audit: { retainDays: 2 } }
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder, config })
  t.equal(await pruned(gateway), 1501)
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [dump, errorOutput] = await inTime('the export ends its output', output)
  t.equal((await inTime('the export exits', ended))[0], 1)
  const [, seq] =
    /^sidegate audit: entry (\d+) was pruned before .*; the export ends before it; .*\n$/.exec(errorOutput) ??
    []
  t.match(dump, new RegExp(`"seq":${Number(seq) - 1},`))
  const path = join(folder, 'dump.jsonl')
  writeFileSync(path, dump)
  const { code, stdout } = await runProgram(['audit', 'verify', '--export', path])
  t.match([code, JSON.parse(stdout)], [0, { ok: true, entries: Number(seq), findings: [] }])
})
