// What a sidecar keeps of its hub over a restart, and how authentication asks for keys of a hub.

import type { Milliseconds } from '../core/clock.ts'
import type { CallKey, KeyTerms } from '../core/key-terms.ts'
import type { EraseOrder } from './erase-order.ts'
import type { FleetKey } from './fleet-key.ts'
import type { StoredKey } from './key-record.ts'

/** What a sidecar knows of its fleet besides the keys. JSON. */
export interface KeptState {
  /** Null before the first snapshot. */
  readonly epoch: string | null
  readonly rev: number
  /** Id under which the hub lists the sidecar; null before the first contact. */
  readonly sidecar: string | null
  /** Name under which the hub lists the sidecar; null before the first contact. */
  readonly name: string | null
  /** Id that a join token was exchanged for; null for none. */
  readonly joined: string | null
  /** The key under which end users are hashed, base64; null before the first contact. */
  readonly fleetKey: string | null
  /** Wall time of the last heartbeat whose revision is applied; null for none. */
  readonly freshAtMs: Milliseconds | null
  /** The clock of the hubs minus the wall clock; null before the first heartbeat. */
  readonly hubAheadMs: Milliseconds | null
  /** `maxStaleSeconds` as the hub knows it; null before the first contact. */
  readonly toldMaxStaleSeconds: number | null
  /** True after a goodbye: the hub no longer counts the sidecar. */
  readonly left: boolean
  /** True when the hub sent an event that is not in force; the next start asks for all keys. */
  readonly hasUnknownEvents: boolean
  /** Orders of erasure that are not applied yet, oldest first. */
  readonly orders: readonly PendingOrder[]
  /** Ids of orders that were applied, oldest first. */
  readonly applied: readonly string[]
  /** Above the number of every request for leases that was sent. */
  readonly nextLeaseRequest: number
}

/** An order that waits. Its revision is null when it is one of another history. */
export type PendingOrder = Omit<EraseOrder, 'rev'> & { readonly rev: number | null }

export const NO_FLEET_STATE: KeptState = {
  epoch: null,
  rev: 0,
  sidecar: null,
  name: null,
  joined: null,
  fleetKey: null,
  freshAtMs: null,
  hubAheadMs: null,
  toldMaxStaleSeconds: null,
  left: false,
  hasUnknownEvents: false,
  orders: [],
  applied: [],
  nextLeaseRequest: 0,
}

/** The id of a revoked key, and when it was revoked. */
export type Tombstone = readonly [id: string, revokedAtMs: Milliseconds]

/** Everything that a sidecar keeps of its fleet. */
export interface RememberedFleet {
  readonly state: KeptState
  readonly keys: readonly FleetKey[]
  /** Oldest first. */
  readonly tombstones: readonly Tombstone[]
}

/** Rows that change together with the state. */
export interface FleetChanges {
  readonly state: KeptState
  readonly put: readonly FleetKey[]
  /** Ids of keys that are gone. */
  readonly removed: readonly string[]
  readonly buried: readonly Tombstone[]
  /** Ids of tombstones that are gone. */
  readonly forgotten: readonly string[]
}

/** The keys of a hub, as authentication and lists see them. */
export interface HubKeys {
  /**
   * Returns the key with a hash; `stale` when it is too old to decide by. Undefined for a key that
   * the hub does not have, or that is revoked.
   */
  find(sha256: string): CallKey | 'stale' | undefined
  /** Notes that a key was accepted. */
  noteUse(id: string, nowMs: Milliseconds): void
  /** The keys that are not revoked. */
  list(): readonly StoredKey[]
  /** Terms of the keys that are accepted unless they have expired. */
  acceptedTerms(): readonly KeyTerms[]
}
