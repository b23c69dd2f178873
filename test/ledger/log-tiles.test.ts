// Tiles of logs in a database, against the frontier.

import { createHash } from 'node:crypto'
import t from 'tap'
import { Frontier, leafOf } from '../../src/audit/merkle.ts'
import { inclusionProof, treeRoot, verifyInclusion } from '../../src/audit/proof.ts'
import { TileCollector } from '../../src/audit/tiles.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { inStoredTree, storeTiles } from '../../src/ledger/log-tiles.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(120_000)

const { hub } = await fleetDatabase()
const database = openDatabase(t, hub)
const DOMAIN = Buffer.from('sidegate-audit/v1/entry\n')
const bodyOf = (seq: number) => Buffer.from(`entry ${seq}`)
const digestOf = (seq: number) => createHash('sha256').update(DOMAIN).update(bodyOf(seq)).digest()

/** A log whose entries say nothing but their number. */
class PlainLog {
  readonly id: string
  readonly first: number
  readonly frontier: Frontier

  constructor(id: string, frontier: Frontier) {
    this.id = id
    this.first = frontier.size
    this.frontier = frontier.copy()
  }

  async begin(queries: Queries): Promise<void> {
    await queries.rows(
      `insert into log_head (log_id, sidecar, seq, hash, size, frontier, state, first_seq, first_frontier, last_at)
       values ($1, 'one', $2, $3, $4, $5, 'open', $6, $5, now())`,
      [this.id, this.first - 1, digestOf(0), this.first, this.frontier.nodes(), this.first],
    )
  }

  async append(queries: Queries, count: number): Promise<void> {
    const tiles = new TileCollector(this.id, this.first)
    const seqs = Array.from({ length: count }, (_, more) => this.frontier.size + more)
    for (const seq of seqs) this.frontier.push(leafOf(digestOf(seq)), tiles.add)
    await queries.rows(
      `insert into entry (received_at, log_id, seq, hash, created_at, type, body)
       select now(), $1, seq, hash, now(), 'stop', body
       from unnest($2::bigint[], $3::bytea[], $4::bytea[]) as rows (seq, hash, body)`,
      [this.id, seqs, seqs.map(digestOf), seqs.map(bodyOf)],
    )
    await storeTiles(queries, tiles.appends())
  }
}

const idOf = (number: number) => `01980000-0000-7000-8000-${String(number).padStart(12, '0')}`
const edgeAt = (size: number) => {
  const frontier = Frontier.empty()
  for (let seq = 0; seq < size; seq++) frontier.push(leafOf(digestOf(seq)))
  return frontier
}
const rootIn = (queries: Queries, { id }: PlainLog, size: number) =>
  inStoredTree(queries, id, (subtree) => treeRoot(size, subtree))

t.test('logs keep the roots of all their sizes, also those that begin later', async (t) => {
  for (const [number, first] of [0, 300, 512].entries()) {
    const log = new PlainLog(idOf(number), edgeAt(first))
    await database.transaction(async (queries) => {
      await log.begin(queries)
      for (const count of [1, 254, 1, 1, 600, 0, 255, 1]) {
        await log.append(queries, count)
        const size = log.frontier.size
        t.same(await rootIn(queries, log, size), edgeAt(size).root(), `${first} to ${size}`)
      }
    })
    for (const size of [first + 1, first + 200, first + 700])
      t.same(await rootIn(database, log, size), edgeAt(size).root(), `${first} to ${size} later`)
    t.equal(await rootIn(database, log, log.frontier.size + 1), null)
    const seq = first + 600
    const proof = await inStoredTree(database, log.id, (subtree) =>
      inclusionProof(seq, log.frontier.size, subtree),
    )
    t.ok(verifyInclusion(seq, log.frontier.size, leafOf(digestOf(seq)), log.frontier.root(), proof!))
  }
})

t.test('nodes are appended to a tile once, by one of two writers', async (t) => {
  const log = new PlainLog(idOf(9), edgeAt(0))
  await database.transaction(async (queries) => {
    await log.begin(queries)
    await log.append(queries, 300)
  })
  const node = Buffer.alloc(32, 1)
  const append = { log: log.id, level: 1, index: 0, position: 1, isFirst: false, hashes: node }
  const write = (more: object) =>
    database.transaction((queries) => storeTiles(queries, [{ ...append, ...more }]))
  await write({})
  await t.rejects(write({}), /tile 1\/0 of log .* does not have 1 hashes/)
  await t.rejects(write({ position: 3 }), /does not have 3 hashes/)
  await t.rejects(write({ position: 0, isFirst: true }), /duplicate key/)
  await t.rejects(write({ index: 1, position: 7 }), /does not have 7 hashes/)
})
