// Every write of the store on one clock, whoever makes it. A disk that hangs keeps a write from ending, and with it all
// that come behind it; nothing but time tells.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Environment } from './lmdb.ts'

export interface WatchedEnvironment extends Environment {
  /** How long none of the writes that are under way has ended; 0 without any. A slow disk ends one after the other. */
  pendingMs(): Milliseconds
}

/** The environment with its transactions timed. */
export function watchWrites(environment: Environment, clock: Clock): WatchedEnvironment {
  let underWay = 0
  /** When the last write ended, or the first of those under way began. */
  let progressMs: Milliseconds = 0
  return {
    tables: environment.tables,
    async transaction(write) {
      if (underWay++ === 0) progressMs = clock.monotonic()
      try {
        return await environment.transaction(write)
      } finally {
        underWay--
        progressMs = clock.monotonic()
      }
    },
    fault: () => environment.fault(),
    pendingMs: () => (underWay === 0 ? 0 : clock.monotonic() - progressMs),
    initialize: (write) => environment.initialize(write),
    refresh: () => environment.refresh(),
    size: () => environment.size(),
    reapReaders: () => environment.reapReaders(),
    copyTo: (folder) => environment.copyTo(folder),
    close: () => environment.close(),
  }
}
