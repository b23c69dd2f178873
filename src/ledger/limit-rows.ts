// The rows of limits: how they are locked, read and written. All in one transaction, but for the
// rows that lock a limit, which are made apart. A `lateral` that cannot be merged into its
// statement reads each limit by the index; for hundreds of them the planner would read and sort
// whole tables.

import type { Milliseconds } from '../core/clock.ts'
import { CALENDAR_MONTH } from '../policy/limit.ts'
import type { BookedBucket, BucketSums } from '../policy/limit-book.ts'
import type { Queries } from './database.ts'

/** A share that was not seen for so long is used by nobody. Longer than sidecars use theirs. */
const SHARE_SECONDS = 90_000
/** A share that is seen is written again after so long. */
const SHARE_SEEN_SECONDS = 3600
/** Rows that one sweep removes. */
const SWEEP_ROWS = 5000

/** A limit for one subject. */
export interface CountedLimit {
  readonly count: string
  readonly subject: string
  /** CALENDAR_MONTH for months; 0 for calls at a time. */
  readonly windowMs: Milliseconds
  readonly limit: number
}

/** The first and the last bucket that count. */
export type LiveBounds = readonly [number, number]

export const compareNames = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** Columns of `unnest` that name limits. */
const namesOf = (limits: readonly Omit<CountedLimit, 'limit'>[]): unknown[] => [
  limits.map(({ count }) => count),
  limits.map(({ subject }) => subject),
  limits.map(({ windowMs }) => windowMs),
]

/** Notes which requests are the newest of their sidecars. @returns those sidecars */
export async function takeNewest(
  queries: Queries,
  requests: readonly { readonly sidecar: string; readonly request: number }[],
): Promise<ReadonlySet<string>> {
  const inOrder = [...requests].sort((a, b) => compareNames(a.sidecar, b.sidecar))
  const rows = await queries.rows<{ sidecar: string }>(
    `insert into limit_request as r (sidecar, request, seen_at)
     select sidecar, request, now() from unnest($1::text[], $2::bigint[]) as n(sidecar, request)
     on conflict (sidecar) do update set request = excluded.request, seen_at = excluded.seen_at
       where r.request < excluded.request
     returning sidecar`,
    [inOrder.map(({ sidecar }) => sidecar), inOrder.map(({ request }) => request)],
  )
  return new Set(rows.map(({ sidecar }) => sidecar))
}

/** Locks the rows of limits. @returns whether all are there */
export async function lock(queries: Queries, limits: readonly CountedLimit[]): Promise<boolean> {
  const rows = await queries.rows<{ place: number; amount: number }>(
    `select k.place, s.amount
     from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as k(count, subject, window_ms, place)
     join limit_subject s using (count, subject, window_ms)
     order by k.place for update of s`,
    namesOf(limits),
  )
  if (rows.length < limits.length) return false
  const changed = rows.map(({ place, amount }) => ({ ...limits[place - 1]!, before: amount }))
  const others = changed.filter(({ limit, before }) => limit !== before)
  if (others.length === 0) return true
  await queries.rows(
    `update limit_subject s set amount = k.amount
     from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as k(count, subject, window_ms, amount)
     where s.count = k.count and s.subject = k.subject and s.window_ms = k.window_ms`,
    [...namesOf(others), others.map(({ limit }) => limit)],
  )
  return true
}

/** Makes the rows that are missing: apart from locks, which are to be taken in order. */
export const addMissing = (queries: Queries, limits: readonly CountedLimit[]): Promise<object[]> =>
  queries.rows(
    `insert into limit_subject (count, subject, window_ms, amount)
     select count, subject, window_ms, amount
     from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
       with ordinality as k(count, subject, window_ms, amount, place) order by place
     on conflict do nothing`,
    [...namesOf(limits), limits.map(({ limit }) => limit)],
  )

/** A sidecar that was lent less than it needs. */
export type Refused = CountedLimit & { readonly sidecar: string }

/**
 * Reads how much more sidecars can get as each bucket leaves the window. What others used comes
 * back as far as it is more than their shares.
 * @returns for each that was refused, in order
 */
export async function readReturns(
  queries: Queries,
  refused: readonly Refused[],
  bounds: readonly LiveBounds[],
): Promise<readonly BucketSums[]> {
  const sums = refused.map((): { bucket: number; amount: number }[] => [])
  if (refused.length === 0) return sums
  const rows = await queries.rows<{ places: number[]; bucket: number; amount: number }>(
    `with k as (
       select count, subject, window_ms, first, last, array_agg(place) as places
       from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
         with ordinality as k(count, subject, window_ms, first, last, place)
       group by count, subject, window_ms, first, last),
     used as (
       select k.places, b.bucket, b.sidecar, b.amount, b.here, coalesce(h.share, 0) as share
       from k cross join lateral (
         select sidecar, bucket, amount, sum(amount) over (partition by sidecar order by bucket desc) as here
         from limit_bucket b
         where b.count = k.count and b.subject = k.subject and b.window_ms = k.window_ms
           and b.bucket between k.first and k.last
         offset 0) b
       left join limit_share h on h.count = k.count and h.subject = k.subject
         and h.window_ms = k.window_ms and h.sidecar = b.sidecar
         and h.seen_at > now() - ${SHARE_SECONDS} * interval '1 second'),
     back as (
       select places, bucket, sidecar, amount,
         greatest(share, here) - greatest(share, here - amount) as claim
       from used)
     select places, bucket, sum(claim)::bigint as amount from back group by places, bucket
     union all
     select array[n.place], b.bucket, (b.amount - b.claim)::bigint
     from unnest($6::text[]) with ordinality as n(sidecar, place)
     join back b on b.sidecar = n.sidecar and n.place = any(b.places)
     where b.amount <> b.claim`,
    [
      ...namesOf(refused),
      bounds.map(([first]) => first),
      bounds.map(([, last]) => last),
      refused.map(({ sidecar }) => sidecar),
    ],
  )
  for (const { places, ...one } of rows) for (const place of places) sums[place - 1]!.push(one)
  return sums
}

interface TimeRow {
  readonly window_ms: number
  readonly newest: number | null
  readonly now_ms: number
}

/** Reads the time of the database, and after it the newest bucket of each limit. */
export const readTimes = (queries: Queries, limits: readonly CountedLimit[]): Promise<TimeRow[]> =>
  queries.rows(
    `select 0 as window_ms, null::bigint as newest,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
     union all
     select k.window_ms, (select max(bucket) from limit_bucket b
       where b.count = k.count and b.subject = k.subject and b.window_ms = k.window_ms), 0
     from unnest($1::text[], $2::text[], $3::bigint[]) as k(count, subject, window_ms)`,
    namesOf(limits),
  )

export interface HoldingRow {
  readonly place: number
  readonly sidecar: string
  readonly amount: number
  readonly is_old: boolean
  readonly kind: 'share' | 'slots' | 'sum'
}

/** Reads what sidecars have of limits: shares, slots, and buckets that count. */
export async function readHoldings(
  queries: Queries,
  limits: readonly (CountedLimit & { readonly bounds: LiveBounds })[],
  slotTimeoutSeconds: number,
): Promise<HoldingRow[]> {
  const shares = await queries.rows<HoldingRow>(
    `select k.place, h.sidecar, h.share as amount,
       h.seen_at < now() - ${SHARE_SEEN_SECONDS} * interval '1 second' as is_old, 'share' as kind
     from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as k(count, subject, window_ms, place)
     cross join lateral (
       select sidecar, share, seen_at from limit_share h
       where h.count = k.count and h.subject = k.subject and h.window_ms = k.window_ms
         and h.seen_at > now() - ${SHARE_SECONDS} * interval '1 second'
       offset 0) h
     union all
     select k.place, p.sidecar, p.size, false, 'slots'
     from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as k(count, subject, window_ms, place)
     join limit_slot p on k.window_ms = 0 and p.count = k.count and p.subject = k.subject
     where p.size > 0 and p.seen_at > now() - $4 * interval '1 second'`,
    [...namesOf(limits), slotTimeoutSeconds],
  )
  const sums = await queries.rows<HoldingRow>(
    `select k.place, b.sidecar, b.amount, false as is_old, 'sum' as kind
     from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
       with ordinality as k(count, subject, window_ms, first, last, place)
     cross join lateral (
       select sidecar, sum(amount)::bigint as amount from limit_bucket b
       where b.count = k.count and b.subject = k.subject and b.window_ms = k.window_ms
         and b.bucket between k.first and k.last
       group by sidecar) b`,
    [
      ...namesOf(limits),
      limits.map(({ bounds: [first] }) => first),
      limits.map(({ bounds: [, last] }) => last),
    ],
  )
  return [...shares, ...sums]
}

/** Reads buckets that are to be changed, as far as they are stored. */
export const readBuckets = (
  queries: Queries,
  buckets: readonly Omit<BucketRow, 'amount'>[],
): Promise<BucketRow[]> =>
  buckets.length === 0
    ? Promise.resolve([])
    : queries.rows(
        `select k.count, k.subject, k.window_ms as "windowMs", k.bucket, k.sidecar, b.amount
         from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
           as k(count, subject, window_ms, bucket, sidecar)
         cross join lateral (
           select amount from limit_bucket b
           where b.count = k.count and b.subject = k.subject and b.window_ms = k.window_ms
             and b.bucket = k.bucket and b.sidecar = k.sidecar
           offset 0) b`,
        [...namesOf(buckets), buckets.map(({ bucket }) => bucket), buckets.map(({ sidecar }) => sidecar)],
      )

/** A bucket of one sidecar. */
type BucketRow = Omit<CountedLimit, 'limit'> & BookedBucket

/** Writes buckets, each whole. */
export async function writeBuckets(queries: Queries, buckets: readonly BucketRow[]): Promise<void> {
  if (buckets.length === 0) return
  await queries.rows(
    `insert into limit_bucket (count, subject, window_ms, bucket, sidecar, amount)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[])
     on conflict (count, subject, window_ms, bucket, sidecar) do update set amount = excluded.amount`,
    [
      ...namesOf(buckets),
      buckets.map(({ bucket }) => bucket),
      buckets.map(({ sidecar }) => sidecar),
      buckets.map(({ amount }) => amount),
    ],
  )
}

/** Removes the buckets of limits that no longer count. */
export async function removeDead(
  queries: Queries,
  limits: readonly (CountedLimit & { readonly bounds: LiveBounds })[],
): Promise<void> {
  if (limits.length === 0) return
  await queries.rows(
    `delete from limit_bucket where ctid = any(array(
       select b.ctid
       from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as k(count, subject, window_ms, first)
       cross join lateral (
         select ctid from limit_bucket b
         where b.count = k.count and b.subject = k.subject and b.window_ms = k.window_ms
           and b.bucket < k.first
         offset 0) b))`,
    [...namesOf(limits), limits.map(({ bounds: [first] }) => first)],
  )
}

/** A share to write; null to remove it. */
type ShareRow = CountedLimit & { readonly sidecar: string; readonly share: number | null }

export async function writeShares(queries: Queries, shares: readonly ShareRow[]): Promise<void> {
  const [kept, ended] = [
    shares.filter(({ share }) => share !== null),
    shares.filter(({ share }) => share === null),
  ]
  if (kept.length > 0) {
    await queries.rows(
      `insert into limit_share (count, subject, window_ms, sidecar, share, seen_at)
       select n.*, now() from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) as n
       on conflict (count, subject, window_ms, sidecar) do update
         set share = excluded.share, seen_at = excluded.seen_at`,
      [...namesOf(kept), kept.map(({ sidecar }) => sidecar), kept.map(({ share }) => share)],
    )
  }
  if (ended.length === 0) return
  await queries.rows(
    `delete from limit_share h
     using unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) as k(count, subject, window_ms, sidecar)
     where h.count = k.count and h.subject = k.subject and h.window_ms = k.window_ms
       and h.sidecar = k.sidecar`,
    [...namesOf(ended), ended.map(({ sidecar }) => sidecar)],
  )
}

/** The calls at a time that a sidecar may run. */
export interface SlotRow extends CountedLimit {
  readonly sidecar: string
  readonly size: number
  readonly share: number | null
}

export async function writeSlots(queries: Queries, slots: readonly SlotRow[]): Promise<void> {
  if (slots.length === 0) return
  await queries.rows(
    `insert into limit_slot (count, subject, sidecar, size, seen_at)
     select n.*, now() from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as n
     on conflict (count, subject, sidecar) do update set size = excluded.size, seen_at = excluded.seen_at`,
    [
      slots.map(({ count }) => count),
      slots.map(({ subject }) => subject),
      slots.map(({ sidecar }) => sidecar),
      slots.map(({ size }) => size),
    ],
  )
}

/** Removes what no window reaches, some rows of each table. */
export async function sweepRows(database: Queries, slotTimeoutSeconds: number): Promise<void> {
  await database.rows(
    `delete from limit_bucket where ctid = any(array(
       select ctid from limit_bucket
       where case when window_ms = ${CALENDAR_MONTH}
           then bucket + 1 < (extract(year from now() at time zone 'UTC') - 1970) * 12
             + extract(month from now() at time zone 'UTC') - 1
           else (bucket + 62) * ceil(window_ms / 60.0) < extract(epoch from now()) * 1000 - 3600000 end
       limit ${SWEEP_ROWS} for update skip locked))`,
  )
  await database.rows(
    `delete from limit_share where ctid = any(array(
       select ctid from limit_share where seen_at < now() - ${SHARE_SECONDS} * interval '1 second'
       limit ${SWEEP_ROWS} for update skip locked))`,
  )
  await database.rows(
    `delete from limit_slot where ctid = any(array(
       select ctid from limit_slot where seen_at < now() - $1 * interval '1 second'
       limit ${SWEEP_ROWS} for update skip locked))`,
    [slotTimeoutSeconds],
  )
  await database.rows(
    `delete from limit_request where ctid = any(array(
       select ctid from limit_request where seen_at < now() - interval '30 days'
       limit ${SWEEP_ROWS} for update skip locked))`,
  )
  await database.rows(
    `delete from limit_subject where ctid = any(array(
       select s.ctid from limit_subject s
       where not exists (select from limit_bucket b
           where b.count = s.count and b.subject = s.subject and b.window_ms = s.window_ms)
         and not exists (select from limit_share h
           where h.count = s.count and h.subject = s.subject and h.window_ms = s.window_ms)
         and not exists (select from limit_slot p
           where s.window_ms = 0 and p.count = s.count and p.subject = s.subject)
       limit ${SWEEP_ROWS} for update skip locked))`,
  )
}
