// The columns of the table `entry` that repeat what an entry says, so that entries are found: one
// table for what writes them and for what compares them with the entry.

import { canonicalize } from '../audit/canonical.ts'
import type { SealedRequest } from '../audit/entry.ts'
import { costOfEntry } from '../audit/usage-view.ts'
import { isKnownVersion } from '../audit/verify.ts'
import { isObject } from '../core/json.ts'
import { isoTime, parseTime } from '../core/time.ts'
import type { Queries } from './database.ts'

/** Longest text of a column, in UTF-16 code units: an index takes no row above 2,700 bytes. */
export const MAXIMUM_COLUMN_CHARACTERS = 256
const MAXIMUM_INTEGER = 2 ** 31 - 1
const HASH_PREFIX = 'sha256:'

/** Reads members of an entry. Absent ones are undefined. */
interface EntryMembers {
  get(name: string): unknown
}

/** As PostgreSQL takes it as a parameter. */
export type ColumnValue = string | number | boolean | Buffer | null

interface ColumnType {
  readonly sql: string
  /** Returns what a parameter is, of a column as it was read. */
  readonly read: (column: unknown) => unknown
}

const asRead = (column: unknown): unknown => column
const TEXT: ColumnType = { sql: 'text', read: asRead }
const BIGINT: ColumnType = { sql: 'bigint', read: asRead }
const INTEGER: ColumnType = { sql: 'integer', read: asRead }
const BOOLEAN: ColumnType = { sql: 'boolean', read: asRead }
const BYTES: ColumnType = { sql: 'bytea', read: asRead }
const TIME: ColumnType = { sql: 'timestamptz', read: (column) => isoTime(Number(column)) }
const JSON_OBJECT: ColumnType = {
  sql: 'jsonb',
  read: (column) => (column === null ? null : canonicalize(column)),
}

interface EntryColumn {
  readonly name: string
  readonly type: ColumnType
  /** Returns the value for any members of an entry whose envelope is right. */
  readonly value: (members: EntryMembers) => ColumnValue
}

/** Returns a text as PostgreSQL takes it: without NUL, and without halves of surrogate pairs. */
export const storableText = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

const storable = (text: string): string => storableText(text.slice(0, MAXIMUM_COLUMN_CHARACTERS))
const textOf = (value: unknown): string | null => (typeof value === 'string' ? storable(value) : null)
const wholeOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : null
const timeOf = (value: unknown): number | null => {
  const timeMs = typeof value === 'string' ? parseTime(value) : null
  return timeMs === null || timeMs < 0 ? null : timeMs
}

const text = (name: string, member = name): EntryColumn => ({
  ...{ name, type: TEXT },
  value: ofKnown((members) => textOf(members.get(member))),
})
const whole = (name: string): EntryColumn => ({
  ...{ name, type: BIGINT },
  value: ofKnown((members) => wholeOf(members.get(name))),
})
const flag = (name: string, member = name): EntryColumn => ({
  ...{ name, type: BOOLEAN },
  value: ofKnown((members) => {
    const value = members.get(member)
    return typeof value === 'boolean' ? value : null
  }),
})

/** Null for an entry of a format that this release does not know, whose members may mean anything. */
const ofKnown =
  (value: EntryColumn['value']): EntryColumn['value'] =>
  (members) =>
    isKnownVersion(members.get('v')) ? value(members) : null

/** Of calls alone. */
const ofRequest = (column: EntryColumn): EntryColumn => ({
  ...column,
  value: (members) => (members.get('type') === 'request' ? column.value(members) : null),
})

function costOf(members: EntryMembers): number | null {
  const cost = wholeOf(members.get('cost'))
  return costOfEntry({ v: members.get('v') as SealedRequest['v'], cost })
}

function statusOf(members: EntryMembers): number | null {
  const status = wholeOf(members.get('status'))
  return status !== null && Math.abs(status) <= MAXIMUM_INTEGER ? status : null
}

function rulesOf(members: EntryMembers): number | null {
  const rules = members.get('rules')
  return Array.isArray(rules) ? rules.length : null
}

/** Returns labels as canonical JSON; null without any. */
function labelsOf(members: EntryMembers): string | null {
  const labels = members.get('labels')
  if (!isObject(labels)) return null
  const kept = Object.entries(labels).flatMap(([name, value]) =>
    typeof value === 'string' ? [[storable(name), storable(value)]] : [],
  )
  return kept.length === 0 ? null : canonicalize(Object.fromEntries(kept))
}

/** When a call arrived, and when any other entry was sealed. */
function createdAt(members: EntryMembers): string {
  const isCall = members.get('type') === 'request' && isKnownVersion(members.get('v'))
  const arrivedMs = isCall ? timeOf(members.get('created_at')) : null
  return isoTime(arrivedMs ?? timeOf(members.get('ts')) ?? 0)
}

const prevOf = (members: EntryMembers): Buffer | null => {
  const prev = members.get('prev')
  return typeof prev === 'string' ? digestOf(prev) : null
}

/** In the order of the parameters. The types are those of schema.ts. */
const ENTRY_COLUMNS: readonly EntryColumn[] = [
  { name: 'prev', type: BYTES, value: prevOf },
  { name: 'created_at', type: TIME, value: createdAt },
  { name: 'type', type: TEXT, value: (members) => textOf(members.get('type')) },
  ofRequest(text('call_id', 'id')),
  text('key_id'),
  ofRequest(text('model')),
  ofRequest(text('outcome')),
  ofRequest({ name: 'status', type: INTEGER, value: ofKnown(statusOf) }),
  ofRequest(whole('prompt_tokens')),
  ofRequest(whole('completion_tokens')),
  ofRequest({ name: 'cost', type: BIGINT, value: ofKnown(costOf) }),
  ofRequest(flag('blocked')),
  ofRequest(flag('pii', 'pii_detected')),
  ofRequest({ name: 'rule_triggers', type: INTEGER, value: ofKnown(rulesOf) }),
  ofRequest({ name: 'labels', type: JSON_OBJECT, value: ofKnown(labelsOf) }),
]

/** Names of the columns, for a `select` whose rows `differingColumn` compares. */
export const COLUMN_NAMES = ENTRY_COLUMNS.map(({ name }) => name).join(', ')

/** A row of `entry` before it is written. */
export interface EntryRow {
  readonly log: string
  readonly seq: number
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly bytes: Buffer
  /** The result of `columnsOf`. */
  readonly columns: readonly ColumnValue[]
}

/** Returns the values of the columns of an entry. */
export const columnsOf = (members: EntryMembers): readonly ColumnValue[] =>
  ENTRY_COLUMNS.map(({ value }) => value(members))

/** Returns the labels among the values of `columnsOf`, as JSON; null without any. */
export const labelsIn = (columns: readonly ColumnValue[]): ColumnValue =>
  columns[ENTRY_COLUMNS.findIndex(({ name }) => name === 'labels')] ?? null

/**
 * Returns the name of a column that differs from what the entry says; null if none does.
 * @param row with the columns of COLUMN_NAMES, as the database returns them
 */
export function differingColumn(row: object, members: EntryMembers): string | null {
  const columns = row as Record<string, unknown>
  const differing = ENTRY_COLUMNS.find(({ name, type, value }) => {
    const stored = type.read(columns[name])
    const said = value(members)
    return Buffer.isBuffer(stored) && Buffer.isBuffer(said) ? !stored.equals(said) : stored !== said
  })
  return differing?.name ?? null
}

const TYPES = ['uuid', 'bigint', 'bytea', 'bytea', ...ENTRY_COLUMNS.map(({ type }) => type.sql)]
const INSERT = `insert into entry (received_at, log_id, seq, hash, body, ${COLUMN_NAMES})
  select now(), new.* from unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as new`

/** Writes entries, with one time of receipt: that of the transaction. */
export async function insertEntries(queries: Queries, rows: readonly EntryRow[]): Promise<void> {
  await queries.rows(INSERT, [
    rows.map(({ log }) => log),
    rows.map(({ seq }) => seq),
    rows.map(({ hash }) => digestOf(hash)),
    rows.map(({ bytes }) => bytes),
    ...ENTRY_COLUMNS.map((_, index) => rows.map(({ columns }) => columns[index])),
  ])
}

/** The bytes of `sha256:` and 64 digits. */
export const digestOf = (hash: string): Buffer => Buffer.from(hash.slice(HASH_PREFIX.length), 'hex')
