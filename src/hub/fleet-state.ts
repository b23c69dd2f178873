// The keys, the policy and the open orders of a fleet as a hub has them in memory, and what each
// group of sidecars gets of them. Sidecars of one namespace that enforce the same are one group and
// get the same bytes.

import type { FeedEvent } from '../fleet/protocol.ts'
import { StateHash } from '../fleet/state-hash.ts'
import { type FleetKey, termsOf } from '../keys/fleet-key.ts'
import type { OpenOrder } from '../ledger/erase-orders.ts'
import { type FleetReading, type LedgerKey, NOTHING_READ, type ReadBefore } from '../ledger/fleet-reading.ts'
import { GroupPolicies, type GroupPolicy } from './group-policy.ts'
import { isForNamespace } from './namespaces.ts'

/** Changes that a sidecar can resume after; one that missed more gets a snapshot. */
const MAXIMUM_MISSED_CHANGES = 5000

/** A change of one key. */
interface KeyChange {
  readonly rev: number
  readonly before: LedgerKey | null
  readonly after: LedgerKey
}

/** The active keys that replace each other. */
interface KeyLine {
  readonly maxParallel: number | null
  /** Globs of the namespaces of each; null for all. */
  readonly scopes: (readonly string[] | null)[]
}

/** A change of one key, or an order of erasure, which every group gets. */
type Change = KeyChange | { readonly rev: number; readonly order: OpenOrder }
const byCreation = ({ key: a }: LedgerKey, { key: b }: LedgerKey): number =>
  a.created_at < b.created_at ? -1 : Number(a.created_at > b.created_at)

export class FleetState {
  #epoch = ''
  #rev = -1
  readonly #keys = new Map<string, LedgerKey>()
  #orders: readonly OpenOrder[] = []
  #ordersMark = ''
  readonly #policies = new GroupPolicies()
  /** Revision of the newest change of the policy. */
  #policyRev = -1
  /** The newest changes, oldest first. */
  #changes: Change[] = []
  /** Revision before the first of the changes. */
  #firstRev = -1
  readonly #groups = new Map<string, FeedGroup>()
  /** By line, at a revision. */
  readonly #lines = new Map<string, KeyLine>()
  #linesRev = -1

  get epoch(): string {
    return this.#epoch
  }

  /** −1 before the first reading. */
  get rev(): number {
    return this.#rev
  }

  /** The open orders of erasure, oldest first. */
  get orders(): readonly OpenOrder[] {
    return this.#orders
  }

  /** What was read, for the next reading. */
  get readBefore(): ReadBefore {
    return this.#rev < 0 ? NOTHING_READ : { rev: this.#rev, ordersMark: this.#ordersMark }
  }

  /** The name of a key; null for an unknown one. */
  nameOf(id: string): string | null {
    return this.#keys.get(id)?.key.name ?? null
  }

  /** Globs of the namespaces of a key; null for all, and for an unknown key. */
  namespacesOf(id: string): string[] | null {
    const globs = this.#keys.get(id)?.namespaces ?? null
    return globs === null ? null : [...globs]
  }

  /** The terms of a key; none for an unknown one. */
  termsOf(id: string): Readonly<FleetKey['terms']> {
    return this.#keys.get(id)?.key.terms ?? {}
  }

  /**
   * Maximum calls at a time of the keys of a line, as the newest active one says; null without, and
   * when a namespace has no key of the line.
   */
  maxParallelOf(line: string, namespace: string): number | null {
    return this.#lineFor(line, namespace)?.maxParallel ?? null
  }

  /** Reports whether sidecars of a namespace get a key of a line. */
  isGivenLine(line: string, namespace: string): boolean {
    return this.#lineFor(line, namespace) !== undefined
  }

  #lineFor(line: string, namespace: string) {
    if (this.#linesRev !== this.#rev) {
      this.#lines.clear()
      this.#linesRev = this.#rev
      for (const { key, revokedAt, namespaces } of [...this.#keys.values()].sort(byCreation)) {
        if (revokedAt !== null) continue
        const most = key.terms['max_parallel']
        const scopes = this.#lines.get(key.line)?.scopes ?? []
        scopes.push(namespaces)
        this.#lines.set(key.line, { maxParallel: typeof most === 'number' ? most : null, scopes })
      }
    }
    const known = this.#lines.get(line)
    return known?.scopes.some((globs) => isForNamespace(globs, namespace)) === true ? known : undefined
  }

  /** Reports whether a key is known and not revoked. */
  isActive(id: string): boolean {
    return this.#keys.get(id)?.revokedAt === null
  }

  /** Reports whether a reading is of another history than this state. */
  isOther({ epoch, rev }: Pick<FleetReading, 'epoch' | 'rev'>): boolean {
    return epoch !== this.#epoch || rev < this.#rev
  }

  /** Takes all keys anew. Groups are forgotten with what they had. */
  load(reading: FleetReading): void {
    const { epoch, rev, changed, policy } = reading
    this.#keys.clear()
    this.#groups.clear()
    for (const one of changed) this.#keys.set(one.key.id, one)
    this.#takeOrders(reading)
    if (policy !== undefined) this.#policies.take(policy)
    this.#policyRev = rev
    this.#epoch = epoch
    this.#rev = rev
    this.#changes = []
    this.#firstRev = rev
  }

  /** Takes changes. @returns the groups, each with its events */
  apply(reading: FleetReading): ReadonlyMap<FeedGroup, readonly FeedEvent[]> {
    const { rev, changed, policy } = reading
    const events = new Map<FeedGroup, FeedEvent[]>([...this.#groups.values()].map((group) => [group, []]))
    const keys: KeyChange[] = changed.map((after) => ({
      ...{ rev: after.key.rev, after },
      before: this.#keys.get(after.key.id) ?? null,
    }))
    const orders = this.#takeOrders(reading).map((order) => ({ rev: order.rev, order }))
    for (const change of [...keys, ...orders].sort((one, other) => one.rev - other.rev)) {
      if ('after' in change) this.#keys.set(change.after.key.id, change.after)
      this.#changes.push(change)
      for (const [group, sent] of events) sent.push(...group.apply(change))
    }
    if (policy !== undefined) {
      this.#policies.take(policy)
      this.#policyRev = rev
      for (const [group, sent] of events) sent.push(...group.changePolicy(rev))
    }
    this.#rev = rev
    const surplus = this.#changes.length - MAXIMUM_MISSED_CHANGES
    if (surplus > 0) this.#firstRev = this.#changes.splice(0, surplus).at(-1)!.rev
    return events
  }

  /** @returns the orders that are new */
  #takeOrders({ orders, ordersMark }: FleetReading): readonly OpenOrder[] {
    if (orders === null) return []
    this.#orders = orders
    this.#ordersMark = ordersMark
    return orders.filter(({ rev }) => rev > this.#rev)
  }

  /** Returns the group of a sidecar. */
  group(namespace: string, features: readonly string[]): FeedGroup {
    const name = JSON.stringify([namespace, [...features].sort()])
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = new FeedGroup(namespace, new Set(features), this.#keys, this.#policies)
      this.#groups.set(name, group)
    }
    return group
  }

  /** Forgets a group without sidecars. */
  drop(group: FeedGroup): void {
    for (const [name, one] of this.#groups) if (one === group) this.#groups.delete(name)
  }

  /** Returns what a group missed after a revision; null when only a snapshot can tell. */
  missed(group: FeedGroup, rev: number): FeedEvent[] | null {
    if (rev < this.#firstRev || rev < this.#policyRev || rev > this.#rev) return null
    return this.#changes.filter((change) => change.rev > rev).flatMap((change) => group.eventsOf(change))
  }
}

const sentOrder = ({ rev, id, selection }: OpenOrder) => ({ rev, id, selection })

/** What sidecars of one namespace get that enforce the same terms. */
export class FeedGroup {
  readonly #namespace: string
  readonly #features: ReadonlySet<string>
  readonly #keys: ReadonlyMap<string, LedgerKey>
  readonly #hash = new StateHash()
  readonly #policies: GroupPolicies
  /** Null for sidecars that take none. */
  #policy: GroupPolicy | null

  constructor(
    namespace: string,
    features: ReadonlySet<string>,
    keys: ReadonlyMap<string, LedgerKey>,
    policies: GroupPolicies,
  ) {
    this.#namespace = namespace
    this.#features = features
    this.#keys = keys
    this.#policies = policies
    this.#policy = policies.of(namespace, features)
    for (const one of keys.values()) if (this.#has(one)) this.#hash.toggle(one.key)
  }

  /** The state hash of what the group has. */
  get stateHash(): string {
    return (this.#policy === null ? this.#hash : this.#hash.with(this.#policy.hash)).toString()
  }

  /** Takes the newest policy. @returns its events */
  changePolicy(rev: number): FeedEvent[] {
    const before = this.#policy
    this.#policy = this.#policies.of(this.#namespace, this.#features)
    return before === null || this.#policy === null ? [] : this.#policy.changesAfter(before, rev)
  }

  /** Follows a change. @returns its events */
  apply(change: Change): FeedEvent[] {
    if ('order' in change) return this.eventsOf(change)
    const { before, after } = change
    if (before !== null && this.#has(before)) this.#hash.toggle(before.key)
    if (this.#has(after)) this.#hash.toggle(after.key)
    return this.eventsOf(change)
  }

  /** The events of a change; none when the group has the key neither before nor after it. */
  eventsOf(change: Change): FeedEvent[] {
    if ('order' in change) return [{ event: 'erase', ...sentOrder(change.order) }]
    const { rev, before, after } = change
    const { id } = after.key
    if (this.#has(after)) return [{ event: 'key', rev, id, op: 'put', body: after.key }]
    if (before === null || !this.#has(before)) return []
    const body = after.revokedAt === null ? null : { revoked_at: after.revokedAt }
    return [{ event: 'key', rev, id, op: 'del', body }]
  }

  /** All that the group has at a revision, and the open orders. */
  snapshot(rev: number, orders: readonly OpenOrder[]): FeedEvent {
    const known = [...this.#keys.values()]
    const keys = known.filter((one) => this.#has(one)).map(({ key }) => key)
    const revoked = known.filter((one) => one.revokedAt !== null && this.#isFor(one)).map(({ key }) => key.id)
    return {
      event: 'snapshot',
      rev,
      keys,
      revoked,
      orders: orders.map(sentOrder),
      ...(this.#policy !== null && { policy: this.#policy.sent }),
    }
  }

  /** Reports whether the group has a key. */
  hasId(id: string): boolean {
    const one = this.#keys.get(id)
    return one !== undefined && this.#has(one)
  }

  #has(one: LedgerKey): boolean {
    return (
      one.revokedAt === null && this.#isFor(one) && termsOf(one.key).every((term) => this.#features.has(term))
    )
  }

  #isFor({ namespaces }: LedgerKey): boolean {
    return isForNamespace(namespaces, this.#namespace)
  }
}
