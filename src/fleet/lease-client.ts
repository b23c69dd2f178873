// Keeps what this sidecar has of the limits of its hub: covers calls, asks the hub when a lease
// does not cover them, and reports what was used. One request at a time.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'
import { type Cover, HubLimit, type LimitDemand, type Moment, type OnHubLoss } from './hub-limit.ts'
import { HubRefusal } from './hub-requests.ts'
import { HubSlots } from './hub-slots.ts'
import { HubClock } from './hub-time.ts'
import {
  type CountedSubject,
  type LeaseAnswer,
  type LeaseRequest,
  MAXIMUM_LEASE_ITEMS,
  readLeaseAnswer,
} from './lease-protocol.ts'
import { type WaitEnd, WaitingCalls, type WaitingDemand } from './waiting-calls.ts'

/** Maximum limits, each for one subject, that are kept. Beyond it calls are refused. */
const MAXIMUM_LEASED_LIMITS = 50_000
/** Longest wait for an answer; after it the answer is lost. */
const ANSWER_MS: Milliseconds = 1000
/** Requests that no process sends in its life. */
export const REQUESTS_OF_A_PROCESS = 2 ** 32
/** After a request that failed the hub counts as away for so long; twice that after the next. */
const AWAY_MS: Milliseconds = 50
const MAXIMUM_AWAY_MS: Milliseconds = 500
/** Intervals at which reports are sent that nobody waits for. */
const TICK_MS: Milliseconds = 250
const TICK_WHEN_SCARCE_MS: Milliseconds = 50
/** Interval at which limits that nobody uses are forgotten. */
const SWEEP_MS: Milliseconds = 60_000

export interface LeaseClientParts {
  /** Posts a request on the control connection. Rejects without an answer. */
  readonly post: (request: LeaseRequest, timeoutMs: Milliseconds) => Promise<string>
  readonly isConnected: () => boolean
  readonly clock: Clock
  readonly timers: Timers
  readonly onHubLoss: OnHubLoss
  readonly waitMs: Milliseconds
  /** Number of the first request: higher than any of the processes before. */
  readonly firstRequest: number
  /** A request was answered, was refused or failed. */
  readonly asked: (result: 'answered' | 'failed') => void
  /** Limits begin or end to be counted in this process alone. */
  readonly alone: (isAlone: boolean) => void
}

/** How a call begins at a place: `full` when the hub has none, `away` when no hub answers. */
export type Begin = 'begun' | 'full' | 'away'

export class LeaseClient {
  readonly #parts: LeaseClientParts
  readonly #hub: HubClock
  readonly #limits = new Map<string, HubLimit>()
  readonly #slots = new Map<string, HubSlots>()
  readonly #waiting: WaitingCalls<HubLimit | HubSlots>
  /** Limits of which more is wanted before calls wait. */
  readonly #low = new Set<HubLimit>()
  /** States that may become due without a call. */
  readonly #active = new Set<HubLimit | HubSlots>()
  #request: number
  /** Whether no hub has answered this process yet. */
  #isFirst = true
  #isSending = false
  #awayUntilMs: Milliseconds = Number.NEGATIVE_INFINITY
  /** Requests that failed since the last answer. */
  #failures = 0
  #tick: unknown = null
  /** The delay of that timer. */
  #tickMs: Milliseconds = 0
  #sweptMs: Milliseconds
  #isStopped = false
  /** Whether a call was counted in this process alone, or refused so, since a hub answered. */
  #isAlone = false

  constructor(parts: LeaseClientParts) {
    this.#parts = parts
    this.#hub = new HubClock(parts.clock)
    this.#request = parts.firstRequest
    this.#sweptMs = parts.clock.monotonic()
    this.#waiting = new WaitingCalls(parts)
  }

  /**
   * A hub is connected. Asks it for nothing, so that the connection is open and the time of the hub
   * known before the first call waits.
   */
  connected(): void {
    if (this.#isSending || this.#isStopped) return
    this.#isSending = true
    void this.#send().then(() => {
      this.#isSending = false
      if (this.#waiting.isEmpty && this.#low.size === 0) this.#schedule()
      else this.#wake()
    })
  }

  /** Whether no hub answers, so that calls do not wait for one. */
  get isAway(): boolean {
    return !this.#parts.isConnected() || this.#parts.clock.monotonic() < this.#awayUntilMs
  }

  /** Whether limits are counted in this process alone. */
  get isAlone(): boolean {
    return this.#isAlone && this.isAway
  }

  moment(): Moment {
    return { nowMs: this.#parts.clock.monotonic(), hub: this.#hub.now() }
  }

  /** The state of a limit for a subject; null when there are too many. */
  limit(counted: CountedSubject, windowMs: Milliseconds): HubLimit | null {
    const name = nameOf(counted)
    const known = this.#limits.get(name)
    if (known?.leased.windowMs === windowMs) return known
    if (known === undefined && this.#limits.size >= MAXIMUM_LEASED_LIMITS) return null
    // A rule with another window starts anew, as in one process.
    if (known !== undefined) this.#active.delete(known)
    const state = new HubLimit(counted, windowMs)
    this.#limits.set(name, state)
    return state
  }

  slot(counted: CountedSubject): HubSlots | null {
    const name = nameOf(counted)
    let state = this.#slots.get(name)
    if (state !== undefined) return state
    if (this.#slots.size >= MAXIMUM_LEASED_LIMITS) return null
    state = new HubSlots(counted)
    this.#slots.set(name, state)
    return state
  }

  /** The limits that are kept, in no order. */
  limits(): Iterable<HubLimit> {
    return this.#limits.values()
  }

  /** Covers what a call asks of a limit: at once from a lease, or after the hub was asked. */
  cover(state: HubLimit, demand: LimitDemand): Cover | Promise<Cover> {
    const { onHubLoss } = this.#parts
    const moment = this.moment()
    state.called(demand.need)
    const now = state.coverNow(demand, moment)
    if (now !== null) {
      if (state.isLow(moment) && !this.isAway) this.#wantMore(state)
      else this.touched(state)
      return now
    }
    const without = () => {
      const cover = state.coverWithout(demand, this.moment(), onHubLoss)
      if (onHubLoss === 'local' && (cover.source === 'local' || cover.source === 'away')) this.#note(true)
      this.touched(state)
      return cover
    }
    if (this.isAway) return without()
    return this.#wait(state, demand, {
      without,
      covered: (isRefused) =>
        state.coverNow(demand, this.moment()) ?? (isRefused ? state.refuse(this.moment()) : null),
    })
  }

  /**
   * Begins a call at a place. It waits for one that a call elsewhere leaves, as long as for an
   * answer: places without a call are given back before that.
   */
  begin(state: HubSlots, amount: number): Begin | Promise<Begin> {
    const { clock, onHubLoss } = this.#parts
    const begin = (): Begin | null => (state.begin(amount, clock.monotonic()) ? 'begun' : null)
    const now = begin()
    if (now !== null) {
      this.touched(state)
      return now
    }
    let isRefused = false
    const without = (): Begin => {
      // The hub is there, and the places are taken.
      if (isRefused && !this.isAway) return 'full'
      const isLocal = onHubLoss === 'local'
      const isBegun = onHubLoss !== 'refuse' && state.beginWithout(clock.monotonic(), isLocal, amount)
      if (isLocal) this.#note(true)
      this.touched(state)
      return isBegun ? 'begun' : 'away'
    }
    if (this.isAway) return without()
    return this.#wait(
      state,
      { need: 1, expected: 0 },
      {
        without,
        covered: (isAnswered) => {
          isRefused ||= isAnswered && state.isFull(clock.monotonic())
          return begin()
        },
      },
    )
  }

  /** Something has changed that the hub is to hear some time. */
  touched(state: HubLimit | HubSlots): void {
    this.#active.add(state)
    if (state instanceof HubSlots) this.#waiting.answered(state)
    this.#schedule(state.isScarce)
  }

  /** Gives everything back. The last request is sent once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#parts.timers.clear(this.#tick)
    for (const state of this.#limits.values()) {
      state.end()
      this.#active.add(state)
    }
    for (const state of this.#slots.values()) {
      state.giveBack()
      this.#active.add(state)
    }
    while (this.#active.size > 0 && this.#parts.isConnected()) {
      const before = this.#active.size
      await this.#send()
      if (this.#active.size >= before) return
    }
  }

  #wait<Result>(
    state: HubLimit | HubSlots,
    demand: WaitingDemand,
    outcome: WaitEnd<Result>,
  ): Promise<Result> {
    const result = this.#waiting.wait(state, demand, outcome)
    this.#wake()
    return result
  }

  #note(isAlone: boolean): void {
    if (this.#isAlone !== isAlone) this.#parts.alone(isAlone)
    this.#isAlone = isAlone
  }

  #wantMore(state: HubLimit): void {
    this.#active.add(state)
    this.#low.add(state)
    this.#wake()
  }

  /** Sends what waits, in the next turn, so that calls of one turn ask together. */
  #wake(): void {
    if (this.#isSending || this.#isStopped) return
    this.#isSending = true
    void Promise.resolve().then(async () => {
      while (this.#low.size > 0 || this.#hasToAsk()) {
        await this.#send()
        // Calls do not wait any longer for a hub that is away.
        if (this.isAway) {
          this.#low.clear()
          for (const state of [...this.#waiting.states()]) this.#waiting.giveUp(state)
        }
      }
      this.#isSending = false
      this.#schedule()
    })
  }

  /** Whether a call waits that the hub has not just refused. */
  #hasToAsk(): boolean {
    const nowMs = this.#parts.clock.monotonic()
    for (const state of this.#waiting.states())
      if (!(state instanceof HubSlots && state.isFull(nowMs))) return true
    return false
  }

  /** @param isScarce whether calls elsewhere may wait for something that was not so before */
  #schedule(isScarce = false): void {
    const isSoon = isScarce || !this.#waiting.isEmpty
    const isIdle = this.#active.size === 0 && !isSoon
    if (this.#isStopped || (isIdle && this.#limits.size + this.#slots.size === 0)) return
    const { timers, clock } = this.#parts
    // A timer that is set fires soon enough, unless nothing pressed as much when it was set.
    if (this.#tick !== null && (isIdle || this.#tickMs <= (isSoon ? TICK_WHEN_SCARCE_MS : TICK_MS))) return
    timers.clear(this.#tick)
    const leftMs = Math.max(TICK_MS, this.#sweptMs + SWEEP_MS - clock.monotonic())
    const presses = isSoon || [...this.#active].some((state) => state.isScarce)
    this.#tickMs = isIdle ? leftMs : presses ? TICK_WHEN_SCARCE_MS : TICK_MS
    this.#tick = timers.set(() => {
      this.#tick = null
      void this.#report()
    }, this.#tickMs)
  }

  async #report(): Promise<void> {
    const moment = this.moment()
    this.#sweep(moment)
    if (!this.#isSending && !this.isAway && [...this.#active].some((state) => isDue(state, moment))) {
      this.#isSending = true
      await this.#send()
      this.#isSending = false
    }
    if (!this.#waiting.isEmpty) this.#wake()
    for (const state of this.#active) if (!isActive(state, this.moment())) this.#active.delete(state)
    this.#schedule()
  }

  /** Forgets limits that nobody uses, and their shares. */
  #sweep(moment: Moment): void {
    if (moment.nowMs - this.#sweptMs < SWEEP_MS) return
    this.#sweptMs = moment.nowMs
    for (const [name, state] of this.#limits) {
      if (state.isOver(moment)) this.#limits.delete(name)
      else if (state.isDue(moment)) this.#active.add(state)
    }
    for (const [name, state] of this.#slots) {
      if (state.isOver(moment.nowMs)) this.#slots.delete(name)
      else if (state.isDue(moment.nowMs)) this.#active.add(state)
    }
  }

  async #send(): Promise<void> {
    const { post, asked } = this.#parts
    const moment = this.moment()
    const { request, states } = this.#compose(moment)
    const answer = await post(request, ANSWER_MS).then(readLeaseAnswer).catch(this.#failed)
    asked(answer === null ? 'failed' : 'answered')
    if (answer !== null) {
      this.#isFirst = false
      this.#hub.take(answer.time, moment.nowMs, this.#parts.clock.monotonic())
      this.#awayUntilMs = Number.NEGATIVE_INFINITY
      this.#failures = 0
      this.#note(false)
      this.#take(answer, states)
      return
    }
    const later = this.moment()
    this.#awayUntilMs = later.nowMs + Math.min(MAXIMUM_AWAY_MS, AWAY_MS * 2 ** this.#failures++)
    for (const state of states) {
      state.lost(later)
      this.#active.add(state)
    }
  }

  readonly #failed = (error: unknown): null => {
    // The hub has seen a newer request, of a process whose numbers are not known here.
    if (error instanceof HubRefusal && error.status === 409) this.#request += REQUESTS_OF_A_PROCESS
    return null
  }

  #compose(moment: Moment): { request: LeaseRequest; states: readonly (HubLimit | HubSlots)[] } {
    const lists = { asks: [], settles: [], shares: [], slots: [] } as {
      -readonly [Name in Exclude<keyof LeaseRequest, 'request' | 'first'>]: LeaseRequest[Name][number][]
    }
    const states: (HubLimit | HubSlots)[] = []
    const due = [...this.#active].filter((state) => this.#isStopped || isDue(state, moment))
    for (const state of new Set([...this.#waiting.states(), ...this.#low, ...due])) {
      if (state instanceof HubSlots) {
        if (lists.slots.length >= MAXIMUM_LEASE_ITEMS) continue
        const { ask, share } = state.compose(this.#waiting.sent(state).need, moment.nowMs)
        lists.slots.push(ask)
        if (share !== null) lists.shares.push({ count: state.count, subject: state.subject, share })
      } else {
        const room = MAXIMUM_LEASE_ITEMS - Math.max(lists.settles.length, lists.asks.length)
        if (room < state.leased.buckets + 1) continue
        const { ask, settles, share } = state.compose(this.#waiting.sent(state), moment)
        if (ask !== null) lists.asks.push(ask)
        lists.settles.push(...settles)
        lists.shares.push(share)
        this.#low.delete(state)
      }
      this.#active.delete(state)
      states.push(state)
    }
    const first = this.#isFirst ? { first: true } : {}
    return { request: { request: ++this.#request, ...first, ...lists }, states }
  }

  #take({ time, grants, slots }: LeaseAnswer, states: readonly (HubLimit | HubSlots)[]): void {
    const granted = new Map(grants.map((one) => [nameOf(one), one]))
    const placed = new Map(slots.map((one) => [nameOf(one), one]))
    for (const state of states) {
      const moment = this.moment()
      if (state instanceof HubSlots) state.take(placed.get(nameOf(state)) ?? null, time, moment.nowMs)
      else state.take(granted.get(nameOf(state)) ?? null, time, moment)
      if (!this.#isStopped) this.#active.add(state)
      // The hub does not know a limit that it says nothing of.
      if (granted.has(nameOf(state)) || placed.has(nameOf(state))) this.#waiting.answered(state)
      else this.#waiting.giveUp(state)
    }
    // Little may be left now, which is to be given back sooner.
    this.#parts.timers.clear(this.#tick)
    this.#tick = null
  }
}

const nameOf = ({ count, subject }: CountedSubject): string => `${count}\0${subject}`

const isDue = (state: HubLimit | HubSlots, moment: Moment): boolean =>
  state instanceof HubSlots ? state.isDue(moment.nowMs) : state.isDue(moment)

const isActive = (state: HubLimit | HubSlots, moment: Moment): boolean =>
  state instanceof HubSlots ? state.isActive() : state.isActive(moment)
