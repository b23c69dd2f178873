// The types of log entries: one JSON object each, integers and well-formed strings only, so its
// canonical form (RFC 8785) is the same in every language. Knows neither the store nor the events
// that cause entries.

import type { Actor } from '../core/actor.ts'
import type { ChangeDraft } from './change-draft.ts'
import type { RequestFields } from './entry-fields.ts'

/**
 * One call of an API, before it is sealed: the fields of entry-fields.ts. Nested members are in
 * canonical order, which seals faster.
 */
export interface RequestDraft extends RequestFields {
  readonly type: 'request'
}

/** What a caller can seal. */
export type EntryDraft = RequestDraft | ChangeDraft

/** The first entry of every log. */
export interface GenesisDraft {
  readonly type: 'genesis'
  readonly product: 'sidegate'
  /** Who began the log: the gateway, or a command. */
  readonly actor: Actor
  /**
   * The log that this one replaces, its newest known entry, and the reason; null for a first log.
   */
  readonly continues: {
    /** Null, like `seq`, when it could not be read. */
    readonly log: string | null
    readonly seq: number | null
    readonly reason: string
  } | null
}

/** The fields that sealing adds to a draft. */
export interface Envelope {
  /** Version of the entry format. */
  readonly v: 1 | 2
  /** UUIDv7 minted with the genesis entry, so no entry fits into another log. */
  readonly log: string
  /** Counts up from 0 without gaps. */
  readonly seq: number
  /** Hash of the entry before; null on the genesis entry. */
  readonly prev: string | null
  /** When the entry was sealed, RFC 3339 with milliseconds. */
  readonly ts: string
  /** `sha256:` and 64 hexadecimal digits; not part of the hashed bytes. */
  readonly hash: string
}

/**
 * A sealed request. `content_hash` commits to the captured exchange; null when none was captured.
 */
export type SealedRequest = RequestDraft & Envelope & { readonly content_hash: string | null }

/** An entry of a release before actors has none. */
type WithoutActor<Draft extends { readonly actor: Actor }> = Draft extends unknown
  ? Omit<Draft, 'actor'> & Partial<Pick<Draft, 'actor'>>
  : never

export type SealedEntry =
  | SealedRequest
  | (WithoutActor<ChangeDraft> & Envelope)
  | (WithoutActor<GenesisDraft> & Envelope)
export type EntryType = SealedEntry['type']
