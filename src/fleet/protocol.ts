// The protocol between hubs and sidecars: the events of the feed, what a sidecar acknowledges, and
// the headers of both. A feed is an event stream (WHATWG HTML §9.2) whose ids are `EPOCH:REV`.

import { MAXIMUM_EVENT_BYTES, type SseEvent } from '../chat/sse.ts'
import type { Milliseconds } from '../core/clock.ts'
import { checkValue, formatPath } from '../core/document.ts'
import type { JsonObject } from '../core/json.ts'
import { type EraseOrder, MAXIMUM_OPEN_ORDERS } from '../keys/erase-order.ts'
import { ENFORCED_TERMS, type FleetKey } from '../keys/fleet-key.ts'
import { RULE_FEATURES } from '../policy/rule-features.ts'
import { POLICY_SCHEMAS, type PolicyChange, SENT_POLICY_SCHEMA, type SentPolicy } from './policy-events.ts'

/** Version of the protocol, sent as `sidegate-protocol`. */
export const PROTOCOL = 1
/** Interval of the heartbeats of a hub. */
export const BEAT_MS: Milliseconds = 1000
/** A feed without any byte for so long is dead: three heartbeats. */
export const SILENCE_MS: Milliseconds = 3 * BEAT_MS
/** A sidecar acknowledges at least so often, which tells the hub that it runs. */
export const CONTACT_MS: Milliseconds = 5000
/** Longest event of a feed: a snapshot of all keys. */
export const MAXIMUM_FEED_EVENT_BYTES = MAXIMUM_EVENT_BYTES
/** Times of last use that one acknowledgement may have: one for each key. */
export const MAXIMUM_ACK_ITEMS = 20_000
/** Events that are not in force, and conflicts, that one acknowledgement may have. */
export const MAXIMUM_NACKS = 100
export const MAXIMUM_CONFLICTS = 1000

export const FLEET_PATHS = {
  feed: '/fleet/v1/feed',
  ack: '/fleet/v1/ack',
  leave: '/fleet/v1/leave',
  join: '/fleet/v1/join',
  receipt: '/fleet/v1/receipts',
} as const

/** Headers by which a sidecar describes itself when it opens a feed. */
export const FLEET_HEADERS = {
  protocol: 'sidegate-protocol',
  /** What the sidecar can do (FEATURES), separated by commas. */
  features: 'sidegate-features',
  version: 'sidegate-version',
  /** Seconds. */
  maxStale: 'sidegate-max-stale',
  resume: 'last-event-id',
} as const

/** The feature of sidecars that apply orders to erase exchanges. */
export const ERASE_FEATURE = 'erase'
/** What a sidecar of this release can do: the terms and the rules that it enforces, and more. */
export const FEATURES: readonly string[] = [...ENFORCED_TERMS, ...RULE_FEATURES, ERASE_FEATURE]

/**
 * The token of a sidecar that joined outside Kubernetes: a JWT (RFC 7519) that it signs with the
 * key it joined with. `sub` is its id, and `iat` and `exp` are required.
 */
export const SIDECAR_TOKEN = {
  issuer: 'sidegate-sidecar',
  audience: 'sidegate-hub',
  algorithm: 'EdDSA',
  maximumSeconds: 900,
} as const

/** The place in the history of changes up to which a sidecar has applied them. */
export interface FeedPosition {
  /** A UUID; another one after the database was restored from a backup. */
  readonly epoch: string
  readonly rev: number
}

/** The first event. */
export interface Hello extends FeedPosition {
  readonly event: 'hello'
  /** Id of the sidecar. */
  readonly sidecar: string
  /** Its name in lists. */
  readonly name: string
  /** The key under which end users are hashed, base64. */
  readonly fleet_key: string
}

/** All keys of the sidecar, in place of what it has. */
export interface Snapshot {
  readonly event: 'snapshot'
  readonly rev: number
  readonly keys: readonly FleetKey[]
  /** Ids of revoked keys. */
  readonly revoked: readonly string[]
  /** Open orders of erasure, oldest first. */
  readonly orders: readonly EraseOrder[]
  /** Absent from a hub without it, and for sidecars without POLICY_FEATURE. */
  readonly policy?: SentPolicy
}

/** A new or changed key. */
export interface KeyPut {
  readonly event: 'key'
  readonly rev: number
  readonly id: string
  readonly op: 'put'
  readonly body: FleetKey
}

/** A key that the sidecar must refuse. */
export interface KeyRemoval {
  readonly event: 'key'
  readonly rev: number
  readonly id: string
  readonly op: 'del'
  /** `revoked_at` of a revoked key; null for one that the sidecar is no longer to have. */
  readonly body: { readonly revoked_at: string } | null
}

/** An order to erase exchanges and end users. */
export interface Erase extends EraseOrder {
  readonly event: 'erase'
}

/** States that `rev` is the newest revision at the time `t` of the database. */
export interface Beat {
  readonly event: 'beat'
  /** Unix milliseconds by the clock of the database. */
  readonly t: number
  readonly rev: number
  /** The state hash of the keys that the sidecar has at `rev`. */
  readonly state_hash: string
}

/** The last event: the sidecar is to connect again. */
export interface Bye {
  readonly event: 'bye'
  readonly reason: string
}

export type FeedEvent = Hello | Snapshot | KeyPut | KeyRemoval | PolicyChange | Erase | Beat | Bye

/** An event that this release does not know, or cannot read. */
export interface UnknownEvent {
  readonly event: 'unknown'
  /** Its name; `message` without one. */
  readonly name: string
  /** From its id; null without one. */
  readonly rev: number | null
  readonly reason: string
}

/** What a sidecar has applied. */
export interface Acknowledgement {
  /** The epoch of `rev`; an acknowledgement of another history is ignored. */
  readonly epoch?: string
  readonly rev: number
  /** False when the disk takes no writes: a restart forgets what is in force now. */
  readonly durable: boolean
  /** Events that are not in force here. */
  readonly nack: readonly Nack[]
  /** Times of last use by id of a key, RFC 3339. */
  readonly last_used: Readonly<Record<string, string>>
  /** Ids of keys that the hub has as active and that are revoked here. */
  readonly conflicts: readonly string[]
}

/** An event that is not in force at a sidecar. */
export interface Nack {
  readonly rev: number
  readonly reason: string
  /** Name of the rule that cannot be in force, and the JSON path in it. */
  readonly rule?: string
  readonly path?: string
}

const TEXT = { type: 'string', minLength: 1, maxLength: 256 }
/** Databases take no control characters and no halves of surrogate pairs. */
const PRINTABLE = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$'
const TIME = { type: 'string', maxLength: 64 }
const REV = { type: 'integer', minimum: 0 }
const NULLABLE_TEXT = { type: ['string', 'null'], maxLength: 256 }
const object = (properties: Record<string, object>, optional: readonly string[] = []) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

const FLEET_KEY = object({
  id: TEXT,
  sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  name: TEXT,
  prefix: NULLABLE_TEXT,
  line: TEXT,
  replaces: NULLABLE_TEXT,
  terms: { type: 'object' },
  created_at: TIME,
  rev: REV,
})

const UTC_TIME = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'
const ORDER = object({
  rev: REV,
  id: TEXT,
  selection: {
    oneOf: [
      { ...object({ request_id: TEXT }), additionalProperties: false },
      { ...object({ key_id: TEXT }), additionalProperties: false },
      {
        ...object({ user: { type: 'string', pattern: '^[0-9a-f]{32}$' } }),
        additionalProperties: false,
      },
      { ...object({ before: { type: 'string', pattern: UTC_TIME } }), additionalProperties: false },
    ],
  },
})

/** JSON Schema of the data of each event. Other members are ignored. */
const EVENT_SCHEMAS: Readonly<Record<FeedEvent['event'], object>> = {
  hello: object({ epoch: TEXT, rev: REV, sidecar: TEXT, name: TEXT, fleet_key: TEXT }),
  snapshot: object(
    {
      rev: REV,
      keys: { type: 'array', items: FLEET_KEY },
      revoked: { type: 'array', items: TEXT },
      orders: { type: 'array', maxItems: MAXIMUM_OPEN_ORDERS, items: ORDER },
      policy: SENT_POLICY_SCHEMA,
    },
    ['policy'],
  ),
  ...POLICY_SCHEMAS,
  key: {
    oneOf: [
      object({ rev: REV, id: TEXT, op: { const: 'put' }, body: FLEET_KEY }),
      object({
        rev: REV,
        id: TEXT,
        op: { const: 'del' },
        body: { oneOf: [{ type: 'null' }, object({ revoked_at: TIME })] },
      }),
    ],
  },
  erase: ORDER,
  beat: object({ t: { type: 'integer', minimum: 0 }, rev: REV, state_hash: TEXT }),
  bye: object({ reason: TEXT }),
}

/** JSON Schema of an acknowledgement. */
const ACK_SCHEMA = object(
  {
    epoch: TEXT,
    rev: REV,
    durable: { type: 'boolean' },
    nack: {
      type: 'array',
      maxItems: MAXIMUM_NACKS,
      items: object(
        {
          rev: REV,
          reason: { type: 'string', maxLength: 512, pattern: PRINTABLE },
          rule: { type: 'string', maxLength: 256, pattern: PRINTABLE },
          path: { type: 'string', maxLength: 256, pattern: PRINTABLE },
        },
        ['rule', 'path'],
      ),
    },
    last_used: { type: 'object', maxProperties: MAXIMUM_ACK_ITEMS, additionalProperties: TIME },
    conflicts: { type: 'array', maxItems: MAXIMUM_CONFLICTS, items: { ...TEXT, pattern: PRINTABLE } },
  },
  ['epoch', 'nack', 'last_used', 'conflicts'],
)

/** Events that end with a position in the history. */
const HAS_POSITION = new Set<string>(['snapshot', 'key', 'erase', 'rules', 'prices', 'override'])

/** Prints an event of a feed in an epoch. */
export function printEvent({ event, ...data }: FeedEvent, epoch: string): string {
  const id =
    HAS_POSITION.has(event) && 'rev' in data ? `id: ${printPosition({ epoch, rev: data.rev })}\n` : ''
  return `${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A line that keeps a feed alive and says nothing of its freshness. */
export const KEEP_ALIVE = ': alive\n\n'

/**
 * Reads an event of a feed; null for a comment. What this release does not know is `unknown`, and
 * never guessed.
 */
export function readEvent({ data, otherLines }: SseEvent): FeedEvent | UnknownEvent | null {
  if (data === null) return null
  const fields = new Map(otherLines.split('\n').map(fieldOf))
  const name = fields.get('event') ?? 'message'
  const rev = readPosition(fields.get('id') ?? '')?.rev ?? null
  const unknown = (reason: string): UnknownEvent => ({ event: 'unknown', name, rev, reason })
  if (!Object.hasOwn(EVENT_SCHEMAS, name)) return unknown('this release does not know the event')
  const value = parsed(data)
  const [problem] = checkValue(value, EVENT_SCHEMAS[name as FeedEvent['event']])
  if (problem !== undefined) return unknown(`${formatPath(problem.path) || 'the data'} ${problem.message}`)
  return { event: name, ...(value as JsonObject) } as unknown as FeedEvent
}

/** Returns undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}

/** Prints a position as the id of an event. */
export const printPosition = ({ epoch, rev }: FeedPosition): string => `${epoch}:${rev}`

const POSITION = /^([0-9a-f-]{36}):(\d{1,15})$/

/** Reads the id of an event; null for any other text. */
export function readPosition(id: string): FeedPosition | null {
  const [, epoch, rev] = POSITION.exec(id) ?? []
  return epoch === undefined ? null : { epoch, rev: Number(rev) }
}

/** Reads an acknowledgement. @returns the error, for people, when it is malformed */
export function readAck(value: unknown): Acknowledgement | string {
  const [problem] = checkValue(value, ACK_SCHEMA)
  if (problem !== undefined) return `${formatPath(problem.path) || 'the body'} ${problem.message}`
  const given = value as Pick<Acknowledgement, 'rev' | 'durable'> & Partial<Acknowledgement>
  return { nack: [], last_used: {}, conflicts: [], ...given }
}
