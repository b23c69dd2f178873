// The live tail of the usage log over REST.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import { whole } from '../../core/schema-builders.ts'
import type { ApiRoute } from '../api.ts'
import type { LiveReaderOptions } from '../live-tail.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'
import type { Gatekeeper } from '../session.ts'

const RESUME_HEADER = 'last-event-id'
const SEQUENCE = /^[0-9]{1,15}$/
const OF_GATEWAY =
  'Streams the calls sealed from now on as server-sent events: `entry` with the entry as in the list and its `seq` as id, and `gap` with `{"missed": n}` where calls were left out. A reader that sends `Last-Event-ID` gets up to 1,000 missed calls first. The stream ends with the session.'

/** Gives readers their streams. */
interface Tail {
  /** @throws GatewayError (or rejects) */
  read(options: LiveReaderOptions): AsyncIterable<string> | Promise<AsyncIterable<string>>
}

export const usageLiveRoute = (
  tail: Tail,
  gatekeeper: Pick<Gatekeeper, 'require'>,
  summary = OF_GATEWAY,
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/logs/live',
  access: 'viewer',
  operation: operation(summary, {
    textType: 'text/event-stream',
    query: { after: whole('Works like the header `Last-Event-ID`, which has precedence.') },
    errors: [400, 503],
  }),
  async answer({ headers, search, disconnect }) {
    const query = new QueryString(search, ['after'])
    const after = query.integer('after', -1, 0, Number.MAX_SAFE_INTEGER)
    const chunks = await tail.read({
      // A browser that reconnects keeps the query of its first request.
      afterSeq: readResumed(headers) ?? (after < 0 ? null : after),
      isAllowed: () => isSignedIn(gatekeeper, headers),
      disconnect,
    })
    return {
      status: 200,
      body: null,
      // A buffering proxy would delay the events.
      headers: { 'x-accel-buffering': 'no' },
      stream: { type: 'text/event-stream', chunks },
    }
  },
})

function readResumed(headers: IncomingHttpHeaders): number | null {
  const text = headers[RESUME_HEADER]
  if (text === undefined || text === '') return null
  if (typeof text === 'string' && SEQUENCE.test(text)) return Number(text)
  throw new GatewayError('invalid_parameter', 'Last-Event-ID must be the id of an event of this stream.', {
    param: RESUME_HEADER,
  })
}

async function isSignedIn(
  gatekeeper: Pick<Gatekeeper, 'require'>,
  headers: IncomingHttpHeaders,
): Promise<boolean> {
  try {
    await gatekeeper.require(headers, 'viewer')
    return true
  } catch (error) {
    // Without the database of sessions there are no calls to send either.
    return error instanceof GatewayError && error.code === 'fleet_unavailable'
  }
}
