// Decides what a change of keys seals, writes and answers. The caller reads the rows and writes
// them with the entry in one transaction.

import type { EntryDraft } from '../audit/entry.ts'
import type { Actor } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { NO_TERMS } from '../core/key-terms.ts'
import { isoTime } from '../core/time.ts'
import { whyNotKeyName } from './key-names.ts'
import { isOver, type KeyRandom, type KeyRow, makeKey, type StoredKey } from './key-record.ts'
import { readTerms, sealedTerms } from './key-terms-fields.ts'

/** Maximum keys, revoked ones included: they stay listed, and a list is one answer. */
export const MAXIMUM_KEYS = 20_000

export interface KeyChange {
  /** Null when nothing is to be sealed. */
  readonly draft: EntryDraft | null
  /** Rows to write. */
  readonly rows: readonly KeyRow[]
  /** The key that was made or changed, as it is stored afterwards. */
  readonly stored: StoredKey
}

/** A change that makes a key. */
export interface KeyCreation extends KeyChange {
  /** The key itself. */
  readonly key: string
}

export const noSuchKey = (): GatewayError => new GatewayError('not_found', 'There is no key with this id.')

/** @throws GatewayError `conflict` for as many keys as there may be */
export function assertRoomForKey(count: number): void {
  if (count < MAXIMUM_KEYS) return
  throw new GatewayError('conflict', `The limit of ${MAXIMUM_KEYS} keys is reached, revoked ones included.`)
}

/**
 * A new key. Names need not be unique.
 * @param fields its terms, as `readTerms` reads them
 * @throws GatewayError `invalid_parameter` for a name that whyNotKeyName refuses; as `readTerms`
 */
export function creating(
  { name, fields }: { readonly name: string; readonly fields: JsonObject },
  actor: Actor,
  nowMs: Milliseconds,
  random: KeyRandom,
): KeyCreation {
  const reason = whyNotKeyName(name)
  if (reason !== null) throw new GatewayError('invalid_parameter', `name ${reason}`, { param: 'name' })
  const terms = readTerms(fields, NO_TERMS, nowMs)
  const { key, ...row } = makeKey({ name, terms }, nowMs, random)
  return {
    draft: {
      type: 'key_created',
      key_id: row.stored.id,
      key_name: name,
      source: 'api',
      terms: sealedTerms(terms),
      actor,
    },
    rows: [row],
    stored: row.stored,
    key,
  }
}

/**
 * Other terms of a key. A change to the same terms is not sealed.
 * @param fields as `readTerms` reads them
 * @throws GatewayError `conflict` for a revoked key; as `readTerms`
 */
export function changingTerms(
  { sha256, stored }: KeyRow,
  fields: JsonObject,
  actor: Actor,
  nowMs: Milliseconds,
): KeyChange {
  assertNotRevoked(stored)
  const { id, name, terms: before = NO_TERMS } = stored
  const terms = readTerms(fields, before, nowMs)
  const changed: StoredKey = { ...stored, terms }
  const isSame = JSON.stringify(terms) === JSON.stringify(before)
  return {
    draft: isSame
      ? null
      : { type: 'key_changed', key_id: id, key_name: name, terms: sealedTerms(terms), actor },
    rows: [{ sha256, stored: changed }],
    stored: changed,
  }
}

/**
 * A successor with the same name and terms. The key itself works until the grace ends. Both share
 * limits and stored answers.
 * @throws GatewayError `conflict` for a revoked or expired key
 */
export function rotating(
  { sha256, stored }: KeyRow,
  graceSeconds: number,
  actor: Actor,
  nowMs: Milliseconds,
  random: KeyRandom,
): KeyCreation {
  assertNotRevoked(stored)
  const { id, name, line = id, terms = NO_TERMS } = stored
  if (isOver(terms, nowMs)) throw new GatewayError('conflict', 'The key has expired; create another.')
  const { key, ...successor } = makeKey({ name, terms, line, replaces: id }, nowMs, random)
  const endMs = Math.min(terms.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + graceSeconds * 1000)
  return {
    draft: {
      type: 'key_rotated',
      key_id: id,
      key_name: name,
      successor_id: successor.stored.id,
      expires_at: isoTime(endMs),
      actor,
    },
    rows: [{ sha256, stored: { ...stored, terms: { ...terms, expiresAtMs: endMs } } }, successor],
    stored: successor.stored,
    key,
  }
}

/** The end of a key. A repeated one changes nothing. */
export function revoking({ sha256, stored }: KeyRow, actor: Actor, nowMs: Milliseconds): KeyChange {
  if (stored.revokedAtMs !== null) return { draft: null, rows: [], stored }
  const revoked: StoredKey = { ...stored, revokedAtMs: nowMs }
  return {
    draft: { type: 'key_revoked', key_id: stored.id, key_name: stored.name, actor },
    rows: [{ sha256, stored: revoked }],
    stored: revoked,
  }
}

function assertNotRevoked({ revokedAtMs }: StoredKey): void {
  if (revokedAtMs !== null) throw new GatewayError('conflict', 'The key is revoked.')
}
