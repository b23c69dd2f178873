// Limits of a sidecar: those of the hub's rules and keys are covered by leases, before a call is
// decided on; all others are counted in this process. Only the cover waits, and only when a lease
// does not reach.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { CallKey } from '../../core/key-terms.ts'
import type { Cover, HubLimit } from '../../fleet/hub-limit.ts'
import type { Begin, LeaseClient } from '../../fleet/lease-client.ts'
import { KEY_PARALLEL } from '../../fleet/lease-protocol.ts'
import type { Selection } from '../../policy/compile.ts'
import { type HubRules, NO_HUB_RULES } from '../../policy/hub-rules.ts'
import type { BucketAmount } from '../../policy/leased-limit.ts'
import { bucketAt, bucketLength, expectedTokens, learn } from '../../policy/limit.ts'
import { countOf, subjectOf } from '../../policy/limit-scope.ts'
import { type CounterChange, HUB_COUNT } from '../../store/limits/counter-changes.ts'
import type {
  Counters,
  CountInUse,
  Reservation,
  ReserveRequest,
  Spending,
} from '../../store/limits/counters.ts'
import type { ParallelCalls, Place, PlaceRequest } from './parallel-calls.ts'
import { type AppliedLimit, askedOf, type Demand, limitsOf, neverFits, type QuotaParts } from './quota.ts'

export interface FleetQuotaParts {
  readonly leases: LeaseClient
  /** Whether a key is one of the hub. */
  readonly isHubKey: (id: string) => boolean
  readonly counters: Pick<Counters, 'reserve' | 'settle' | 'charge' | 'hubCounts'>
  readonly parallel: Pick<ParallelCalls, 'enter'>
  readonly clock: Clock
  /** A call was covered by one limit. */
  readonly covered: (source: Cover['source']) => void
}

/** What the limits of one call are counted in. */
export interface CallQuotaParts extends QuotaParts {
  readonly isLocal: boolean
  /** Gives back what no reservation has taken; further calls do nothing. */
  release(): void
}

export class FleetQuota {
  readonly #parts: FleetQuotaParts
  #rules = NO_HUB_RULES

  constructor(parts: FleetQuotaParts) {
    this.#parts = parts
  }

  /**
   * Lets the rules say which limits are the hub's, and takes over what the last process used of
   * those. To be called once, when the rules that the last process had are in force.
   */
  connect(rules: HubRules): void {
    const { leases, counters } = this.#parts
    this.#rules = rules
    for (const { ruleId, subject, windowMs, bucketIndex, tokens } of counters.hubCounts) {
      const count = ruleId.slice(HUB_COUNT.length)
      const limit = rules.limitOf(count)
      if (limit?.windowMs !== windowMs) continue
      const state = leases.limit({ count, subject }, windowMs)
      state?.restore(limit.amount, bucketIndex, tokens)
      if (state != null) leases.touched(state)
    }
  }

  /** Covers what a call asks of its limits. Never rejects. */
  async cover(selection: Selection, key: CallKey, demand: Demand): Promise<CallQuotaParts> {
    const { covered } = this.#parts
    const covers = new Map<string, Covered>()
    const places = new Map<string, Place>()
    const waits: Promise<void>[] = []
    for (const limit of limitsOf(selection, key, demand.money)) {
      if (!this.#isOfHub(limit, key)) continue
      // No limit of a run or an end user is the hub's.
      const subject = subjectOf(limit.scope, key)
      const name = `${countNameOf(limit)}\0${subject}`
      if (limit.unit === 'parallel') {
        const place = this.#enter(limit, subject)
        waits.push(Promise.resolve(place).then((one) => void places.set(name, one)))
        continue
      }
      const one = this.#cover(limit, subject, demand)
      if (one === null) continue
      waits.push(
        Promise.resolve(one).then((ended) => {
          covers.set(name, ended)
          covered(ended.cover.source)
        }),
      )
    }
    await Promise.all(waits)
    return new CallQuota(this.#parts, (count) => this.isOfHub(count), covers, places)
  }

  /** Whether a count is kept by the hub. */
  isOfHub(count: string): boolean {
    return this.#rules.limitOf(count) !== null
  }

  /** Whether limits of the hub are counted in this process alone, because none answers. */
  get isAlone(): boolean {
    return this.#parts.leases.isAlone
  }

  /** What counts of limits of the hub: over the fleet, as it last said, or here alone. */
  inUse(): CountInUse[] {
    const { leases } = this.#parts
    const moment = leases.moment()
    const nowMs = moment.hub.latestMs
    return [...leases.limits()].flatMap((state) => {
      const { count: ruleId, subject, leased } = state
      const use = leases.isAlone ? state.useAlone(moment) : state.use
      const resetMs = use === null ? 0 : use.resetAtMs - nowMs
      // What the hub said last is over, and it is not asked before the next call.
      if (use === null || use.used === 0 || resetMs <= 0) return []
      return [{ ruleId, subject, windowMs: leased.windowMs, used: use.used, resetMs }]
    })
  }

  /** As that of Counters, for a limit of the hub. */
  highestUse(count: string, windowMs: Milliseconds): number {
    return this.inUse()
      .filter((one) => one.ruleId === count && one.windowMs === windowMs)
      .reduce((highest, { used }) => Math.max(highest, used), 0)
  }

  /** What counts calls that are not covered first, and what was used without a reservation. */
  get counters(): Pick<Counters, 'reserve' | 'settle' | 'charge'> {
    const { counters } = this.#parts
    return {
      reserve: (request) => counters.reserve(request),
      settle: (...settled) => counters.settle(...settled),
      charge: (spending) => this.charge(spending),
    }
  }

  /** Counts what was used without a reservation, or gives it back, where the limit is counted. */
  charge(spending: Spending): CounterChange[] {
    const { leases, counters, clock } = this.#parts
    const { ruleId: count, subject, windowMs, tokens, atMs } = spending
    const limit = this.#rules.limitOf(count)
    if (limit === null) return counters.charge(spending)
    const state = leases.limit({ count, subject }, windowMs)
    if (state === null || tokens === 0) return []
    const ageMs = Math.max(0, clock.now() - atMs)
    const bucket = bucketAt(bucketLength(windowMs), leases.moment().hub.latestMs - ageMs)
    state.restore(limit.amount, bucket, tokens)
    leases.touched(state)
    return changesOf(state, [{ bucket, amount: tokens }])
  }

  #isOfHub({ rule, unit }: AppliedLimit, key: CallKey): boolean {
    return rule === null ? this.#parts.isHubKey(key.id) : this.isOfHub(countOf({ rule, unit }))
  }

  /** @returns null for a limit that the quota refuses by itself */
  #cover(limit: AppliedLimit, subject: string, demand: Demand): Covered | Promise<Covered> | null {
    const { leases } = this.#parts
    const { windowMs, amount } = limit
    const asked = askedOf(limit.unit, demand)
    const count = countNameOf(limit)
    const state = asked === null ? null : leases.limit({ count, subject }, windowMs)
    if (asked === null || state === null) return null
    const expected = expectedTokens(state, asked)
    const need = Math.max(1, asked.tokens)
    const wanted = { limit: amount, need, expected }
    if (limit.rule?.action === 'monitor') {
      const cover = state.monitor({ ...wanted, need: need + expected }, leases.moment())
      leases.touched(state)
      return { state, cover }
    }
    if (neverFits(limit, demand)) return { state, cover: state.refuse(leases.moment()) }
    const cover = leases.cover(state, wanted)
    return cover instanceof Promise ? cover.then((ended) => ({ state, cover: ended })) : { state, cover }
  }

  #enter(limit: AppliedLimit, subject: string): Place | Promise<Place> {
    const { leases, clock } = this.#parts
    const { amount } = limit
    const state = leases.slot({ count: countNameOf(limit), subject })
    if (state === null) return NO_PLACE
    const end = once(() => {
      state.end(clock.monotonic())
      leases.touched(state)
    })
    const placed = (begun: Begin): Place =>
      begun === 'begun'
        ? { allowed: true, remaining: Math.max(0, amount - state.running), end }
        : { ...NO_PLACE, isAway: begun === 'away' }
    if (limit.rule?.action === 'monitor') {
      const allowed = state.monitor(amount, clock.monotonic())
      leases.touched(state)
      return { allowed, remaining: Math.max(0, amount - state.running), end }
    }
    const begun = leases.begin(state, amount)
    return begun instanceof Promise ? begun.then(placed) : placed(begun)
  }
}

interface Covered {
  readonly state: HubLimit
  readonly cover: Cover
}

const NO_PLACE: Place = { allowed: false, remaining: 0, end: () => {} }
/** When a call that found no room for its limit may try again. */
const RETRY_WHEN_FULL_MS: Milliseconds = 1000

/** In the place of a reservation, when MAXIMUM_LEASED_LIMITS are kept. */
const FULL: Reservation = {
  allowed: false,
  remaining: 0,
  resetMs: RETRY_WHEN_FULL_MS,
  retryAfterMs: RETRY_WHEN_FULL_MS,
  isHeld: false,
}

/** The name of a limit's count at the hub. */
const countNameOf = ({ rule, unit }: AppliedLimit): string =>
  rule === null ? KEY_PARALLEL : countOf({ rule, unit })

const changesOf = ({ count, subject, leased }: HubLimit, uses: readonly BucketAmount[]): CounterChange[] =>
  uses
    .filter(({ amount }) => amount !== 0)
    .map(({ bucket, amount }) => ({
      ruleId: `${HUB_COUNT}${count}`,
      subject,
      windowMs: leased.windowMs,
      bucketIndex: bucket,
      tokens: amount,
    }))

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

/** The limits of one call after they are covered. */
class CallQuota implements CallQuotaParts {
  readonly counters: QuotaParts['counters']
  readonly parallel: QuotaParts['parallel']
  readonly isLocal: boolean
  readonly #parts: FleetQuotaParts
  readonly #isOfHub: (count: string) => boolean
  readonly #covers: Map<string, Covered>
  readonly #places: Map<string, Place>
  readonly #held = new WeakMap<Reservation, Covered & { readonly request: ReserveRequest }>()

  constructor(
    parts: FleetQuotaParts,
    isOfHub: (count: string) => boolean,
    covers: Map<string, Covered>,
    places: Map<string, Place>,
  ) {
    this.#parts = parts
    this.#isOfHub = isOfHub
    this.#covers = covers
    this.#places = places
    this.isLocal = parts.leases.isAlone && covers.size + places.size > 0
    this.counters = {
      reserve: (request) => this.#reserve(request),
      settle: (...settled) => this.#settle(...settled),
    }
    this.parallel = { enter: (request) => this.#enter(request) }
  }

  release(): void {
    for (const { state, cover } of this.#covers.values()) this.#giveBack(state, cover)
    this.#covers.clear()
    for (const { end } of this.#places.values()) end()
    this.#places.clear()
  }

  #reserve(request: ReserveRequest): Reservation {
    const { counters } = this.#parts
    const name = `${request.ruleId}\0${request.subject}`
    const covered = this.#covers.get(name)
    if (covered === undefined) return this.#isOfHub(request.ruleId) ? FULL : counters.reserve(request)
    this.#covers.delete(name)
    const { remaining, resetMs, retryAfterMs, isWithin, source } = covered.cover
    const isAway = source === 'away'
    const reservation = { allowed: isWithin, remaining, resetMs, retryAfterMs, isHeld: false, isAway }
    this.#held.set(reservation, { ...covered, request })
    return reservation
  }

  #settle(
    ...[reservation, used, answerTokens, keeps = false]: Parameters<Counters['settle']>
  ): CounterChange[] {
    const { counters, leases, clock } = this.#parts
    const held = this.#held.get(reservation)
    if (held === undefined) return counters.settle(reservation, used, answerTokens, keeps)
    this.#held.delete(reservation)
    const { state, cover, request } = held
    if (cover.taken.length === 0) return []
    const reserved = cover.taken.reduce((sum, { amount }) => sum + amount, 0)
    const tokens = keeps ? Math.max(used, reserved) : used
    const uses = state.leased.settle(cover.taken, tokens, clock.monotonic())
    if (request.unlimitedChoices > 0) learn(state, answerTokens, request.unlimitedChoices)
    leases.touched(state)
    return changesOf(state, uses)
  }

  #enter(request: PlaceRequest): Place {
    const { rule, subject } = request
    const name = `${rule === null ? KEY_PARALLEL : countOf({ rule, unit: 'parallel' })}\0${subject}`
    const place = this.#places.get(name)
    if (place === undefined) return this.#parts.parallel.enter(request)
    this.#places.delete(name)
    return place
  }

  #giveBack(state: HubLimit, { taken }: Cover): void {
    if (taken.length === 0) return
    state.leased.settle(taken, 0, this.#parts.clock.monotonic())
    this.#parts.leases.touched(state)
  }
}
