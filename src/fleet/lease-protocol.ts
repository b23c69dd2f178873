// What a sidecar asks of the limits of its hub, and the answer. Every count and subject is as
// pipeline/limits names it; amounts are in the unit of the limit.

import type { Milliseconds } from '../core/clock.ts'
import { checkValue, formatPath } from '../core/document.ts'
import { isObject, type JsonObject } from '../core/json.ts'

export const LEASES_PATH = '/fleet/v1/leases'
/** Items that one list of a request may have. */
export const MAXIMUM_LEASE_ITEMS = 500
/** Longest answer. */
export const MAXIMUM_LEASE_BYTES = 1024 * 1024
/** Time for which a hub gives the same answer to a repeated request. */
export const SAME_ANSWER_MS: Milliseconds = 10_000
/** Without a word for so long a sidecar uses no share. */
export const SHARE_MS: Milliseconds = 86_400_000
/** The name of the count of calls at a time that a key allows. */
export const KEY_PARALLEL = 'key:parallel'

/** What a limit counts. */
export interface CountedSubject {
  readonly count: string
  readonly subject: string
}

export interface Ask extends CountedSubject {
  /** What calls need now. */
  readonly need: number
  /** What would be used before the next ask; at least `need`. */
  readonly want: number
}

/** All that a sidecar has in one of its buckets; it replaces what the hub has. */
export interface Settle extends CountedSubject {
  readonly bucket: number
  readonly amount: number
}

/** Maximum that the sidecar uses without a hub from now on; 0 without an ask gives the share up. */
export interface ShareTerm extends CountedSubject {
  readonly share: number
  /** What a call of the sidecar needs on average; older sidecars do not say it. */
  readonly usual?: number
}

/** Calls at a time: those that run, and further ones. */
export interface SlotAsk extends CountedSubject {
  readonly need: number
  readonly held: number
}

export interface LeaseRequest {
  /** Higher than that of any earlier request of the sidecar. */
  readonly request: number
  /** True until the process has had an answer: the calls of the last one ended with it. */
  readonly first?: boolean
  readonly asks: readonly Ask[]
  readonly settles: readonly Settle[]
  readonly shares: readonly ShareTerm[]
  readonly slots: readonly SlotAsk[]
}

/** The answer to an ask. An ask that the hub refuses has none. */
export interface LeaseGrant extends CountedSubject {
  /** 0 for none; less than was needed when no more is left. */
  readonly size: number
  readonly bucket: number
  /** When the lease ends. Times are Unix milliseconds by the clock of the hub. */
  readonly expires_at: number
  /** What is left of the limit after it. */
  readonly left: number
  readonly limit: number
  /** When nothing used now counts any more; when less than was needed is lent, when that fits. */
  readonly reset_at: number
  readonly share: number
}

/** The answer to an ask for slots. */
export interface SlotGrant extends CountedSubject {
  /** The calls at a time that the sidecar may run; after the limit was lowered, fewer than run. */
  readonly size: number
  /** When the hub takes the slots back, unless it hears of them. */
  readonly expires_at: number
  /** As in LeaseGrant. */
  readonly left: number
  readonly limit: number
  readonly share: number
}

export interface LeaseAnswer {
  readonly time: number
  readonly grants: readonly LeaseGrant[]
  readonly slots: readonly SlotGrant[]
}

/** Databases take no control characters and no halves of surrogate pairs. */
const NAME = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$',
}
const AMOUNT = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const list = (properties: Record<string, object>, maxItems?: number, optional = {}) => ({
  type: 'array',
  ...(maxItems !== undefined && { maxItems }),
  items: {
    type: 'object',
    properties: { count: NAME, subject: NAME, ...properties, ...optional },
    required: ['count', 'subject', ...Object.keys(properties)],
  },
})
const listed = (properties: Record<string, object>, optional = {}) =>
  list(properties, MAXIMUM_LEASE_ITEMS, optional)

const REQUEST_SCHEMA = {
  type: 'object',
  properties: {
    request: { ...AMOUNT, minimum: 1 },
    first: { type: 'boolean' },
    asks: listed({ need: AMOUNT, want: AMOUNT }),
    settles: listed({ bucket: AMOUNT, amount: AMOUNT }),
    shares: listed({ share: AMOUNT }, { usual: AMOUNT }),
    slots: listed({ need: AMOUNT, held: AMOUNT }),
  },
  required: ['request'],
}

const ANSWER_SCHEMA = {
  type: 'object',
  properties: {
    time: AMOUNT,
    grants: list({
      ...{ size: AMOUNT, bucket: AMOUNT, expires_at: AMOUNT, left: AMOUNT },
      ...{ limit: AMOUNT, reset_at: AMOUNT, share: AMOUNT },
    }),
    slots: list({ size: AMOUNT, expires_at: AMOUNT, left: AMOUNT, limit: AMOUNT, share: AMOUNT }),
  },
  required: ['time', 'grants', 'slots'],
}

/** Reads a request. @returns the error, for people, when it is malformed */
export function readLeaseRequest(value: unknown): LeaseRequest | string {
  const [problem] = checkValue(value, REQUEST_SCHEMA)
  if (problem !== undefined) return `${formatPath(problem.path) || 'the body'} ${problem.message}`
  return { ...NOTHING, ...(value as Pick<LeaseRequest, 'request'>) }
}

const NOTHING = { asks: [], settles: [], shares: [], slots: [] } as const

/** Reads an answer. @throws Error when it is malformed */
export function readLeaseAnswer(text: string): LeaseAnswer {
  const value: unknown = JSON.parse(text)
  const [problem] = checkValue(value, ANSWER_SCHEMA)
  if (!isObject(value) || problem !== undefined)
    throw new Error(`the answer of the hub cannot be read: ${problem?.message ?? 'no object'}`)
  return value as JsonObject & LeaseAnswer
}
