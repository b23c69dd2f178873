// The export of the usage log over REST, without exchanges.

import type { Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { time } from '../../core/schema-builders.ts'
import type { ApiRoute } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/** Exports at a time. Each reads the whole log and holds up to 16 MiB. */
const MAXIMUM_EXPORTS = 4
const RETRY_AFTER_SECONDS = '10'
const TYPE = 'application/x-ndjson'

/** What of a log is exported. */
export interface ExportQuery {
  /** Begins with the first entry sealed at this time or later; null for the first of all. */
  readonly sinceMs: Milliseconds | null
  /** Ends before the first entry sealed later; null for the newest of all. */
  readonly untilMs: Milliseconds | null
  /** Id or name of the sidecar whose log it is, at a hub; null when not given. */
  readonly sidecar: string | null
  /** Id of the log, at a hub; null when not given. */
  readonly log: string | null
}

/** A log in the export format. */
export interface ExportedLog {
  /**
   * Returns whole lines, as texts of any number of them.
   * @throws GatewayError (rejects) `invalid_parameter` for an unknown log or sidecar. An error of
   * the iterable says that it is not complete
   */
  lines(query: ExportQuery): Promise<AsyncIterable<string>>
}

/** The exports under way. */
interface Running {
  count: number
}

export function exportRoute(log: ExportedLog, more: Readonly<Record<string, JsonObject>> = {}): ApiRoute {
  const running: Running = { count: 0 }
  const described = {
    since: time('Begins with the first entry sealed at this time or later.'),
    until: time('Ends before the first entry sealed later. A date includes its whole day, in UTC.'),
    ...more,
  }
  return {
    method: 'GET',
    path: '/api/v1/audit/export',
    access: 'auditor',
    operation: operation(
      'Exports the usage log as JSON Lines: entries, then checkpoints, as `sidegate audit export` does. An answer that breaks off is not complete.',
      { textType: TYPE, query: described, errors: [400, 503] },
    ),
    async answer({ search }) {
      const query = new QueryString(search, Object.keys(described))
      const asked = {
        sinceMs: query.time('since'),
        untilMs: query.endTime('until'),
        sidecar: query.text('sidecar'),
        log: query.text('log'),
      }
      if (running.count >= MAXIMUM_EXPORTS)
        throw new GatewayError('overloaded', `${MAXIMUM_EXPORTS} exports are running; ask again later.`, {
          headers: { 'retry-after': RETRY_AFTER_SECONDS },
        })
      const chunks = counted(await log.lines(asked), running)
      return { status: 200, body: null, stream: { type: TYPE, chunks } }
    },
  }
}

/** Counts an export while it is sent. */
async function* counted(
  lines: AsyncIterable<string>,
  running: Running,
): AsyncGenerator<string, void, undefined> {
  running.count++
  try {
    yield* lines
  } finally {
    running.count--
  }
}
