// Calls of simulated sidecars against limits of the hub. Notes what was used and when, and compares it
// with the limits, and with what one process admits of the same calls.

import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import { uuidv5 } from '../../src/core/ids.ts'
import { admittedByOne, mostInWindow, type Use, windowsOver } from '../policy/fleet-model.ts'
import type { ChaosFaults } from './chaos-faults.ts'
import { oneOf } from './seeded.ts'
import type { SimulatedSidecar } from './simulated-sidecar.ts'

/** Calls a second of all sidecars together. */
const CALLS_PER_SECOND = 300
const LARGEST_CALL = 100
/** How much more calls ask for than the limit allows. */
const DEMAND = 3
/** A lease of a shorter one may end before it reaches a sidecar of this busy process. */
const WINDOWS_MS = [10_000, 15_000]
const TICK_MS = 10
/** Longest pause between two faults. */
const FAULT_PAUSE_MS = 800
/** Part of the calls, while there are faults, that use less than they hold. */
const SMALLER_SHARE = 0.3
/** Longest time of such a call. */
const CALL_MS = 300
/** Share of the calls that come to the sidecars in front: the demand is uneven. */
const FRONT_SHARE = 0.5
const FRONT = 0.2

interface ChaosLimit {
  readonly name: string
  readonly count: string
  readonly amount: number
  readonly windowMs: number
  uses: { readonly atMs: number; amount: number }[]
  calls: Use[]
}

/** What a limit came to. */
export interface LimitFigures {
  readonly limit: string
  readonly calls: number
  /** Most that was used in one window, of the limit. */
  readonly most: number
  readonly windows_over: number
  /** What was used without faults, of what one process admits. */
  readonly of_one_process: number
}

export interface LimitsResult {
  readonly seconds: number
  readonly limits: readonly LimitFigures[]
  /** What covered the calls. */
  readonly covered: Readonly<Record<string, number>>
  readonly requests_per_second: number
  readonly failed_requests: number
}

/** The rules that a hub needs for it. No key of theirs makes calls. */
export const limitRules = (): string => {
  const rules = newLimits().map(
    ({ name, amount, windowMs }) =>
      `  - {name: ${name}, type: rate_limit, pattern: "${amount} tokens/${windowMs / 1000}s", action: block, match: {keys: [nobody]}}\n`,
  )
  return `rules:\n${rules.join('')}`
}

function newLimits(): ChaosLimit[] {
  const tokensPerSecond = (CALLS_PER_SECOND * LARGEST_CALL) / 2 / WINDOWS_MS.length
  return WINDOWS_MS.map((windowMs) => {
    const name = `chaos-${windowMs}`
    const amount = Math.round((tokensPerSecond * windowMs) / 1000 / DEMAND)
    return { name, count: uuidv5(name), amount, windowMs, uses: [], calls: [] }
  })
}

/** The amount of a limit, by its count. */
export const amountOf = (count: string): number => newLimits().find((one) => one.count === count)?.amount ?? 0

export class ChaosLimits {
  readonly #sidecars: readonly SimulatedSidecar[]
  readonly #random: () => number
  readonly #limits = newLimits()
  readonly #covered: Record<string, number> = {}
  readonly #requests = { answered: 0, failed: 0 }
  #isFaulty = false

  constructor(sidecars: readonly SimulatedSidecar[], random: () => number) {
    this.#sidecars = sidecars
    this.#random = random
  }

  /** A sidecar has asked a hub for leases. */
  readonly asked = (result: 'answered' | 'failed'): void => {
    this.#requests[result]++
  }

  /** Makes calls: half of the time without faults, half of it with them. */
  async run(seconds: number, faults: Pick<ChaosFaults, 'disturb' | 'repaired'>): Promise<LimitsResult> {
    const halfMs = (seconds * 1000) / 2
    const before = { ...this.#requests }
    await this.#call(halfMs)
    const quiet = this.#limits.map(({ uses, calls, amount, windowMs }) => {
      const used = uses.reduce((sum, use) => sum + use.amount, 0)
      return used / admittedByOne(calls, amount, windowMs)
    })
    this.#isFaulty = true
    let isOver = false
    const disturbing = (async () => {
      while (!isOver) {
        faults.disturb()
        await delay(this.#random() * FAULT_PAUSE_MS)
      }
    })()
    await this.#call(halfMs)
    isOver = true
    await disturbing
    await faults.repaired()
    const answered = this.#requests.answered - before.answered
    return {
      seconds,
      limits: this.#limits.map(({ name: limit, uses, calls, amount, windowMs }, place) => ({
        ...{ limit, calls: calls.length },
        most: round(mostInWindow(uses, windowMs) / amount),
        windows_over: windowsOver(uses, windowMs, amount),
        of_one_process: round(quiet[place]!),
      })),
      covered: this.#covered,
      requests_per_second: Math.round(answered / seconds),
      failed_requests: this.#requests.failed - before.failed,
    }
  }

  async #call(durationMs: number): Promise<void> {
    const startedMs = systemClock.monotonic()
    let made = 0
    for (;;) {
      const passedMs = systemClock.monotonic() - startedMs
      if (passedMs > durationMs) return
      const due = (passedMs / 1000) * CALLS_PER_SECOND
      for (; made < due; made++) void this.#callOne(oneOf(this.#limits, this.#random), this.#someone())
      await delay(TICK_MS)
    }
  }

  #someone(): SimulatedSidecar {
    const isInFront = this.#random() < FRONT_SHARE
    const many = this.#sidecars.length * (isInFront ? FRONT : 1)
    return this.#sidecars[Math.floor(this.#random() * many)]!
  }

  async #callOne({ count, amount, windowMs, uses, calls }: ChaosLimit, sidecar: SimulatedSidecar) {
    const { leases } = sidecar
    if (leases === null) return
    const need = 1 + Math.floor(this.#random() * LARGEST_CALL)
    calls.push({ atMs: systemClock.monotonic(), amount: need })
    const state = leases.limit({ count, subject: 'line' }, windowMs)!
    const { source, isWithin, taken } = await leases.cover(state, { limit: amount, need, expected: 0 })
    this.#covered[source] = (this.#covered[source] ?? 0) + 1
    if (!isWithin || sidecar.leases !== leases) return
    const use = { atMs: systemClock.monotonic(), amount: need }
    uses.push(use)
    if (!this.#isFaulty || this.#random() > SMALLER_SHARE) return
    await delay(this.#random() * CALL_MS)
    // After a crash the call counts as what it held.
    if (sidecar.leases !== leases) return
    use.amount = Math.floor(this.#random() * need)
    state.leased.settle(taken, use.amount, systemClock.monotonic())
    leases.touched(state)
  }
}

const round = (share: number): number => Math.round(share * 1000) / 1000
