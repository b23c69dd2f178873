// What the chain holds: one JSON object an entry, integers and well-formed strings only, so that its
// canonical form (RFC 8785) is the same in every language. Knows neither the store nor how entries arise.

import type { Direction } from '../core/finding.ts'
import type { JsonObject } from '../core/json.ts'

export type Outcome =
  | 'ok'
  | 'blocked'
  | 'rate_limited'
  | 'upstream_error'
  | 'client_aborted'
  | 'interrupted'
  /** The call had a valid key but its body was refused with a 4xx before any rule was asked. */
  | 'invalid_request'
  /** There was no room for the call (`limits.concurrentRequests`): nothing of it was read but its key. */
  | 'overloaded'

/** Rules and characters of names that the upstream chose, so that every call fits into an entry. */
export const MAX_SEALED_RULES = 256
export const MAX_FINISH_REASON_CHARACTERS = 64

/** A rule that fired, as it is sealed. */
export interface SealedRule {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly action: string
  readonly direction: Direction
  /** Of a `prompt_injection` rule: the score in thousandths from which it fires. */
  readonly threshold?: number
}

/** The highest injection score of a prompt and what it was seen in: whole numbers and fixed words, none of the text. */
export interface SealedInjection {
  /** Thousandths. */
  readonly score: number
  /** The model's own, in thousandths. */
  readonly threshold: number
  /** The scored text in the captured request, as far as its path holds no word of the client: `messages[2].content`. */
  readonly path: string
  /** UTF-16 offsets in that text, end exclusive; null for a text without words. */
  readonly span: { readonly start: number; readonly end: number } | null
  /** Short names of known patterns, a fixed list. */
  readonly reasons: readonly string[]
  /** Version of the model that scored. */
  readonly model: string
}

/** How many findings of one kind were seen one way. */
export interface SealedFindings {
  readonly kind: string
  readonly direction: Direction
  readonly count: number
  /** What the policy did with them: block, redact, restore, monitor or allow; redact where it is not said. */
  readonly action?: string
}

/** One chat call. Times are whole milliseconds; `cost` is in millionths of the upstream's currency unit. */
export interface RequestDraft {
  readonly type: 'request'
  /** UUIDv7, also the `x-request-id` of the answer. */
  readonly id: string
  /** RFC 3339 with milliseconds, when the request arrived. */
  readonly created_at: string
  /** As the client asked for it; empty when the body could not be read. */
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
  /** HTTP status the client got; 499 when it left before one was sent. */
  readonly status: number
  readonly outcome: Outcome
  readonly error_code: string | null
  readonly stream: boolean
  /** MAX_FINISH_REASON_CHARACTERS at most. */
  readonly finish_reason: string | null
  readonly usage_source: 'upstream' | 'estimated'
  readonly cost: number | null
  /** MAX_SEALED_RULES at most. */
  readonly rules: readonly SealedRule[]
  /** How many fired beyond those; absent where none did. */
  readonly rules_omitted?: number
  /** Null when no injection rule asked for a score. */
  readonly injection: SealedInjection | null
  readonly policy_revision: string
}

export type ChangeDraft =
  | {
      readonly type: 'key_created'
      readonly key_id: string
      readonly key_name: string
      readonly source: string
    }
  | { readonly type: 'key_revoked'; readonly key_id: string; readonly key_name: string }
  | {
      readonly type: 'rules_loaded'
      readonly revision: string
      /** How many there are. */
      readonly rules: number
      /** Counted from 1: a large set takes several entries. */
      readonly part: number
      readonly parts: number
      /** The rules of this part as they are declared; null where an entry before this one has them. */
      readonly declarations: readonly JsonObject[] | null
    }
  | {
      readonly type: 'rule_created' | 'rule_changed' | 'rule_deleted'
      readonly rule_id: string
      readonly rule_name: string
      readonly enabled: boolean
    }
  | {
      readonly type: 'rule_override'
      readonly rule_id: string
      readonly rule_name: string
      readonly enabled: boolean
      readonly reason: string
      /** RFC 3339, null when it lasts until the file changes that rule. */
      readonly expires_at: string | null
    }
  | {
      readonly type: 'rule_override_ended'
      readonly rule_id: string
      readonly rule_name: string
      readonly cause: string
    }
  | {
      readonly type: 'boot'
      readonly version: string
      /** Whether the run before sealed its end. */
      readonly clean: boolean
      /** What runs this gateway, a Pod's UID for one; null where nobody said. */
      readonly instance: string | null
      /** Whose signatures on checkpoints count from here on: a signed-note verifier key. */
      readonly signer: string
      /** Whether that key was configured or made beside the log. */
      readonly key_source: 'configured' | 'generated'
    }
  | { readonly type: 'stop'; readonly version: string }
  | {
      /** The entries before `first_seq` go; what they were is held by this entry, and by every signature over it. */
      readonly type: 'prune'
      readonly first_seq: number
      /** Hash of the entry before `first_seq`. */
      readonly head: string
      /** The Merkle frontier over the entries before `first_seq`, base64. */
      readonly frontier: readonly string[]
      readonly reason: 'age' | 'size'
    }
  | {
      /** Captured exchanges were erased, with their salts; the entries that commit to them stay. */
      readonly type: 'erase'
      /** Which were asked for: exactly one member. `before` is RFC 3339. */
      readonly selection:
        | { readonly request_id: string }
        | { readonly key_id: string }
        | { readonly before: string }
      /** How many there were. */
      readonly erased: number
    }

/** What a caller asks to be sealed. */
export type EntryDraft = RequestDraft | ChangeDraft

/** The first entry of every log. */
export interface GenesisDraft {
  readonly type: 'genesis'
  readonly product: 'sidegate'
  /** The log this one takes over from, how far that went, and why; null for the first of its kind. */
  readonly continues: {
    /** Null, as `seq`, where it could not be read. */
    readonly log: string | null
    readonly seq: number | null
    readonly reason: string
  } | null
}

/** What sealing adds to a draft. */
export interface Envelope {
  /** Version of the entry format. */
  readonly v: 1
  /** UUIDv7 minted with the genesis entry: no entry fits into another log. */
  readonly log: string
  /** Counts up from 0 without gaps. */
  readonly seq: number
  /** Hash of the entry before; null on the genesis entry. */
  readonly prev: string | null
  /** RFC 3339 with milliseconds, when the entry was sealed. */
  readonly ts: string
  /** `sha256:` and 64 hexadecimal digits; not part of what is hashed. */
  readonly hash: string
}

/** A sealed request; `content_hash` commits to the captured exchange, null when none was captured. */
export type SealedRequest = RequestDraft & Envelope & { readonly content_hash: string | null }

export type SealedEntry = SealedRequest | (ChangeDraft & Envelope) | (GenesisDraft & Envelope)
export type EntryType = SealedEntry['type']
