// The keys of a hub as a sidecar holds them in memory: which it accepts, which are revoked, and its
// place in the history of changes. A change is in force when its method returns.

import type { Milliseconds } from '../core/clock.ts'
import type { CallKey } from '../core/key-terms.ts'
import { parseTime } from '../core/time.ts'
import { type FleetKey, storedKeyOf } from '../keys/fleet-key.ts'
import type { FleetChanges, RememberedFleet } from '../keys/fleet-state.ts'
import { MAXIMUM_KEYS } from '../keys/key-changes.ts'
import { keyOf, type StoredKey } from '../keys/key-record.ts'
import { whyNotEnforced } from '../keys/key-terms-fields.ts'
import type { FeedPosition, KeyPut, KeyRemoval, Nack, Snapshot } from './protocol.ts'
import { StateHash } from './state-hash.ts'

/**
 * Revoked keys whose ids are kept, as many as a hub may have keys. Beyond it the oldest one is
 * forgotten, which only hubs with several histories can cause.
 */
export const MAXIMUM_TOMBSTONES = MAXIMUM_KEYS

/** A key that is accepted. */
interface AcceptedKey {
  readonly call: CallKey
  readonly stored: StoredKey
}

export class KeySet {
  #position: FeedPosition | null
  /** What the hub has, accepted here or not, by id. */
  readonly #held = new Map<string, FleetKey>()
  /** By hash. */
  readonly #accepted = new Map<string, AcceptedKey>()
  /** Ids of revoked keys, oldest first. */
  readonly #tombstones = new Map<string, Milliseconds>()
  readonly #hash = new StateHash()
  readonly #refusals = new Map<string, Nack>()
  /** Ids of rows that memory and disk have differently. */
  #changedKeys = new Set<string>()
  #changedTombstones = new Set<string>()

  constructor({ state, keys, tombstones }: RememberedFleet) {
    const { epoch, rev } = state
    this.#position = epoch === null ? null : { epoch, rev }
    for (const [id, revokedAtMs] of tombstones) this.#tombstones.set(id, revokedAtMs)
    for (const key of keys) this.#hold(key)
    this.#changedKeys.clear()
  }

  /** Null before the first snapshot. */
  get position(): FeedPosition | null {
    return this.#position
  }

  /** The hash over all keys that the hub has. */
  get stateHash(): StateHash {
    return this.#hash
  }

  /** Number of keys that the hub has. */
  get size(): number {
    return this.#held.size
  }

  /** Reports whether the hub has a key. */
  has(id: string): boolean {
    return this.#held.has(id)
  }

  find(sha256: string): CallKey | undefined {
    return this.#accepted.get(sha256)?.call
  }

  /** The keys that are accepted, in no order. */
  accepted(): StoredKey[] {
    return Array.from(this.#accepted.values(), ({ stored }) => stored)
  }

  /** Ids of keys that the hub has as active and that are revoked here. */
  conflicts(): string[] {
    return [...this.#held.keys()].filter((id) => this.#tombstones.has(id))
  }

  /** Keys that the hub has and this release cannot enforce. */
  refusals(): Nack[] {
    return [...this.#refusals.values()]
  }

  /** Takes all keys of the hub in place of those before. */
  replace(epoch: string, { rev, keys, revoked }: Snapshot, nowMs: Milliseconds): void {
    for (const id of revoked) this.#bury(id, nowMs)
    const ids = new Set(keys.map(({ id }) => id))
    // A restored database may use a revision again, for another change.
    const isOther = this.#position?.epoch !== epoch
    for (const id of [...this.#held.keys()]) if (isOther || !ids.has(id)) this.#drop(id)
    for (const key of keys) this.#hold(key)
    this.#position = { epoch, rev }
  }

  /** Applies a change. One of an earlier revision is ignored. @returns whether it was applied */
  change(event: KeyPut | KeyRemoval, nowMs: Milliseconds): boolean {
    if (this.#position === null || event.rev <= this.#position.rev) return false
    if (event.op === 'put') this.#hold(event.body)
    else {
      if (event.body !== null) this.#bury(event.id, parseTime(event.body.revoked_at) ?? nowMs)
      this.#drop(event.id)
    }
    this.advance(event.rev)
    return true
  }

  /** Notes that there is no change for this sidecar up to a revision. */
  advance(rev: number): void {
    if (this.#position !== null) this.#position = { epoch: this.#position.epoch, rev }
  }

  get hasChanges(): boolean {
    return this.#changedKeys.size + this.#changedTombstones.size > 0
  }

  /** Returns what the disk lacks, which counts as written from now on. */
  takeChanges(): Omit<FleetChanges, 'state'> {
    const keys = [...this.#changedKeys]
    const ids = [...this.#changedTombstones]
    this.#changedKeys = new Set()
    this.#changedTombstones = new Set()
    return {
      put: keys.flatMap((id) => this.#held.get(id) ?? []),
      removed: keys.filter((id) => !this.#held.has(id)),
      buried: ids.flatMap((id) => {
        const revokedAtMs = this.#tombstones.get(id)
        return revokedAtMs === undefined ? [] : [[id, revokedAtMs] as const]
      }),
      forgotten: ids.filter((id) => !this.#tombstones.has(id)),
    }
  }

  /** Counts changes as not written. */
  giveBack({ put, removed, buried, forgotten }: Omit<FleetChanges, 'state'>): void {
    for (const id of [...put.map((key) => key.id), ...removed]) this.#changedKeys.add(id)
    for (const id of [...buried.map(([one]) => one), ...forgotten]) this.#changedTombstones.add(id)
  }

  #hold(key: FleetKey): void {
    const { id, rev, sha256 } = key
    const before = this.#held.get(id)
    if (before?.rev === rev && before.sha256 === sha256) return
    this.#drop(id)
    this.#held.set(id, key)
    this.#hash.toggle({ id, rev })
    this.#changedKeys.add(id)
    const reason = whyNotEnforced(key.terms)
    if (reason !== null) this.#refusals.set(id, { rev, reason: `key ${id}: ${reason}` })
    if (reason !== null || this.#tombstones.has(id)) return
    const stored = storedKeyOf(key)
    this.#accepted.set(sha256, { stored, call: keyOf(stored)! })
  }

  #drop(id: string): void {
    const key = this.#held.get(id)
    if (key === undefined) return
    this.#held.delete(id)
    this.#hash.toggle(key)
    this.#changedKeys.add(id)
    this.#refusals.delete(id)
    this.#refuse(key)
  }

  #bury(id: string, revokedAtMs: Milliseconds): void {
    if (this.#tombstones.has(id)) return
    this.#tombstones.set(id, revokedAtMs)
    this.#changedTombstones.add(id)
    const key = this.#held.get(id)
    if (key !== undefined) this.#refuse(key)
    if (this.#tombstones.size <= MAXIMUM_TOMBSTONES) return
    const [oldest] = this.#tombstones.keys()
    this.#tombstones.delete(oldest!)
    this.#changedTombstones.add(oldest!)
  }

  #refuse({ id, sha256 }: FleetKey): void {
    if (this.#accepted.get(sha256)?.call.id === id) this.#accepted.delete(sha256)
  }
}
