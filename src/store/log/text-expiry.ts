// Erases captured exchanges whose time is not that of their entries (`audit.retain`). Reads each
// entry once for each period, in slices between which calls are sealed, and remembers where it
// stopped.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SealedEntry } from '../../audit/entry.ts'
import { GATEWAY_ACTOR } from '../../core/actor.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { includesLabels } from '../../core/key-terms.ts'
import type { RetainRule } from '../../core/retention-section.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import { readJson, readU64, u64, unpackEntry, writeJson } from '../tables/layout.ts'
import { ERASE_SLICE_ROWS, eraseChange } from './erase.ts'
import type { UsageLog } from './log.ts'

const DAY_MS: Milliseconds = 86_400_000
/** Entries read before the event loop gets its turn: about a millisecond. */
const PAGE_ROWS = 250
/** Entries after which progress is kept, so that a stop need not wait for long. */
const SLICE_ENTRIES = 20_000
const PROGRESS_KEY = Buffer.from('expired')

/** The part of an entry that decides; entries of other types have no labels. */
interface LabelledEntry {
  readonly type: string
  readonly labels?: Readonly<Record<string, string>>
}

/** How far each period was worked off, for one set of rules. */
interface ExpiryProgress {
  readonly rules: string
  /** The first entry not yet read, by the days of the period. */
  readonly next: Readonly<Record<string, number>>
}

/** Returns how long the exchange of an entry is kept: the first rule whose labels it has. */
export function retainedDays(
  { labels = {} }: LabelledEntry,
  rules: readonly RetainRule[],
  defaultDays: number,
): number {
  const rule = rules.find((one) => includesLabels(labels, Object.entries(one.labels)))
  return rule?.days ?? defaultDays
}

export interface TextExpiryOptions {
  readonly environment: Environment
  readonly log: Pick<UsageLog, 'change' | 'head'>
  readonly clock: Clock
  readonly rules: readonly RetainRule[]
  /** Days for entries that no rule matches. */
  readonly defaultDays: number
}

export class TextExpiry {
  readonly #options: TextExpiryOptions
  /** Names the rules: with other rules, all entries are read again. */
  readonly #name: string

  constructor(options: TextExpiryOptions) {
    this.#options = options
    const { rules, defaultDays } = options
    this.#name = createHash('sha256')
      .update(JSON.stringify([rules, defaultDays]))
      .digest('hex')
  }

  /** Whether an entry of this age may not be pruned, because its exchange is kept for longer. */
  isKept(entry: LabelledEntry & { readonly seq: number; readonly ts: string }): boolean {
    const { environment, rules, defaultDays, clock } = this.#options
    if (rules.length === 0 || entry.type !== 'request') return false
    const days = retainedDays(entry, rules, defaultDays)
    if (days <= defaultDays || entry.ts < isoTime(clock.now() - days * DAY_MS)) return false
    const range = { start: u64(entry.seq), end: u64(entry.seq + 1) }
    return environment.tables.content.count(range) > 0
  }

  /**
   * Erases the exchanges whose time is over, and seals how many.
   * @param isStopped ends it after the current slice
   */
  async run(isStopped: () => boolean): Promise<void> {
    const { rules, defaultDays } = this.#options
    if (rules.length === 0) return
    for (const days of new Set([...rules.map((rule) => rule.days), defaultDays])) {
      while (!isStopped() && (await this.#expireSlice(days))) await nextTurn()
    }
  }

  /**
   * Erases at most one slice of exchanges of a period.
   * @returns whether there may be more
   */
  async #expireSlice(days: number): Promise<boolean> {
    const { environment, log } = this.#options
    const { tables } = environment
    environment.refresh()
    const from = this.#progress().next[days] ?? 0
    const { due, next } = await this.#read(days, from)
    if (next === from) return false
    const request = { selection: { olderThanDays: days }, actor: GATEWAY_ACTOR }
    const { entries } = await log.change(() => {
      const { write, ...change } = eraseChange(tables, request, due)
      const writeAll = (seq: number) => {
        write(seq)
        this.#keepProgress(days, next)
      }
      return { ...change, write: writeAll }
    })
    // Without an exchange to erase nothing was written.
    if (entries === 0) await environment.transaction(() => this.#keepProgress(days, next))
    return true
  }

  /** Reads entries up to the first young one, and about a slice at most. */
  async #read(days: number, from: number): Promise<{ readonly due: number[]; readonly next: number }> {
    const { environment, log, clock, rules, defaultDays } = this.#options
    const { tables } = environment
    const now = isoTime(clock.now())
    const cutoff = isoTime(clock.now() - days * DAY_MS)
    const end = log.head.seq + 1
    const due: number[] = []
    /** Entries sealed by a clock that was ahead: as old as the next one. */
    let ahead: number[] = []
    let next = from
    for (let at = from; at < end && due.length < ERASE_SLICE_ROWS && next - from < SLICE_ENTRIES; ) {
      environment.refresh()
      const rows = tables.entries.rows({ start: u64(at), end: u64(end), limit: PAGE_ROWS })
      if (rows.length === 0) break
      for (const { key, value } of rows) {
        const entry = entryOf(value)
        const seq = readU64(key)
        if (entry.ts <= now && entry.ts >= cutoff) return { due, next }
        const isDue = entry.type === 'request' && retainedDays(entry, rules, defaultDays) === days
        if (isDue) ahead.push(seq)
        if (entry.ts > now) continue
        due.push(...ahead)
        ahead = []
        next = seq + 1
      }
      at = readU64(rows.at(-1)!.key) + 1
      await nextTurn()
    }
    return { due, next }
  }

  #progress(): ExpiryProgress {
    const bytes = this.#options.environment.tables.meta.get(PROGRESS_KEY)
    const stored = bytes === undefined ? null : readJson<ExpiryProgress>(bytes)
    return stored?.rules === this.#name ? stored : { rules: this.#name, next: {} }
  }

  /** Runs inside a transaction. */
  #keepProgress(days: number, next: number): void {
    const progress: ExpiryProgress = { rules: this.#name, next: { ...this.#progress().next, [days]: next } }
    this.#options.environment.tables.meta.put(PROGRESS_KEY, writeJson(progress))
  }
}

const entryOf = (packed: Buffer): SealedEntry & LabelledEntry =>
  readJson(Buffer.from(unpackEntry(0, packed).bytes))
