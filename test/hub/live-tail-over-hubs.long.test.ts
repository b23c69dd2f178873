// The live tail at two hubs on one database: what sidecars ship to either, as the list has it.

import t from 'tap'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { type EventReader, readEvents } from '../process/event-reader.ts'
import { eventually, fetchInTime, until } from '../process/until.ts'
import { id } from '../store/fixture.ts'
import { type TestHub, TOKENS } from './fixture.ts'
import { hubOn } from './pods.ts'
import { shipperOf } from './shipper.ts'

t.setTimeout(120_000)

const database = await fleetDatabase()
const hubs = [await hubOn(t, database), await hubOn(t, database)] as const
const shippers = [await shipperOf(hubs[0].url, 'one'), await shipperOf(hubs[1].url, 'two')] as const
const logs = [new SidecarLog(id(1), Date.now()), new SidecarLog(id(2), Date.now())] as const
const shipped = [0, 0]
let calls = 0

/** Seals a call at a sidecar and ships it to its hub. @returns the id of the call */
async function ship(at: 0 | 1, user: string | null = null): Promise<string> {
  const call = id(1000 + ++calls)
  const created_at = new Date().toISOString()
  logs[at].add(requestDraft({ id: call, created_at }), '{"request":"a secret"}', user)
  const fresh = logs[at].entries.slice(shipped[at])
  const { status } = await shippers[at].ship(logs[at].log, fresh)
  if (status !== 200) throw new Error(`the hub answered ${status}`)
  shipped[at] = logs[at].entries.length
  return call
}

async function cookieAt(hub: TestHub, token: string = TOKENS.reader.token): Promise<string> {
  const answer = await fetchInTime(`${hub.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  return answer.headers.getSetCookie()[0]!.split(';', 1)[0]!
}
const cookie = await cookieAt(hubs[0])
const open = async (t: { teardown(close: () => void): void }, hub: TestHub, more = {}) => {
  const reader = await readEvents(`${hub.url}/api/v1/usage/logs/live`, { cookie, ...more })
  t.teardown(() => reader.close())
  return reader
}
const callsOf = ({ events }: EventReader): string[] =>
  events.filter(({ event }) => event === 'entry').map(({ data }) => data.id)

t.test('a viewer at any hub gets each call once, as the list has it, without its texts', async (t) => {
  await ship(0)
  t.equal((await readEvents(`${hubs[0].url}/api/v1/usage/logs/live`, {})).status, 401)
  const readers = [await open(t, hubs[0]), await open(t, hubs[1])] as const
  t.match(readers[0], { status: 200, headers: { 'content-type': 'text/event-stream' } })
  const sent: string[] = []
  for (const at of [0, 1, 1, 0] as const) {
    sent.push(await ship(at, 'ann'))
    const startMs = performance.now()
    await readers[at].reached(sent.length)
    await readers[1 - at]!.reached(sent.length)
    t.ok(performance.now() - startMs < 3000, 'the other hub soon after')
  }
  const list = (await (await hubs[0].signIn('reader'))('GET', '/usage/logs?limit=4')).body.logs
  for (const reader of readers) {
    t.strictSame(callsOf(reader).toSorted(), sent.toSorted())
    for (const { data } of reader.events)
      t.strictSame(
        data,
        list.find((one: { id: string }) => one.id === data.id),
      )
    t.notMatch(JSON.stringify(reader.events), /a secret/)
  }
})

t.test('a lost database is said, and the calls after it follow', async (t) => {
  const reader = await open(t, hubs[0])
  const name = new URL(database.hub).pathname.slice(1)
  await run(database.owner, `alter database "${name}" connection limit 0`)
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and usename = 'sidegate_hub'`
  await run(database.owner, cut)
  await reader.reached(1)
  t.match(reader.events[0], { event: 'database', data: { available: false, since: String } })
  await run(database.owner, `alter database "${name}" connection limit -1`)
  const call = await eventually(
    'a hub stores again',
    () => ship(1).catch(() => ''),
    (shippedId) => shippedId !== '',
  )
  await until('the call arrives', () => callsOf(reader).includes(call))
  t.match(reader.events[1], { event: 'database', data: { available: true } })
})

t.test('a reader that resumes at the other hub gets what it missed', async (t) => {
  const reader = await open(t, hubs[0])
  await ship(1)
  await reader.reached(1)
  reader.close()
  const missed = [await ship(0), await ship(1)]
  const resumed = await open(t, hubs[1], { 'last-event-id': reader.events[0]!.id })
  await until('it has both', () => missed.every((call) => callsOf(resumed).includes(call)))
  t.equal(new Set(callsOf(resumed)).size, callsOf(resumed).length, 'each once')
})

t.test('a stream ends with the stop of its hub', async (t) => {
  const reader = await open(t, hubs[1])
  const [stopped] = await Promise.all([hubs[1].stop(), reader.ended()])
  t.equal(stopped, undefined)
  t.ok(reader.isComplete(), 'as an answer ends')
})
