// Appends calls until it is killed, or COUNT calls: PATH CALLERS [COUNT]. Prints one line for each
// acknowledged entry.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../../../src/core/clock.ts'
import { uuidv7 } from '../../../src/core/ids.ts'
import { openStore } from '../../../src/store/store.ts'
import { requestDraft } from '../../audit/drafts.ts'

const [path = '', callers = '1', count = 'Infinity'] = process.argv.slice(2)
const WINDOW_MS = 30 * 86_400_000

const store = openStore({ path, clock: systemClock, random: randomBytes, maxBytes: 1024 ** 3 })
const content = JSON.stringify({ request: 'x'.repeat(500), response: null })
let left = Number(count)

async function caller(): Promise<void> {
  while (left-- > 0) {
    const id = uuidv7(systemClock.now(), randomBytes(16))
    const reservation = store.counters.reserve({
      ruleId: 'rule',
      subject: 'key',
      limitTokens: Number.MAX_SAFE_INTEGER,
      windowMs: WINDOW_MS,
      tokens: 100,
      unlimitedChoices: 0,
      expectedAnswer: 512,
      nowMs: systemClock.now(),
      force: false,
    })
    const counters = store.counters.settle(reservation, 7, 0)
    const { seq, hash } = await store.log.append(requestDraft({ id }), { content, counters })
    process.stdout.write(`${seq} ${id} ${hash}\n`)
  }
}

await Promise.all(Array.from({ length: Number(callers) }, caller))
await store.close()
