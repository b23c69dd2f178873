// Callers that share one limit of calls at a time, each of whose calls goes to any sidecar.

import { seededRandom } from '../../src/core/seeded-random.ts'
import type { Begin, LeaseClient } from '../../src/fleet/lease-client.ts'
import { LeaseHub, VirtualTime } from './lease-hub.ts'
import { oneOf } from './seeded.ts'

const PLACE = { count: 'rule:parallel', subject: 'line' }
/** Requests that no process of the model sends. */
const REQUESTS_OF_A_LIFE = 1_000_000

export interface PlaceDemand {
  readonly limit: number
  readonly sidecars: number
  /** Each runs one call at a time. */
  readonly callers: number
  readonly calls: number
  /** Mean time of a call. */
  readonly callMs: number
  readonly seed: number
  readonly guaranteedSlots?: number
  /** A lower limit from some time on. */
  readonly lowered?: { readonly atMs: number; readonly limit: number }
  /** Parts of a whole: of messages that are lost, and of calls at which their sidecar dies. */
  readonly faults?: { readonly lost: number; readonly deaths: number; readonly slowestMs: number }
}

interface Sidecar {
  client: LeaseClient
  isAlive: { value: boolean }
}

function hubOf(demand: PlaceDemand, time: VirtualTime, random: () => number) {
  const { faults, lowered, guaranteedSlots = 0.2 } = demand
  const hub = new LeaseHub(time)
  hub.guaranteedSlots = guaranteedSlots
  const limits = { now: demand.limit }
  const set = (limit: number) => {
    limits.now = limit
    hub.limits.set(PLACE.count, { limit, windowMs: 0 })
  }
  set(demand.limit)
  if (lowered !== undefined) time.set(() => set(lowered.limit), lowered.atMs)
  if (faults !== undefined)
    hub.fate = () => (random() < faults.lost ? 'lost' : 1 + Math.floor(random() * faults.slowestMs))
  return { hub, limits }
}

/** Time after which each sidecar follows a lowered limit. */
const FOLLOWED_MS = 300

/**
 * How the calls ended; the most that ran at a time; the mean wait; requests to the hub a call; and
 * the most that ran as a call began after the limit was lowered.
 */
export async function runCallers(demand: PlaceDemand) {
  const { callers, calls, callMs, faults, lowered } = demand
  const random = seededRandom(demand.seed)
  const time = new VirtualTime()
  const { hub, limits } = hubOf(demand, time, random)
  let lives = 0
  const open = (n: number): Sidecar => {
    const isAlive = { value: true }
    const options = {
      isConnected: () => isAlive.value && !hub.isAway,
      onHubLoss: n % 2 === 0 ? ('share' as const) : ('refuse' as const),
      firstRequest: 1 + REQUESTS_OF_A_LIFE * ++lives,
    }
    return { client: hub.sidecar(`s${n}`, options), isAlive }
  }
  const sidecars = Array.from({ length: demand.sidecars }, (_, n) => open(n))
  const ends: Record<Begin, number> = { begun: 0, full: 0, away: 0 }
  const waits: number[] = []
  const running = new RunningCalls(time, lowered?.atMs)
  const pass = (meanMs: number) =>
    new Promise<void>((resolve) => void time.set(resolve, 1 + Math.floor(random() * 2 * meanMs)))

  let left = calls
  const call = async () => {
    const place = Math.floor(random() * sidecars.length)
    const { client, isAlive } = sidecars[place]!
    const state = client.slot(PLACE)!
    const startMs = time.monotonic()
    const end = await client.begin(state, limits.now)
    waits.push(time.monotonic() - startMs)
    ends[end]++
    if (end !== 'begun') return pass(10)
    running.change(isAlive, 1)
    await pass(callMs)
    running.change(isAlive, -1)
    state.end(time.monotonic())
    client.touched(state)
    if (faults === undefined || random() >= faults.deaths) return
    isAlive.value = false
    if (sidecars[place]!.isAlive === isAlive) sidecars[place] = open(place)
  }
  const work = async () => {
    await pass(callMs)
    while (left-- > 0) await call()
  }
  const all = { isDone: false }
  void Promise.all(Array.from({ length: callers }, work)).then(() => {
    all.isDone = true
  })
  while (!all.isDone) {
    await time.advance(1000)
    if (faults !== undefined) hub.isAway = random() < faults.lost
  }
  return {
    ends,
    most: running.most,
    mostLowered: running.mostLowered,
    waitMs: waits.reduce((sum, ms) => sum + ms, 0) / calls,
    requests: hub.requests.length / calls,
  }
}

/** The calls that run at sidecars that live. */
class RunningCalls {
  readonly #time: VirtualTime
  readonly #loweredAtMs: number
  readonly #of = new Map<Sidecar['isAlive'], number>()
  most = 0
  mostLowered = 0

  constructor(time: VirtualTime, loweredAtMs = Number.POSITIVE_INFINITY) {
    this.#time = time
    this.#loweredAtMs = loweredAtMs
  }

  change(life: Sidecar['isAlive'], by: 1 | -1): void {
    this.#of.set(life, (this.#of.get(life) ?? 0) + by)
    const all = [...this.#of].filter(([{ value }]) => value).reduce((sum, [, count]) => sum + count, 0)
    this.most = Math.max(this.most, all)
    const isFollowed = this.#time.monotonic() >= this.#loweredAtMs + FOLLOWED_MS
    if (isFollowed && by > 0) this.mostLowered = Math.max(this.mostLowered, all)
  }
}

/** The demands of the property: any callers, sidecars and faults. */
export function anyDemand(seed: number): PlaceDemand {
  const random = seededRandom(seed)
  const limit = oneOf([1, 2, 3, 7, 20], random)
  return {
    limit,
    sidecars: oneOf([2, 3, 5, 10], random),
    callers: Math.ceil(limit * (0.5 + 2 * random())),
    calls: 80,
    callMs: oneOf([5, 50, 400], random),
    seed,
    guaranteedSlots: oneOf([0, 0.2, 0.5, 1], random),
    faults: {
      lost: oneOf([0, 0.02, 0.2], random),
      deaths: oneOf([0, 0.02], random),
      slowestMs: oneOf([3, 40, 1500], random),
    },
  }
}
