// The roots of the logs of sidecars in the log of the hubs.

import t, { type Test } from 'tap'
import { MAXIMUM_WITNESSED_LOGS } from '../../src/audit/change-draft.ts'
import { ChangeReading } from '../../src/ledger/change-reading.ts'
import { FleetWitness } from '../../src/ledger/fleet-witness.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'
import { logId, ShippedLog } from './shipped.ts'

t.setTimeout(120_000)

/** Lists the log of the hubs alone, from its newest entry. */
const ALL = Number.MAX_SAFE_INTEGER

async function fleet(t: Test) {
  const { hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const { log } = partsOn(database)
  await log.open()
  const entries = async () => {
    const rows = await database.rows<{ body: Buffer }>(
      "select body from entry where type = 'fleet_witness' order by seq",
    )
    return rows.map(({ body }) => JSON.parse(body.toString()).logs)
  }
  return { database, entries, witness: () => new FleetWitness(log).seal() }
}

t.test('each log that has grown is witnessed once, by one of several hubs', async (t) => {
  const { database, entries, witness } = await fleet(t)
  t.equal(await witness(), 0)
  t.same(await entries(), [], 'without news nothing is sealed')
  const logs = [1, 2, 3].map((number) => new ShippedLog(logId(number), 'one').addCalls(number))
  for (const one of logs) await database.transaction((queries) => one.ship(queries))
  const counts = await Promise.all([witness(), witness()])
  t.same(counts.toSorted(), [0, 3])
  const rootOf = (one: ShippedLog) => one.checkpoint().split('\n')[2]
  t.same(await entries(), [logs.map((one) => ({ log: one.id, size: one.size, root: rootOf(one) }))])
  logs[1]!.addCalls(2)
  await database.transaction((queries) => logs[1]!.ship(queries))
  t.equal(await witness(), 1)
  t.same((await entries())[1], [{ log: logs[1]!.id, size: 6, root: rootOf(logs[1]!) }])
  t.equal(await witness(), 0)
  const { changes } = await new ChangeReading(database).listChanges({
    limit: 10,
    beforeSeq: ALL,
    actor: null,
    type: null,
  })
  t.same(
    changes.map(({ type }) => type),
    ['genesis'],
    'changes are listed without them',
  )
  const asked = await new ChangeReading(database).listChanges({
    limit: 10,
    beforeSeq: ALL,
    actor: null,
    type: 'fleet_witness',
  })
  t.equal(asked.changes.length, 2)
})

t.test('the logs of a large fleet take several entries', async (t) => {
  const { database, entries, witness } = await fleet(t)
  const count = MAXIMUM_WITNESSED_LOGS + 5
  const ids = Array.from({ length: count }, (_, number) => logId(number))
  await database.rows(
    `insert into log_head (log_id, sidecar, seq, hash, size, frontier, state, first_seq, last_at)
     select log_id, 'one', 0, $2, 1, array[$2::bytea], 'open', 0, now() from unnest($1::uuid[]) as log_id`,
    [ids, Buffer.alloc(32, 1)],
  )
  t.equal(await witness(), count)
  const sealed = await entries()
  t.same(
    sealed.map((logs) => logs.length),
    [MAXIMUM_WITNESSED_LOGS, 5],
  )
  t.same(
    sealed.flat().map(({ log }: { log: string }) => log),
    ids,
  )
  t.equal(await witness(), 0)
})
