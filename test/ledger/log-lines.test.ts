// The export of one log, as it is read in pages while entries are removed.

import t from 'tap'
import type { Queries } from '../../src/ledger/database.ts'
import { LogLines } from '../../src/ledger/log-lines.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'
import { registerSidecar, StoredTestLog } from './stored-log.ts'

t.setTimeout(60_000)

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 2, 10)
const { hub } = await fleetDatabase()
const database = openDatabase(t, hub)
await registerSidecar(database, 'id', 'shop/web')
const log = await StoredTestLog.begin(database, 'id', NOW_MS - 4 * DAY_MS)
for (const day of [3, 2, 1]) {
  const drafts = Array.from({ length: 150 }, () => ({ draft: requestDraft() }))
  await log.append(drafts, NOW_MS - day * DAY_MS)
}

const all = { sinceMs: null, untilMs: null, sidecar: 'shop/web' }

async function seqsOf(lines: AsyncIterable<string>): Promise<number[]> {
  let text = ''
  for await (const chunk of lines) text += chunk
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).seq as number]))
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)

t.test('the lines are the entries in order, or those sealed within a time', async (t) => {
  const lines = new LogLines(database)
  t.strictSame(await seqsOf(await lines.lines(all)), range(0, 451))
  const part = { ...all, sinceMs: NOW_MS - 2 * DAY_MS, untilMs: NOW_MS - 2 * DAY_MS }
  t.strictSame(await seqsOf(await lines.lines(part)), range(151, 301))
  t.strictSame(await seqsOf(await lines.lines({ ...all, sinceMs: NOW_MS })), [])
})

t.test('entries that arrive during an export are left to the next one', async (t) => {
  const lines = await new LogLines(database).lines(all)
  await log.append([{ draft: requestDraft() }], NOW_MS)
  t.equal((await seqsOf(lines)).at(-1), 450)
})

t.test('an export breaks off when entries are removed before it has them', async (t) => {
  const queries: Queries = {
    rows: async (statement, values) =>
      (await database.rows<any>(statement, values)).filter(
        ({ seq, body }) => !(body && seq >= 200 && seq < 220),
      ),
  }
  const lines = await new LogLines(queries).lines(all)
  await t.rejects(seqsOf(lines), { message: 'entry 200 was removed before it was exported' })
})
