// What a start makes of the journal that a killed process left: every acknowledged row is there, a
// torn end is cut, and damage is found. A copy of the folder stands for the kill.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { readPosition } from '../../../src/store/environment/apply.ts'
import { openEnvironment } from '../../../src/store/environment/journaled.ts'
import { openLmdb } from '../../../src/store/environment/lmdb.ts'
import { FRAME_HEADER_BYTES } from '../../../src/store/journal/frame.ts'
import { listSegments, readFrames } from '../../../src/store/journal/journal-reader.ts'
import { readHeader } from '../../../src/store/journal/segment-file.ts'
import { inspectLog } from '../../../src/store/opening/inspection.ts'
import { requestDraft } from '../../audit/drafts.ts'
import { applied, id, openTestStore } from '../fixture.ts'

const HOLD = fileURLToPath(new URL('../processes/hold.ts', import.meta.url))
const CALLS = 6

interface Killed {
  readonly path: string
  /** The segment with the frames that the database lacks, and where each of them begins. */
  readonly segment: string
  readonly offsets: readonly number[]
}

/** Returns the folder of a killed process; its database lacks the last calls. */
async function killed(t: Test): Promise<Killed> {
  const { store, path } = openTestStore(t)
  await store.log.append(requestDraft({ id: id(0) }))
  await applied(store)
  const holder = spawn(process.execPath, [HOLD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  for (let n = 1; n <= CALLS; n++) await store.log.append(requestDraft({ id: id(n) }))
  const copy = newFolder(t)
  cpSync(path, copy, { recursive: true, filter: (file) => !statSync(file).isSocket() })
  const freed = once(holder, 'exit')
  holder.kill('SIGKILL')
  await freed
  const [name = ''] = listSegments(copy).filter((one) => readHeader(join(copy, one)) !== null)
  const lmdb = openLmdb(copy)
  const offsets: number[] = []
  readFrames(copy, readPosition(lmdb.tables), (frame, { offset }) => offsets.push(offset - frame.bytes))
  await lmdb.close()
  t.equal(offsets.length, CALLS)
  return { path: copy, segment: join(copy, name), offsets }
}

function newFolder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'sidegate-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  return path
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(file, bytes)
}

const sealed = (path: string, t: Test): number[] => {
  const { store } = openTestStore(t, { path })
  return Array.from({ length: CALLS + 1 }, (_, n) => n).filter((n) => store.log.has(id(n)))
}

t.test(
  'every acknowledged entry is there after a kill, also for readers and after a second one',
  async (t) => {
    const { path } = await killed(t)
    const reader = openEnvironment(path)
    t.equal(reader.tables.entries.size, CALLS + 2, 'a reader sees them in the journal')
    await reader.close()
    const again = newFolder(t)
    cpSync(path, again, { recursive: true })
    t.same(sealed(path, t), [0, 1, 2, 3, 4, 5, 6])
    // The database of the first start with the journal before it: nothing is applied twice.
    cpSync(join(path, 'data.mdb'), join(again, 'data.mdb'))
    t.same(sealed(again, t), [0, 1, 2, 3, 4, 5, 6])
  },
)

t.test('a torn last frame is cut, and the entries before it stay', async (t) => {
  const { path, segment, offsets } = await killed(t)
  const bytes = readFileSync(segment)
  bytes.fill(0, (offsets.at(-1) as number) + FRAME_HEADER_BYTES + 3)
  writeFileSync(segment, bytes)
  t.match((await inspectLog(path)).inspection, { state: 'copied' })
  t.same(sealed(path, t), [0, 1, 2, 3, 4, 5])
})

t.test('a frame that cannot be read before others is damage, and so is a lost header', async (t) => {
  const { path, segment, offsets } = await killed(t)
  const whole = readFileSync(segment)
  for (const at of [offsets[0], offsets[2], (offsets[4] as number) + FRAME_HEADER_BYTES + 1]) {
    flip(segment, at as number)
    t.match((await inspectLog(path)).inspection, { state: 'damaged', reason: /cannot be read, and frame/ })
    t.throws(() => openTestStore(t, { path, retention: { retainMs: 1e12 } }), { name: 'StoreOpenError' })
    writeFileSync(segment, whole)
  }
  t.match((await inspectLog(path)).inspection, { state: 'copied' }, 'nothing was changed')
})
