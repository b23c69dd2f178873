// The tables of a fleet: created and upgraded by their owner, and what the role of hubs may do.

import t from 'tap'
import { Database } from '../../src/ledger/database.ts'
import { HubLog } from '../../src/ledger/hub-log.ts'
import { assertMigrated, beginEpoch, migrate } from '../../src/ledger/migrate.ts'
import { VERSIONS } from '../../src/ledger/schema.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { emptyDatabase, fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

t.test('a migration makes every table once, also when two run at a time', async (t) => {
  const { owner, hub } = await emptyDatabase()
  const both = await Promise.all([migrate(owner), migrate(owner)])
  t.same(both.map(({ from }) => from).sort(), [0, VERSIONS.length])
  t.strictSame(await migrate(owner), { from: VERSIONS.length, to: VERSIONS.length })
  t.strictSame(await run(hub, 'select rev from fleet_head'), [{ rev: '0' }])
  await assertMigrated(openDatabase(t, hub))
  // As the first version left them.
  await run(owner, 'drop table sidegate.stored_answer, sidegate.log_check')
  await run(owner, 'delete from sidegate.schema_version where version > 1')
  t.strictSame(await migrate(owner), { from: 1, to: VERSIONS.length }, 'from an older version too')
  const values = "(sha256('x'), 'k', 'default', null, now())"
  await run(hub, `insert into stored_answer (id_hash, key_line, upstream, body, expires_at) values ${values}`)
  await run(hub, 'update stored_answer set claimed_by = null')
  await run(hub, 'delete from stored_answer')
})

t.test('a hub refuses tables of another version, and says what to do', async (t) => {
  const { owner } = await emptyDatabase()
  const database = openDatabase(t, owner)
  await t.rejects(assertMigrated(database), {
    code: 'fleet_unavailable',
    message: /run `sidegate hub migrate`/,
  })
  await migrate(owner)
  await run(owner, 'insert into sidegate.schema_version values ($1, now())', [VERSIONS.length + 1])
  await t.rejects(assertMigrated(database), { code: 'fleet_unavailable', message: /upgrade the hub/ })
  await t.rejects(migrate(owner), { message: /upgrade the hub/ }, 'nor is it changed')
})

t.test('a migration by a role that owns nothing says whose URL it needs', async (t) => {
  const { hub } = await fleetDatabase()
  const refusal = { message: /may not change the tables \(.+\); give .* the URL of the owner/ }
  await t.rejects(migrate(hub), refusal)
  await t.rejects(beginEpoch(hub), refusal)
})

t.test('entries are only appended, by the hub and by the owner', async (t) => {
  const { owner, hub } = await fleetDatabase()
  await partsOn(openDatabase(t, hub)).log.open()
  const [{ part }] = await run(
    owner,
    "select c.relname as part from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'sidegate.entry'::regclass order by 1",
  )
  for (const statement of [
    "update sidegate.entry set type = 'x'",
    'delete from sidegate.entry',
    'truncate sidegate.entry',
    `update sidegate.${part} set type = 'x'`,
    `delete from sidegate.${part}`,
    `truncate sidegate.${part}`,
  ]) {
    await t.rejects(run(hub, statement), { code: '42501' }, `the hub: ${statement}`)
    await t.rejects(run(owner, statement), { code: '42501' }, `the owner: ${statement}`)
  }
  await t.rejects(
    run(
      hub,
      `insert into entry (received_at, log_id, seq, hash, created_at, type, body)
       values (now(), gen_random_uuid(), 0, sha256('x'), now(), 'x', 'y')`,
    ),
    { code: '23514' },
    'nor with another hash than that of their bytes',
  )
  await t.rejects(run(hub, 'drop table entry'), { code: '42501' })
})

t.test('a new epoch is the word of the owner', async (t) => {
  const { owner, hub } = await fleetDatabase()
  const [{ epoch }] = await run(hub, 'select epoch from fleet_head')
  const begun = await beginEpoch(owner)
  t.not(begun, epoch)
  t.strictSame(await run(hub, 'select epoch from fleet_head'), [{ epoch: begun }])
})

t.test('a database that cannot be reached is an error that says so', async (t) => {
  const database = new Database({ url: 'postgres://x@127.0.0.1:1/x', connections: 1, onError: () => {} })
  t.teardown(() => database.close())
  const refused = { code: 'fleet_unavailable', headers: { 'retry-after': '1' } }
  await t.rejects(database.rows('select 1'), refused)
  await t.rejects(
    database.transaction(async () => {}),
    refused,
  )
})

t.test('the months of entries are made ahead', async (t) => {
  const { hub, owner } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const log = new HubLog({ database, clock: { now: Date.now }, random: (length) => Buffer.alloc(length, 1) })
  await log.open()
  await log.open()
  const months = await run(
    owner,
    "select count(*)::int as count from pg_inherits where inhparent = 'sidegate.entry'::regclass",
  )
  t.strictSame(months, [{ count: 3 }])
})
