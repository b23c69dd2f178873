// The rows of what a sidecar keeps of its fleet: the keys of the hub, the ids of revoked ones, its
// rules and prices, and the place in the history of changes.

import { type FleetKey, storedKeyOf } from '../../keys/fleet-key.ts'
import {
  type FleetChanges,
  type KeptState,
  NO_FLEET_STATE,
  type RememberedFleet,
  type Tombstone,
} from '../../keys/fleet-state.ts'
import type { StoredKey } from '../../keys/key-record.ts'
import type { KeptPolicy } from '../../policy/fleet-policy.ts'
import type { Environment } from '../environment/journaled.ts'
import { readJson, readU64, u64, writeJson } from '../tables/layout.ts'

const STATE_KEY = Buffer.from('state')
/** The rows of the policy, by the member that each holds. */
const POLICY_KEYS = [
  'rules',
  'prices',
  'overrides',
  'goodRules',
  'goodPrices',
] as const satisfies readonly (keyof KeptPolicy)[]
const policyKey = (name: keyof KeptPolicy): Buffer => Buffer.from(`policy/${name}`)
/** Approximate bytes of a row besides those of a key. */
const ROW_BYTES = 64
/** Approximate bytes of a key. */
const KEY_BYTES = 512

export class FleetRows {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get state(): KeptState {
    const bytes = this.#environment.tables.fleet.get(STATE_KEY)
    return bytes === undefined ? NO_FLEET_STATE : { ...NO_FLEET_STATE, ...readJson<KeptState>(bytes) }
  }

  /** The key under which end users are hashed; null when no hub has sent one. */
  get userKey(): Buffer | null {
    const { fleetKey } = this.state
    return fleetKey === null ? null : Buffer.from(fleetKey, 'base64')
  }

  /** The keys that are not revoked, as lists show them. */
  accepted(): StoredKey[] {
    const { keys, tombstones } = this.read()
    const revoked = new Set(tombstones.map(([id]) => id))
    return keys.filter(({ id }) => !revoked.has(id)).map(storedKeyOf)
  }

  read(): RememberedFleet & { readonly policy: KeptPolicy } {
    this.#environment.refresh()
    const tombstones = this.#environment.tables.fleetrevoked
      .rows()
      .map(({ key, value }): Tombstone => [key.toString(), readU64(value)])
      .sort(([, one], [, other]) => one - other)
    const keys = this.#environment.tables.fleetkeys.rows().map(({ value }) => readJson<FleetKey>(value))
    return { state: this.state, keys, tombstones, policy: this.#policy() }
  }

  #policy(): KeptPolicy {
    const rows = POLICY_KEYS.flatMap((name) => {
      const bytes = this.#environment.tables.fleet.get(policyKey(name))
      return bytes === undefined ? [] : [[name, readJson<unknown>(bytes)]]
    })
    return Object.fromEntries(rows)
  }

  /**
   * Writes changes in one transaction. Resolves when they are durable; rejects when nothing is
   * stored.
   */
  write({
    state,
    put,
    removed,
    buried,
    forgotten,
    policy = {},
  }: FleetChanges & { readonly policy?: KeptPolicy }): Promise<void> {
    const { fleet, fleetkeys, fleetrevoked } = this.#environment.tables
    const rows = removed.length + buried.length + forgotten.length + 1
    const policyRows = Object.entries(policy).map(
      ([name, value]) => [policyKey(name as keyof KeptPolicy), writeJson(value)] as const,
    )
    const policyBytes = policyRows.reduce((sum, [, { length }]) => sum + length, 0)
    return this.#environment.transaction(
      () => {
        fleet.put(STATE_KEY, writeJson(state))
        for (const key of put) fleetkeys.put(Buffer.from(key.id), writeJson(key))
        for (const id of removed) fleetkeys.remove(Buffer.from(id))
        for (const [id, revokedAtMs] of buried) fleetrevoked.put(Buffer.from(id), u64(revokedAtMs))
        for (const id of forgotten) fleetrevoked.remove(Buffer.from(id))
        for (const [name, bytes] of policyRows) fleet.put(name, bytes)
      },
      put.length * KEY_BYTES + rows * ROW_BYTES + policyBytes,
    )
  }
}
