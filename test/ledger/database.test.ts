// Statements that take too long, and how values are read.

import t from 'tap'
import { Database } from '../../src/ledger/database.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(60_000)

t.test('a statement over its limit ends, says what to do, and leaves the connection usable', async (t) => {
  const { hub } = await fleetDatabase()
  const database = new Database({ url: hub, connections: 1, statementMs: 100, onError: () => {} })
  t.teardown(() => database.close())
  await t.rejects(database.rows('select pg_sleep(20)'), {
    code: 'fleet_unavailable',
    message: /took too long; .*ask for less/,
  })
  t.strictSame(await database.rows('select 1 as one'), [{ one: 1 }])
})

t.test('names with escapes in JSON are read correctly after similar names', async (t) => {
  const { hub } = await fleetDatabase()
  const database = new Database({ url: hub, connections: 1, onError: () => {} })
  t.teardown(() => database.close())
  // After the first text JSON.parse reads the name of the second as that of the first.
  for (const name of ['\\', '"', '\n'])
    t.strictSame(await database.rows('select $1::jsonb as value', [JSON.stringify({ '': [], [name]: 0 })]), [
      { value: { '': [], [name]: 0 } },
    ])
})
