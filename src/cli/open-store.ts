// Opens the data directory for a command, whether or not a gateway has it open.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { openStore, type Store } from '../store/store.ts'

/**
 * Creates what is missing.
 * @param userKey to find calls by their end users
 * @throws StoreOpenError that says what is wrong and what to do
 */
export const openConfiguredStore = (
  { data, audit, keys, fleet }: Config,
  userKey: Buffer | null = null,
): Store =>
  openStore({
    path: data.path,
    clock: systemClock,
    random: randomBytes,
    maxBytes: audit.maxBytes,
    segmentBytes: data.segmentBytes,
    fileKeys: keys,
    hub: fleet?.hubs[0] ?? null,
    userKey,
  })
