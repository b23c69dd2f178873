// Storing the logs of sidecars in PostgreSQL: once, also when several hubs write them, and durably.

import t from 'tap'
import { type ConflictKind, checkArrival } from '../../src/audit/arrival.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { treeRoot } from '../../src/audit/proof.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { ShippedEntry } from '../../src/fleet/shipping.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import { LedgerCheckpoints } from '../../src/ledger/ledger-checkpoints.ts'
import { LogStates } from '../../src/ledger/log-states.ts'
import { inStoredTree } from '../../src/ledger/log-tiles.ts'
import { type Shipment, ShippedLogs } from '../../src/ledger/shipped-logs.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { id } from '../store/fixture.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const { owner, hub } = await fleetDatabase()
const database = openDatabase(t, hub)
const asOwner = openDatabase(t, owner)
const logs = new ShippedLogs(database, 'clear')
const elsewhere = new ShippedLogs(openDatabase(t, hub), 'clear')
const states = new LogStates(database)

let logsMade = 0
const newLog = () => new SidecarLog(id(++logsMade))

function shipment(log: string, entries: readonly ShippedEntry[], sidecar = 'one'): Shipment {
  const checked = atOnce(checkArrival(log, entries, COLUMN_READER))
  if ('reason' in checked) throw new Error(checked.reason)
  return { log, name: `shop/${sidecar}`, sidecar, entries: checked, beginning: entries[0]!.before }
}
const ship = async (log: string, entries: readonly ShippedEntry[], sidecar?: string) =>
  (await logs.store([shipment(log, entries, sidecar)]))[0]!

const headOf = async (log: string) =>
  (
    await database.rows<{ seq: number; state: string; frontier: Buffer[]; size: number; first_seq: number }>(
      'select seq, state, frontier, size, first_seq from log_head where log_id = $1',
      [log],
    )
  )[0]!

t.test('entries, exchanges and end users of many logs are stored at once', async (t) => {
  const one = newLog().addMany(300)
  const labels = { team: 'legal' }
  const other = newLog().add(requestDraft({ labels }), '{"request":1}', 'a\0na')
  const results = await logs.store([
    shipment(one.log, one.entries),
    shipment(other.log, other.entries, 'two'),
  ])
  t.strictSame(results, [
    { head: { seq: 300, hash: one.head.hash }, added: 301 },
    { head: { seq: 1, hash: other.head.hash }, added: 2 },
  ])
  t.match(await database.rows('select * from exchange where log_id = $1', [other.log]), [
    { seq: 1, labels, bytes: other.entries[1]!.content },
  ])
  t.match(await database.rows('select * from entry_user where log_id = $1', [other.log]), [
    { seq: 1, clear: 'a\ufffdna' },
  ])
  const [times] = await database.rows<{ times: number }>(
    'select count(distinct e.received_at) as times from entry e join exchange x using (log_id, seq, received_at)',
  )
  t.equal(times?.times, 1, 'an exchange is found in the month of its entry')
  const frontier = Frontier.empty()
  for (const { hash } of one.entries) frontier.push(leafHash(hash))
  const { frontier: nodes, ...head } = await headOf(one.log)
  t.strictSame(head, { seq: 300, state: 'open', size: 301, first_seq: 0 })
  t.strictSame(Frontier.read(head.size, nodes).root(), frontier.root())
  t.match(await database.rows('select level, index from tile where log_id = $1', [one.log]), [
    { level: 1, index: 0 },
  ])
})

t.test('what is sent again is compared, and only what is new is stored', async (t) => {
  const log = newLog().addMany(4)
  const { head } = log
  await ship(log.log, log.entries.slice(0, 3))
  t.match(await ship(log.log, log.entries), { head: { seq: 4, hash: head.hash }, added: 2 })
  t.match(await ship(log.log, log.entries.slice(0, 2)), { head: { seq: 4 }, added: 0 })
  t.match(await ship(log.log, log.entries.slice(4)), { head: { seq: 4 }, added: 0 })
  t.strictSame(await ship(log.log, [log.fork().add().add().entries[6]!]), { want: 5 })
  t.strictSame(await ship(id(99), [new SidecarLog(id(99)).add().entries[1]!]), { want: 0 })
  const rewritten = log
    .fork(2)
    .add(requestDraft({ model: 'x' }))
    .add()
    .add()
    .add()
  t.match(await ship(log.log, rewritten.entries.slice(1)), {
    isFork: true,
    fault: { kind: 'fork', seq: 2, stored: log.entries[2]!.hash },
  })
  t.match(await ship(log.log, rewritten.entries.slice(5)), { isFork: true, fault: { kind: 'chain', seq: 5 } })
  t.match(await ship(log.log, log.fork().add().entries, 'two'), { isForeign: true })
  t.match(await headOf(log.log), { seq: 4 })
})

t.test('a log ends with its stop entry, and continues with the next boot', async (t) => {
  const log = newLog()
  await ship(log.log, log.add({ type: 'stop', version: '0.1.0', actor: 'gateway' }).entries)
  t.match(await headOf(log.log), { state: 'closed' })
  await ship(log.log, log.add().entries.slice(-1))
  t.match(await headOf(log.log), { state: 'open' })
})

t.test('a log whose beginning was pruned begins with the edge of its tree', async (t) => {
  const log = newLog().addMany(600)
  t.match(await ship(log.log, log.from(400)), { head: { seq: 600 }, added: 201 })
  const frontier = Frontier.empty()
  for (const { hash } of log.entries) frontier.push(leafHash(hash))
  const { frontier: nodes, first_seq } = await headOf(log.log)
  t.equal(first_seq, 400)
  t.strictSame(Frontier.read(601, nodes).root(), frontier.root())
  await ship(log.log, log.addMany(300).entries.slice(601))
})

t.test('two hubs that store one log at a time store each entry once', async (t) => {
  const log = newLog()
  for (let round = 0; round < 4; round++) {
    const from = round === 0 ? 0 : log.entries.length
    log.addMany(50)
    const sent = () => shipment(log.log, log.entries.slice(from))
    const results = await Promise.all([logs.store([sent()]), elsewhere.store([sent()]), logs.store([sent()])])
    const { head } = log
    const added = results.map(([result]) => {
      t.match(result, { head: { seq: head.seq, hash: head.hash } })
      return 'added' in result! ? result.added : 0
    })
    t.equal(Math.max(...added), log.entries.length - from)
    t.equal(
      added.reduce((sum, one) => sum + one, 0),
      log.entries.length - from,
      'one of them stored them',
    )
  }
})

t.test('two hubs that store many logs in another order do not stop each other', async (t) => {
  const many = Array.from({ length: 20 }, newLog)
  for (let round = 0; round < 3; round++) {
    const sent = () =>
      many.map((log) => shipment(log.log, log.entries.slice(round === 0 ? 0 : log.entries.length - 1)))
    await Promise.all([logs.store(sent()), elsewhere.store(sent().reverse())])
    for (const log of many) t.match(await headOf(log.log), { seq: log.head.seq })
    for (const log of many) log.add()
  }
})

t.test('entries that were pruned before they were sent are a gap that the log accounts for', async (t) => {
  const log = newLog().addMany(300)
  await ship(log.log, log.entries)
  const missing = [...log.entries].length
  log.addMany(700)
  const [first] = log.from(900) as [ShippedEntry]
  t.strictSame(await ship(log.log, log.entries.slice(900)), { want: missing }, 'without the log before')
  const foreign = { ...first, before: { ...first.before!, hash: log.entries[0]!.hash } }
  t.match(await ship(log.log, [foreign]), { fault: { kind: 'chain' } })
  const noGap = database.rows("select note_gap($1, 300, sha256('x'), '{}')", [log.log])
  await t.rejects(noGap, { code: '22023' }, 'a hub cannot cut what is stored')
  const pruned = { type: 'prune', first_seq: 900, reason: 'size', actor: 'gateway' } as const
  const { hash: head, frontier } = first.before!
  log.add({ ...pruned, head, frontier: [...frontier], unshipped: 900 - missing })
  log.addMany(1200)
  t.match(await ship(log.log, log.from(900).slice(0, 200)), { head: { seq: 1099 }, added: 200 })
  for (let from = 1100; from < log.entries.length; from += 200)
    await ship(log.log, log.entries.slice(from, from + 200))
  const whole = Frontier.empty()
  for (const { hash } of log.entries) whole.push(leafHash(hash))
  t.strictSame((await headOf(log.log)).frontier, whole.nodes())
  for (const size of [1000, 1100, 1300, log.entries.length]) {
    const tree = Frontier.empty()
    for (const { hash } of log.entries.slice(0, size)) tree.push(leafHash(hash))
    t.strictSame(await inStoredTree(database, log.log, (subtree) => treeRoot(size, subtree)), tree.root())
  }
  const of = async (queries: Queries) =>
    (await verifyLogs(new StoredLogs(queries), NO_EVIDENCE, () => {})).find(
      ({ verdict }) => verdict.log === log.log,
    )!.verdict
  t.match(await of(database), {
    ok: true,
    entries: log.entries.length - (900 - missing),
    limits: [/^entries 301 to 899 were pruned at the sidecar before a hub had them/],
  })
  const drop = `set session_replication_role = replica; delete from sidegate.entry where log_id = '${log.log}' and seq = 300`
  await run(owner, drop)
  t.match(await of(database), { ok: false, findings: [{ seq: 300, reason: 'record 300 is missing' }] })
  await run(
    owner,
    `set session_replication_role = replica; delete from sidegate.log_head where log_id = '${log.log}'; delete from sidegate.entry where log_id = '${log.log}'`,
  )
})

t.test('everything that was stored verifies', async (t) => {
  const verdicts = await verifyLogs(new StoredLogs(database), NO_EVIDENCE, () => {})
  const wrong = verdicts.filter(({ verdict }) => !verdict.ok)
  t.match(wrong, [{ verdict: { firstSeq: 400, findings: [{ reason: /begins at 400/ }] } }])
  t.equal(wrong.length, 1)
})

t.test('a conflict is kept once, a hundred of a log, and a fork ends the log', async (t) => {
  const log = newLog()
  const [first] = log.entries as [ShippedEntry]
  await ship(log.log, log.entries)
  const conflict = {
    ...{ sidecar: 'one', log: log.log, seq: 0, kind: 'forged' as const, stored: null },
    ...{ sent: first.hash, body: first.bytes, isFork: false },
  }
  t.equal(await states.record(conflict), true)
  t.equal(await states.record(conflict), false)
  for (let seq = 1; seq < 110; seq++) await states.record({ ...conflict, seq })
  const kept = await database.rows('select from conflict where log_id = $1', [log.log])
  t.equal(kept.length, 100)
  t.match(await headOf(log.log), { state: 'open' })
  await states.record({ ...conflict, log: id(98), kind: 'fork', seq: 0, isFork: true })
  const forked = newLog()
  await ship(forked.log, forked.entries)
  await states.record({ ...conflict, log: forked.log, kind: 'fork', seq: 0, isFork: true })
  t.match(await headOf(forked.log), { state: 'forked', seq: 0 })
  t.strictSame(await ship(forked.log, forked.add().entries), { forkedAt: 0 }, 'also what would fit')
})

t.test('evidence of a rewrite is kept after any number of other conflicts', async (t) => {
  const log = newLog()
  const [first] = log.entries as [ShippedEntry]
  await ship(log.log, log.entries, 'flooder')
  const conflict = (kind: ConflictKind, seq: number, inLog = log.log) => ({
    ...{ sidecar: 'flooder', log: inLog, seq, kind, stored: null },
    ...{ sent: first.hash, body: null, isFork: false },
  })
  await database.rows(
    `insert into conflict (at, sidecar, log_id, seq, kind)
     select now(), 'flooder', $1, seq, 'forged' from generate_series(1, 1000) as seq`,
    [log.log],
  )
  t.equal(await states.record(conflict('form', 1)), false)
  t.equal(await states.record(conflict('checkpoint', 1)), true)
  t.equal(await states.record(conflict('chain', 1, id(97))), false, 'a log that is not its own')
  for (let seq = 0; seq < 100; seq++) await states.record(conflict('chain', seq))
  t.equal(await states.record(conflict('chain', 100)), false, 'a hundred of a kind')
  t.equal(await states.record({ ...conflict('chain', 101), isFork: true }), true, 'what forks the log')
  t.match(await headOf(log.log), { state: 'forked' })
  t.equal(await states.record({ ...conflict('chain', 102), isFork: true }), false)
  t.strictSame(await ship(log.log, log.add().entries, 'flooder'), { forkedAt: 0 })
})

t.test('what other sidecars sent does not say where a log forked', async (t) => {
  const log = newLog().addMany(3)
  await ship(log.log, log.entries)
  const common = { log: log.log, kind: 'chain' as const, stored: null, sent: null, body: null }
  await states.record({ ...common, sidecar: 'two', seq: 0, isFork: false })
  await states.record({ ...common, sidecar: 'one', seq: 2, isFork: true })
  t.strictSame(await ship(log.log, log.add().entries), { forkedAt: 2 })
  t.equal(await new LedgerCheckpoints(database).forkOf(log.log), 2)
})

t.test('a log without a stop entry and without contact is cut, until it continues', async (t) => {
  const silent = newLog()
  const heard = newLog()
  const closed = newLog().add({ type: 'stop', version: '0.1.0', actor: 'gateway' })
  const recent = newLog()
  for (const [log, sidecar] of [
    [silent, 'silent'],
    [heard, 'heard'],
    [closed, 'silent'],
    [recent, 'gone'],
  ] as const)
    await ship(log.log, log.entries, sidecar)
  const sidecars = [
    ['silent', 'silent', '6 minutes'],
    ['heard', 'silent', '4 minutes'],
  ]
  for (const [name, state, since] of sidecars)
    await database.rows(
      `insert into sidecar (id, namespace, name, version, features, max_stale_seconds, acked_rev, last_seen_at, state)
       values ($1, 'shop', $1, '0.1.0', '{}', 60, 0, now() - $3::interval, $2)`,
      [name, state, since],
    )
  await database.rows(`update log_head set last_at = now() - interval '10 minutes' where log_id = any($1)`, [
    [silent.log, heard.log, closed.log],
  ])
  const before = await states.countCut()
  t.match(await states.markCut(), [{ log_id: silent.log, sidecar: 'silent', seq: 0, state: 'cut' }])
  t.equal(await states.countCut(), before + 1)
  t.strictSame(await states.markCut(), [])
  t.match(
    (await states.list()).filter(({ sidecar }) => sidecar === 'silent'),
    [
      { log_id: silent.log, state: 'cut' },
      { log_id: closed.log, state: 'closed' },
    ],
  )
  await database.rows(`update sidecar set state = 'left' where id = 'heard'`)
  t.match(await states.markCut(), [{ log_id: heard.log }])
  await ship(silent.log, silent.add().entries.slice(1), 'silent')
  t.match(await headOf(silent.log), { state: 'open' })
})

t.test('neither the hub nor the owner changes or removes an entry, in any partition', async (t) => {
  const parts = await asOwner.rows<{ part: string }>(
    "select inhrelid::regclass::text as part from pg_inherits where inhparent = 'entry'::regclass",
  )
  t.equal(parts.length, 3)
  for (const table of ['entry', ...parts.map(({ part }) => part)]) {
    const statements = [`update ${table} set type = type`, `delete from ${table}`, `truncate ${table}`]
    for (const statement of statements) {
      await t.rejects(database.rows(statement), { code: '42501', message: /permission denied/ }, statement)
      const month = await asOwner.rows(`select from ${table} limit 1`)
      // A row trigger has nothing to refuse in a month without entries.
      if (month.length > 0 || statement.startsWith('truncate'))
        await t.rejects(asOwner.rows(statement), { message: /only appended/ }, statement)
    }
  }
  await t.rejects(database.rows('truncate exchange'), { message: /permission denied/ })
  await t.rejects(
    database.rows(
      `insert into entry (received_at, log_id, seq, hash, created_at, type, body)
       values (now(), $1, 0, sha256('x'), now(), 'stop', 'x')`,
      [id(1)],
    ),
    { message: /check constraint/ },
    'nor does the database take an entry with another hash',
  )
})
