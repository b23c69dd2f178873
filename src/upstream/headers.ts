// Which headers cross the gateway, each way, by allow-list: what is not named here stays on its side.
// The client's credential, cookies and hop-by-hop fields (RFC 9110 §7.6.1) are therefore never forwarded.

import type { IncomingHttpHeaders } from 'node:http'

/** Request headers an upstream may see. */
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

/** Of those below, what says when to come again, or not to. */
const RETRY = ['retry-after', 'retry-after-ms', 'x-should-retry'] as const

/** Response headers a client may see; `content-length` is always computed anew. */
const RETURNED = ['content-type', ...RETRY, 'openai-processing-ms'] as const

/** Names listed in `Connection` are meant for this hop only (RFC 9110 §7.6.1). */
function namedInConnection(headers: IncomingHttpHeaders): ReadonlySet<string> | null {
  const value = headers.connection
  if (value === undefined || value === 'keep-alive' || value === 'close') return null
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()))
}

/**
 * Raw header list (name, value, …) for the upstream: the allowed ones of the client's plus our own.
 * @param credential the upstream's API key, or null for an upstream without one
 */
export function upstreamHeaders(client: IncomingHttpHeaders, credential: string | null): string[] {
  const dropped = namedInConnection(client)
  // Compressed answers could not be scanned, so none is asked for.
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

/** What each may say: nobody looks through headers for what must not get out. */
const FORMS: Readonly<Record<(typeof RETURNED)[number], RegExp>> = {
  'content-type': MEDIA_TYPE,
  'retry-after': new RegExp(`${DECIMAL.source}|${HTTP_DATE.source}`),
  'retry-after-ms': DECIMAL,
  'x-should-retry': /^(?:true|false)$/,
  'openai-processing-ms': DECIMAL,
}

/** The allowed ones of the upstream's response headers. */
export const clientHeaders = (upstream: IncomingHttpHeaders): Record<string, string> =>
  picked(upstream, RETURNED)

/** Those that say when to come again, for an answer that is told in our words. */
export const retryHeaders = (upstream: IncomingHttpHeaders): Record<string, string> => picked(upstream, RETRY)

function picked(
  upstream: IncomingHttpHeaders,
  names: readonly (typeof RETURNED)[number][],
): Record<string, string> {
  const dropped = namedInConnection(upstream)
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = upstream[name]
    if (typeof value !== 'string' || dropped?.has(name) === true) continue
    // Parameters that are no charset say nothing that a client of ours reads.
    const said = name === 'content-type' && !MEDIA_TYPE.test(value) ? value.split(';', 1)[0]!.trim() : value
    if (FORMS[name].test(said)) headers[name] = said
  }
  return headers
}
