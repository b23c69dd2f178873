// One log of the database in the export format: entries, then checkpoints, a page at a time.

import { checkpointLine, entryLine } from '../audit/dump.ts'
import { parseObject } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { Queries } from './database.ts'
import { hashText } from './hub-log.ts'
import { type LogScope, oneLogOf } from './log-scope.ts'
import { StoredLogs } from './stored-logs.ts'

interface LinesQuery extends LogScope {
  /** Begins with the first entry sealed at this time or later; null for the first of all. */
  readonly sinceMs: Milliseconds | null
  /** Ends before the first entry sealed later; null for the newest of all. */
  readonly untilMs: Milliseconds | null
}

export class LogLines {
  readonly #queries: Queries
  readonly #logs: StoredLogs

  constructor(queries: Queries) {
    this.#queries = queries
    this.#logs = new StoredLogs(queries)
  }

  /**
   * Returns the lines of a log, that of the hubs by default, up to its newest entry of now.
   * @throws GatewayError (rejects) `invalid_parameter` for an unknown log or sidecar, or one with
   * several logs; `fleet_unavailable`
   */
  async lines(query: LinesQuery): Promise<AsyncIterable<string>> {
    const log = await oneLogOf(this.#queries, query)
    const [head] = await this.#queries.rows<{ seq: number }>('select seq from log_head where log_id = $1', [
      log,
    ])
    return this.#linesOf(log, head?.seq ?? -1, query)
  }

  /** @throws Error (rejects) when entries are removed before they are exported */
  async *#linesOf(
    log: string,
    newest: number,
    { sinceMs, untilMs }: LinesQuery,
  ): AsyncGenerator<string, void, undefined> {
    let first: number | null = null
    let next = 0
    for (let isOver = false; !isOver && next <= newest; ) {
      const rows = await this.#logs.page(log, next, null)
      const lines: string[] = []
      isOver = rows.length === 0
      for (const { seq, hash, body } of rows) {
        if (first !== null && seq !== next)
          throw new Error(`entry ${next} was removed before it was exported`)
        const sealedMs = sinceMs === null && untilMs === null ? 0 : sealedAt(body)
        isOver = seq > newest || (untilMs !== null && sealedMs > untilMs)
        if (isOver) break
        next = seq + 1
        if (sinceMs !== null && first === null && sealedMs < sinceMs) continue
        first ??= seq
        lines.push(entryLine({ hash: hashText(hash), bytes: body }))
      }
      yield lines.join('')
    }
    if (first !== null) yield* this.#checkpointsOf(log, first, next)
  }

  /** Those over more than the entries before the first, and none after the last. */
  async *#checkpointsOf(log: string, first: number, size: number): AsyncGenerator<string> {
    for (let after = first; ; ) {
      const rows = await this.#logs.checkpoints(log, after)
      const within = rows.filter((row) => row.size <= size)
      yield within.map(({ note }) => checkpointLine(note)).join('')
      const last = within.at(-1)
      if (last === undefined || within.length < rows.length) return
      after = last.size
    }
  }
}

/** When an entry was sealed; NaN without a valid time, which is within every range. */
const sealedAt = (body: Buffer): Milliseconds => Date.parse(String(parseObject(body)?.['ts']))
