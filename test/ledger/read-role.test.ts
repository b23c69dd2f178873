// The role of analysts: it reads entries, and neither exchanges nor end users, and writes nothing.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requestDraft } from '../audit/drafts.ts'
import { ROOT } from '../process/program.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'
import { registerSidecar, StoredTestLog } from './stored-log.ts'

t.setTimeout(60_000)

const { hub, owner } = await fleetDatabase()
const database = openDatabase(t, hub)
const owned = openDatabase(t, owner)
await registerSidecar(database, 'id', 'shop/web')
const log = await StoredTestLog.begin(database, 'id')
await log.append([{ draft: requestDraft({ labels: { team: 'web' }, cost: 2_000_000_000 }), content: '{}' }])

/** Runs statements as an analyst, and undoes them. */
const asAnalyst = <Result>(statement: string): Promise<Result[]> =>
  owned.transaction(async (queries) => {
    await queries.rows('set local role sidegate_read')
    return queries.rows(statement) as Promise<Result[]>
  })

/** The statement of the documentation. */
const [, DOCUMENTED = ''] =
  /^```sql\n(select .*?)^```$/ms.exec(readFileSync(join(ROOT, 'config/fleet.md'), 'utf8')) ?? []

t.test('an analyst reads entries by the documented statement', async (t) => {
  const [row] = await asAnalyst<any>(DOCUMENTED.replace("interval '7 days'", "interval '100 years'"))
  t.match(row, { sidecar: 'shop/web', team: 'web', calls: 1, usd: '2.00' })
})

t.test('an analyst is refused exchanges, end users, keys and any write', async (t) => {
  const refused = [
    'select from sidegate.exchange',
    'select from sidegate.entry_user',
    'select from sidegate.api_key',
    'select from sidegate.secret',
    'select from sidegate.session',
    'select sent, body from sidegate.conflict',
    'select public_key from sidegate.sidecar',
    'delete from sidegate.entry',
    "update sidegate.entry set model = 'x'",
    'insert into sidegate.log_head select * from sidegate.log_head',
    'truncate sidegate.entry',
    'truncate sidegate.checkpoint',
    'select sidegate.add_months()',
    'create table sidegate.mine ()',
  ]
  const partitions = await database.rows<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'exchange'::regclass",
  )
  for (const statement of [...refused, ...partitions.map(({ name }) => `select from sidegate.${name}`)])
    await t.rejects(asAnalyst(statement), { code: '42501' }, statement)
})
