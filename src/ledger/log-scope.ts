// Which logs a request to the management API means, and places among the entries of all logs.

import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import type { Queries } from './database.ts'

/** Newest logs of a sidecar that a request covers. A start without its volume makes one. */
const MAXIMUM_LOGS = 1000
/** Names of logs in an error. */
const MAXIMUM_NAMES = 20
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Logs by their sidecar or by their id; null for all. */
export interface LogScope {
  readonly sidecar: string | null
  readonly log?: string | null
}

/**
 * Returns the ids of the logs, newest first; null for all logs, none for an unknown sidecar.
 * @throws GatewayError (rejects) `invalid_parameter` for an unknown log, or a sidecar and a log
 */
export async function logsOf(
  queries: Queries,
  { sidecar, log = null }: LogScope,
): Promise<readonly string[] | null> {
  if (sidecar !== null && log !== null) throw invalid('log', 'Give either sidecar or log, not both.')
  if (log !== null) return [await knownLog(queries, log)]
  return sidecar === null ? null : await logsOfSidecar(queries, sidecar)
}

/**
 * Returns the one log of a scope, by default that of the hubs.
 * @throws as `logsOf`; `invalid_parameter` (rejects) for a sidecar without a log or with several
 */
export async function oneLogOf(queries: Queries, scope: LogScope): Promise<string> {
  const [first, ...others] = (await logsOf(queries, scope)) ?? (await logsOfHubs(queries))
  if (first === undefined)
    throw invalid('sidecar', 'No such sidecar has a log here; GET /api/v1/fleet lists them.')
  if (others.length === 0) return first
  const names = [first, ...others].slice(0, MAXIMUM_NAMES)
  throw invalid(
    'log',
    `The sidecar has ${others.length + 1} logs; name one by \`log\` in place of \`sidecar\`: ${names.join(', ')}${names.length <= others.length ? ', …' : ''}.`,
  )
}

async function knownLog(queries: Queries, log: string): Promise<string> {
  const rows = UUID.test(log) ? await idsOf(queries, 'log_id = $1', [log]) : []
  const [known] = rows
  if (known !== undefined) return known
  throw invalid(
    'log',
    'There is no log with this id; GET /api/v1/audit/verify lists those that were checked.',
  )
}

/** @param sidecar id or name; PostgreSQL takes no NUL in a text */
const logsOfSidecar = (queries: Queries, sidecar: string): Promise<string[]> =>
  idsOf(queries, 'sidecar = $1 or sidecar in (select id from sidecar where name = $1)', [
    sidecar.replaceAll('\0', ''),
  ])

/** Returns the log that all hubs share; none before the first start of a hub. */
export const logsOfHubs = (queries: Queries): Promise<string[]> => idsOf(queries, 'sidecar is null', [])

async function idsOf(queries: Queries, condition: string, values: readonly unknown[]): Promise<string[]> {
  const rows = await queries.rows<{ log_id: string }>(
    `select log_id from log_head where ${condition} order by log_id desc limit ${MAXIMUM_LOGS}`,
    values,
  )
  return rows.map(({ log_id }) => log_id)
}

const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_parameter', message, { param })

/** The place of an entry among those of all logs. */
export interface EntryPlace {
  /** Unix milliseconds. */
  readonly created_at: number
  readonly log_id: string
  readonly seq: number
}

/** Order of the entries of all logs, newest first: of rows that are named `e`. */
export const NEWEST_FIRST = 'e.created_at desc, e.log_id desc, e.seq desc'

/** A condition of a statement. `add` takes a value and returns its placeholder. */
export type Condition = (add: (value: unknown) => string) => string

/** Returns the condition of the entries after a place, newest first. */
export const after =
  ({ created_at, log_id, seq }: EntryPlace): Condition =>
  (add) =>
    `(e.created_at, e.log_id, e.seq) < (${add(isoTime(created_at))}::timestamptz, ${add(log_id)}::uuid, ${add(seq)}::bigint)`

/** Joins conditions that all must hold. */
export const allOf = (conditions: readonly Condition[], add: (value: unknown) => string): string =>
  conditions.length === 0 ? 'true' : conditions.map((one) => `(${one(add)})`).join(' and ')

/** Gives a statement its values. */
export function parameters(): { readonly values: unknown[]; readonly add: (value: unknown) => string } {
  const values: unknown[] = []
  return { values, add: (value) => `$${values.push(value)}` }
}

const PLACE = new RegExp(`^(\\d{1,15}):(${UUID.source.slice(1, -1)}):(\\d{1,15})$`)
/** Latest time that PostgreSQL and RFC 3339 write with four digits of a year. */
const MAXIMUM_TIME_MS = Date.UTC(9999, 11, 31)

export const placeText = ({ created_at, log_id, seq }: EntryPlace): string => `${created_at}:${log_id}:${seq}`

/** Returns null for any text that `placeText` does not produce. */
export function readPlace(text: string): EntryPlace | null {
  const [, time = '', log, seq = ''] = PLACE.exec(text) ?? []
  if (log === undefined || Number(time) > MAXIMUM_TIME_MS) return null
  return { created_at: Number(time), log_id: log, seq: Number(seq) }
}
