// Authenticates a key in a loop that never yields to the event loop: PATH KEY. Prints `accepted`,
// then `refused` once the key is revoked. Gives up after 20 s.

import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { systemClock } from '../../../src/core/clock.ts'
import { openStore } from '../../../src/store/store.ts'

const [path = '', key = ''] = process.argv.slice(2)
const PATIENCE_MS = 20_000

const store = openStore({ path, clock: systemClock, random: randomBytes, maxBytes: 1024 ** 3 })
if (store.ring.authenticate(key) !== null) writeSync(1, 'accepted\n')
const startMs = systemClock.monotonic()
while (store.ring.authenticate(key) !== null && systemClock.monotonic() - startMs < PATIENCE_MS);
writeSync(1, store.ring.authenticate(key) === null ? 'refused\n' : 'still accepted\n')
await store.close()
