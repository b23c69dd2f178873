// How the API lists entries that are not calls, and what it asks for.

import type { JsonObject } from '../core/json.ts'

export interface ChangesQuery {
  readonly limit: number
  /** Lists entries with a lower sequence number; null for the newest. */
  readonly beforeSeq: number | null
  /** Lists entries of one actor, or of one type. */
  readonly actor: string | null
  readonly type: string | null
  /** Lists entries that name a key or a rule, by its id or name; null for all. */
  readonly about?: string | null
  /** Id or name of the sidecar whose entries to list, at a hub; null for all logs. */
  readonly sidecar?: string | null
  /** Id of the log to list, at a hub. */
  readonly log?: string | null
  /** `next_cursor` of a page, at a hub. */
  readonly cursor?: string | null
}

export type ChangesPage = {
  changes: JsonObject[]
  /** `before` of the next page; absent when there are no more entries. */
  next_before?: number
  /** Cursor of the next page, at a hub; absent when there are no more entries. */
  next_cursor?: string
}

/** Members of an entry that name a key or a rule. */
export const NAMING_MEMBERS = ['key_id', 'key_name', 'successor_id', 'rule_id', 'rule_name'] as const

/**
 * An entry as sealed, without its place in the chain. Without declarations of rules, which may be
 * long; the revision leads to them.
 */
export function changeView(seq: number, hash: string, bytes: Uint8Array): JsonObject {
  const {
    v: _v,
    log: _log,
    prev: _prev,
    ts,
    declarations: _declarations,
    ...members
  } = JSON.parse(Buffer.from(bytes).toString()) as JsonObject
  return { ...members, actor: members['actor'] ?? null, created_at: ts ?? null, seq, hash }
}
