// Verifies the log of the hubs in their database, whole and after tampering by its owner.

import t from 'tap'
import { originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { readSigner } from '../../src/audit/note.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { LedgerCheckpoints } from '../../src/ledger/ledger-checkpoints.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { openDatabase, partsOn } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { statementsOfGuide } from './guide.ts'
import { tamperingWith } from './tampering.ts'

t.setTimeout(120_000)

/** A database with a log of six entries, as its owner reads it. */
const { owner, hub } = await fleetDatabase()
const { log, keys } = partsOn(openDatabase(t, hub))
await log.open()
for (const name of ['one', 'two', 'three', 'four', 'five']) await keys.create(name, 'vera', {})
const database = openDatabase(t, owner)

const tampered = tamperingWith(database)

async function verdictOn(queries: Queries) {
  const [only, ...others] = await verifyLogs(new StoredLogs(queries), NO_EVIDENCE, () => {})
  if (only === undefined || others.length > 0 || only.sidecar !== null) throw new Error('not one log of hubs')
  return only.verdict
}

const [SETTING, QUERY] = statementsOfGuide()

t.test('an untouched log passes, and psql finds nothing', async (t) => {
  t.match(await verdictOn(database), {
    ...{ ok: true, entries: 6, firstSeq: 0, beginning: 'genesis' },
    head: { seq: 5 },
  })
  await database.transaction(async (queries) => {
    await queries.rows(SETTING.replace('set ', 'set local '))
    t.same(await queries.rows(QUERY), [])
    const plan = JSON.stringify(await queries.rows(`explain ${QUERY}`))
    const parts = await queries.rows<{ part: string }>(
      "select inhrelid::regclass::text as part from pg_inherits where inhparent = 'entry'::regclass",
    )
    t.equal(parts.length, 3)
    for (const { part } of parts) t.match(plan, part, 'the plan reads each partition')
  })
})

const BODY = `convert_to(replace(convert_from(body, 'UTF8'), '"three"', '"other"'), 'UTF8')`
const HASH = `sha256(convert_to(E'sidegate-audit/v1/entry\\n', 'UTF8') || ${BODY})`

/** What is changed, how, what the verification finds first, and what psql finds. */
const CASES: readonly [what: string, statement: string, finding: RegExp, seen: object[]][] = [
  [
    'a column that analysts read',
    "update entry set key_id = 'x' where seq = 2",
    /^2: the column key_id differs/,
    [],
  ],
  ['a body', `update entry set body = ${BODY} where seq = 3`, /^3: /, [{ seq: 3, wrong_hash: true }]],
  [
    'a body and its hash',
    `update entry set body = ${BODY}, hash = ${HASH} where seq = 3`,
    /^4: /,
    [{ seq: 4, broken_chain: true }],
  ],
  [
    'an entry that is gone',
    'delete from entry where seq = 2',
    /^2: /,
    [{ seq: 3, gap: true, broken_chain: true }],
  ],
  [
    'an end that is gone',
    'delete from entry where seq = 5',
    /^null: the entries end at 4, and log_head knows entry 5/,
    [],
  ],
  [
    'a beginning that is gone',
    'delete from entry where seq = 0',
    /^null: the log begins at 1/,
    [{ seq: 1, gap: true }],
  ],
  [
    'the tree in the table of logs',
    "update log_head set frontier[1] = sha256('x')",
    /^null: the tree in log_head is not that of the entries/,
    [],
  ],
]
for (const [what, statement, finding, seen] of CASES)
  t.test(`tampering is found: ${what}`, (t) =>
    tampered(statement, async (queries) => {
      const { ok, findings } = await verdictOn(queries)
      t.equal(ok, false)
      t.match(`${findings[0]?.seq}: ${findings[0]?.reason}`, finding)
      const rows = await queries.rows(QUERY)
      t.equal(rows.length, seen.length, JSON.stringify(rows))
      t.match(rows, seen)
    }),
  )

t.test('a checkpoint kept elsewhere convicts a log whose end was cut off with its trace', async (t) => {
  const checkpoint = await new LedgerCheckpoints(database).describe(Date.now())
  const note = signCheckpoint(checkpoint, readSigner(originOf(checkpoint.log), newSigningKey()))
  const evidence = { keys: [], checkpoints: [{ note, source: 'notes.txt' }] }
  const verify = async (queries: Queries) =>
    (await verifyLogs(new StoredLogs(queries), evidence, () => {}))[0]
  t.match(await verify(database), { verdict: { ok: true, agreeing: { elsewhere: 1 }, coveredSeq: 5 } })
  await tampered(
    'update log_head set seq = 4, size = 5; delete from entry where seq = 5',
    async (queries) => {
      t.match(await verify(queries), { verdict: { ok: false, findings: [{ reason: /notes\.txt/ }] } })
    },
  )
})
