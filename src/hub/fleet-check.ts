// Verifies every stored log next to a running hub, a page at a time. One run at a time over all
// hubs, which any of them reports and cancels.

import { NO_EVIDENCE } from '../audit/survey.ts'
import { verdictObject } from '../audit/verdict.ts'
import type { LogVerdictOf } from '../cli/hub.ts'
import type { Milliseconds } from '../core/clock.ts'
import { messageWithCause } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Timers } from '../core/timers.ts'
import type { Queries } from '../ledger/database.ts'
import { type CheckRow, LogChecks } from '../ledger/log-checks.ts'
import { StoredLogs } from '../ledger/stored-logs.ts'
import type { LogCheck } from '../server/routes/verify.ts'
import { NEVER_RUN, type VerificationStatus } from '../store/verification/background.ts'
import { verifyLogs } from './fleet-verification.ts'

/** Verdicts in an answer, those with findings first. */
const MAXIMUM_VERDICTS = 1000

/** Interval at which a run notes how far it is, and at which others look. */
const BEAT_MS: Milliseconds = 500

/** Ends a run. */
class Cancelled extends Error {}

interface FleetCheckParts {
  readonly queries: Queries
  readonly timers: Timers
  /** Returns a new UUID. */
  readonly newId: () => string
  readonly onFailure: (error: unknown) => void
}

export class FleetCheck implements LogCheck {
  readonly #parts: FleetCheckParts
  readonly #checks: LogChecks
  #running: Promise<void> | null = null
  #isClosed = false

  constructor(parts: FleetCheckParts) {
    this.#parts = parts
    this.#checks = new LogChecks(parts.queries)
  }

  /** That of the run at any hub. @throws GatewayError (rejects) `fleet_unavailable` */
  get status(): Promise<VerificationStatus> {
    return this.#checks.newest().then(statusOf)
  }

  /** @throws GatewayError (rejects) `fleet_unavailable` */
  start(): Promise<void> {
    this.#running ??= this.#runOrJoin().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** @throws GatewayError (rejects) `fleet_unavailable` */
  async cancel(): Promise<void> {
    await this.#checks.cancel()
    await this.#ended()
  }

  /** Ends the run of this hub. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running?.catch(() => {})
  }

  async #runOrJoin(): Promise<void> {
    const run = this.#parts.newId()
    if (await this.#checks.begin(run)) await this.#run(run)
    else await this.#ended()
  }

  /** Resolves when no check is under way at any hub. */
  async #ended(): Promise<void> {
    while (!this.#isClosed && (await this.status).running)
      await new Promise<void>((resolve) => this.#parts.timers.set(resolve, BEAT_MS))
  }

  async #run(run: string): Promise<void> {
    const { queries, onFailure } = this.#parts
    const beats = this.#beat(run)
    const logs = new StoredLogs({
      rows: (...statement) => {
        if (beats.isCancelled() || this.#isClosed) throw new Cancelled()
        return queries.rows(...statement)
      },
    })
    let verdict: JsonObject | null = null
    let failure: string | null = null
    try {
      verdict = verdictOf(await verifyLogs(logs, NO_EVIDENCE, beats.advance))
    } catch (error) {
      const isCancelled = error instanceof Cancelled
      if (!isCancelled) onFailure(error)
      failure = isCancelled ? 'The check was cancelled.' : messageWithCause(error as Error)
    }
    beats.stop()
    // Without it the run counts as lost after a while.
    await this.#checks.end(run, verdict, failure).catch(onFailure)
  }

  /** Writes how far a run is, until it is stopped, and learns that any hub has cancelled it. */
  #beat(run: string) {
    const { timers } = this.#parts
    let progress = 0
    let timer: unknown = null
    let isOver = false
    let isCancelled = false
    const later = () => {
      if (!isOver) timer = timers.set(() => void beat(), BEAT_MS)
    }
    const beat = async () => {
      // A database that is away fails the run itself.
      const goesOn = await this.#checks.advance(run, progress).catch(() => true)
      if (!goesOn) isCancelled = true
      later()
    }
    later()
    return {
      isCancelled: () => isCancelled,
      advance(done: number) {
        progress = done
      },
      stop() {
        isOver = true
        timers.clear(timer)
      },
    }
  }
}

function statusOf(row: CheckRow | null): VerificationStatus {
  if (row === null) return NEVER_RUN
  const { progress, verdict, is_lost: isLost } = row
  return {
    running: row.finished_at === null && !isLost,
    progress,
    startedAtMs: row.started_at,
    finishedAtMs: isLost ? row.seen_at : row.finished_at,
    verdict,
    failure: isLost ? 'The hub that ran the check has ended; start the check again.' : row.failure,
  }
}

function verdictOf(verdicts: readonly LogVerdictOf[]): JsonObject {
  const failed = verdicts.filter(({ verdict }) => !verdict.ok)
  const shown = [...failed, ...verdicts.filter(({ verdict }) => verdict.ok)].slice(0, MAXIMUM_VERDICTS)
  return {
    ok: failed.length === 0,
    entries: verdicts.reduce((sum, { verdict }) => sum + verdict.entries, 0),
    damaged: failed.length,
    logs: shown.map(({ sidecar, name, verdict }) => ({ sidecar, name, ...verdictObject(verdict) })),
    omitted: verdicts.length - shown.length,
  }
}
