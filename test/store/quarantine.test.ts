// A new log in place of a damaged one: an interruption at any point loses neither keys nor the link
// to the old log.

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { inspectStore } from '../../src/store/opening/inspection.ts'
import { finishQuarantine, listQuarantines, quarantineStore } from '../../src/store/opening/quarantine.ts'
import { u64 } from '../../src/store/tables/layout.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openTestStore, START_MS } from './fixture.ts'

/** A log with a missing entry and one key. */
async function damaged(t: Test) {
  const { store, path } = openTestStore(t, { path: t.testdir() })
  const { key } = await store.keys.create('app', 'vera')
  for (const id of ['a', 'b', 'c']) await store.log.append(requestDraft({ id }))
  await store.close()
  const environment = openEnvironment(path)
  environment.initialize(() => environment.tables.entries.remove(u64(2)))
  await environment.close()
  const inspection = await inspectStore(path)
  if (inspection.state !== 'damaged') throw new Error(inspection.state)
  return { path, key, inspection: { ...inspection, actor: 'vera' } }
}

function successor(t: Test, path: string) {
  const { store } = openTestStore(t, { path })
  const [genesis] = store.log.records(0, 1)
  return { store, genesis: JSON.parse(Buffer.from(genesis!.bytes).toString()) }
}

t.test('a new log names the quarantined one and keeps its keys', async (t) => {
  const { path, key, inspection } = await damaged(t)
  t.match(await quarantineStore(path, inspection, START_MS, randomBytes), { carried: true })
  t.equal(listQuarantines(path).length, 1)
  t.notOk(existsSync(join(path, 'next')))
  const { store, genesis } = successor(t, path)
  t.match(genesis, { type: 'genesis', continues: { log: inspection.log, seq: inspection.seq } })
  t.match(store.ring.authenticate(key), { name: 'app' })
})

t.test('an interruption before the new log is complete leaves the old log in place', async (t) => {
  const { path, key, inspection } = await damaged(t)
  const noRandom = () => {
    throw new Error('interrupted')
  }
  await t.rejects(quarantineStore(path, inspection, START_MS, noRandom), /interrupted/)
  t.same(listQuarantines(path), [])
  finishQuarantine(path)
  t.match(await inspectStore(path), { state: 'damaged', log: inspection.log })
  t.match(await quarantineStore(path, inspection, START_MS, randomBytes), { carried: true })
  t.match(successor(t, path).store.ring.authenticate(key), { name: 'app' })
})

t.test('after an interruption between the two moves, the next start installs the new log', async (t) => {
  const { path, key, inspection } = await damaged(t)
  await quarantineStore(path, inspection, START_MS, randomBytes)
  mkdirSync(join(path, 'next'))
  renameSync(join(path, 'data.mdb'), join(path, 'next/data.mdb'))
  finishQuarantine(path)
  t.notOk(existsSync(join(path, 'next')))
  t.match(await inspectStore(path), { state: 'sound' })
  const { store, genesis } = successor(t, path)
  t.match(genesis, { continues: { log: inspection.log } })
  t.match(store.ring.authenticate(key), { name: 'app' })
})
