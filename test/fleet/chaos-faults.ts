// Faults of a fleet, and what repairs them: each begins at once and is repaired some time later.

import { setTimeout as delay } from 'node:timers/promises'
import { run } from '../ledger/postgres-server.ts'
import type { CalledSidecar } from './chaos-changes.ts'
import type { FleetSidecar, RunningFleet } from './running-fleet.ts'
import { oneOf, weighted } from './seeded.ts'
import type { SimulatedSidecar } from './simulated-sidecar.ts'

/** How often each fault comes; those of processes take seconds. */
export type FaultWeights = Readonly<Record<FaultName, number>>

export type FaultName =
  | 'kill'
  | 'goodbye'
  | 'lost connection'
  | 'network away'
  | 'reads nothing'
  | 'full disk'
  | 'listen ended'
  | 'hub killed'
  | 'database killed'
  | 'process killed'
  | 'process frozen'

export const WEIGHTS: FaultWeights = {
  kill: 22,
  goodbye: 14,
  'lost connection': 18,
  'network away': 12,
  'reads nothing': 12,
  'full disk': 6,
  'listen ended': 6,
  'hub killed': 3,
  'database killed': 1.5,
  'process killed': 1.5,
  'process frozen': 3,
}

/** More of the rare ones, for a short run. */
export const QUICK_WEIGHTS: FaultWeights = {
  ...WEIGHTS,
  'hub killed': 7,
  'database killed': 4,
  'process killed': 4,
  'process frozen': 5,
}

/** Most simulated sidecars that one fault disturbs. */
const MOST_AT_ONCE = 5
/** Most simulated sidecars that are disturbed at a time. */
const MOST_DISTURBED = 40

interface FaultParts {
  readonly fleet: RunningFleet
  readonly sidecars: readonly SimulatedSidecar[]
  readonly called: readonly CalledSidecar[]
  readonly random: () => number
  readonly weights: FaultWeights
}

export class ChaosFaults {
  readonly #parts: FaultParts
  readonly counts: Partial<Record<FaultName, number>> = {}
  readonly #repairs = new Set<Promise<void>>()
  #isHubAway = false
  #isDatabaseAway = false

  constructor(parts: FaultParts) {
    this.#parts = parts
  }

  /** Does a random fault, and repairs it later. */
  disturb(): void {
    const { random, weights } = this.#parts
    const name = weighted(weights, random)
    const repair = this.#do(name)
    if (repair === null) return
    this.counts[name] = (this.counts[name] ?? 0) + 1
    this.#repairs.add(repair)
    void repair.finally(() => this.#repairs.delete(repair))
  }

  /** Resolves when everything is repaired. @throws Error (rejects) of a part that does not start again */
  async repaired(): Promise<void> {
    while (this.#repairs.size > 0) await Promise.all(this.#repairs)
  }

  /** @returns when it is to be repaired; null when it cannot begin now */
  #do(name: FaultName): Promise<void> | null {
    switch (name) {
      case 'hub killed':
        return this.#isHubAway ? null : this.#killHub()
      case 'database killed':
        return this.#isDatabaseAway ? null : this.#killDatabase()
      case 'listen ended':
        return this.#isDatabaseAway ? null : this.#endListening()
      case 'process killed':
      case 'process frozen':
        return this.#disturbProcess(name)
      default: {
        const chosen = this.#choose(name)
        return chosen.length === 0
          ? null
          : Promise.all(chosen.map((one) => this.#disturbOne(one, name))).then(() => {})
      }
    }
  }

  #choose(name: FaultName): SimulatedSidecar[] {
    const { sidecars, random } = this.#parts
    const free = MOST_DISTURBED - sidecars.filter(({ isDisturbed }) => isDisturbed).length
    const count = Math.min(free, 1 + Math.floor(random() * MOST_AT_ONCE))
    const chosen = new Set<SimulatedSidecar>()
    for (let tries = 0; tries < count; tries++) {
      const one = oneOf(sidecars, random)
      if (!one.isDisturbed) chosen.add(one)
    }
    for (const one of chosen) one.fault = name
    return [...chosen]
  }

  #someMs(most: number): number {
    return this.#parts.random() * most
  }

  async #disturbOne(sidecar: SimulatedSidecar, name: FaultName): Promise<void> {
    const tookMs = this.#someMs(name === 'network away' ? 9000 : 3000)
    if (name === 'kill') sidecar.kill()
    if (name === 'goodbye') await sidecar.leave()
    if (name === 'lost connection') sidecar.breakConnections()
    if (name === 'network away') sidecar.setNetwork('cut')
    if (name === 'reads nothing') sidecar.setNetwork('unread')
    if (name === 'full disk') sidecar.rows.isFull = true
    if (name !== 'lost connection') await delay(tookMs)
    if (name === 'kill' || name === 'goodbye') sidecar.start()
    sidecar.rows.isFull = false
    sidecar.setNetwork('well')
    // It counts as any other one when it is connected again.
    const endMs = performance.now() + 10_000
    while (!sidecar.isConnected && performance.now() < endMs) await delay(50)
    sidecar.fault = null
  }

  async #killHub(): Promise<void> {
    const { fleet, random } = this.#parts
    this.#isHubAway = true
    const hub = oneOf(fleet.hubs, random)
    await hub.child.kill()
    await delay(this.#someMs(3000))
    // A hub does not start without the database.
    while (this.#isDatabaseAway) await delay(50)
    for (let attempts = 1; ; attempts++)
      try {
        hub.child = await fleet.startHub(hub.file)
        break
      } catch (error) {
        if (attempts === 5) throw error
      }
    this.#isHubAway = false
  }

  async #killDatabase(): Promise<void> {
    const { fleet } = this.#parts
    this.#isDatabaseAway = true
    await fleet.postgres.kill()
    await delay(this.#someMs(3000))
    await fleet.postgres.start()
    this.#isDatabaseAway = false
  }

  async #endListening(): Promise<void> {
    const statement = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sidegate-hub listen'`
    // The database may be killed meanwhile.
    await run(this.#parts.fleet.urlAs('owner'), statement).catch(() => {})
  }

  #disturbProcess(name: FaultName): Promise<void> | null {
    const { called, random, fleet } = this.#parts
    const index = Math.floor(random() * called.length)
    const one = called[index]!
    if (one.isDisturbed) return null
    one.isDisturbed = true
    one.disturbances++
    const sidecar = fleet.sidecars[index]!
    const repair = name === 'process frozen' ? this.#freeze(sidecar) : this.#restart(sidecar, index)
    return repair.then((url) => {
      one.url = url
      one.isDisturbed = false
    })
  }

  async #freeze({ child, url }: FleetSidecar): Promise<string> {
    child.signal('SIGSTOP')
    await delay(this.#someMs(4000))
    child.signal('SIGCONT')
    return url
  }

  async #restart({ child, name }: FleetSidecar, index: number): Promise<string> {
    const { fleet } = this.#parts
    await child.kill()
    const started = await fleet.startSidecar(name.split('/')[1]!)
    fleet.sidecars[index] = started
    return started.url
  }
}
