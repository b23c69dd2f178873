// Reads what changed in the keys and the policy of a fleet, and writes that this hub runs, in one
// statement: what a hub states at a time is at least as new as the time that it wrote.

import type { Milliseconds } from '../core/clock.ts'
import { isoTimeOrNull } from '../core/time.ts'
import { type FleetKey, fleetKeyOf } from '../keys/fleet-key.ts'
import type { Database, Queries } from './database.ts'
import { type OpenOrder, openOrdersIn } from './erase-orders.ts'
import { COLUMNS, type KeyColumns, storedOf } from './key-ledger.ts'
import { type LedgerPolicy, POLICY_KINDS, readPolicy } from './policy-ledger.ts'

/** A key with what decides who gets it. */
export interface LedgerKey {
  readonly key: FleetKey
  /** Globs; null for every namespace. */
  readonly namespaces: readonly string[] | null
  /** RFC 3339; null for a key that is not revoked. */
  readonly revokedAt: string | null
}

/** What a hub reads at one time. */
export interface FleetReading {
  /** By the clock of the database, no later than what was read. */
  readonly atMs: Milliseconds
  readonly epoch: string
  readonly rev: number
  /** Keys that changed after the revision that the hub had, in order of revisions. */
  readonly changed: readonly LedgerKey[]
  /** The open orders of erasure, oldest first; null when they are those of the reading before. */
  readonly orders: readonly OpenOrder[] | null
  /** Names the set of open orders, for the next reading. */
  readonly ordersMark: string
  /** Rules, overrides and prices, when any of them changed; at `rev` or later. */
  readonly policy?: LedgerPolicy
  /** The feeds of this hub that sidecars are registered with. */
  readonly feeds: ReadonlySet<string>
}

/** What the hub has read before. */
export interface ReadBefore {
  /** −1 for nothing: all keys and orders are read. */
  readonly rev: number
  readonly ordersMark: string
}

export const NOTHING_READ: ReadBefore = { rev: -1, ordersMark: '' }

/** The hub that reads. */
export interface ReadingHub {
  readonly id: string
  readonly version: string
  /** Open feeds. */
  readonly connected: number
}

type ReadingColumns = {
  head: number
  epoch: string
  at: Milliseconds
  feeds: string[]
  orders: string
  is_policy: boolean
  rev: number
} & {
  readonly [Name in keyof KeyColumns]: KeyColumns[Name] | null
}

const PREFIXED = COLUMNS.split(', ').map((column) => `k.${column}`)

/**
 * Reads what changed since a reading.
 * @throws GatewayError (rejects) `fleet_unavailable`
 */
export async function readFleet(
  database: Database,
  hub: ReadingHub,
  before: ReadBefore,
): Promise<FleetReading> {
  // Orders are added at the end only, so that their number and the last one name the open ones.
  const rows = await database.rows<ReadingColumns>(
    `with touched as (
       insert into hub_state (id, version, connected, seen_at) values ($1, $2, $3, now())
       on conflict (id) do update set connected = excluded.connected, seen_at = excluded.seen_at
       returning seen_at)
     select h.rev as head, h.epoch, touched.seen_at as at, open.feeds, o.mark as orders, k.rev, ${PREFIXED},
       exists (select from change where rev > $4 and kind = any($5)) as is_policy
     from fleet_head h cross join touched
       cross join (select coalesce(array_agg(feed::text), '{}') as feeds from sidecar where hub = $1) open
       cross join (select concat(count(*), '/', max(rev)) as mark from erase_order where not done) o
       left join api_key k on k.rev > $4 order by k.rev`,
    [hub.id, hub.version, hub.connected, before.rev, POLICY_KINDS],
  )
  const [first] = rows
  if (first === undefined) throw new Error('the tables have no head')
  const changed = rows
    .filter(({ id }) => id !== null)
    .map((row) => ledgerKeyOf(row as KeyColumns & { rev: number }))
  const { at: atMs, epoch, head: rev, feeds, orders: ordersMark } = first
  const isSame = before.rev >= 0 && ordersMark === before.ordersMark
  const orders = isSame ? null : await ordersUpTo(database, rev)
  const reading = { atMs, epoch, rev, changed, orders, ordersMark, feeds: new Set(feeds) }
  // Read after the head: what is newer than it is read once more, and is then the same.
  return first.is_policy || before.rev < 0 ? { ...reading, policy: await readPolicy(database) } : reading
}

/** A later order belongs to the next reading. */
const ordersUpTo = async (queries: Queries, rev: number): Promise<OpenOrder[]> =>
  (await openOrdersIn(queries)).filter((order) => order.rev <= rev)

function ledgerKeyOf(columns: KeyColumns & { readonly rev: number }): LedgerKey {
  const stored = storedOf(columns)
  return {
    key: fleetKeyOf({ sha256: columns.sha256.toString('hex'), stored, rev: columns.rev }),
    namespaces: columns.namespaces,
    revokedAt: isoTimeOrNull(stored.revokedAtMs),
  }
}
