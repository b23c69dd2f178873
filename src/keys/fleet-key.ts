// A key as a hub sends it to sidecars: its hash and its terms, never the key.

import type { Milliseconds } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { inOrder, type KeyLabels, type KeyTerms, NO_TERMS } from '../core/key-terms.ts'
import { isoTime, parseTime } from '../core/time.ts'
import type { StoredKey } from './key-record.ts'
import { termFields } from './key-terms-fields.ts'

/** JSON; times are RFC 3339. */
export interface FleetKey {
  readonly id: string
  /** Lower-case hexadecimal. */
  readonly sha256: string
  readonly name: string
  readonly prefix: string | null
  readonly line: string
  readonly replaces: string | null
  /** The terms that the key has, by the names of the API. */
  readonly terms: JsonObject
  readonly created_at: string
  /** Revision of the newest change of the key. */
  readonly rev: number
}

/** Names of the terms that this release enforces, as a sidecar states them when it connects. */
export const ENFORCED_TERMS: readonly string[] = Object.keys(termFields(NO_TERMS))

/** Names of the terms that a key has, which are those a sidecar must enforce. */
export const termsOf = ({ terms }: Pick<FleetKey, 'terms'>): string[] => Object.keys(terms)

/** Returns the key of a row as sidecars get it. */
export function fleetKeyOf({
  sha256,
  stored,
  rev,
}: {
  readonly sha256: string
  readonly stored: StoredKey
  readonly rev: number
}): FleetKey {
  const { id, name, prefix, line = id, replaces = null, createdAtMs, terms = NO_TERMS } = stored
  // Which sidecars get the key is no matter of theirs.
  const { namespaces: _, ...fields } = termFields(terms)
  const given = Object.entries(fields).filter(([, value]) => isGiven(value))
  return {
    ...{ id, sha256, name, prefix, line, replaces },
    terms: Object.fromEntries(given),
    created_at: isoTime(createdAtMs),
    rev,
  }
}

/** Reports whether a term restricts anything: null and no labels do not. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(isObject(value) && Object.keys(value).length === 0)

/** Returns the row of a key as a sidecar lists it. */
export function storedKeyOf(key: FleetKey): StoredKey {
  const { id, name, prefix, line, replaces, terms } = key
  const createdAtMs: Milliseconds = parseTime(key.created_at) ?? 0
  return { id, name, prefix, createdAtMs, revokedAtMs: null, line, replaces, terms: keyTermsOf(terms) }
}

function keyTermsOf({ models, expires_at, owner, labels, capture, max_parallel }: JsonObject): KeyTerms {
  return {
    models: (models as readonly string[] | undefined) ?? null,
    // A time that is not one ends the key.
    expiresAtMs: expires_at === undefined ? null : (parseTime(String(expires_at)) ?? 0),
    owner: (owner as string | undefined) ?? null,
    labels: inOrder((labels as KeyLabels | undefined) ?? {}),
    capture: (capture as KeyTerms['capture'] | undefined) ?? null,
    maxParallel: (max_parallel as number | undefined) ?? null,
  }
}
