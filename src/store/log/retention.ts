// Keeps the log within its configured age and size: prunes the oldest entries in slices, between
// which calls are sealed. A crash at any point leaves a log that verifies and a prune point to
// continue from.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SealedEntry } from '../../audit/entry.ts'
import { GATEWAY_ACTOR } from '../../core/actor.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { RetainRule } from '../../core/retention-section.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import type { StoreSize } from '../environment/lmdb.ts'
import { readJson, readU64, u64, unpackEntry } from '../tables/layout.ts'
import { ClockDoubt, trustedSeq } from './clock-doubt.ts'
import type { UsageLog } from './log.ts'
import { type NextPrunePoint, oldestSeq, PrunePointMover, readPrunePoint, writePrunePoint } from './prune.ts'
import type { LogShipping } from './shipping.ts'
import { TextExpiry } from './text-expiry.ts'

const DAY_MS: Milliseconds = 86_400_000
/** Interval of pruning by age, which also runs at start. */
const AGE_CHECK_MS: Milliseconds = 3_600_000
/** Share of `audit.maxBytes` from which the file, which never shrinks, must not grow. */
const FILE_SHARE = 0.9
/**
 * Shares of `audit.maxBytes` between which the used size is then kept: free space in the file is
 * fragmented.
 */
const HIGH_SHARE = 0.8
const LOW_SHARE = 0.75
/** Entries read before the event loop gets its turn: about a millisecond. */
const PAGE_ROWS = 250
/** Maximum entries pruned by one `prune` entry. */
const MAXIMUM_PRUNED_ENTRIES = 100_000
/** Fewest entries worth pruning: the `prune` entry itself takes the place of one. */
const MIN_PRUNED_ENTRIES = 2

/** Pause before the next attempt: when nothing was left to prune, and when pruning failed. */
const NOTHING_LEFT_PAUSE_MS: Milliseconds = 1000
const ERROR_PAUSE_MS: Milliseconds = 60_000

type EntryFate = 'prune' | 'keep' | 'as next'

export interface RetentionOptions {
  readonly environment: Environment
  readonly log: UsageLog
  readonly clock: Clock
  /** Entries sealed longer ago than this are pruned. */
  readonly retainMs: Milliseconds
  /** Keeps the exchanges of some calls for another time; none by default. */
  readonly retain?: readonly RetainRule[]
  readonly maxBytes: number
  /** Knows the entries that no hub has: age does not prune them, size only if asked. */
  readonly shipping?: Pick<LogShipping, 'next' | 'keepsUnshipped' | 'write'> | null
  /** Called before each pruning, to sign the entries that are still there. */
  readonly beforePrune?: () => Promise<void>
  /** This many entries were removed. */
  readonly onPruned?: (entries: number) => void
  /** Ages are not acted on for a while, because the clock may be wrong. */
  readonly onClockDoubt?: () => void
  /** Pruning failed; it will be retried. */
  readonly onError: (error: unknown) => void
}

export class Retention {
  readonly #options: RetentionOptions
  readonly #expiry: TextExpiry
  readonly #doubt: ClockDoubt
  #isDoubtReported = false
  /** Newest entry when the doubt began; a later one may end it. */
  #doubtedSeq = 0
  /** Last time ages were checked; null before the first. */
  #ageCheckedAtMs: Milliseconds | null = null
  #pausedUntilMs: Milliseconds = Number.NEGATIVE_INFINITY
  #running: Promise<void> | null = null
  #closed = false

  constructor(options: RetentionOptions) {
    this.#options = options
    const { environment, log, clock, retain = [], retainMs } = options
    const defaultDays = retainMs / DAY_MS
    this.#doubt = new ClockDoubt(clock, newestEntryMs(environment))
    this.#expiry = new TextExpiry({ environment, log, clock, rules: retain, defaultDays })
  }

  /**
   * Prunes if it is time to; resolves when that is done. Call it every second and after every
   * commit.
   */
  tick(): Promise<void> {
    const { log, maxBytes, clock } = this.#options
    if (this.#running !== null) return this.#running
    const nowMs = clock.monotonic()
    if (this.#closed || !log.writable || nowMs < this.#pausedUntilMs) return Promise.resolve()
    const isDue = this.#isAgeDue(nowMs) && !this.#doubtsClock()
    if (!isDue && !isNearLimit(log, maxBytes)) return Promise.resolve()
    this.#running = this.#run(isDue).finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** Whether nothing is removed for its age, because the clock may be wrong. */
  get isClockDoubted(): boolean {
    return this.#isDoubtReported
  }

  /** Resolves when the current slice is durable. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  #isAgeDue(nowMs: Milliseconds): boolean {
    return this.#ageCheckedAtMs === null || nowMs - this.#ageCheckedAtMs >= AGE_CHECK_MS
  }

  #doubtsClock(): boolean {
    const { environment, log, onClockDoubt } = this.#options
    const isOpen = this.#doubt.isOpen()
    if (isOpen && !this.#isDoubtReported) {
      this.#doubtedSeq = log.head.seq
      onClockDoubt?.()
    }
    const isEnded = isOpen && trustedSeq(environment.tables) > this.#doubtedSeq
    if (isEnded) this.#doubt.end()
    this.#isDoubtReported = isOpen && !isEnded
    return this.#isDoubtReported
  }

  async #run(isDue: boolean): Promise<void> {
    const { clock, onError } = this.#options
    try {
      // Completes what a crash, or the end of the last run, interrupted.
      await this.#removePruned()
      if (isDue) {
        await this.#pruneByAge()
        // Only then: the exchanges of pruned entries are gone without an `erase` entry.
        await this.#expiry.run(() => this.#closed)
        this.#ageCheckedAtMs = clock.monotonic()
      }
      const enough = await this.#pruneBySize()
      if (!enough) this.#pausedUntilMs = clock.monotonic() + NOTHING_LEFT_PAUSE_MS
    } catch (error) {
      this.#pausedUntilMs = clock.monotonic() + ERROR_PAUSE_MS
      onError(error)
    }
  }

  async #pruneByAge(): Promise<void> {
    const { clock, retainMs } = this.#options
    const now = isoTime(clock.now())
    const cutoff = isoTime(clock.now() - retainMs)
    let more = true
    while (more && !this.#closed) {
      let isWorthwhile = false
      // The order of entries decides, not the clock, which may have been set back: the first young
      // entry stays, and so do all after it.
      const next = await this.#findNext(this.#endOf(true), MAXIMUM_PRUNED_ENTRIES, (entry) => {
        // Sealed by a clock that was ahead; it would keep all later entries until then.
        if (entry.ts > now) return 'as next'
        if (entry.ts >= cutoff || this.#expiry.isKept(entry)) return 'keep'
        // Pruning only a prune entry would not shrink the log.
        isWorthwhile ||= entry.type !== 'prune'
        return 'prune'
      })
      more = isWorthwhile && next !== null && (await this.#prune(next, 'age'))
    }
  }

  /** @returns false when no entry is left to prune and the store is still too large */
  async #pruneBySize(): Promise<boolean> {
    const { environment, log, maxBytes, shipping } = this.#options
    if (!isNearLimit(log.measure(), maxBytes)) return true
    let usedBytes = await this.#measureApplied()
    while (usedBytes >= maxBytes * LOW_SHARE && !this.#closed) {
      const oldest = oldestSeq(environment.tables) ?? 0
      const entries = log.head.seq - oldest
      const end = this.#endOf(shipping?.keepsUnshipped === true)
      if (end - oldest < MIN_PRUNED_ENTRIES) return false
      const share = (usedBytes - maxBytes * LOW_SHARE) / usedBytes
      const count = Math.max(MIN_PRUNED_ENTRIES, Math.ceil(entries * share))
      const next = await this.#findNext(end, Math.min(count, MAXIMUM_PRUNED_ENTRIES), () => 'prune')
      if (next === null || !(await this.#prune(next, 'size'))) return false
      usedBytes = await this.#measureApplied()
    }
    return true
  }

  /** What the database does not have yet counts twice, and what was removed still counts. */
  async #measureApplied(): Promise<number> {
    const { environment, log } = this.#options
    await environment.apply()
    return log.measure().usedBytes
  }

  /** The first entry that pruning keeps: the newest, or one that no hub has. */
  #endOf(keepsUnshipped: boolean): number {
    const { log, shipping } = this.#options
    const newest = log.head.seq
    return keepsUnshipped && shipping != null ? Math.min(newest, shipping.next) : newest
  }

  /** Returns the prune point after the oldest entries that may be removed, all before `end`. */
  async #findNext(
    end: number,
    limit: number,
    fateOf: (entry: SealedEntry) => EntryFate,
  ): Promise<NextPrunePoint | null> {
    const { environment } = this.#options
    const { tables } = environment
    const mover = new PrunePointMover(readPrunePoint(tables))
    const stop = Math.min(end, mover.firstSeq + limit)
    /**
     * The prune point if the current run of `as next` entries were to stay; undefined outside such
     * a run.
     */
    let before: NextPrunePoint | null | undefined
    while (mover.firstSeq < stop) {
      environment.refresh()
      const from = mover.firstSeq
      const rows = tables.entries.rows({ start: u64(from), end: u64(Math.min(stop, from + PAGE_ROWS)) })
      if (rows.length === 0) throw new Error(`entry ${from} of the log is missing`)
      for (const { key, value } of rows) {
        const { seq, hash, bytes } = unpackEntry(readU64(key), value)
        const fate = fateOf(readJson<SealedEntry>(Buffer.from(bytes)))
        if (fate === 'keep') return before === undefined ? mover.next : before
        if (fate === 'prune') before = undefined
        else if (before === undefined) before = mover.next
        mover.pass(seq, hash)
      }
      await nextTurn()
    }
    return before === undefined ? mover.next : before
  }

  /**
   * Seals the prune point, then removes the entries before it.
   * @returns false when another process has already pruned them
   */
  async #prune(next: NextPrunePoint, reason: 'age' | 'size'): Promise<boolean> {
    const { environment, log, shipping, beforePrune } = this.#options
    const { tables } = environment
    const { firstSeq, head, frontier } = next
    await beforePrune?.()
    const sealed = await log.change(() => {
      const before = readPrunePoint(tables).firstSeq
      const unshipped = shipping == null ? 0 : firstSeq - Math.max(before, shipping.next)
      const point = { first_seq: firstSeq, head, frontier, ...(unshipped > 0 && { unshipped }) }
      const isFirst = before < firstSeq
      return {
        draft: isFirst ? { type: 'prune', ...point, reason, actor: GATEWAY_ACTOR } : null,
        write: (pruneSeq) => {
          writePrunePoint(tables, { firstSeq, frontier, pruneSeq })
          shipping?.write(tables)
        },
        result: isFirst,
      }
    })
    await this.#removePruned()
    return sealed
  }

  /** Removes the entries before the prune point, slice by slice. */
  async #removePruned(): Promise<void> {
    const { environment, log, onPruned } = this.#options
    const { tables } = environment
    let total = 0
    while (!this.#closed) {
      environment.refresh()
      const { firstSeq } = readPrunePoint(tables)
      if ((oldestSeq(tables) ?? firstSeq) >= firstSeq) break
      total += await log.dropOldest(firstSeq)
      await nextTurn()
    }
    if (total > 0) onPruned?.(total)
  }
}

/** Returns when the newest entry was sealed; null for an empty log. */
function newestEntryMs({ tables }: Environment): Milliseconds | null {
  const [newest] = tables.entries.rows({ reverse: true, limit: 1 })
  if (newest === undefined) return null
  const { bytes } = unpackEntry(readU64(newest.key), newest.value)
  return Date.parse(readJson<SealedEntry>(Buffer.from(bytes)).ts)
}

const isNearLimit = ({ usedBytes, fileBytes }: StoreSize, maxBytes: number): boolean =>
  fileBytes >= maxBytes * FILE_SHARE && usedBytes >= maxBytes * HIGH_SHARE
