// What a sidecar knows of its fleet: keys, policy, place in the history, identity and freshness. In
// memory first, then on disk. Answers authentication.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { type CallKey, type KeyTerms, NO_TERMS } from '../core/key-terms.ts'
import { isoTime } from '../core/time.ts'
import type { FleetChanges, HubKeys, KeptState, RememberedFleet } from '../keys/fleet-state.ts'
import type { StoredKey } from '../keys/key-record.ts'
import type { KeptPolicy } from '../policy/fleet-policy.ts'
import type { OrderTaker } from './feed-session.ts'
import { Freshness } from './freshness.ts'
import { KeySet } from './key-set.ts'
import { appliedRev, withOrder, withSnapshot } from './order-book.ts'
import { PolicySet } from './policy-set.ts'
import type { Erase, Hello, Nack, Snapshot } from './protocol.ts'

/** Age at which the time of the last heartbeat is written again. */
const FRESH_ROW_MS: Milliseconds = 5000

/** Where a sidecar keeps what it knows. */
export interface FleetStorage {
  read(): RememberedFleet & { readonly policy?: KeptPolicy }
  /** Resolves when the changes are durable; rejects when nothing is stored. */
  write(changes: FleetChanges & { readonly policy: KeptPolicy }): Promise<void>
}

export class SidecarMemory implements HubKeys, OrderTaker {
  readonly keys: KeySet
  readonly policy: PolicySet
  readonly freshness: Freshness
  readonly #storage: FleetStorage
  /** Uses since the hub last knew them, by id. */
  readonly #uses = new Map<string, Milliseconds>()
  #state: KeptState
  #decodedKey: { readonly text: string; readonly bytes: Buffer } | null = null
  /** True when the state on disk is another one. */
  #isStateChanged = false
  #writtenFreshMs: Milliseconds = Number.NEGATIVE_INFINITY
  #writing: Promise<void> | null = null

  constructor(storage: FleetStorage, clock: Clock, maxStaleSeconds: number) {
    const remembered = storage.read()
    this.#storage = storage
    this.#state = remembered.state
    this.keys = new KeySet(remembered)
    this.policy = new PolicySet(remembered.policy)
    this.freshness = new Freshness(clock, maxStaleSeconds, remembered.state)
  }

  get state(): KeptState {
    return this.#state
  }

  /** The key under which end users are hashed; null before the first contact. */
  get fleetKey(): Buffer | null {
    const { fleetKey } = this.#state
    if (fleetKey === null) return null
    if (this.#decodedKey?.text !== fleetKey)
      this.#decodedKey = { text: fleetKey, bytes: Buffer.from(fleetKey, 'base64') }
    return this.#decodedKey.bytes
  }

  /** What of the hub is not in force here. */
  refusals(): Nack[] {
    return [...this.keys.refusals(), ...this.policy.refusals()]
  }

  find(sha256: string): CallKey | 'stale' | undefined {
    const key = this.keys.find(sha256)
    return key !== undefined && this.freshness.isStale ? 'stale' : key
  }

  noteUse(id: string, nowMs: Milliseconds): void {
    this.#uses.set(id, nowMs)
  }

  list(): readonly StoredKey[] {
    return this.keys.accepted()
  }

  acceptedTerms(): readonly KeyTerms[] {
    return this.freshness.isStale ? [] : this.keys.accepted().map(({ terms = NO_TERMS }) => terms)
  }

  /** Changes the state besides the keys; `save` writes it. */
  update(changes: Partial<KeptState>): void {
    this.#state = { ...this.#state, ...changes }
    this.#isStateChanged = true
  }

  takeOrder(order: Erase): void {
    const changed = withOrder(this.#state, order)
    if (changed !== null) this.update(changed)
  }

  takeOrders(orders: Snapshot['orders'], isOther: boolean): void {
    this.update(withSnapshot(this.#state, orders, isOther))
  }

  /** The newest revision up to which everything is applied; an order waits until it is. */
  get appliedRev(): number {
    return appliedRev(this.#state, this.keys.position?.rev ?? 0)
  }

  /** The hub has answered: it knows this sidecar and the configured limit. */
  contacted({ sidecar, name, fleet_key: fleetKey }: Hello, maxStaleSeconds: number): void {
    this.freshness.contacted()
    const { sidecar: knownId, name: knownName, fleetKey: knownKey, toldMaxStaleSeconds } = this.#state
    const isKnown = knownId === sidecar && knownName === name && knownKey === fleetKey
    if (isKnown && toldMaxStaleSeconds === maxStaleSeconds) return
    this.update({ sidecar, name, fleetKey, toldMaxStaleSeconds: maxStaleSeconds })
  }

  /** Whether something is to be written: a change, or a time that is some seconds old. */
  get isUnsaved(): boolean {
    const { position } = this.keys
    const { epoch, rev } = this.#state
    return (
      this.#isStateChanged ||
      this.keys.hasChanges ||
      this.policy.hasChanges ||
      (position !== null && (position.epoch !== epoch || position.rev !== rev)) ||
      (this.freshness.freshAtMs ?? Number.NEGATIVE_INFINITY) - this.#writtenFreshMs >= FRESH_ROW_MS
    )
  }

  /**
   * Writes what is in memory. Resolves with whether all of it is durable; when the disk takes no
   * writes it stays in force in memory, and the next call tries again.
   */
  async save(): Promise<boolean> {
    while (this.#writing !== null) await this.#writing.catch(() => {})
    if (!this.isUnsaved) return true
    this.#writing = this.#write()
    try {
      await this.#writing
      return true
    } catch {
      return false
    } finally {
      this.#writing = null
    }
  }

  async #write(): Promise<void> {
    const { position } = this.keys
    const { freshAtMs, hubAheadMs } = this.freshness
    this.#state = { ...this.#state, ...position, freshAtMs, hubAheadMs }
    this.#isStateChanged = false
    const changes = this.keys.takeChanges()
    const policy = this.policy.takeChanges()
    try {
      await this.#storage.write({ state: this.#state, ...changes, policy })
      this.#writtenFreshMs = freshAtMs ?? Number.NEGATIVE_INFINITY
    } catch (error) {
      this.keys.giveBack(changes)
      this.policy.giveBack(policy)
      this.#isStateChanged = true
      throw error
    }
  }

  /** Returns the uses that the hub does not know, at most a number of them, by id. */
  uses(maximum: number): ReadonlyMap<string, Milliseconds> {
    return new Map([...this.#uses].slice(0, maximum))
  }

  /** The hub knows uses. */
  forgetUses(uses: ReadonlyMap<string, Milliseconds>): void {
    for (const [id, timeMs] of uses) if (this.#uses.get(id) === timeMs) this.#uses.delete(id)
  }
}

/** Prints uses as an acknowledgement has them. */
export const printUses = (uses: ReadonlyMap<string, Milliseconds>): Record<string, string> =>
  Object.fromEntries(Array.from(uses, ([id, timeMs]) => [id, isoTime(timeMs)]))
