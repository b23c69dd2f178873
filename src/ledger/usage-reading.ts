// Lists the calls of all logs, newest first, and finds one with its exchange. A page by an index
// takes a millisecond; any other reads a bounded number of calls, and its cursor leads to the rest.

import { SALT_BYTES } from '../audit/content.ts'
import type { StoppedBy } from '../audit/entry-fields.ts'
import {
  badCursor,
  type SecurityQuery,
  type SecurityReport,
  type UsageDetail,
  type UsagePage,
  type UsageQuery,
  type WantedMembers,
  wantedMembers,
} from '../audit/usage-query.ts'
import { hashUser, isUserHash } from '../audit/user-hash.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import { CALL_COLUMNS, CALL_JOINS, type CallRow, LISTED, viewOf } from './call-rows.ts'
import { onlyRow, type Queries } from './database.ts'
import { MEMBERS_OF_BODY, storable } from './entry-columns.ts'
import {
  after,
  allOf,
  type Condition,
  type EntryPlace,
  logsOf,
  NEWEST_FIRST,
  parameters,
  placeText,
  readPlace,
} from './log-scope.ts'
import { readSecurity } from './security-reading.ts'

/** Entries read for one page; the cursor leads to the rest. */
const MAXIMUM_SCANNED_ROWS = 100_000
/** Entries read for `total`. */
const MAXIMUM_COUNTED_ROWS = 10_000
/** Entries read first for each that a page may have; a plan for few rows follows the index. */
const FIRST_ROWS_FACTOR = 4
/** Calls of an end user that are sorted; a user with more is searched among all calls. */
const MAXIMUM_USER_CALLS = 5000

/** Columns of `entry` that conditions and views read. */
const COLUMNS =
  'e.created_at, e.log_id, e.seq, e.hash, e.body, e.call_id, e.key_id, e.model, e.outcome, e.blocked, e.refused, e.pii, e.rule_triggers'

/** Which entries are read in order, and which of them are kept. */
interface Search {
  /** A table or join with the entries as `e`. */
  readonly source: Condition
  /** Conditions that an index in this order answers. */
  readonly read: readonly Condition[]
  readonly keep: readonly Condition[]
}

/** Where a page begins. */
interface PageStart {
  /** The last entry that was read; null for the newest of all. */
  readonly place: EntryPlace | null
  /** Matching entries still to skip. */
  readonly skip: number
}

interface UsageReadingOptions {
  readonly queries: Queries
  /** Hashes end users. */
  readonly fleetKey: Buffer
  readonly maximumScannedRows?: number
  readonly maximumCountedRows?: number
  readonly maximumUserCalls?: number
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class UsageReading {
  readonly #queries: Queries
  readonly #fleetKey: Buffer
  readonly #scannedRows: number
  readonly #countedRows: number
  readonly #userCalls: number

  constructor(options: UsageReadingOptions) {
    this.#queries = options.queries
    this.#fleetKey = options.fleetKey
    this.#scannedRows = options.maximumScannedRows ?? MAXIMUM_SCANNED_ROWS
    this.#countedRows = options.maximumCountedRows ?? MAXIMUM_COUNTED_ROWS
    this.#userCalls = options.maximumUserCalls ?? MAXIMUM_USER_CALLS
  }

  /**
   * Returns a page of calls, newest first by arrival.
   * @throws GatewayError (rejects) `invalid_parameter` for an unknown cursor or sidecar
   */
  async list(query: UsageQuery): Promise<UsagePage> {
    const start = startOf(query)
    const logs = await logsOf(this.#queries, { sidecar: query.sidecar ?? null })
    if (logs?.length === 0) return { logs: [], total: 0 }
    const search = await this.#searchOf(query, logs)
    const [rows, counted] = await Promise.all([
      this.#page(search, start, query.limit + 1),
      this.#count(search, null, this.#countedRows),
    ])
    const page = rows.slice(0, query.limit)
    const next =
      rows.length > query.limit ? { place: page.at(-1)!, skip: 0 } : await this.#rest(search, start)
    return {
      logs: page.map(viewOf).filter((view) => view !== null),
      total: counted.kept,
      ...(counted.read === this.#countedRows && { total_is_lower_bound: true as const }),
      ...(next !== null && { next_cursor: cursorText(next) }),
    }
  }

  /** Returns one call with its exchange; null for an unknown id. */
  async get(id: string): Promise<UsageDetail | null> {
    const [row] = await this.#queries.rows<CallRow>(
      `select ${CALL_COLUMNS} from (
         select ${COLUMNS} from entry e where e.call_id = $1 order by e.received_at, e.log_id, e.seq limit 1) p ${CALL_JOINS}`,
      [storable(id)],
    )
    const view = row === undefined ? null : viewOf(row)
    if (row === undefined || view === null) return null
    const [exchange] = await this.#queries.rows<{ bytes: Buffer }>(
      'select bytes from exchange where log_id = $1 and seq = $2',
      [row.log_id, row.seq],
    )
    const content = exchange === undefined ? {} : contentOf(exchange.bytes)
    return {
      ...view,
      request: content['request'] ?? null,
      response: content['response'] ?? null,
      erased: exchange === undefined && view.content_hash !== null,
    }
  }

  /** Counts and lists the security events of the last days. */
  security(query: SecurityQuery): Promise<SecurityReport> {
    return readSecurity(this.#queries, query)
  }

  /** An index answers the first of: a user with few calls, a key, a log, calls with events. */
  async #searchOf(query: UsageQuery, logs: readonly string[] | null): Promise<Search> {
    const { filter = {}, outcomes = null, stopped = null } = query
    const { keyId = null, model = null, blocked = null, piiDetected = null } = filter
    const { sinceMs = null, untilMs = null } = filter
    const user = query.user == null ? null : await this.#findUser(query.user)
    const read: Condition[] = []
    const keep: Condition[] = [() => LISTED]
    let isFound = user?.isFew === true
    const found = (condition: Condition) => {
      ;(isFound ? keep : read).push(condition)
      isFound = true
    }
    if (keyId !== null) found((add) => `e.key_id = ${add(storable(keyId))}`)
    if (logs?.length === 1) found((add) => `e.log_id = ${add(logs[0])}`)
    else if (logs !== null) keep.push((add) => `e.log_id = any(${add(logs)}::uuid[])`)
    if (!isFound && stopped !== null) read.push(() => INDEXED_EVENTS)
    else if (!isFound && (blocked === true || piiDetected === true))
      read.push(() => 'e.blocked or e.pii or e.rule_triggers > 0')
    if (blocked !== null) keep.push((add) => `e.blocked = ${add(blocked)}`)
    if (piiDetected !== null) keep.push((add) => `e.pii = ${add(piiDetected)}`)
    if (model !== null) keep.push((add) => `e.model = ${add(storable(model))}`)
    if (outcomes !== null) keep.push((add) => `e.outcome = any(${add(outcomes)}::text[])`)
    if (stopped !== null) keep.push(() => STOPPED_BY_RULE[stopped])
    for (const alternatives of wantedMembers(query)) keep.push(anyOf(alternatives.map(hasMembers)))
    if (query.withEvents === true) keep.push(() => HAS_EVENTS)
    if (sinceMs !== null) read.push((add) => `e.created_at >= ${add(isoTime(sinceMs))}::timestamptz`)
    if (untilMs !== null) read.push((add) => `e.created_at <= ${add(isoTime(untilMs))}::timestamptz`)
    if (user?.isFew === false)
      keep.push(
        (add) =>
          `exists (select from entry_user u where u.log_id = e.log_id and u.seq = e.seq and u.hash = ${add(user.hash)})`,
      )
    const source: Condition =
      user?.isFew === true
        ? (add) =>
            `(select log_id, seq from entry_user where hash = ${add(user.hash)}) u join entry e using (log_id, seq)`
        : () => 'entry e'
    return { source, read, keep }
  }

  /** Finds a user by the value that clients send, or, if nobody has sent it, by the hash. */
  async #findUser(value: string): Promise<{ readonly hash: Buffer; readonly isFew: boolean }> {
    const named = await this.#callsOf(hashUser(this.#fleetKey, value))
    return named.calls > 0 || !isUserHash(value) ? named : await this.#callsOf(Buffer.from(value, 'hex'))
  }

  async #callsOf(hash: Buffer): Promise<{ hash: Buffer; calls: number; isFew: boolean }> {
    const { calls } = await onlyRow(
      this.#queries.rows<{ calls: number }>(
        'select count(*) as calls from (select from entry_user where hash = $1 limit $2) one',
        [hash, this.#userCalls + 1],
      ),
    )
    return { hash, calls, isFew: calls <= this.#userCalls }
  }

  async #page(search: Search, { place, skip }: PageStart, limit: number): Promise<CallRow[]> {
    const first = Math.min(this.#scannedRows, FIRST_ROWS_FACTOR * (limit + skip))
    const rows = await this.#read(search, { place, skip }, limit, first)
    const isDone = rows.length === limit || first === this.#scannedRows
    return isDone ? rows : this.#read(search, { place, skip }, limit, this.#scannedRows)
  }

  #read(search: Search, { place, skip }: PageStart, limit: number, scanned: number): Promise<CallRow[]> {
    const { values, add } = parameters()
    const statement = `select ${CALL_COLUMNS} from (
        select * from (${scanOf(search, place, scanned, add)}) e where ${allOf(search.keep, add)}
        order by ${NEWEST_FIRST} limit ${add(limit)} offset ${add(skip)}) p ${CALL_JOINS}
      order by p.created_at desc, p.log_id desc, p.seq desc`
    return this.#queries.rows(statement, values)
  }

  /** Counts the entries that are read from a place on, and those that are kept. */
  #count(search: Search, place: EntryPlace | null, scanned: number): Promise<{ read: number; kept: number }> {
    const { values, add } = parameters()
    const scan = scanOf(search, place, scanned, add)
    return onlyRow(
      this.#queries.rows(
        `select count(*) as read, count(*) filter (where ${allOf(search.keep, add)}) as kept from (${scan}) e`,
        values,
      ),
    )
  }

  /** Returns where a page continues that is not full; null at the end of all entries. */
  async #rest(search: Search, { place, skip }: PageStart): Promise<PageStart | null> {
    const { values, add } = parameters()
    const scan = scanOf(search, place, this.#scannedRows, add)
    const [last] = await this.#queries.rows<EntryPlace>(
      `select e.created_at, e.log_id, e.seq from (${scan}) e order by ${NEWEST_FIRST} offset ${add(this.#scannedRows - 1)}`,
      values,
    )
    if (last === undefined) return null
    const skipped = skip === 0 ? 0 : (await this.#count(search, place, this.#scannedRows)).kept
    return { place: last, skip: Math.max(0, skip - skipped) }
  }
}

/** Returns the statement that reads entries from a place on. */
function scanOf(
  { source, read }: Search,
  place: EntryPlace | null,
  limit: number,
  add: (value: unknown) => string,
): string {
  const conditions = place === null ? read : [...read, after(place)]
  return `select ${COLUMNS} from ${source(add)} where ${allOf(conditions, add)}
    order by ${NEWEST_FIRST} limit ${limit}`
}

function startOf({ cursor, offset }: UsageQuery): PageStart {
  if (cursor == null) return { place: null, skip: offset }
  const [, skip, text = ''] =
    /^(\d{1,15}):(.*)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const place = readPlace(text)
  if (place === null) throw badCursor()
  return { place, skip: Number(skip) }
}

/** Returns the text of a cursor, opaque to clients. */
const cursorText = ({ place, skip }: PageStart): string =>
  Buffer.from(`${skip}:${placeText(place!)}`).toString('base64url')

/** The condition of an index. */
const INDEXED_EVENTS = 'e.blocked or e.refused or e.pii or e.rule_triggers > 0'
const STOPPED_BY_RULE: Readonly<Record<StoppedBy, string>> = {
  refused: 'e.refused',
  blocked: '(e.blocked and e.refused is not true)',
}

/** A limit refuses calls before a rule is sealed as one that fired. */
const HAS_EVENTS = "(e.blocked or e.pii or e.rule_triggers > 0 or e.outcome = 'rate_limited')"

const storableValue = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? storable(value) : value

/** Keeps entries with some members. Reads the JSON only of those whose bytes hold a text. */
const hasMembers =
  ({ text, anyOf }: WantedMembers): Condition =>
  (add) =>
    // The bytes hold a text as it was sealed, with the escape of a NUL.
    `case when position(convert_to(${add(JSON.stringify(text.toWellFormed()))}, 'UTF8') in e.body) > 0
      then ${anyOf.map((members) => `${MEMBERS_OF_BODY} @> ${add(JSON.stringify(members, storableValue))}::jsonb`).join(' or ')} else false end`

const anyOf =
  (conditions: readonly Condition[]): Condition =>
  (add) =>
    `(${conditions.map((condition) => condition(add)).join(' or ') || 'false'})`

/** The exchange after its salt; empty for one that is no object, which only a sidecar can make. */
function contentOf(salted: Buffer): JsonObject {
  try {
    const content: JsonValue = JSON.parse(salted.toString('utf8', SALT_BYTES))
    return isObject(content) ? content : {}
  } catch {
    return {}
  }
}
