// What the sidecars of a fleet have of each limit, as rows that all hubs share. Answers requests
// in one transaction. Locks in order: subjects by name, then sidecars. Never
// notifies: that takes a lock on the whole database.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { Holdings, leaseTime } from '../policy/lease.ts'
import { bucketAt, bucketLength, countsUntil, liveRange } from '../policy/limit.ts'
import { BookClock, type BookTerms, fitsAt, LimitBook } from '../policy/limit-book.ts'
import type { Database, Queries } from './database.ts'
import {
  addMissing,
  type CountedLimit,
  compareNames,
  type HoldingRow,
  type LiveBounds,
  lock,
  readBuckets,
  readHoldings,
  readReturns,
  readTimes,
  removeDead,
  type SlotRow,
  sweepRows,
  takeNewest,
  writeBuckets,
  writeShares,
  writeSlots,
} from './limit-rows.ts'

/** Interval at which a hub removes buckets that no longer count. */
const REMOVE_MS: Milliseconds = 250

interface SlotItem {
  readonly need: number
  /** Calls that run, and places that are kept. */
  readonly held: number
  /** Maximum of `held`, unless the sidecar was lent more. */
  readonly most: number
}

/** What a sidecar says and asks of one limit. */
export interface LimitItem extends CountedLimit {
  readonly settles: readonly { readonly bucket: number; readonly amount: number }[]
  /** Null when it is not said. */
  readonly share: number | null
  /** What a call of the sidecar needs on average; 0 when it is not said. */
  readonly usual: number
  readonly ask: { readonly need: number; readonly want: number } | null
  readonly slots: SlotItem | null
}

export interface LimitRequest {
  readonly sidecar: string
  readonly request: number
  /** Whether the calls of the sidecar's earlier requests have ended with their process. */
  readonly isFirst: boolean
  readonly items: readonly LimitItem[]
}

/** The answer to what a sidecar asked of a limit. */
export interface LentPart {
  readonly item: LimitItem
  readonly size: number
  /** 0 for slots. */
  readonly bucket: number
  readonly expiresAtMs: Milliseconds
  readonly left: number
  readonly resetAtMs: Milliseconds
  readonly share: number
}

export interface LimitAnswer {
  readonly timeMs: Milliseconds
  readonly lent: readonly LentPart[]
  /** Parts that say of more calls than the sidecar may run. */
  readonly refused: readonly LimitItem[]
}

export interface LimitLedgerOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'monotonic'>
  readonly guaranteedShare: number
  readonly slotTimeoutSeconds: number
}

/** A limit whose row is locked. */
interface Locked extends CountedLimit {
  readonly name: string
  readonly bounds: LiveBounds
  readonly terms: BookTerms
  readonly book: LimitBook
  /** What sidecars have of calls at a time. */
  readonly slots: Holdings
}

const nameOf = ({ count, subject, windowMs }: Omit<CountedLimit, 'limit'>): string =>
  `${count}\0${subject}\0${windowMs}`

export class LimitLedger {
  readonly #options: LimitLedgerOptions
  readonly #time = new BookClock()
  #removedMs: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(options: LimitLedgerOptions) {
    this.#options = options
  }

  /**
   * Answers requests of different sidecars.
   * @returns the answers by sidecar; none for a request that is older than another one
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async exchange(requests: readonly LimitRequest[]): Promise<ReadonlyMap<string, LimitAnswer>> {
    const { database } = this.#options
    for (;;) {
      const answers = await database.transaction((queries) => this.#answer(queries, requests))
      if (answers !== null) return answers
      await addMissing(database, limitsOf(requests))
    }
  }

  /** @returns null when the row of a limit is missing; nothing is written then */
  async #answer(
    queries: Queries,
    requests: readonly LimitRequest[],
  ): Promise<ReadonlyMap<string, LimitAnswer> | null> {
    const limits = limitsOf(requests)
    if (!(await lock(queries, limits))) return null
    const newest = await takeNewest(queries, requests)
    const taken = requests.filter(({ sidecar }) => newest.has(sidecar))
    for (const { sidecar, isFirst } of taken) if (isFirst) await forget(queries, sidecar)
    const nowMs = await this.#now(queries, limits)
    const locked = this.#open(limits, nowMs)
    const { slotTimeoutSeconds } = this.#options
    enter(locked, await readHoldings(queries, locked, slotTimeoutSeconds))
    const byName = new Map(locked.map((one) => [one.name, one]))
    for (const bucket of await readBuckets(queries, bucketsOf(taken, nowMs)))
      byName.get(nameOf(bucket))!.book.enterBucket(bucket)
    const slots: SlotRow[] = []
    const refused = new Set<LimitItem>()
    const lent = taken.map(({ sidecar, items }) =>
      items.flatMap((item) => {
        const one = byName.get(nameOf(item))!
        if (!isTooMuch(one, sidecar, item)) return this.#lend(one, sidecar, item, slots)
        refused.add(item)
        return []
      }),
    )
    await write(queries, locked)
    await this.#removeDead(queries, locked)
    await writeSlots(queries, slots)
    await writeShares(queries, slots)
    const resets = await readResets(queries, lent.flat())
    return new Map(
      taken.map(({ sidecar, items }, place) => [
        sidecar,
        {
          timeMs: nowMs,
          lent: lent[place]!.map((one) => ({ ...one, resetAtMs: resets.get(one)! })),
          refused: items.filter((item) => refused.has(item)),
        },
      ]),
    )
  }

  /** Forgets the shares and slots of a sidecar that runs no more. */
  left(sidecar: string): Promise<void> {
    return forget(this.#options.database, sidecar)
  }

  /** Forgets what no window reaches, some rows at a time. Call it every minute. */
  sweep(): Promise<void> {
    const { database, slotTimeoutSeconds } = this.#options
    return sweepRows(database, slotTimeoutSeconds)
  }

  /** The time by which windows slide, after the locks: no earlier grant has a later one. */
  async #now(queries: Queries, limits: readonly CountedLimit[]): Promise<Milliseconds> {
    const { clock } = this.#options
    const [time, ...rows] = await readTimes(queries, limits)
    const { now_ms } = time!
    this.#time.at(now_ms, clock.monotonic())
    for (const { window_ms, newest } of rows) if (newest !== null) this.#time.saw(window_ms, newest)
    return Math.floor(this.#time.at(now_ms, clock.monotonic()))
  }

  /** Removes buckets that no longer count, not in each of many transactions a second. */
  async #removeDead(queries: Queries, locked: readonly Locked[]): Promise<void> {
    const nowMs = this.#options.clock.monotonic()
    if (nowMs - this.#removedMs < REMOVE_MS) return
    this.#removedMs = nowMs
    await removeDead(
      queries,
      locked.filter(({ windowMs }) => windowMs > 0),
    )
  }

  #open(limits: readonly CountedLimit[], nowMs: Milliseconds): Locked[] {
    const { guaranteedShare } = this.#options
    return limits.map((one) => {
      const bucketMs = bucketLength(one.windowMs)
      const bounds = one.windowMs === 0 ? [0, 0] : liveRange(bucketMs, bucketAt(bucketMs, nowMs))
      const terms = { limit: one.limit, windowMs: one.windowMs, guaranteedShare, nowMs }
      return {
        ...one,
        name: nameOf(one),
        bounds: bounds as LiveBounds,
        terms,
        book: new LimitBook(terms),
        slots: new Holdings(),
      }
    })
  }

  #lend(locked: Locked, sidecar: string, item: LimitItem, slots: SlotRow[]): Lent[] {
    const { book } = locked
    if (item.slots !== null) return [this.#lendSlots(locked, sidecar, item, slots)]
    for (const settle of item.settles) book.settle({ sidecar, ...settle })
    if (item.ask === null) {
      if (item.share !== null) book.lowerShare(sidecar, item.share)
      return []
    }
    const share = book.share(sidecar, item.share ?? book.shareOf(sidecar), item.usual)
    return [{ locked, sidecar, item, share, ...book.grant(sidecar, item.ask) }]
  }

  #lendSlots(locked: Locked, sidecar: string, item: LimitItem, slots: SlotRow[]): Lent {
    const { need, held } = item.slots!
    const { limit, terms } = locked
    const expiresAtMs = terms.nowMs + this.#options.slotTimeoutSeconds * 1000
    if (need === 0 && held === 0 && item.share === 0) {
      locked.slots.remove(sidecar)
      slots.push({ ...item, sidecar, size: 0, share: null })
      const left = locked.slots.left(limit, sidecar)
      return { locked, sidecar, item, size: 0, bucket: 0, expiresAtMs, left, share: 0 }
    }
    const own = locked.slots.of(sidecar)
    locked.slots.set(sidecar, { share: own.share, live: held })
    const share = locked.slots.share(terms, sidecar, item.share ?? own.share)
    const size = locked.slots.grantPlaces(limit, sidecar, { held, need })
    const kept = locked.slots.of(sidecar)
    slots.push({ ...item, sidecar, size: kept.live, share: kept.share })
    const left = locked.slots.left(limit, sidecar)
    return { locked, sidecar, item, size, bucket: 0, expiresAtMs, left, share }
  }
}

interface Lent extends Omit<LentPart, 'resetAtMs'> {
  readonly locked: Locked
  readonly sidecar: string
}

async function forget(queries: Queries, sidecar: string): Promise<void> {
  await queries.rows('delete from limit_share where sidecar = $1', [sidecar])
  await queries.rows('delete from limit_slot where sidecar = $1', [sidecar])
}

/** Whether a sidecar says of more calls than it may run: by the limit, or by what it was lent. */
function isTooMuch(locked: Locked, sidecar: string, { slots }: LimitItem): boolean {
  if (slots === null) return false
  const { live, share } = locked.slots.of(sidecar)
  return slots.held > Math.max(slots.most, live, share)
}

const isRefused = ({ item, size }: Lent): boolean => item.ask !== null && size < item.ask.need

/** Says when what was lent counts no more; when less than was needed is lent, when that fits. */
async function readResets(queries: Queries, lent: readonly Lent[]): Promise<ReadonlyMap<Lent, Milliseconds>> {
  const resets = new Map<Lent, Milliseconds>()
  for (const one of lent) {
    const { windowMs, terms } = one.locked
    resets.set(one, windowMs === 0 ? terms.nowMs : countsUntil(bucketLength(windowMs), one.bucket))
  }
  const refused = lent.filter(isRefused)
  const returns = await readReturns(
    queries,
    refused.map(({ locked, sidecar }) => ({ ...locked, sidecar })),
    refused.map(({ locked }) => locked.bounds),
  )
  for (const [place, one] of refused.entries()) {
    const { locked, sidecar, size, item } = one
    // What is lent is used for the need.
    const need = item.ask!.need - size
    resets.set(one, fitsAt(locked.terms, locked.book.free(sidecar), returns[place]!, need))
  }
  return resets
}

/** The limits that requests name, each once, in the order of locks. */
function limitsOf(requests: readonly LimitRequest[]): CountedLimit[] {
  const byName = new Map<string, CountedLimit>()
  for (const { items } of requests) for (const item of items) byName.set(nameOf(item), item)
  return [...byName.values()].sort((a, b) => compareNames(nameOf(a), nameOf(b)))
}

/** The buckets that requests may change: those that they report, and those of their leases. */
const bucketsOf = (taken: readonly LimitRequest[], nowMs: Milliseconds) =>
  taken.flatMap(({ sidecar, items }) =>
    items.flatMap(({ count, subject, windowMs, settles, ask }) => {
      const buckets = new Set(settles.map(({ bucket }) => bucket))
      if (ask !== null) buckets.add(leaseTime(windowMs, nowMs).bucket)
      return Array.from(buckets, (bucket) => ({ count, subject, windowMs, sidecar, bucket }))
    }),
  )

/** Enters what sidecars have into their limits. */
function enter(locked: readonly Locked[], rows: readonly HoldingRow[]): void {
  const held = new Map<string, { place: number; sidecar: string; live: number; share: HoldingRow | null }>()
  for (const row of rows) {
    const { place, sidecar, amount, kind } = row
    const name = `${place} ${sidecar}`
    const known = held.get(name) ?? { place, sidecar, live: 0, share: null }
    if (kind === 'share') known.share = row
    else known.live += amount
    held.set(name, known)
  }
  for (const { place, sidecar, live, share } of held.values()) {
    const { book, slots, windowMs } = locked[place - 1]!
    if (windowMs === 0) slots.set(sidecar, { share: share?.amount ?? 0, live })
    else book.enter(sidecar, { share: share?.amount ?? null, isOld: share?.is_old ?? false, live })
  }
}

/** Writes the buckets and shares that have changed. */
async function write(queries: Queries, locked: readonly Locked[]): Promise<void> {
  const changed = locked.filter(({ book }) => book.changedBuckets().length > 0)
  await writeBuckets(
    queries,
    changed.flatMap((limit) => limit.book.changedBuckets().map((one) => ({ ...limit, ...one }))),
  )
  await writeShares(
    queries,
    locked.flatMap((limit) => limit.book.changedShares().map((one) => ({ ...limit, ...one }))),
  )
}
