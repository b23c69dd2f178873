// The disk of a simulated sidecar: what was written in time survives a kill, what was under way may
// be lost.

import { setTimeout as delay } from 'node:timers/promises'
import type { FleetStorage } from '../../src/fleet/sidecar-memory.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import {
  type FleetChanges,
  type KeptState,
  NO_FLEET_STATE,
  type RememberedFleet,
} from '../../src/keys/fleet-state.ts'
import type { KeptPolicy } from '../../src/policy/fleet-policy.ts'

/** Longest time of a write. */
const WRITE_MS = 4

/** Ids that many sidecars keep, once. */
const IDS = new Map<string, string>()

function shared(id: string): string {
  const known = IDS.get(id)
  if (known === undefined) IDS.set(id, id)
  return known ?? id
}

type Changes = FleetChanges & { readonly policy: KeptPolicy }

export class DurableRows implements FleetStorage {
  readonly #random: () => number
  #state: KeptState = NO_FLEET_STATE
  readonly #keys = new Map<string, FleetKey>()
  readonly #tombstones = new Map<string, number>()
  #policy: KeptPolicy = {}
  #pending: Changes | null = null
  #crashes = 0
  /** True: nothing can be written. */
  isFull = false

  constructor(random: () => number) {
    this.#random = random
  }

  read(): RememberedFleet & { readonly policy: KeptPolicy } {
    const { ...policy } = this.#policy
    return { state: this.#state, keys: [...this.#keys.values()], tombstones: [...this.#tombstones], policy }
  }

  async write(changes: Changes): Promise<void> {
    if (this.isFull) throw new Error('no space left on device')
    const crashes = this.#crashes
    this.#pending = changes
    await delay(this.#random() * WRITE_MS)
    // The process that waits for it is gone.
    if (crashes !== this.#crashes) return new Promise(() => {})
    this.#pending = null
    this.#apply(changes)
  }

  /** The process is killed: a write under way is on disk as a whole, or not at all. */
  crash(): void {
    this.#crashes++
    if (this.#pending !== null && this.#random() < 0.5) this.#apply(this.#pending)
    this.#pending = null
  }

  #apply({ state, put, removed, buried, forgotten, policy }: Changes): void {
    this.#state = state
    this.#policy = { ...this.#policy, ...policy }
    for (const key of put) this.#keys.set(key.id, key)
    for (const id of removed) this.#keys.delete(id)
    for (const [id, atMs] of buried) this.#tombstones.set(shared(id), atMs)
    for (const id of forgotten) this.#tombstones.delete(id)
  }
}
