// Changes of all logs, found by what they say.

import t from 'tap'
import { ChangeReading } from '../../src/ledger/change-reading.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'
import { StoredTestLog } from './stored-log.ts'

t.setTimeout(120_000)

t.test('changes are found by their actor, also beside entries with an escaped NUL', async (t) => {
  const { hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  await partsOn(database).log.open()
  const log = await StoredTestLog.begin(database, 'one')
  const rule = { type: 'rule_created', rule_id: 'r', enabled: true } as const
  await log.append([
    { draft: { ...rule, rule_name: 'a\0b \\u0000', actor: 'vera' } },
    { draft: { ...rule, rule_name: 'c', actor: 'v\0' } },
  ])
  const namesBy = async (actor: string | null, about: string | null = null) => {
    const query = { limit: 10, log: log.id, beforeSeq: null, actor, type: null, about }
    const { changes } = await new ChangeReading(database).listChanges(query)
    return changes.map(({ rule_name: name }) => name)
  }
  t.same(await namesBy('vera'), ['a\0b \\u0000'])
  t.same(await namesBy('v\0'), ['c'])
  t.same(await namesBy('nobody'), [])
  t.same(await namesBy(null, 'c'), ['c'], 'and by the rule that they name')
  t.same(await namesBy(null, 'r'), ['c', 'a\0b \\u0000'])
  t.same(await namesBy(null, 'vera'), [])
})
