// The export of the usage log over REST, without exchanges.

import { GatewayError } from '../../core/errors.ts'
import { time } from '../../core/schema-builders.ts'
import type { SealedLog } from '../../store/verification/sealed-log.ts'
import type { ApiRoute } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/** Exports at a time. Each reads the whole log and holds up to 16 MiB. */
const MAXIMUM_EXPORTS = 4
const RETRY_AFTER_SECONDS = '10'
const TYPE = 'application/x-ndjson'

/** The exports under way. */
interface Running {
  count: number
}

export function exportRoute(sealed: Pick<SealedLog, 'export'>): ApiRoute {
  const running: Running = { count: 0 }
  return {
    method: 'GET',
    path: '/api/v1/audit/export',
    access: 'auditor',
    operation: operation(
      'Exports the usage log as JSON Lines: entries, then checkpoints, as `sidegate audit export` does. An answer that breaks off is not complete.',
      {
        textType: 'application/x-ndjson',
        query: {
          since: time('Begins with the first entry sealed at this time or later.'),
          until: time('Ends before the first entry sealed later. A date includes its whole day, in UTC.'),
        },
        errors: [400, 503],
      },
    ),
    async answer({ search }) {
      const query = new QueryString(search, ['since', 'until'])
      const options = { sinceMs: query.time('since'), untilMs: query.endTime('until'), exchanges: false }
      if (running.count >= MAXIMUM_EXPORTS)
        throw new GatewayError('overloaded', `${MAXIMUM_EXPORTS} exports are running; ask again later.`, {
          headers: { 'retry-after': RETRY_AFTER_SECONDS },
        })
      const chunks = linesOf(sealed.export(options), running)
      return { status: 200, body: null, stream: { type: TYPE, chunks } }
    },
  }
}

/**
 * Yields the export as texts of whole lines.
 * @throws Error when pruning overtakes it, so that the answer breaks off
 */
async function* linesOf(
  chunks: ReturnType<SealedLog['export']>,
  running: Running,
): AsyncGenerator<string, void, undefined> {
  running.count++
  try {
    for (;;) {
      const { done, value } = chunks.next()
      if (done !== true) {
        yield value.toString('utf8')
        continue
      }
      if (value.prunedSeq === null) return
      throw new Error(`entry ${value.prunedSeq} was pruned before it was exported`)
    }
  } finally {
    running.count--
  }
}
