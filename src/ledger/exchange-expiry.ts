// Removes exchanges and end users whose time by the labels of their entry is over (`audit.retain`).
// Reads each entry once for each time, in the order of receipt, and remembers where it stopped.

import { createHash } from 'node:crypto'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import { onlyRow } from './database.ts'
import { ERASE_SLICE_ROWS, eraseRows, type ReceivedPlace } from './erased-rows.ts'
import type { RetentionParts } from './month-retention.ts'

/** Entries are read by the times of their receipt: longer ones while there is little in them. */
const MINIMUM_SPAN_MS: Milliseconds = 60_000
const MAXIMUM_SPAN_MS: Milliseconds = 86_400_000
/** Places found at once. */
const PAGE_ROWS = 1000

/** A time of receipt up to which all is worked off, as texts of the database. */
interface Span {
  readonly from: string
  /** Before the end, and no later than what is old enough. */
  readonly to: string
  readonly is_last: boolean
}

export class ExchangeExpiry {
  readonly #parts: RetentionParts
  /** Names the rules: with other rules, all entries are read again. */
  readonly #rules: string

  constructor(parts: RetentionParts) {
    this.#parts = parts
    const { retain, retainDays } = parts
    this.#rules = createHash('sha256')
      .update(JSON.stringify([retain, retainDays]))
      .digest('hex')
  }

  /**
   * Removes what is due, and seals how many.
   * @returns the number of exchanges removed
   * @throws GatewayError (rejects) `fleet_unavailable`; slices removed before stay removed
   */
  async run(): Promise<number> {
    const { retain, retainDays } = this.#parts
    if (retain.length === 0) return 0
    let removed = 0
    for (const days of new Set([...retain.map((rule) => rule.days), retainDays]))
      removed += await this.#expire(days)
    return removed
  }

  async #expire(days: number): Promise<number> {
    let removed = 0
    let spanMs = MINIMUM_SPAN_MS
    const due: ReceivedPlace[] = []
    let span = await this.#next(days, null, spanMs)
    while (span !== null) {
      let count = 0
      for (let page: ReceivedPlace[] | null = null; page === null || page.length === PAGE_ROWS; ) {
        page = await this.#read(days, span, page?.at(-1) ?? null)
        count += page.length
        due.push(...page)
        while (due.length >= ERASE_SLICE_ROWS)
          removed += await this.#erase(days, due.splice(0, ERASE_SLICE_ROWS))
      }
      if (span.is_last && due.length > 0) removed += await this.#erase(days, due.splice(0))
      // What was found and is still there must be found again.
      if (due.length === 0) await this.#keep(days, span.to)
      spanMs = count > 0 ? Math.max(MINIMUM_SPAN_MS, spanMs / 2) : Math.min(MAXIMUM_SPAN_MS, spanMs * 2)
      span = span.is_last ? null : await this.#next(days, span.to, spanMs)
    }
    return removed
  }

  /**
   * Returns the next span of receipt that is old enough; null when there is none.
   * @param from where it begins; null for where the last run stopped
   */
  async #next(days: number, from: string | null, spanMs: Milliseconds): Promise<Span | null> {
    const rows = await this.#parts.database.rows<Span>(
      `select known.from::text, least(known.from + $3 * interval '1 millisecond', due)::text as to,
         known.from + $3 * interval '1 millisecond' >= due as is_last
       from (select now() - $2 * interval '1 day' as due) d
         cross join (select coalesce($4::timestamptz, (select upto from expiry where name = $1), (
           select to_date(min(right(c.relname, 7)), 'YYYY_MM')::timestamp at time zone 'UTC'
           from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'entry'::regclass)) as from) known
       where known.from < due`,
      [this.#nameOf(days), days, spanMs, from],
    )
    return rows[0] ?? null
  }

  /** Returns the places of a span whose first rule has these days. */
  #read(days: number, { from, to }: Span, after: ReceivedPlace | null): Promise<ReceivedPlace[]> {
    const { database, retain, retainDays } = this.#parts
    return database.rows<ReceivedPlace>(
      `select e.log_id, e.seq, e.received_at::text from entry e
       where e.received_at >= $1 and e.received_at < $2 and e.type = 'request'
         and ($3::uuid is null or (e.log_id, e.seq) > ($3::uuid, $4::bigint))
         and coalesce((
           select (rule ->> 'days')::integer from jsonb_array_elements($5::jsonb) with ordinality as r(rule, place)
           where e.labels @> (rule -> 'labels') order by place limit 1), $6) = $7
         and (exists (select from exchange x
             where x.log_id = e.log_id and x.seq = e.seq and x.received_at = e.received_at)
           or exists (select from entry_user u where u.log_id = e.log_id and u.seq = e.seq))
       order by e.log_id, e.seq limit ${PAGE_ROWS}`,
      [from, to, after?.log_id ?? null, after?.seq ?? null, JSON.stringify(retain), retainDays, days],
    )
  }

  async #erase(days: number, places: readonly ReceivedPlace[]): Promise<number> {
    const reason = { selection: { older_than_days: days }, actor: GATEWAY_ACTOR }
    const { result } = await this.#parts.log.change(async (queries) => ({
      ...(await eraseRows(queries, places, reason)),
      feed: [],
    }))
    return result.erased
  }

  async #keep(days: number, upto: string): Promise<void> {
    await onlyRow(
      this.#parts.database.rows(
        `insert into expiry (name, upto) values ($1, $2)
         on conflict (name) do update set upto = excluded.upto returning name`,
        [this.#nameOf(days), upto],
      ),
    )
  }

  #nameOf(days: number): string {
    return `${this.#rules}/${days}`
  }
}
