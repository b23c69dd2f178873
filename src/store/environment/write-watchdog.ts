// Times every write of the store. On a disk that hangs, writes never end and only a clock can
// detect it.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { Environment } from './journaled.ts'

/**
 * Maximum time that counts between two calls of `pendingMs`, a second apart. After a longer gap the
 * process itself was paused, like a container, and has not yet seen writes that ended meanwhile.
 */
const MAXIMUM_CHECK_GAP_MS: Milliseconds = 2000

export interface WatchedEnvironment extends Environment {
  /**
   * Returns the milliseconds since any write completed; 0 when none is pending. A slow disk still
   * completes one after the other. Call it every second.
   */
  pendingMs(): Milliseconds
}

/** Returns the environment with its transactions timed. */
export function watchWrites(environment: Environment, clock: Clock): WatchedEnvironment {
  let pendingWrites = 0
  /**
   * When the last write ended or the first pending one began; moved forward by pauses of the
   * process.
   */
  let progressMs: Milliseconds = 0
  let lastCheckMs = clock.monotonic()
  /** When the database was last seen to have taken frames of the journal, or to need none. */
  let appliedMs = lastCheckMs
  let appliedFrames = 0
  return {
    tables: environment.tables,
    async transaction(write, bytes) {
      if (pendingWrites++ === 0) progressMs = clock.monotonic()
      try {
        return await environment.transaction(write, bytes)
      } finally {
        pendingWrites--
        progressMs = clock.monotonic()
      }
    },
    fault: () => environment.fault(),
    pendingMs() {
      const nowMs = clock.monotonic()
      const pausedMs = Math.max(0, nowMs - lastCheckMs - MAXIMUM_CHECK_GAP_MS)
      lastCheckMs = nowMs
      progressMs = Math.min(nowMs, progressMs + pausedMs)
      appliedMs = Math.min(nowMs, appliedMs + pausedMs)
      const journal = environment.journal()
      if (journal === null || !journal.isApplying || journal.appliedFrames !== appliedFrames)
        appliedMs = nowMs
      appliedFrames = journal?.appliedFrames ?? 0
      return Math.max(pendingWrites === 0 ? 0 : nowMs - progressMs, nowMs - appliedMs)
    },
    initialize: (write) => environment.initialize(write),
    refresh: () => environment.refresh(),
    size: () => environment.size(),
    roomFault: (bytes) => environment.roomFault(bytes),
    journal: () => environment.journal(),
    tick: (nowMs) => environment.tick(nowMs),
    reapReaders: () => environment.reapReaders(),
    copyTo: (folder) => environment.copyTo(folder),
    close: () => environment.close(),
  }
}
