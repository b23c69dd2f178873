// Fills a usage log with many entries without making the calls, to measure what grows with the log.

import { randomBytes } from 'node:crypto'
import { commit, SALT_BYTES } from '../../src/audit/content.ts'
import type { RequestDraft } from '../../src/audit/entry.ts'
import { systemClock } from '../../src/core/clock.ts'
import { uuidv7Source } from '../../src/core/ids.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { Batch } from '../../src/store/log/batch.ts'
import { openStore } from '../../src/store/store.ts'
import { requestDraft } from '../audit/drafts.ts'

const BATCH_ENTRIES = 5000
const DAY_MS = 86_400_000
const SPAN_MS = 100 * DAY_MS
/** One call in so many has an exchange, to keep a log of a million entries small. */
const EXCHANGE_EVERY = 20
const TIB = 1024 ** 4

export const EXCHANGE = JSON.stringify({ request: 'x'.repeat(800), response: 'y'.repeat(400) })

const newId = uuidv7Source(() => systemClock.now(), randomBytes)

/**
 * The draft of the n-th call: two models (9 : 1), one in a thousand blocked, seven keys in turn.
 */
export const draftOf = (n: number, arrivedMs: number): RequestDraft =>
  requestDraft({
    id: newId(),
    created_at: new Date(arrivedMs).toISOString(),
    model: n % 10 === 0 ? 'openai/gpt-5-mini' : 'openai/gpt-5',
    key_id: `key-${n % 7}`,
    blocked: n % 1000 === 0,
  })

/**
 * Creates a data directory with so many calls over a hundred days, oldest first.
 * @returns bytes in use
 */
export async function fillLog(path: string, entries: number): Promise<number> {
  const startMs = systemClock.now() - SPAN_MS
  const clock = { ...systemClock, now: () => startMs }
  await openStore({ path, clock, random: randomBytes, maxBytes: TIB }).close()
  const environment = openEnvironment(path)
  const exchange = commit(Buffer.alloc(SALT_BYTES), EXCHANGE)
  for (let from = 0; from < entries; from += BATCH_ENTRIES) {
    await environment.transaction(() => {
      const arrivedMs = startMs + (from / entries) * SPAN_MS
      const batch = new Batch(environment.tables, arrivedMs)
      for (let n = from; n < Math.min(entries, from + BATCH_ENTRIES); n++) {
        const captured = n % EXCHANGE_EVERY === 0 ? exchange : null
        batch.add({ draft: draftOf(n, arrivedMs), captured, counters: [] })
      }
      batch.finish()
    })
  }
  const { usedBytes } = environment.size()
  await environment.close()
  return usedBytes
}
