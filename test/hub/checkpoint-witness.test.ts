// Checkpoints of sidecars at the hub: cosigned, refused, and kept as evidence.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { hubCosigner, openCheckpoint, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { MAXIMUM_NOTE_BYTES, openNote } from '../../src/audit/note.ts'
import { checkpointPath } from '../../src/fleet/shipping.ts'
import { checkpointHandler } from '../../src/hub/checkpoint-handler.ts'
import { CheckpointWitness } from '../../src/hub/checkpoint-witness.ts'
import { keepConflicts } from '../../src/hub/conflicts.ts'
import { LedgerCheckpoints, MAXIMUM_LOG_CHECKPOINTS } from '../../src/ledger/ledger-checkpoints.ts'
import { LogStates } from '../../src/ledger/log-states.ts'
import type { ManagementParts } from '../../src/server/management.ts'
import { openDatabase } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { logId, newSigner, ShippedLog } from '../ledger/shipped.ts'
import { fetchInTime } from '../process/until.ts'
import { testClock } from '../store/fixture.ts'

t.setTimeout(120_000)

const { hub } = await fleetDatabase()
const database = openDatabase(t, hub)
const signer = newSigner(logId(99))
const cosigner = hubCosigner(signer.verifier)!
const checkpoints = new LedgerCheckpoints(database)
const states = new LogStates(database)
const reported: Record<string, unknown>[] = []
const witness = new CheckpointWitness({
  ...{ checkpoints, signer, clock: testClock() },
  keep: keepConflicts({
    states,
    logger: { error: (fields: object) => reported.push({ ...fields }) },
    metrics: { conflicts: { inc: () => {} } },
  } as never),
})
const answerOf = checkpointHandler({
  ...{ witness, newId: () => 'id' },
  verify: async (authorization) => ({ id: authorization! }),
  ...({ logger: { error: () => {} }, metrics: { refusals: { inc: () => {} } } } as never as ManagementParts),
})
const server = createServer((request, response) => {
  void answerOf(request.method!, request.url!)!(request, response)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo

async function post(log: string, body: string, authorization = 'one') {
  const response = await fetchInTime(`http://127.0.0.1:${port}${checkpointPath(log)}`, {
    ...{ method: 'POST', body, headers: { authorization } },
  })
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, retryAfter, text: await response.text() }
}

/** Returns the conflicts of a log, oldest first. */
const conflictsOf = (log: string) =>
  database.rows('select kind, sidecar, seq, stored, sent, body from conflict where log_id = $1 order by at', [
    log,
  ])

const newest = async (number: number, calls: number): Promise<ShippedLog> => {
  const log = new ShippedLog(logId(number), 'one').addCalls(calls)
  await database.transaction((queries) => log.ship(queries))
  return log
}
const codeOf = (text: string): unknown => JSON.parse(text).error?.code ?? JSON.parse(text).code

t.test(
  'a checkpoint of any size that the log has had comes back with the signature of the hubs',
  async (t) => {
    const log = await newest(1, 300)
    for (const size of [2, 256, 300, 302]) {
      const note = log.checkpoint(size)
      const { status, text } = await post(log.id, note)
      t.equal(status, 200, text)
      t.ok(text.startsWith(note))
      t.match(openNote(text, [log.signer.verifier, cosigner]), {
        verified: [log.signer.verifier.text, cosigner.text],
      })
      t.equal((await post(log.id, note)).status, 200, 'again')
    }
    const rows = await database.rows<{ size: number; note: string }>(
      'select size, note from checkpoint where log_id = $1 order by size',
      [log.id],
    )
    t.same(
      rows.map(({ size }) => size),
      [2, 256, 300, 302],
    )
    t.match(
      openCheckpoint(rows[0]!.note, () => [cosigner]),
      { size: 2, verified: [cosigner.text] },
    )
  },
)

t.test('a log that begins after 0 has its checkpoints cosigned', async (t) => {
  const log = new ShippedLog(logId(2), 'one').addCalls(400).prune(300).addCalls(10)
  await database.transaction((queries) => log.ship(queries))
  t.equal((await post(log.id, log.checkpoint())).status, 200)
  t.equal((await post(log.id, log.checkpoint(301))).status, 200)
  const before = await post(log.id, log.checkpoint(299))
  t.equal(before.status, 404, before.text)
})

t.test('a checkpoint over entries that have not arrived is to be sent again', async (t) => {
  const log = await newest(3, 3)
  const note = log.addCalls(1).checkpoint()
  t.match(await post(log.id, note), { status: 503, retryAfter: '1', text: /have not arrived/ })
  t.match(await post(logId(77), log.checkpoint().replaceAll(log.id, logId(77))), { status: 503 })
  await database.transaction((queries) => log.ship(queries))
  t.equal((await post(log.id, note)).status, 200)
})

t.test('what is no checkpoint of the log is refused', async (t) => {
  const log = await newest(4, 3)
  const other = new ShippedLog(logId(5), 'one')
  const empty = signCheckpoint(
    { log: log.id, size: 0, root: Buffer.alloc(32), head: null, time: null },
    log.signer,
  )
  for (const [note, status, reason] of [
    ['', 400, /cannot be read/],
    [other.checkpoint(), 400, /of another log/],
    [empty, 400, /covers no entry/],
    ['x'.repeat(MAXIMUM_NOTE_BYTES + 1), 413, /larger than/],
  ] as const)
    t.match(await post(log.id, note), { status, text: reason })
  t.same(await conflictsOf(log.id), [])
  for (const path of ['/fleet/v1/logs/x/checkpoint', `${checkpointPath(log.id)}/`, '/'])
    t.equal(answerOf('POST', path), null)
  t.equal(answerOf('GET', checkpointPath(log.id)), null)
})

t.test('a checkpoint by another signer or another sidecar is kept as evidence', async (t) => {
  const log = await newest(6, 3)
  const forged = await post(log.id, log.checkpoint(5, newSigner(log.id)))
  t.match(forged, { status: 400, text: /not signed by the signer/ })
  const foreign = await post(log.id, log.checkpoint(), 'two')
  t.equal(foreign.status, 403)
  t.equal(codeOf(foreign.text), 'forbidden')
  t.match(await conflictsOf(log.id), [
    { kind: 'checkpoint', sidecar: 'one', seq: 4 },
    { kind: 'foreign', sidecar: 'two', seq: 4 },
  ])
  t.match(reported.splice(0), [{ kind: 'checkpoint' }, { kind: 'foreign' }])
  t.equal((await post(log.id, log.checkpoint())).status, 200)
})

t.test('the signer is the one of the newest boot entry below the size', async (t) => {
  const log = await newest(7, 3)
  const next = newSigner(log.id)
  log.add({
    type: 'boot',
    // PostgreSQL reads no JSON with an escaped NUL.
    version: '1\0',
    clean: true,
    instance: null,
    signer: next.verifier.text,
    key_source: 'configured',
    actor: 'gateway',
  })
  await database.transaction((queries) => log.ship(queries))
  t.equal((await post(log.id, log.checkpoint(6))).status, 400)
  t.equal((await post(log.id, log.checkpoint(5))).status, 200)
  t.equal((await post(log.id, log.checkpoint(6, next))).status, 200)
})

t.test('a checkpoint over another tree convicts its sidecar, whose log takes no more', async (t) => {
  const log = await newest(8, 300)
  const rewritten = new ShippedLog(log.id, 'one').addCalls(300)
  const note = signCheckpoint(
    { log: log.id, size: 302, root: Buffer.alloc(32, 1), head: null, time: null },
    log.signer,
  )
  t.not(rewritten.checkpoint(), log.checkpoint())
  const forked = await post(log.id, note)
  t.equal(forked.status, 409)
  t.same(JSON.parse(forked.text), { code: 'fork', seq: 301 })
  t.match(await conflictsOf(log.id), [
    { kind: 'fork', seq: 301, sent: Buffer.alloc(32, 1), body: Buffer.from(note) },
  ])
  t.match(await checkpoints.log(log.id), { state: 'forked' })
  t.equal((await post(log.id, log.checkpoint())).status, 409, 'also one that fits')
  t.same(await database.rows('select size from checkpoint where log_id = $1', [log.id]), [])
})

t.test('the checkpoints of a log are thinned, and the newest stays', async (t) => {
  const log = logId(9)
  const rows = MAXIMUM_LOG_CHECKPOINTS
  await database.rows(
    `insert into checkpoint (log_id, size, root, note) select $1, n, $2, 'note' from generate_series(1, $3::integer) as n`,
    [log, Buffer.alloc(32), rows],
  )
  await checkpoints.save({ log, size: rows + 1, root: Buffer.alloc(32), head: null, time: null }, 'newest')
  const sizes = await database.rows<{ size: number }>(
    'select size from checkpoint where log_id = $1 order by size',
    [log],
  )
  t.equal(sizes.length, rows + 1 - rows / 4)
  t.same([sizes[0], sizes[1], sizes.at(-1)], [{ size: 1 }, { size: 3 }, { size: rows + 1 }])
})
