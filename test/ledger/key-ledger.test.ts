// The keys of a fleet: their changes, the entries that seal them, and the revisions of the feed.

import fc from 'fast-check'
import t from 'tap'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { verifyChain } from '../../src/audit/verify.ts'
import { hashApiKey, parseApiKey } from '../../src/core/apikey.ts'
import type { Database } from '../../src/ledger/database.ts'
import { testClock } from '../store/fixture.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(120_000)

/** A hub's parts on a new database. */
async function open(t: Parameters<typeof openDatabase>[0]) {
  const { hub } = await fleetDatabase()
  const parts = partsOn(openDatabase(t, hub))
  await parts.log.open()
  return { ...parts, hub }
}

/** The entries of the log of the hubs, checked as an auditor does. */
async function entriesOf(database: Database) {
  const rows = await database.rows<{ seq: number; hash: Buffer; body: Buffer }>(
    'select seq, hash, body from entry order by seq',
  )
  const records = rows.map(({ seq, hash, body }) => ({
    seq,
    hash: `sha256:${hash.toString('hex')}`,
    bytes: body,
  }))
  const [head] = await database.rows<{ size: number; frontier: Buffer[] }>(
    'select size, frontier from log_head',
  )
  const frontier = Frontier.empty()
  for (const { hash } of records) frontier.push(leafHash(hash))
  return {
    verdict: verifyChain(records),
    isTree:
      head!.size === records.length && Buffer.concat(head!.frontier).equals(Buffer.concat(frontier.nodes())),
    entries: records.map(({ bytes }) => JSON.parse(bytes.toString())),
  }
}

const changesOf = (database: Database) =>
  database.rows<{ rev: number; kind: string; op: string; id: string; body: any; seq: number }>(
    'select * from change order by rev',
  )

t.test('a key is created, changed, rotated and revoked; each change is sealed and in the feed', async (t) => {
  const { keys, database, clock } = await open(t)
  const fields = { labels: { team: 'web' }, namespaces: ['shop-*'], owner: 'Ann' }
  const created = await keys.create('web', 'vera', fields)
  const { record, key } = created.result
  t.ok(parseApiKey(key))
  t.match(record, { name: 'web', source: 'api', terms: { owner: 'Ann', namespaces: ['shop-*'] } })
  const changed = await keys.change(record.id, { max_parallel: 3 }, 'ed')
  t.match(changed.result.terms, { maxParallel: 3, namespaces: ['shop-*'] })
  t.equal(
    (await keys.change(record.id, { max_parallel: 3 }, 'ed')).rev,
    changed.rev,
    'the same terms are no change',
  )
  clock.advance(1)
  const rotated = await keys.rotate(record.id, 60, 'vera')
  t.match(rotated.result.record, { replaces: record.id, line: record.id, terms: { namespaces: ['shop-*'] } })
  t.match(await keys.workingPredecessors(rotated.result.record.id), [{ id: record.id }])
  const revoked = await keys.revoke(record.id, 'vera')
  t.equal(revoked.result.revokedAtMs, clock.now())
  t.equal((await keys.revoke(record.id, 'vera')).rev, revoked.rev, 'a repeated call changes nothing')
  t.strictSame(await keys.workingPredecessors(rotated.result.record.id), [])
  t.match(await keys.list(), [{ id: record.id, revokedAtMs: clock.now() }, { replaces: record.id }])
  t.match(await changesOf(database), [
    { rev: 1, kind: 'key', op: 'put', seq: 1, body: { sha256: hashApiKey(key), namespaces: ['shop-*'] } },
    { rev: 2, seq: 2, body: { terms: { maxParallel: 3 } } },
    { rev: 3, seq: 3, id: record.id },
    { rev: 4, seq: 3, id: rotated.result.record.id },
    { rev: 5, seq: 4, body: { revoked_at: new Date(clock.now()).toISOString() } },
  ])
  const { verdict, isTree, entries } = await entriesOf(database)
  t.match(verdict, { ok: true, checked: 5 })
  t.ok(isTree)
  t.match(entries, [
    { type: 'genesis', actor: 'gateway' },
    { type: 'key_created', actor: 'vera', terms: { namespaces: ['shop-*'] } },
    { type: 'key_changed', actor: 'ed', terms: { max_parallel: 3 } },
    { type: 'key_rotated', actor: 'vera' },
    { type: 'key_revoked', actor: 'vera' },
  ])
  const stored = JSON.stringify([entries, await changesOf(database), await keys.list()])
  t.notOk(stored.includes(key), 'the key itself is kept nowhere')
  t.notMatch(JSON.stringify(entries), /Ann/)
})

t.test('what cannot be done changes nothing, and says why', async (t) => {
  const { keys, database } = await open(t)
  await t.rejects(keys.create('web', 'vera', { namespaces: ['Not one'] }), {
    code: 'invalid_body',
    param: 'namespaces[0]',
  })
  await t.rejects(keys.create('a@example.com', 'vera', {}), { code: 'invalid_parameter' })
  await t.rejects(keys.change('x', {}, 'vera'), { code: 'not_found' })
  await t.rejects(keys.rotate('x', 1, 'vera'), { code: 'not_found' })
  await t.rejects(keys.revoke('x', 'vera'), { code: 'not_found' })
  const { record } = (await keys.create('web', 'vera', {})).result
  await keys.revoke(record.id, 'vera')
  await t.rejects(keys.change(record.id, {}, 'vera'), { code: 'conflict' })
  await t.rejects(keys.rotate(record.id, 1, 'vera'), { code: 'conflict' })
  t.equal((await changesOf(database)).length, 2)
  t.match(await entriesOf(database), { verdict: { ok: true, checked: 3 }, isTree: true })
})

t.test('two hubs that change keys at once make one chain, and revisions without a gap', async (t) => {
  const { hub, keys, database } = await open(t)
  const other = partsOn(openDatabase(t, hub), testClock()).keys
  const act = fc.constantFrom('create', 'change', 'rotate', 'revoke' as const)
  const acts = fc.array(fc.tuple(act, fc.boolean(), fc.nat(9)), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(acts, async (wanted) => {
      const ids = (await keys.list()).map(({ id }) => id)
      await Promise.allSettled(
        wanted.map(([what, isOther, at]) => {
          const here = isOther ? other : keys
          const id = ids[at % Math.max(1, ids.length)] ?? 'none'
          if (what === 'create') return here.create('k', 'vera', {})
          if (what === 'change') return here.change(id, { max_parallel: at + 1 }, 'vera')
          return what === 'rotate' ? here.rotate(id, at, 'vera') : here.revoke(id, 'vera')
        }),
      )
      const changes = await changesOf(database)
      const { verdict, isTree } = await entriesOf(database)
      const [{ rev } = { rev: -1 }] = await database.rows<{ rev: number }>('select rev from fleet_head')
      return (
        verdict.ok && isTree && changes.every((one, index) => one.rev === index + 1) && rev === changes.length
      )
    }),
    { numRuns: 15 },
  )
})

t.test('a change that cannot be sealed is not made', async (t) => {
  const { keys, database, log } = await open(t)
  await t.rejects(
    log.change(async (queries) => {
      await queries.rows("insert into secret (name, value) values ('x', 'y')")
      return { draft: { type: 'nothing', fraction: 0.5 } as never, feed: [], result: null }
    }),
    TypeError,
  )
  t.strictSame(await database.rows('select * from secret'), [])
  t.match(await keys.create('still', 'vera', {}), { rev: 1 })
})
