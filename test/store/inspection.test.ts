// The inspection of a store before it is opened: each damaged table is found, with the reason.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { signCheckpoint } from '../../src/audit/checkpoint.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { readLogState, writeLogState } from '../../src/store/log/batch.ts'
import { inspectStore } from '../../src/store/opening/inspection.ts'
import { packEntry, packSummary, u64, unpackEntry } from '../../src/store/tables/layout.ts'
import type { StoreTables } from '../../src/store/tables/sub-databases.ts'
import { requestDraft } from '../audit/drafts.ts'
import { newSigner } from '../audit/logs.ts'
import { id, openTestStore, START_MS } from './fixture.ts'

const CALLS = 5
const state = (tables: StoreTables) => readLogState(tables) as NonNullable<ReturnType<typeof readLogState>>

/** Stores a checkpoint over all entries, with some fields replaced. */
function checkpoint(tables: StoreTables, changes: { log?: string; head?: string; root?: Buffer }): void {
  const { log, seq, hash } = state(tables)
  const fields = { log, size: seq + 1, root: Buffer.alloc(32), head: hash, time: null, ...changes }
  tables.checkpoints.put(u64(seq + 1), Buffer.from(signCheckpoint(fields, newSigner(fields.log))))
}

/** Each change to a log of five calls, and the reason that the inspection reports. */
const CHANGES: [string, (tables: StoreTables) => void, RegExp][] = [
  ['the head', ({ meta }) => meta.remove(Buffer.from('log')), /^the head of the log is missing$/],
  [
    'all entries',
    ({ entries }) => {
      for (const key of entries.keys()) entries.remove(key)
    },
    /^the log has no entries$/,
  ],
  ['the first entry', ({ entries }) => entries.remove(u64(0)), /^the log begins at 1, and no prune entry/],
  ['the last entry', ({ entries }) => entries.remove(u64(CALLS)), /which requires 6 entries; there are 5$/],
  [
    'the tree',
    (tables) => writeLogState(tables, { ...state(tables), frontier: [] }),
    /^the tree does not match the number of entries$/,
  ],
  ['an id', ({ ids }) => ids.remove(Buffer.from(id(2))), /^the usage list is incomplete$/],
  ['the target of an id', ({ ids }) => ids.put(Buffer.from(id(2)), u64(1)), /^row 2 of the usage list/],
  [
    'a list row',
    ({ requests }) =>
      requests.put(
        u64(4),
        packSummary({
          seq: 99,
          createdAtMs: START_MS,
          blocked: false,
          piiDetected: false,
          outcome: 'ok',
          keyId: '',
          model: '',
        }),
      ),
    /^row 4 of the usage list does not lead to its call$/,
  ],
  [
    'the bytes of an entry',
    ({ entries }) => {
      const { hash, bytes } = unpackEntry(3, entries.get(u64(3)) as Buffer)
      entries.put(u64(3), packEntry(hash, Buffer.concat([bytes, Buffer.from(' ')])))
    },
    /^3: the hash does not match the entry$/,
  ],
  [
    'the hash in the head',
    (tables) => writeLogState(tables, { ...state(tables), hash: `sha256:${'0'.repeat(64)}` }),
    /^the newest entry is not the head of the log$/,
  ],
  [
    'the log of a checkpoint',
    (tables) => checkpoint(tables, { log: '01980000-0000-7000-8000-0000000000fe' }),
    /is unreadable or belongs to another log$/,
  ],
  [
    'the text of a checkpoint',
    ({ checkpoints }) => checkpoints.put(u64(CALLS + 1), Buffer.from('none')),
    /is unreadable or belongs to another log$/,
  ],
  [
    'the head of a checkpoint',
    (tables) => checkpoint(tables, { head: `sha256:${'0'.repeat(64)}` }),
    /does not cover the stored entries$/,
  ],
  ['the root of a checkpoint', (tables) => checkpoint(tables, {}), /covers another tree$/],
]

t.test('each damaged table is found, with the reason and the newest entry', async (t) => {
  const path = join(t.testdir(), 'store')
  const { store } = openTestStore(t, { path })
  for (let n = 0; n < CALLS; n++) await store.log.append(requestDraft({ id: id(n) }))
  const { log } = store.log.head
  await store.close()
  t.match(await inspectStore(path), { state: 'sound' })
  for (const [index, [name, change, reason]] of CHANGES.entries()) {
    const copy = `${path}-${index}`
    cpSync(path, copy, { recursive: true })
    const environment = openEnvironment(copy)
    environment.initialize(() => change(environment.tables))
    await environment.close()
    const position = name === 'the head' ? { log: null, seq: null } : { log, seq: CALLS }
    t.match(await inspectStore(copy), { state: 'damaged', reason, ...position }, name)
  }
})

t.test('a store without a log is sound', async (t) => {
  const path = t.testdir()
  await openEnvironment(path).close()
  t.match(await inspectStore(path), { state: 'sound' })
})
