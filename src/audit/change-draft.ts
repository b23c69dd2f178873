// The entries that are not calls: changes of keys and rules, sign-ins, starts and stops, pruning
// and erasing. entry.ts says what every entry has.

import type { Actor } from '../core/actor.ts'
import type { JsonObject } from '../core/json.ts'

/** The terms of a key, without its owner. */
export interface SealedTerms {
  readonly models: readonly string[] | null
  /** RFC 3339; null for never. */
  readonly expires_at: string | null
  readonly labels: Readonly<Record<string, string>>
  readonly capture: 'full' | 'metadata' | null
  readonly max_parallel: number | null
  /** Namespaces whose sidecars get the key; absent in the log of a gateway. */
  readonly namespaces?: readonly string[] | null
}

/** The log of a sidecar at one size. */
export interface WitnessedRoot {
  readonly log: string
  readonly size: number
  /** Base64. */
  readonly root: string
}

/** Logs in one `fleet_witness` entry, which then takes about 48 KiB. */
export const MAXIMUM_WITNESSED_LOGS = 400

/** Where a log begins after a month was dropped. */
export interface DroppedLog {
  readonly log: string
  /** The first entry that stays. */
  readonly first_seq: number
  /** Hash of the entry before. */
  readonly head: string
  /** Root of the tree of the entries before, base64. */
  readonly root: string
}

/** The members of an entry that is not a call, by its type. */
type ChangeFields =
  | {
      readonly type: 'key_created'
      readonly key_id: string
      readonly key_name: string
      readonly source: string
      /** Absent in entries of releases without them. */
      readonly terms?: SealedTerms
    }
  | {
      readonly type: 'key_changed'
      readonly key_id: string
      readonly key_name: string
      /** All terms after the change. */
      readonly terms: SealedTerms
    }
  | {
      readonly type: 'key_rotated'
      readonly key_id: string
      readonly key_name: string
      /** The key that replaces it, with the same name and terms. */
      readonly successor_id: string
      /** When the key itself ends, RFC 3339. */
      readonly expires_at: string
    }
  | { readonly type: 'key_revoked'; readonly key_id: string; readonly key_name: string }
  | {
      readonly type: 'rules_loaded'
      readonly revision: string
      /** Number of rules in the set. */
      readonly rules: number
      /** Counted from 1; a large set takes several entries. */
      readonly part: number
      readonly parts: number
      /** The declared rules of this part; null when an earlier entry holds them. */
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
      /** RFC 3339; null when the override lasts until the file changes that rule. */
      readonly expires_at: string | null
    }
  | {
      readonly type: 'rule_override_ended'
      readonly rule_id: string
      readonly rule_name: string
      readonly cause: string
    }
  | {
      /** A hub has other prices for its sidecars; only in the log of hubs. */
      readonly type: 'prices_loaded'
      /** SHA-256 of the price file, hexadecimal; null when the hub has no prices. */
      readonly revision: string | null
      /** Number of lines of the file. */
      readonly prices: number
      readonly unknown_price: string
    }
  | {
      readonly type: 'boot'
      readonly version: string
      /** Whether the previous run sealed a `stop` entry. */
      readonly clean: boolean
      /** Id of the environment, such as a Pod's UID; null when none is configured. */
      readonly instance: string | null
      /** The key that signs checkpoints from here on: a signed-note verifier key. */
      readonly signer: string
      /** Whether the key was configured or generated in the data directory. */
      readonly key_source: 'configured' | 'generated'
    }
  | { readonly type: 'stop'; readonly version: string }
  | {
      /** An administrator signed in, or tried to. Only some of many failures have an entry. */
      readonly type: 'sign_in'
      /** IP address of the connection. */
      readonly address: string
      readonly result: 'ok' | 'wrong_token' | 'throttled' | 'off' | 'no_role' | 'unfit_name' | 'oidc_failed'
      /** Present for single sign-on; without it the sign-in was by token. */
      readonly via?: 'oidc'
      /** Failures since the previous entry of this type that have no entry of their own. */
      readonly omitted: number
    }
  | {
      /** An administrator ended a session by its id; signing out has no entry. */
      readonly type: 'session_ended'
      readonly session_id: string
      /** Name of the administrator whose session it was. */
      readonly administrator: string
    }
  | {
      /** A token was made with which one sidecar can join a hub. */
      readonly type: 'join_token_created'
      /** Name that the sidecar will have. */
      readonly name: string
      /** RFC 3339. */
      readonly expires_at: string
    }
  | {
      /** A sidecar joined with a token, or an administrator declared one gone. */
      readonly type: 'sidecar_joined' | 'sidecar_gone'
      readonly sidecar_id: string
      readonly sidecar_name: string
    }
  | {
      /** Roots of the logs of sidecars that have grown, in the log of the hubs. */
      readonly type: 'fleet_witness'
      /** At most MAXIMUM_WITNESSED_LOGS; more take further entries. */
      readonly logs: readonly WitnessedRoot[]
    }
  /** The clock of the gateway is right: what is too old may be removed. */
  | { readonly type: 'clock_trusted' }
  | {
      /**
       * Removes the entries before `first_seq`. This entry, and every signature over it, holds
       * their hashes.
       */
      readonly type: 'prune'
      readonly first_seq: number
      /** Hash of the entry before `first_seq`. */
      readonly head: string
      /** The Merkle frontier over the entries before `first_seq`, base64. */
      readonly frontier: readonly string[]
      readonly reason: 'age' | 'size'
      /** How many of them no hub of a fleet is known to have; absent when there are none. */
      readonly unshipped?: number
    }
  | {
      /** Captured exchanges were erased, with their salts; the entries that commit to them stay. */
      readonly type: 'erase'
      /**
       * The requested selection: exactly one member. `before` is RFC 3339. Which end user was
       * erased is not said.
       */
      readonly selection:
        | { readonly request_id: string }
        | { readonly key_id: string }
        | { readonly before: string }
        | { readonly user: true }
        | { readonly older_than_days: number }
      /** Number of exchanges erased. */
      readonly erased: number
      /** Number of calls whose end user was erased; absent when there were none. */
      readonly users?: number
      /**
       * Revision of the order of a hub. In the log of a sidecar only the last entry of the erasure
       * has it: the log has passed the order.
       */
      readonly order?: number
    }
  | {
      /** The hubs drop a month of entries, by `received_at`. Many logs take several entries. */
      readonly type: 'month_dropped'
      /** `2026-01`. */
      readonly month: string
      /** Counted from 1. */
      readonly part: number
      readonly parts: number
      readonly logs: readonly DroppedLog[]
    }

/** Anything but a call: a change, a sign-in, a start or a stop. */
export type ChangeDraft = ChangeFields & {
  /** Who caused it. */
  readonly actor: Actor
}
