// Allow-lists of the headers that pass the gateway, in each direction.
// The client's credential, cookies and hop-by-hop fields (RFC 9110 §7.6.1) are not on them.

import type { IncomingHttpHeaders } from 'node:http'

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
] as const

/** Response headers about retries. */
const RETRY = ['retry-after', 'retry-after-ms', 'x-should-retry'] as const

/** Response headers that the client receives. The gateway computes `content-length` itself. */
const RETURNED = ['content-type', ...RETRY, 'openai-processing-ms'] as const

/** Returns the names listed in `Connection`, which are for this hop only (RFC 9110 §7.6.1). */
function namedInConnection(headers: IncomingHttpHeaders): ReadonlySet<string> | null {
  const value = headers.connection
  if (value === undefined || value === 'keep-alive' || value === 'close') return null
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()))
}

/**
 * Returns the raw headers (name, value, …) for the upstream: allowed client headers and our own.
 * @param credential the upstream's API key, or null for an upstream without one
 */
export function upstreamHeaders(client: IncomingHttpHeaders, credential: string | null): string[] {
  const dropped = namedInConnection(client)
  // A compressed answer could not be scanned.
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity']
  for (const name of FORWARDED) {
    const value = client[name]
    if (typeof value === 'string' && dropped?.has(name) !== true) headers.push(name, value)
  }
  if (credential !== null) headers.push('authorization', `Bearer ${credential}`)
  return headers
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
}

/** Returns the upstream's response headers that the client receives. */
export const clientHeaders = (upstream: IncomingHttpHeaders): Record<string, string> =>
  pick(upstream, RETURNED)

/** Returns the upstream's headers about retries, for an error that the gateway words itself. */
export const retryHeaders = (upstream: IncomingHttpHeaders): Record<string, string> => pick(upstream, RETRY)

function pick(
  upstream: IncomingHttpHeaders,
  names: readonly (typeof RETURNED)[number][],
): Record<string, string> {
  const dropped = namedInConnection(upstream)
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = upstream[name]
    if (typeof value !== 'string' || dropped?.has(name) === true) continue
    // Clients read no parameter but charset.
    const allowed =
      name === 'content-type' && !MEDIA_TYPE.test(value) ? value.split(';', 1)[0]!.trim() : value
    if (FORMATS[name].test(allowed)) headers[name] = allowed
  }
  return headers
}
