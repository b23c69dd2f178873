// The states of the logs of sidecars: whether they still grow, and what was sent that does not fit
// them.

import type { ConflictKind } from '../audit/arrival.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { Database } from './database.ts'
import { digestOf } from './entry-columns.ts'
import { CONTACT } from './sidecar-ledger.ts'

/** A sidecar that is not heard for so long writes no more to its log, as far as anyone can tell. */
const CUT_AFTER_MS: Milliseconds = 300_000
/** Time for the last entries of a sidecar that has said goodbye, or whose row is gone. */
const LAST_ENTRIES_MS: Milliseconds = 60_000

/** Conflicts that are kept of one sidecar in one log, and of one sidecar. More are only counted. */
const MAXIMUM_CONFLICTS = 100
const MAXIMUM_SIDECAR_CONFLICTS = 1000
/**
 * What a sidecar sends to its own log as evidence of a rewrite. A log keeps MAXIMUM_CONFLICTS of
 * each kind and the conflict that forks it, also of a sidecar that has flooded the table before.
 */
const RESERVED_KINDS: readonly ConflictKind[] = ['fork', 'chain', 'checkpoint']
/** Logs of one sidecar that are listed: a Pod without a volume begins one at each start. */
const MAXIMUM_LISTED_LOGS = 10

/** A log of a sidecar. */
export interface LogStateRow {
  readonly log_id: string
  readonly sidecar: string
  /** The newest entry. */
  readonly seq: number
  readonly state: 'open' | 'closed' | 'cut' | 'forked'
  /** When the newest entry was stored. */
  readonly last_at: Milliseconds
}

/** What a sidecar sent that does not fit. */
export interface Conflict {
  readonly sidecar: string
  readonly log: string
  readonly seq: number | null
  readonly kind: ConflictKind
  /** Hashes, as in entries. */
  readonly stored: string | null
  readonly sent: string | null
  readonly body: Buffer | null
  /** The log takes no more entries. */
  readonly isFork: boolean
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class LogStates {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Keeps a conflict, once for each thing that was sent. @returns whether it is kept now */
  async record({ sidecar, log, seq, kind, stored, sent, body, isFork }: Conflict): Promise<boolean> {
    const [storedDigest, sentDigest] = [stored, sent].map((hash) => (hash === null ? null : digestOf(hash)))
    return this.#database.transaction(async (queries) => {
      const kept = await queries.rows(
        `insert into conflict (at, sidecar, log_id, seq, kind, stored, sent, body)
         select now(), $1, $2, $3, $4, $5, $6, $7
         where (
           (select count(*) from conflict where log_id = $2 and sidecar = $1) < ${MAXIMUM_CONFLICTS}
             and (select count(*) from conflict where sidecar = $1) < ${MAXIMUM_SIDECAR_CONFLICTS}
           or exists (select from log_head where log_id = $2 and sidecar = $1 and (
             $8 and state <> 'forked' or $4 = any($9) and (select count(*) from conflict
               where log_id = $2 and sidecar = $1 and kind = $4) < ${MAXIMUM_CONFLICTS})))
           and not exists (select from conflict where log_id = $2 and sidecar = $1 and kind = $4
             and seq is not distinct from $3 and sent is not distinct from $6)
         returning kind`,
        [sidecar, log, seq, kind, storedDigest, sentDigest, body, isFork, RESERVED_KINDS],
      )
      if (isFork)
        await queries.rows(`update log_head set state = 'forked' where log_id = $1 and sidecar = $2`, [
          log,
          sidecar,
        ])
      return kept.length > 0
    })
  }

  /** Marks the logs that ended without a word, and returns them. */
  markCut(): Promise<LogStateRow[]> {
    return this.#database.rows(
      `update log_head l set state = 'cut'
       where l.state = 'open' and l.sidecar is not null
         and l.last_at < now() - ${LAST_ENTRIES_MS} * interval '1 millisecond'
         and not exists (
           select from sidecar s left join hub_state h on h.id = s.hub
           where s.id = l.sidecar and s.state in ('connected', 'silent')
             and greatest(${CONTACT}, l.last_at) > now() - ${CUT_AFTER_MS} * interval '1 millisecond')
       returning log_id, sidecar, seq, state, last_at`,
    )
  }

  /** Returns the number of logs that are cut. */
  async countCut(): Promise<number> {
    const rows = await this.#database.rows<{ count: number }>(
      `select count(*) as count from log_head where state = 'cut'`,
    )
    return rows[0]?.count ?? 0
  }

  /** Returns the newest logs of each sidecar, newest first. */
  list(): Promise<LogStateRow[]> {
    return this.#database.rows(
      `select log_id, sidecar, seq, state, last_at from (
         select *, row_number() over (partition by sidecar order by last_at desc, log_id) as place
         from log_head where sidecar is not null) as l
       where place <= ${MAXIMUM_LISTED_LOGS} order by sidecar, place`,
    )
  }
}
