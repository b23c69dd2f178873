// The data directory of a gateway on this machine, as commands open it beside the gateway or without it.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { openStore, type Store } from '../store/store.ts'

/** Makes what is missing. @throws StoreOpenError saying what is wrong and what to do */
export const openBeside = ({ data, audit, keys }: Config): Store =>
  openStore({
    path: data.path,
    clock: systemClock,
    random: randomBytes,
    maxBytes: audit.maxBytes,
    fileKeys: keys,
  })
