// The full check of all logs, of which one runs at a time over all hubs: its state is one row.

import type { Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Queries } from './database.ts'

/** A run whose hub has written nothing for so long has ended. */
const LOST_MS: Milliseconds = 10_000
const LOST_BEFORE = `now() - ${LOST_MS} * interval '1 millisecond'`
const IS_LOST = `finished_at is null and seen_at < ${LOST_BEFORE}`

/** The newest run. */
export interface CheckRow {
  readonly started_at: Milliseconds
  /** When its hub wrote last. */
  readonly seen_at: Milliseconds
  readonly finished_at: Milliseconds | null
  /** From 0 to 1. */
  readonly progress: number
  readonly verdict: JsonObject | null
  /** Why it has no verdict. */
  readonly failure: string | null
  readonly is_lost: boolean
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class LogChecks {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** Returns null before the first run. */
  async newest(): Promise<CheckRow | null> {
    const [row] = await this.#queries.rows<CheckRow>(
      `select started_at, seen_at, finished_at, progress, verdict, failure, ${IS_LOST} as is_lost from log_check`,
    )
    return row ?? null
  }

  /** Begins a run, unless another one is under way. @returns whether it began */
  async begin(run: string): Promise<boolean> {
    const begun = await this.#queries.rows(
      `insert into log_check as c (run, started_at, seen_at) values ($1, now(), now())
       on conflict (one) do update set run = excluded.run, started_at = now(), seen_at = now(),
         finished_at = null, progress = 0, is_cancelled = false, verdict = null, failure = null
       where c.finished_at is not null or c.seen_at < ${LOST_BEFORE}
       returning run`,
      [run],
    )
    return begun.length > 0
  }

  /** Notes how far a run is. @returns false for one that is to end: cancelled, or taken for lost */
  async advance(run: string, progress: number): Promise<boolean> {
    const [row] = await this.#queries.rows<{ is_cancelled: boolean }>(
      `update log_check set progress = $2, seen_at = now()
       where run = $1 and finished_at is null returning is_cancelled`,
      [run, progress],
    )
    return row?.is_cancelled === false
  }

  /** Ends a run, with a verdict or the reason why it has none. */
  async end(run: string, verdict: JsonObject | null, failure: string | null): Promise<void> {
    await this.#queries.rows(
      `update log_check set finished_at = now(), verdict = $2::json, failure = $3,
         damaged = coalesce(($2::json ->> 'damaged')::integer, damaged),
         progress = case when $3::text is null then 1 else progress end
       where run = $1 and finished_at is null`,
      [run, verdict === null ? null : JSON.stringify(verdict), failure],
    )
  }

  /** Asks the hub that runs the check to end it. */
  async cancel(): Promise<void> {
    await this.#queries.rows('update log_check set is_cancelled = true where finished_at is null')
  }

  /** Returns the number of logs in which the newest verdict has findings; 0 before the first. */
  async damaged(): Promise<number> {
    const [row] = await this.#queries.rows<{ damaged: number }>('select damaged from log_check')
    return row?.damaged ?? 0
  }
}
