// The columns of the table `entry` that repeat what an entry says, so that entries are found: one
// table for what writes them and for what compares them with the entry.

import { canonicalize } from '../audit/canonical.ts'
import type { SealedRequest } from '../audit/entry.ts'
import { type Drafted, sealedMember } from '../audit/entry-fields.ts'
import { stoppedBy } from '../audit/security.ts'
import { costOfEntry } from '../audit/usage-view.ts'
import { isKnownVersion } from '../audit/verify.ts'
import { isObject } from '../core/json.ts'
import { schemaFault } from '../core/schema-fault.ts'
import { isoTime, parseTime } from '../core/time.ts'
import { COUNTED_MEMBERS, type CountedCall } from '../usage/call-groups.ts'
import type { Queries } from './database.ts'

/** Longest text of a column, in UTF-16 code units: an index takes no row above 2,700 bytes. */
export const MAXIMUM_COLUMN_CHARACTERS = 256
const MAXIMUM_INTEGER = 2 ** 31 - 1
const DIRECTIONS = ['request', 'response']
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

/** Entries that have a value. A format that is not known says nothing beyond its envelope. */
type Having = 'any' | 'known' | 'call'

interface EntryColumn {
  readonly name: string
  readonly type: ColumnType
  readonly having: Having
  /** Member of a call's entry that the column repeats; absent for one of any envelope. */
  readonly of?: Drafted
  /** Returns the value for any members of such an entry whose envelope is right. */
  readonly value: (members: EntryMembers) => ColumnValue
}

const HARMLESS = /^[\x20-\x7e]*$/

/** Returns a text as PostgreSQL takes it: without NUL, and without halves of surrogate pairs. */
export const storableText = (text: string): string =>
  HARMLESS.test(text) ? text : text.replaceAll('\0', '\ufffd').toWellFormed()

/**
 * The members of the entry in a row `e`, as jsonb, with texts as `storableText` returns them.
 * PostgreSQL reads neither json nor jsonb with an escaped NUL in any member.
 */
export const MEMBERS_OF_BODY = "replace(convert_from(e.body, 'UTF8'), '\\u0000', '\\ufffd')::jsonb"

/** Returns a text as a column holds it, for a search. */
export const storable = (text: string): string => storableText(text.slice(0, MAXIMUM_COLUMN_CHARACTERS))
const textOf = (value: unknown): string | null => (typeof value === 'string' ? storable(value) : null)
const wholeOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)
const flagOf = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null)

/** Returns the text of a time since 1970 in one form; null for any other value. */
function timeOf(value: unknown): string | null {
  const timeMs = typeof value === 'string' ? parseTime(value) : null
  return timeMs === null || timeMs < 0 ? null : isoTime(timeMs)
}

function costOf(members: EntryMembers): number | null {
  const cost = wholeOf(members.get('cost'))
  return costOfEntry({ v: members.get('v') as SealedRequest['v'], cost })
}

function statusOf(members: EntryMembers): number | null {
  const status = wholeOf(members.get('status'))
  return status !== null && Math.abs(status) <= MAXIMUM_INTEGER ? status : null
}

/** Counts the directions, prompt and answer, in which personal data was found. */
function detectionsOf(members: EntryMembers): number | null {
  const pii = members.get('pii')
  if (!Array.isArray(pii)) return null
  return DIRECTIONS.filter((direction) => pii.some((one) => isObject(one) && one['direction'] === direction))
    .length
}

function rulesOf(members: EntryMembers): number | null {
  const rules = members.get('rules')
  return Array.isArray(rules) ? rules.length : null
}

/** Whether a limit, a budget, a model or a tool was in the way of a call. */
function refusedOf(members: EntryMembers): boolean {
  const rules = members.get('rules')
  return (
    stoppedBy({
      outcome: members.get('outcome') as SealedRequest['outcome'],
      blocked: members.get('blocked') === true,
      error_code: textOf(members.get('error_code')),
      rules: (Array.isArray(rules) ? rules.filter(isObject) : []) as unknown as SealedRequest['rules'],
    }) === 'refused'
  )
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
const createdAt = (members: EntryMembers): string =>
  (havingOf(members) === 'call' ? timeOf(members.get('created_at')) : null) ??
  timeOf(members.get('ts')) ??
  isoTime(0)

const prevOf = (members: EntryMembers): Buffer | null => {
  const prev = members.get('prev')
  return typeof prev === 'string' ? digestOf(prev) : null
}

const member = (
  of: Drafted,
  read: (value: unknown) => ColumnValue,
): Required<Pick<EntryColumn, 'of' | 'value'>> => ({ of, value: (members) => read(members.get(of)) })

/** In the order of the parameters. The types are those of schema.ts. */
const ENTRY_COLUMNS: readonly EntryColumn[] = [
  { name: 'prev', type: BYTES, having: 'any', value: prevOf },
  { name: 'created_at', type: TIME, having: 'any', of: 'created_at', value: createdAt },
  { name: 'type', type: TEXT, having: 'any', value: (members) => textOf(members.get('type')) },
  { name: 'call_id', type: TEXT, having: 'call', ...member('id', textOf) },
  { name: 'key_id', type: TEXT, having: 'known', ...member('key_id', textOf) },
  { name: 'model', type: TEXT, having: 'call', ...member('model', textOf) },
  { name: 'outcome', type: TEXT, having: 'call', ...member('outcome', textOf) },
  { name: 'status', type: INTEGER, having: 'call', of: 'status', value: statusOf },
  { name: 'prompt_tokens', type: BIGINT, having: 'call', ...member('prompt_tokens', wholeOf) },
  { name: 'completion_tokens', type: BIGINT, having: 'call', ...member('completion_tokens', wholeOf) },
  { name: 'cost', type: BIGINT, having: 'call', of: 'cost', value: costOf },
  { name: 'blocked', type: BOOLEAN, having: 'call', ...member('blocked', flagOf) },
  { name: 'refused', type: BOOLEAN, having: 'call', of: 'error_code', value: refusedOf },
  { name: 'pii', type: BOOLEAN, having: 'call', ...member('pii_detected', flagOf) },
  { name: 'pii_detections', type: INTEGER, having: 'call', of: 'pii', value: detectionsOf },
  { name: 'rule_triggers', type: INTEGER, having: 'call', of: 'rules', value: rulesOf },
  { name: 'labels', type: JSON_OBJECT, having: 'call', of: 'labels', value: labelsOf },
]

/** Returns which columns an entry has. */
function havingOf(members: EntryMembers): Having {
  if (!isKnownVersion(members.get('v'))) return 'any'
  return members.get('type') === 'request' ? 'call' : 'known'
}

/** What each kind of entry has. */
const HAS: Readonly<Record<Having, ReadonlySet<Having>>> = {
  any: new Set(['any']),
  known: new Set(['any', 'known']),
  call: new Set(['any', 'known', 'call']),
}

/** Members of a call's entry that columns repeat, or that sums of usage are made of. */
const REPEATED = [
  ...new Set<Drafted>([
    ...ENTRY_COLUMNS.flatMap(({ of }) => (of === undefined ? [] : [of])),
    ...COUNTED_MEMBERS,
  ]),
].map(sealedMember)

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
export function columnsOf(members: EntryMembers): readonly ColumnValue[] {
  const has = HAS[havingOf(members)]
  return ENTRY_COLUMNS.map(({ having, value }) => (has.has(having) ? value(members) : null))
}

/** The part of an entry that arrives which is stored apart from its bytes, and counted. */
export interface KeptEntry {
  /** The result of `columnsOf`. */
  readonly columns: readonly ColumnValue[]
  /** What is counted; null for an entry that is of no call, or of an unknown version. */
  readonly call: ArrivedCall | null
}

/** A call as its entry says it. */
export type ArrivedCall = CountedCall & Pick<SealedRequest, 'has_user'>

/**
 * Reads an entry that arrives, each member once. Returns what is wrong with a member that REPEATED
 * has; entries of other types and of unknown versions have nothing to check.
 */
export const COLUMN_READER = (members: EntryMembers): KeptEntry | string => {
  if (havingOf(members) !== 'call') return { columns: columnsOf(members), call: null }
  const said: Record<string, unknown> = { v: members.get('v'), type: 'request' }
  for (const { name, schema, isOptional } of REPEATED) {
    const value = members.get(name)
    if (value === undefined && isOptional) continue
    const fault = value === undefined ? `${name} is required` : schemaFault(value, schema, name)
    if (fault !== null) return fault
    said[name] = value
  }
  const columns = columnsOf({ get: (name) => (READ.has(name) ? said[name] : members.get(name)) })
  return { columns, call: arrivedCall({ get: (name) => said[name] ?? members.get(name) }) }
}

/** Members that `COLUMN_READER` has read before it makes the columns. */
const READ: ReadonlySet<string> = new Set(['v', 'type', ...REPEATED.map(({ name }) => name)])
const CALL_MEMBERS = ['v', ...COUNTED_MEMBERS, 'has_user'] as const satisfies (keyof ArrivedCall)[]

/** Returns what is counted of a call's entry whose members are right. */
function arrivedCall(members: EntryMembers): ArrivedCall {
  const call: Record<string, unknown> = {}
  for (const name of CALL_MEMBERS) {
    const value = members.get(name)
    if (value !== undefined) call[name] = value
  }
  return call as ArrivedCall
}

/** Returns the place of a column among the values of `columnsOf`. */
const placeOf = (wanted: string): number => ENTRY_COLUMNS.findIndex(({ name }) => name === wanted)
const [LABELS, CALL_ID, KEY_ID, CREATED_AT] = (['labels', 'call_id', 'key_id', 'created_at'] as const).map(
  placeOf,
) as [number, number, number, number]

/** Returns the labels among the values of `columnsOf`, as JSON; null without any. */
export const labelsIn = (columns: readonly ColumnValue[]): ColumnValue => columns[LABELS] ?? null

/** Returns what orders of erasure look at among the values of `columnsOf`. */
export const erasableIn = (columns: readonly ColumnValue[]) => ({
  call_id: columns[CALL_ID] as string | null,
  key_id: columns[KEY_ID] as string | null,
  /** RFC 3339. */
  created_at: columns[CREATED_AT] as string,
})

/**
 * Returns the name of a column that differs from what the entry says; null if none does.
 * @param row with the columns of COLUMN_NAMES, as the database returns them
 */
export function differingColumn(row: object, members: EntryMembers): string | null {
  const columns = row as Record<string, unknown>
  const values = columnsOf(members)
  const differing = ENTRY_COLUMNS.find(({ name, type }, index) => {
    const stored = type.read(columns[name])
    const said = values[index]
    return Buffer.isBuffer(stored) && Buffer.isBuffer(said) ? !stored.equals(said) : stored !== said
  })
  return differing?.name ?? null
}

const TYPES = ['uuid', 'bigint', 'bytea', 'integer', 'integer', ...ENTRY_COLUMNS.map(({ type }) => type.sql)]
// An array of `bytea` travels as hexadecimal text, one value as it is.
const INSERT = `insert into entry (received_at, log_id, seq, hash, body, ${COLUMN_NAMES})
  select now(), log_id, seq, hash, substr($1::bytea, start, length), ${COLUMN_NAMES}
  from unnest(${TYPES.map((type, index) => `$${index + 2}::${type}[]`).join(', ')})
    as new (log_id, seq, hash, start, length, ${COLUMN_NAMES})`

/** Writes entries, with one time of receipt: that of the transaction. */
export async function insertEntries(queries: Queries, rows: readonly EntryRow[]): Promise<void> {
  let end = 1
  const starts = rows.map(({ bytes }) => {
    const start = end
    end += bytes.length
    return start
  })
  await queries.rows(INSERT, [
    Buffer.concat(rows.map(({ bytes }) => bytes)),
    rows.map(({ log }) => log),
    rows.map(({ seq }) => seq),
    rows.map(({ hash }) => digestOf(hash)),
    starts,
    rows.map(({ bytes }) => bytes.length),
    ...ENTRY_COLUMNS.map((_, index) => rows.map(({ columns }) => columns[index])),
  ])
}

/** The bytes of `sha256:` and 64 digits. */
export const digestOf = (hash: string): Buffer => Buffer.from(hash.slice(HASH_PREFIX.length), 'hex')
