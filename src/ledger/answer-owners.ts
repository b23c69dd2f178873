// Whose the answers are that providers keep, over all sidecars: written with the entries of their
// calls, read by hash for one line of keys, and removed when their time is over.

import type { Milliseconds } from '../core/clock.ts'
import { type SharedChange, STORED_MS, type StoredAnswer, updatedAnswer } from '../keys/stored-answer.ts'
import type { Database, Queries } from './database.ts'

/** Expired rows that one statement removes, and statements of one sweep. */
const REMOVED_ROWS = 5000
const MAXIMUM_REMOVALS = 100

/** What a call changed of stored answers. */
export interface AnswerChanges {
  /** Id of the key of the call, as its entry says. */
  readonly key: string
  readonly changes: readonly SharedChange[]
}

/** The part of an answer that has no column of its own. */
type AnswerBody = Omit<StoredAnswer, 'keyId' | 'upstream'>

/** The last state of an answer: null when it was removed. */
interface Settled {
  readonly hash: string
  readonly line: string
  readonly answer: StoredAnswer | null
}

interface AnswerRow {
  readonly id_hash: Buffer
  readonly key_line: string
  readonly upstream: string
  /** Null for an answer that was removed. */
  readonly body: AnswerBody | null
}

/**
 * Stores what calls changed, in the order of their entries. A row is that of the key which made
 * the answer: changes of another one do nothing, and neither do those of a key that no hub made.
 */
export async function storeAnswers(queries: Queries, calls: readonly AnswerChanges[]): Promise<void> {
  if (calls.length === 0) return
  const lines = await linesOf(queries, calls)
  const known = await knownRows(queries, calls)
  const settled = new Map<string, Settled>()
  for (const { key, changes } of calls) {
    const line = lines.get(key)
    if (line === undefined) continue
    for (const change of changes)
      for (const hash of change.hashes) {
        const before = settled.get(hash) ?? known.get(hash)
        const after = before !== undefined && before.line !== line ? null : apply(change, hash, line, before)
        if (after !== null) settled.set(hash, after)
      }
  }
  await writeRows(queries, [...settled.values()])
}

/** @returns null when nothing changes */
function apply(
  change: SharedChange,
  hash: string,
  line: string,
  before: Settled | undefined,
): Settled | null {
  if (change.type === 'remove') return { hash, line, answer: null }
  if (change.type === 'keep')
    return change.answer.keyId === line ? { hash, line, answer: change.answer } : null
  const answer = before?.answer ?? null
  return answer === null ? null : { hash, line, answer: updatedAnswer(answer, change) }
}

/** Returns the line of each key that a hub made. */
async function linesOf(
  queries: Queries,
  calls: readonly AnswerChanges[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await queries.rows<{ id: string; line: string }>(
    'select id, line from api_key where id = any($1)',
    [[...new Set(calls.map(({ key }) => key))]],
  )
  return new Map(rows.map(({ id, line }) => [id, line]))
}

/** Reads and locks the rows, in an order that all hubs share. */
async function knownRows(
  queries: Queries,
  calls: readonly AnswerChanges[],
): Promise<ReadonlyMap<string, Settled>> {
  const hashes = new Set(calls.flatMap(({ changes }) => changes.flatMap((change) => change.hashes)))
  const rows = await queries.rows<AnswerRow>(
    'select id_hash, key_line, upstream, body from stored_answer where id_hash = any($1) order by id_hash for update',
    [[...hashes].map(bytesOf)],
  )
  return new Map(
    rows.map((row) => {
      const hash = row.id_hash.toString('base64url')
      return [hash, { hash, line: row.key_line, answer: answerIn(row) }]
    }),
  )
}

const bytesOf = (hash: string): Buffer => Buffer.from(hash, 'base64url')

const answerIn = ({ key_line: keyId, upstream, body }: AnswerRow): StoredAnswer | null =>
  body === null ? null : { keyId, upstream, ...body }

/** A row that another hub has inserted meanwhile stays that of its key. */
async function writeRows(queries: Queries, settled: readonly Settled[]): Promise<void> {
  if (settled.length === 0) return
  const rows = settled.toSorted((one, other) => Buffer.compare(bytesOf(one.hash), bytesOf(other.hash)))
  await queries.rows(
    `insert into stored_answer as known (id_hash, key_line, upstream, body, expires_at)
     select id_hash, key_line, upstream, body,
       least(to_timestamp(created_ms / 1000), now()) + $6 * interval '1 millisecond'
     from unnest($1::bytea[], $2::text[], $3::text[], $4::jsonb[], $5::double precision[])
       as new (id_hash, key_line, upstream, body, created_ms)
     on conflict (id_hash) do update set upstream = excluded.upstream, body = excluded.body,
         expires_at = excluded.expires_at
       where known.key_line = excluded.key_line`,
    [
      rows.map(({ hash }) => bytesOf(hash)),
      rows.map(({ line }) => line),
      rows.map(({ answer }) => answer?.upstream ?? ''),
      rows.map(({ answer }) => bodyOf(answer)),
      rows.map(({ answer }) => answer?.createdAtMs ?? Number.MAX_SAFE_INTEGER),
      STORED_MS,
    ],
  )
}

function bodyOf(answer: StoredAnswer | null): string | null {
  if (answer === null) return null
  const { keyId: _, upstream: __, ...body } = answer
  return JSON.stringify(body)
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class AnswerOwners {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Returns each answer in the order of the hashes; null for one that has no row.
   * @param line of the keys that may have them
   * @param hashes base64url
   */
  async find(
    line: string,
    hashes: readonly string[],
  ): Promise<readonly (StoredAnswer | 'removed' | 'foreign' | null)[]> {
    const rows = await this.#database.rows<AnswerRow>(
      `select id_hash, key_line, upstream, body from stored_answer
       where id_hash = any($1) and expires_at > now()`,
      [hashes.map(bytesOf)],
    )
    const known = new Map(rows.map((row) => [row.id_hash.toString('base64url'), row]))
    return hashes.map((hash) => {
      const row = known.get(hash)
      if (row === undefined) return null
      return row.key_line === line ? (answerIn(row) ?? 'removed') : 'foreign'
    })
  }

  /**
   * Keeps the tokens of an answer for one call, until an entry has them or the time is over.
   * @returns false when another call or an entry has them; null for an answer that is not known
   */
  async claim(line: string, hash: string, call: string, claimMs: Milliseconds): Promise<boolean | null> {
    const rows = await this.#database.rows<{ claimed: boolean }>(
      `with claim as (
         update stored_answer set claimed_by = $3, claimed_at = now()
         where id_hash = $1 and key_line = $2 and body -> 'isCounted' = 'false'
           and (claimed_by is null or claimed_by = $3 or claimed_at < now() - $4 * interval '1 millisecond')
         returning id_hash)
       select exists (select from claim) as claimed from stored_answer
       where id_hash = $1 and key_line = $2 and expires_at > now()`,
      [bytesOf(hash), line, call, claimMs],
    )
    return rows[0]?.claimed ?? null
  }

  /** Removes rows whose time is over, some at a time. */
  async sweep(): Promise<void> {
    for (let round = 0; round < MAXIMUM_REMOVALS; round++) {
      const removed = await this.#database.rows(
        `delete from stored_answer where id_hash in (
           select id_hash from stored_answer where expires_at <= now() order by expires_at limit ${REMOVED_ROWS}
           for update skip locked)
         returning id_hash`,
      )
      if (removed.length < REMOVED_ROWS) return
    }
  }
}
