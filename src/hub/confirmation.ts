// Waits until a change is in force on every sidecar with an open feed, and says which have not
// confirmed it.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import type { Timers } from '../core/timers.ts'
import { ERASE_FEATURE } from '../fleet/protocol.ts'
import type { SidecarRow } from '../ledger/sidecar-ledger.ts'
import { ANSWER_MS } from './feeds.ts'

/** Most names of sidecars in an answer. */
const MAXIMUM_NAMES = 20

/** The last list of sidecars may lack one that has connected since, so it says nothing. */
export const MADE =
  'The change is made, and the database went away before it could be said which sidecars have it; send the change again.'

/** What this hub knows of a sidecar whose feed is open here. */
export interface OpenFeed {
  readonly ackedRev: number
  readonly isSilent: boolean
  /** What it said last. */
  readonly reported?: { readonly nack: JsonValue }
}

/** The newest revision that a sidecar has for good. @param feed at this hub, if any */
export const ackedRevOf = (row: SidecarRow, feed: OpenFeed | undefined): number =>
  feed?.ackedRev ?? row.acked_rev

/** Reports whether a sidecar has a feed, here or elsewhere, and answers. */
export const isHeard = (row: SidecarRow, feed: OpenFeed | undefined): boolean =>
  feed === undefined ? row.is_open && row.state === 'connected' : !feed.isSilent

/** A sidecar, with the newest that is known of it. */
interface Known {
  readonly row: SidecarRow
  readonly hasIt: boolean
  /** It has said that it cannot apply it. */
  readonly isUnable: boolean
  /** Its answer may still come. */
  readonly isAwaited: boolean
}

interface ConfirmationParts {
  /** Resolves once this hub has sent everything that the database had at the time of the call. */
  readonly catchUp: () => Promise<void>
  readonly rev: () => number
  readonly rows: () => Promise<SidecarRow[]>
  /** The feed of a sidecar at this hub; undefined without one. */
  readonly feed: (id: string) => OpenFeed | undefined
  readonly clock: Clock
  readonly timers: Timers
}

export class Confirmation {
  readonly #parts: ConfirmationParts
  #wake: (() => void)[] = []
  #isWaking = false
  /** Number of the notifications of other hubs. */
  #remote = 0
  #last: readonly SidecarRow[] = []

  constructor(parts: ConfirmationParts) {
    this.#parts = parts
  }

  /** To be called after an acknowledgement here. */
  readonly acknowledged = (): void => this.#wakeAll()

  /** To be called when another hub has written acknowledgements. */
  readonly remoteAcknowledged = (): void => {
    this.#remote++
    this.#wakeAll()
  }

  /**
   * Waits for all changes so far, at most ANSWER_MS. Never counts a sidecar that may still decide
   * by what was before.
   * @param order revision of an order of erasure: waits for that one, also names sidecars that no
   * key is decided by, which keep exchanges, and those that cannot apply it
   * @throws GatewayError (rejects) `fleet_unavailable`: the change is durable, and the database
   * went away before it could be said which sidecars there are
   */
  async confirm(order: number | null = null): Promise<JsonObject> {
    const { clock } = this.#parts
    const deadlineMs = clock.monotonic() + ANSWER_MS
    await this.#reads(this.#parts.catchUp)
    const rev = order ?? this.#parts.rev()
    let remote = this.#remote
    await this.#reads(() => this.#read())
    for (;;) {
      const known = this.#known(rev, order)
      const leftMs = deadlineMs - clock.monotonic()
      if (leftMs <= 0 || !known.some(({ isAwaited }) => isAwaited)) break
      if (this.#remote !== remote) {
        remote = this.#remote
        await this.#reads(() => this.#read())
        continue
      }
      await this.#next(leftMs)
    }
    const known = this.#known(rev, order)
    // What others wrote meanwhile is read once more, and when each was last heard.
    if (known.some(({ hasIt }) => !hasIt)) await this.#reads(() => this.#read())
    const last = this.#known(rev, order)
    return order === null ? describe(last, clock.now()) : describeOrder(last)
  }

  async #read(): Promise<void> {
    this.#last = await this.#parts.rows()
  }

  async #reads(read: () => Promise<void>): Promise<void> {
    try {
      await read()
    } catch (error) {
      if (!(error instanceof GatewayError && error.code === 'fleet_unavailable')) throw error
      throw new GatewayError('fleet_unavailable', MADE, { cause: error })
    }
  }

  #known(rev: number, order: number | null): Known[] {
    return this.#last
      .filter((row) => (order === null ? row.is_registered : KEEPS_EXCHANGES.has(row.state)))
      .map((row) => {
        const feed = this.#parts.feed(row.id)
        const isUnable = order !== null && isUnableTo(order, row, feed)
        const hasIt = !isUnable && ackedRevOf(row, feed) >= rev
        return { row, hasIt, isUnable, isAwaited: !hasIt && !isUnable && isHeard(row, feed) }
      })
  }

  #next(limitMs: Milliseconds): Promise<void> {
    return new Promise((resolve) => {
      const { timers } = this.#parts
      const timer = timers.set(resolve, limitMs)
      this.#wake.push(() => {
        timers.clear(timer)
        resolve()
      })
    })
  }

  /** Acknowledgements that arrive together wake who waits once. */
  #wakeAll(): void {
    if (this.#wake.length === 0 || this.#isWaking) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      const waiting = this.#wake
      this.#wake = []
      for (const wake of waiting) wake()
    })
  }
}

/** States of sidecars that may have exchanges. */
const KEEPS_EXCHANGES = new Set<SidecarRow['state']>(['connected', 'silent'])

/** Reports whether a sidecar has no orders, or has refused one. */
function isUnableTo(order: number, row: SidecarRow, feed: OpenFeed | undefined): boolean {
  if (!row.features.includes(ERASE_FEATURE)) return true
  const nack = feed?.reported?.nack ?? row.nack
  return Array.isArray(nack) && nack.some((one) => isObject(one) && one['rev'] === order)
}

/** The answer to an order: who has applied it, who has not, and who cannot. */
function describeOrder(known: readonly Known[]): JsonObject {
  const names = (rows: readonly Known[]) => rows.map(({ row }) => row.name).slice(0, MAXIMUM_NAMES)
  const without = known.filter(({ hasIt }) => !hasIt)
  return {
    registered: known.length,
    acked: known.length - without.length,
    unconfirmed: without.length,
    unconfirmed_names: names(without),
    unable_names: names(without.filter(({ isUnable }) => isUnable)),
  }
}

/** The answer: who has a change, who has not, and from when on nobody decides without it. */
function describe(known: readonly Known[], nowMs: Milliseconds): JsonObject {
  const without = known.filter(({ hasIt }) => !hasIt).map(({ row }) => row)
  // A heartbeat after the change reaches nobody without it.
  const ends = without.map((row) => Math.min(row.contact_at, nowMs) + row.max_stale_seconds * 1000)
  return {
    registered: known.length,
    acked: known.length - without.length,
    unconfirmed: without.length,
    unconfirmed_names: without.map(({ name }) => name).slice(0, MAXIMUM_NAMES),
    in_force_everywhere_by: isoTime(Math.max(nowMs, ...ends)),
  }
}
