// The types of log entries: one JSON object each, integers and well-formed strings only, so its
// canonical form (RFC 8785) is the same in every language. Knows neither the store nor the events
// that cause entries.

import type { Actor } from '../core/actor.ts'
import type { Direction } from '../core/finding.ts'
import type { ChangeDraft } from './change-draft.ts'

/** How a call can end. The store keeps positions in this list, so new ones go to its end. */
export const OUTCOMES = [
  'ok',
  'blocked',
  'rate_limited',
  'upstream_error',
  'client_aborted',
  'interrupted',
  /** The key was valid, but the body was refused with a 4xx before any rule ran. */
  'invalid_request',
  /** Too many calls were running (`limits.concurrentRequests`); only the key was read. */
  'overloaded',
] as const

export type Outcome = (typeof OUTCOMES)[number]

/** Limits on rules and on text the upstream chooses, so every call fits into an entry. */
export const MAXIMUM_SEALED_RULES = 256
export const MAXIMUM_FINISH_REASON_CHARACTERS = 64

/** A rule that fired, as sealed. */
export interface SealedRule {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly action: string
  readonly direction: Direction
  /** For a `prompt_injection` rule: the score from which it fires, in thousandths. */
  readonly threshold?: number
}

/**
 * The highest injection score of a prompt and its evidence: integers and fixed words, no prompt
 * text.
 */
export interface SealedInjection {
  /** In thousandths. */
  readonly score: number
  /** The model's own threshold, in thousandths. */
  readonly threshold: number
  /**
   * Path of the scored text in the captured request, without the client's own words:
   * `messages[2].content`.
   */
  readonly path: string
  /** UTF-16 offsets in that text, end exclusive; null for a text without words. */
  readonly span: { readonly start: number; readonly end: number } | null
  /** Short names of known patterns, from a fixed list. */
  readonly reasons: readonly string[]
  /** Version of the model that scored. */
  readonly model: string
}

/** Number of findings of one kind in one direction. */
export interface SealedFindings {
  readonly kind: string
  readonly direction: Direction
  readonly count: number
  /**
   * What the policy did with them: block, redact, restore, monitor or allow. Absent means redact.
   */
  readonly action?: string
}

/**
 * One call of an API. Times are whole milliseconds. `cost` is in 10⁻⁹ USD; in entries of version 1
 * in millionths of the upstream's currency unit.
 */
export interface RequestDraft {
  readonly type: 'request'
  /** UUIDv7, also the `x-request-id` of the answer. */
  readonly id: string
  /** When the request arrived, RFC 3339 with milliseconds. */
  readonly created_at: string
  /** Name of the API; absent in entries of releases that served only `chat`. */
  readonly api?: string
  /** Requests sent upstream, retries included; absent when they were not counted. */
  readonly attempts?: number
  /** True for a call that was forwarded without a scan; absent for any other. */
  readonly unscanned?: true
  /** Method of a call that was forwarded without a scan. */
  readonly method?: string
  /** Path of such a call, without its query. */
  readonly path?: string
  /** Sizes of the bodies of such a call. */
  readonly request_bytes?: number
  readonly response_bytes?: number
  /** Name of the upstream that answered, or was asked last; absent when none was. */
  readonly upstream?: string
  /** As the client requested it; empty when the body was refused. */
  readonly model: string
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly latency_ms: number
  readonly ttft_ms: number | null
  readonly overhead_ms: number
  readonly blocked: boolean
  readonly pii_detected: boolean
  readonly pii_types: readonly string[]
  readonly pii: readonly SealedFindings[]
  readonly key_id: string
  readonly key_name: string
  /** Labels of the key at the time of the call; absent without any. */
  readonly labels?: Readonly<Record<string, string>>
  /** HTTP status sent to the client; 499 when it left before one was sent. */
  readonly status: number
  readonly outcome: Outcome
  readonly error_code: string | null
  readonly stream: boolean
  /** At most MAXIMUM_FINISH_REASON_CHARACTERS. */
  readonly finish_reason: string | null
  readonly usage_source: 'upstream' | 'estimated'
  /** Null when it is not known. */
  readonly cost: number | null
  /** Who says so; absent when nobody does, and in entries of version 1. */
  readonly cost_source?: 'upstream' | 'book'
  /** Revision of the price book; absent unless the cost is from it. */
  readonly price_revision?: string
  /** At most MAXIMUM_SEALED_RULES. */
  readonly rules: readonly SealedRule[]
  /** Number of further rules that fired; absent when there are none. */
  readonly rules_omitted?: number
  /** Null when no injection rule asked for a score. */
  readonly injection: SealedInjection | null
  readonly policy_revision: string
  /** False for a call whose text was not to be stored; absent for any other. */
  readonly captured?: false
  /** The call named its end user, who is kept apart from the entry; absent for any other. */
  readonly has_user?: true
  /** The upstream's own id of the call; absent when it sent none. */
  readonly upstream_request_id?: string
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
