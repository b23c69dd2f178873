// Lists the entries of all logs that are not calls, newest first. The entries of one log are listed
// by their sequence numbers, as a gateway does; those of several by their times.

import { type ChangesPage, type ChangesQuery, changeView, NAMING_MEMBERS } from '../audit/change-view.ts'
import { badCursor } from '../audit/usage-query.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Queries } from './database.ts'
import { MEMBERS_OF_BODY, storable, storableText } from './entry-columns.ts'
import { hashText } from './hub-log.ts'
import {
  after,
  allOf,
  type Condition,
  type EntryPlace,
  logsOf,
  logsOfHubs,
  NEWEST_FIRST,
  parameters,
  placeText,
  readPlace,
} from './log-scope.ts'

/** Entries read for one page; the answer says where to continue. */
const MAXIMUM_READ_ENTRIES = 20_000

/** Where a page begins: in one log, or among those of all. */
type ChangesStart = { readonly log: string; readonly beforeSeq: number } | EntryPlace

interface ChangeRow extends EntryPlace {
  readonly hash: Buffer
  readonly body: Buffer
  readonly sidecar: string | null
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class ChangeReading {
  readonly #queries: Queries
  readonly #maximum: number

  constructor(queries: Queries, maximumReadEntries = MAXIMUM_READ_ENTRIES) {
    this.#queries = queries
    this.#maximum = maximumReadEntries
  }

  /**
   * Returns a page of entries. A page with a next one may have fewer than `limit`.
   * @throws GatewayError (rejects) `invalid_parameter` for an unknown cursor, log or sidecar, or
   * for `before` of several logs
   */
  async listChanges(query: ChangesQuery): Promise<ChangesPage> {
    const { cursor = null, beforeSeq } = query
    if (cursor !== null && beforeSeq !== null)
      throw invalid('cursor', 'Give either cursor or before, not both.')
    const logs = await this.#logsOf(query)
    const start = cursor === null ? null : readCursor(cursor)
    if (start !== null && 'log' in start) return this.#pageOfLog(query, start.log, start.beforeSeq)
    const [only, ...others] = logs ?? []
    if (only !== undefined && others.length === 0 && start === null)
      return this.#pageOfLog(query, only, beforeSeq)
    if (beforeSeq !== null)
      throw invalid('before', 'The sidecar has several logs; name one by `log`, or follow next_cursor.')
    return logs?.length === 0 ? { changes: [] } : this.#pageOfLogs(query, logs, start)
  }

  /** Returns null for all of several logs. */
  async #logsOf({ sidecar = null, log = null, beforeSeq }: ChangesQuery): Promise<readonly string[] | null> {
    const named = await logsOf(this.#queries, { sidecar, log })
    if (named !== null) return named
    const hubs = await logsOfHubs(this.#queries)
    if (beforeSeq !== null) return hubs
    const [other] = await this.#queries.rows('select from log_head where sidecar is not null limit 1')
    return other === undefined ? hubs : null
  }

  async #pageOfLog(query: ChangesQuery, log: string, beforeSeq: number | null): Promise<ChangesPage> {
    const scan: Condition = (add) =>
      `select * from entry e where e.log_id = ${add(log)}::uuid and e.seq < ${add(beforeSeq ?? Number.MAX_SAFE_INTEGER)}::bigint
       order by e.seq desc`
    const { changes, last } = await this.#read(query, scan, 'e.seq desc', [])
    if (last === null || last.seq === 0) return { changes }
    return { changes, next_before: last.seq, next_cursor: cursorText({ log, beforeSeq: last.seq }) }
  }

  async #pageOfLogs(
    query: ChangesQuery,
    logs: readonly string[] | null,
    start: EntryPlace | null,
  ): Promise<ChangesPage> {
    const read: Condition[] = [() => "e.type <> 'request'"]
    if (start !== null) read.push(after(start))
    const scan: Condition = (add) =>
      `select * from entry e where ${allOf(read, add)} order by ${NEWEST_FIRST}`
    const keep: Condition[] = logs === null ? [] : [(add) => `e.log_id = any(${add(logs)}::uuid[])`]
    const { changes, last } = await this.#read(query, scan, NEWEST_FIRST, keep)
    return last === null ? { changes } : { changes, next_cursor: cursorText(last) }
  }

  /** Reads a page of a scan. @returns with the last entry that was read; null at the end */
  async #read(
    { limit, actor, type, about = null }: ChangesQuery,
    scan: Condition,
    order: string,
    more: readonly Condition[],
  ): Promise<{ readonly changes: JsonObject[]; readonly last: EntryPlace | null }> {
    const keep: Condition[] = [() => "e.type <> 'request'", ...more]
    // Those of the witness record no change.
    if (type === null) keep.push(() => "e.type <> 'fleet_witness'")
    else keep.push((add) => `e.type = ${add(storable(type))}`)
    if (actor !== null) keep.push((add) => `${MEMBERS_OF_BODY} ->> 'actor' = ${add(storableText(actor))}`)
    if (about !== null)
      keep.push((add) => {
        const named = add(storableText(about))
        return `(${NAMING_MEMBERS.map((name) => `${MEMBERS_OF_BODY} ->> '${name}' = ${named}`).join(' or ')})`
      })
    const { values, add } = parameters()
    const rows = await this.#queries.rows<ChangeRow>(
      `select e.*, coalesce(s.name, h.sidecar) as sidecar from (
         select e.created_at, e.log_id, e.seq, e.hash, e.body
         from (${scan(add)} limit ${this.#maximum}) e where ${allOf(keep, add)}
         order by ${order} limit ${add(limit + 1)}) e
       left join log_head h on h.log_id = e.log_id left join sidecar s on s.id = h.sidecar
       order by ${order}`,
      values,
    )
    const page = rows.slice(0, limit)
    const changes = page.map(({ seq, hash, body, log_id, sidecar }) => ({
      ...changeView(seq, hashText(hash), body),
      log: log_id,
      sidecar,
    }))
    return { changes, last: rows.length > limit ? page.at(-1)! : await this.#lastOf(scan, order) }
  }

  /** Returns the entry at the end of a scan that was not read to its end. */
  async #lastOf(scan: Condition, order: string): Promise<EntryPlace | null> {
    const { values, add } = parameters()
    const [last] = await this.#queries.rows<EntryPlace>(
      `select e.created_at, e.log_id, e.seq from (${scan(add)} limit ${this.#maximum}) e
       order by ${order} offset ${add(this.#maximum - 1)}`,
      values,
    )
    return last ?? null
  }
}

const LOG_CURSOR = /^log:([0-9a-f-]{36}):(\d{1,15})$/

/** Returns the text of a cursor, opaque to clients. */
const cursorText = (start: ChangesStart): string =>
  Buffer.from('log' in start ? `log:${start.log}:${start.beforeSeq}` : placeText(start)).toString('base64url')

function readCursor(cursor: string): ChangesStart {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const [, log, seq] = LOG_CURSOR.exec(text) ?? []
  const start = log === undefined ? readPlace(text) : { log, beforeSeq: Number(seq) }
  if (start === null) throw badCursor()
  return start
}

const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_parameter', message, { param })
