// Reads and writes the terms of a key as the API and the command line have them, and writes keys.

import type { Milliseconds } from '../core/clock.ts'
import { checkValue, formatPath } from '../core/document.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { inOrder, type KeyLabels, type KeyTerms, NAMESPACES_SCHEMA, TERM_SCHEMAS } from '../core/key-terms.ts'
import { isoTimeOrNull, parseTime } from '../core/time.ts'
import { whyNotLabel } from './key-names.ts'
import { type KeyRecord, stateOf } from './key-record.ts'

const PROPERTIES = {
  models: TERM_SCHEMAS.models,
  expires_at: TERM_SCHEMAS.expiresAt,
  owner: TERM_SCHEMAS.owner,
  labels: TERM_SCHEMAS.labels,
  capture: TERM_SCHEMAS.capture,
  max_parallel: TERM_SCHEMAS.maxParallel,
}

/** Names of the fields. */
export const TERM_FIELDS: readonly string[] = Object.keys(PROPERTIES)
/** Names of the fields at a hub. */
export const HUB_TERM_FIELDS: readonly string[] = [...TERM_FIELDS, 'namespaces']

/** A hub also has namespaces. */
const FIELDS_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: { ...PROPERTIES, namespaces: NAMESPACES_SCHEMA },
}

/**
 * Reads fields over the terms so far. A field that is missing changes nothing, and null removes a
 * term.
 * @param fields none besides TERM_FIELDS, at a hub HUB_TERM_FIELDS
 * @throws GatewayError `invalid_body` that names the field and the allowed form
 */
export function readTerms(fields: JsonObject, before: KeyTerms, nowMs: Milliseconds): KeyTerms {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
  const [first] = checkValue(given, FIELDS_SCHEMA)
  if (first !== undefined) throw refusal(formatPath(first.path), first.message)
  const { models, expires_at, owner, labels, capture, max_parallel, namespaces } = fields
  const keep = <T>(field: unknown, read: T | null | undefined, earlier: T): T =>
    field === undefined ? earlier : (read as T)
  return {
    models: keep(models, models as readonly string[] | null, before.models),
    expiresAtMs: keep(expires_at, readExpiry(expires_at, nowMs), before.expiresAtMs),
    owner: keep(owner, owner as string | null, before.owner),
    labels: keep(labels, readLabels(labels), before.labels),
    capture: keep(capture, capture as KeyTerms['capture'], before.capture),
    maxParallel: keep(max_parallel, max_parallel as number | null, before.maxParallel),
    ...(namespaces === undefined
      ? 'namespaces' in before && { namespaces: before.namespaces ?? null }
      : { namespaces: namespaces as readonly string[] | null }),
  }
}

/**
 * Returns why a gateway cannot enforce terms, by the names of the API; null if it can. A term of a
 * later release, or with another form, is never guessed.
 */
export function whyNotEnforced(terms: JsonObject): string | null {
  const unknown = Object.keys(terms).find((name) => !TERM_FIELDS.includes(name))
  if (unknown !== undefined) return `this release does not know the term ${unknown}`
  const [first] = checkValue(terms, FIELDS_SCHEMA)
  return first === undefined ? null : `${formatPath(first.path)} ${first.message}`
}

/** A key as fields of an answer, without the key itself. */
export const keyFields = (record: KeyRecord, nowMs: Milliseconds): JsonObject => ({
  id: record.id,
  name: record.name,
  prefix: record.prefix,
  created_at: isoTimeOrNull(record.createdAtMs),
  last_used_at: isoTimeOrNull(record.lastUsedAtMs),
  revoked_at: isoTimeOrNull(record.revokedAtMs),
  state: stateOf(record, nowMs),
  source: record.source,
  replaces: record.replaces,
  ...termFields(record.terms),
})

/** The terms as fields of an answer. */
export const termFields = (terms: KeyTerms): JsonObject => ({
  ...sealedTerms(terms),
  owner: terms.owner,
})

/** The terms that the log keeps for good: all but the owner. */
export const sealedTerms = ({ models, expiresAtMs, labels, capture, maxParallel, namespaces }: KeyTerms) => ({
  models: models === null ? null : [...models],
  expires_at: isoTimeOrNull(expiresAtMs),
  labels: { ...labels },
  capture,
  max_parallel: maxParallel,
  ...(namespaces !== undefined && { namespaces: namespaces === null ? null : [...namespaces] }),
})

const refusal = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_body', `${param} ${message.replace(/\.$/, '')}.`, { param })

function readExpiry(value: unknown, nowMs: Milliseconds): Milliseconds | null {
  if (typeof value !== 'string') return null
  const timeMs = parseTime(value)
  if (timeMs === null)
    throw refusal('expires_at', 'must be a date or a time with its zone, like 2027-01-31T12:00:00Z')
  if (timeMs <= nowMs) throw refusal('expires_at', 'must be in the future')
  return timeMs
}

function readLabels(value: unknown): KeyLabels {
  const labels = (value ?? {}) as KeyLabels
  for (const [name, text] of Object.entries(labels)) {
    const reason = whyNotLabel(name, text)
    if (reason !== null) throw refusal('labels', reason)
  }
  return inOrder(labels)
}
