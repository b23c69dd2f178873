// Every write of the store on one clock, whoever makes it. A disk that hangs keeps a write from ending, and with it all
// that come behind it; nothing but time tells.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Environment } from './lmdb.ts'

/**
 * Of the time between two looks, which are a second apart, so much counts. Where it was more the process itself stood
 * still, as in a container that is paused, and has heard of no write that ended meanwhile.
 */
const MAX_LOOK_MS: Milliseconds = 2000

export interface WatchedEnvironment extends Environment {
  /**
   * How long none of the writes that are under way has ended; 0 without any. A slow disk ends one after the other.
   * To be called every second.
   */
  pendingMs(): Milliseconds
}

/** The environment with its transactions timed. */
export function watchWrites(environment: Environment, clock: Clock): WatchedEnvironment {
  let underWay = 0
  /** When the last write ended, or the first of those under way began; later by the time that does not count. */
  let progressMs: Milliseconds = 0
  let lookedMs = clock.monotonic()
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
    pendingMs() {
      const nowMs = clock.monotonic()
      const stoodStillMs = Math.max(0, nowMs - lookedMs - MAX_LOOK_MS)
      lookedMs = nowMs
      progressMs = Math.min(nowMs, progressMs + stoodStillMs)
      return underWay === 0 ? 0 : nowMs - progressMs
    },
    initialize: (write) => environment.initialize(write),
    refresh: () => environment.refresh(),
    size: () => environment.size(),
    reapReaders: () => environment.reapReaders(),
    copyTo: (folder) => environment.copyTo(folder),
    close: () => environment.close(),
  }
}
