// Allow-lists of the headers that pass the gateway, in each direction.
// The client's credential, cookies and hop-by-hop fields (RFC 9110 §7.6.1) are not on them.

import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamConfig } from '../core/upstream-config.ts'
import type { UpstreamHead } from './response.ts'

/** Request headers that the upstream receives. */
const FORWARDED = [
  'accept',
  'user-agent',
  'traceparent',
  'tracestate',
  'idempotency-key',
  'http-referer',
  'x-title',
  'x-openrouter-title',
  'x-openrouter-categories',
  'openai-beta',
  'anthropic-beta',
  'anthropic-version',
  'x-session-id',
] as const

/** Response headers about retries. */
const RETRY = ['retry-after', 'retry-after-ms', 'x-should-retry'] as const

/** Response headers that the client receives. The gateway computes `content-length` itself. */
const RETURNED = ['content-type', ...RETRY, 'openai-processing-ms', 'openai-version'] as const

/** Returns the names listed in `Connection`, which are for this hop only (RFC 9110 §7.6.1). */
function namedInConnection(headers: IncomingHttpHeaders): ReadonlySet<string> | null {
  const value = headers.connection
  if (value === undefined || value === 'keep-alive' || value === 'close') return null
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()))
}

/** What an upstream's requests carry besides the allowed headers of the client. */
export type OwnHeaders = Pick<UpstreamConfig, 'auth' | 'forwardHeaders' | 'headers'>

/**
 * Returns the raw headers (name, value, …) for the upstream: allowed client headers and our own.
 * The configured ones replace those of the client.
 * @param credential the upstream's API key; null for an upstream without one
 * @param defaults headers that a client may leave out
 */
export function upstreamHeaders(
  client: IncomingHttpHeaders,
  own: OwnHeaders,
  credential: string | null,
  defaults: Readonly<Record<string, string>>,
): string[] {
  const { auth, forwardHeaders } = own
  const dropped = namedInConnection(client)
  // A compressed answer could not be scanned.
  const headers = [
    'content-type',
    defaults['content-type'] ?? 'application/json',
    'accept-encoding',
    'identity',
  ]
  // A body that is forwarded unchanged keeps its coding.
  const coding = defaults['content-encoding']
  if (coding !== undefined) headers.push('content-encoding', coding)
  const isOwn = (name: string) => Object.hasOwn(own.headers, name) || isCredentialHeader(auth, name)
  const forward = (name: string) => {
    const value = client[name]
    const isAllowed = typeof value === 'string' && dropped?.has(name) !== true && !isOwn(name)
    if (isAllowed) headers.push(name, value)
    else if (Object.hasOwn(defaults, name) && !isOwn(name)) headers.push(name, defaults[name]!)
  }
  for (const name of FORWARDED) forward(name)
  for (const name of forwardHeaders) if (!NEVER_FORWARDED.has(name)) forward(name)
  for (const name in own.headers) headers.push(name, own.headers[name]!.current())
  if (credential === null || auth === 'none') return headers
  if (auth === 'bearer') headers.push('authorization', `Bearer ${credential}`)
  else headers.push(auth.header, credential)
  return headers
}

const isCredentialHeader = (auth: UpstreamConfig['auth'], name: string): boolean =>
  typeof auth === 'object' && auth.header === name

/** The client's credentials for the gateway, and headers that HTTP itself sets. */
const NEVER_FORWARDED: ReadonlySet<string> = new Set([
  ...FORWARDED,
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'host',
  'connection',
  'content-length',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'expect',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Rate limits of OpenAI's providers: `x-ratelimit-remaining-tokens`. */
const OPENAI_LIMIT = /^x-ratelimit-(?:limit|remaining|reset)(?:-[a-z]{1,20}){0,2}$/
/** And of Anthropic: `anthropic-ratelimit-tokens-reset`, `anthropic-ratelimit-unified-status`. */
const ANTHROPIC_LIMIT = /^anthropic-(?:ratelimit|priority)(?:-(?:[a-z]{1,20}|\d{1,2}[hd])){1,5}$/

/** Values of a rate limit: too short for a number of a person. */
const LIMIT_VALUES: readonly RegExp[] = [
  // A count, a share or a duration: `17`, `0.25`, `1s`, `6m0s`, `350ms`.
  /^\d{1,8}(?:\.\d{1,3})?(?:(?:ms|[hms])(?:\d{1,3}(?:\.\d{1,3})?(?:ms|[ms])){0,2})?$/,
  // A time, RFC 3339 or in Unix seconds.
  /^20\d{2}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})$/,
  /^1[6-9]\d{8}$/,
  // A state: `allowed_warning`, `five_hour`.
  /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/,
]
/** Maximum such headers that are returned. */
const MAXIMUM_LIMITS = 32

/**
 * The provider's rate limits as the client receives them. Those of OpenAI's providers are named
 * `x-upstream-ratelimit-…`, and as they were too where the gateway sets none.
 */
function providerLimits(head: ReceivedHead, hasOwnLimits: boolean): Record<string, string> {
  const limits: Record<string, string> = {}
  let count = 0
  for (const name in head.headers) {
    const isOpenAi = OPENAI_LIMIT.test(name)
    if (!isOpenAi && !ANTHROPIC_LIMIT.test(name)) continue
    const value = returnable(head, name)
    if (value === null || !LIMIT_VALUES.some((form) => form.test(value))) continue
    if (count++ === MAXIMUM_LIMITS) break
    if (isOpenAi) limits[name.replace('x-', 'x-upstream-')] = value
    if (!isOpenAi || !hasOwnLimits) limits[name] = value
  }
  return limits
}

/** The part of an upstream's answer that says which headers the client receives. */
type ReceivedHead = Pick<UpstreamHead, 'headers' | 'credential'>

/** The value of a header; null without one, and for one that repeats the credential. */
function returnable({ headers, credential }: ReceivedHead, name: string): string | null {
  const value = headers[name]
  if (typeof value !== 'string') return null
  return credential !== null && value.includes(credential) ? null : value
}

const DECIMAL = /^\d{1,12}(?:\.\d{1,6})?$/
const MEDIA_TYPE = /^[a-z]{1,16}\/[a-z.+-]{1,40}(?:\s*;\s*charset="?[a-z0-9-]{1,16}"?)?$/i
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Allowed values. Headers are not scanned, so that they must not carry free text. */
const FORMATS: Readonly<Record<(typeof RETURNED)[number], RegExp>> = {
  'content-type': MEDIA_TYPE,
  'retry-after': new RegExp(`${DECIMAL.source}|${HTTP_DATE.source}`),
  'retry-after-ms': DECIMAL,
  'x-should-retry': /^(?:true|false)$/,
  'openai-processing-ms': DECIMAL,
  'openai-version': /^20\d{2}-\d{2}-\d{2}$/,
}

/**
 * Returns the upstream's response headers that the client receives.
 * @param hasOwnLimits whether the gateway's own `x-ratelimit-*` are next to them
 */
export const clientHeaders = (head: ReceivedHead, hasOwnLimits: boolean): Record<string, string> =>
  Object.assign(pick(head, RETURNED), providerLimits(head, hasOwnLimits))

/** Response headers of an answer that is passed on unscanned. */
const PASSED = [
  ...RETURNED,
  'content-disposition',
  'content-encoding',
  'content-range',
  'etag',
  'last-modified',
] as const

const VISIBLE = /^[\x20-\x7e]{1,512}$/

/** As `clientHeaders`, of an answer that is passed on unscanned. */
export function passedHeaders(head: ReceivedHead, hasOwnLimits: boolean): Record<string, string> {
  const dropped = namedInConnection(head.headers)
  const headers = providerLimits(head, hasOwnLimits)
  for (const name of PASSED) {
    const value = returnable(head, name)
    if (value !== null && dropped?.has(name) !== true && VISIBLE.test(value)) headers[name] = value
  }
  return headers
}

/** Returns the upstream's headers about retries, for an error that the gateway words itself. */
export const retryHeaders = (head: ReceivedHead): Record<string, string> => pick(head, RETRY)

function pick(head: ReceivedHead, names: readonly (typeof RETURNED)[number][]): Record<string, string> {
  const dropped = namedInConnection(head.headers)
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = returnable(head, name)
    if (value === null || dropped?.has(name) === true) continue
    // Clients read no parameter but charset.
    const allowed =
      name === 'content-type' && !MEDIA_TYPE.test(value) ? value.split(';', 1)[0]!.trim() : value
    if (FORMATS[name].test(allowed)) headers[name] = allowed
  }
  return headers
}
