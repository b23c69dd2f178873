// Verifies every stored log next to a running hub, a page at a time. One run at a time.

import { NO_EVIDENCE } from '../audit/survey.ts'
import { verdictObject } from '../audit/verdict.ts'
import type { LogVerdictOf } from '../cli/hub.ts'
import type { Clock } from '../core/clock.ts'
import { messageWithCause } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Queries } from '../ledger/database.ts'
import { StoredLogs } from '../ledger/stored-logs.ts'
import type { LogCheck } from '../server/routes/verify.ts'
import { NEVER_RUN, type VerificationStatus } from '../store/verification/background.ts'
import { verifyLogs } from './fleet-verification.ts'

/** Verdicts in an answer, those with findings first. */
const MAXIMUM_VERDICTS = 1000

/** Ends a run. */
class Cancelled extends Error {}

interface FleetCheckParts {
  readonly queries: Queries
  readonly clock: Pick<Clock, 'now'>
  readonly onFailure: (error: unknown) => void
}

export class FleetCheck implements LogCheck {
  readonly #parts: FleetCheckParts
  #status = NEVER_RUN
  #running: Promise<void> | null = null
  #isCancelled = false

  constructor(parts: FleetCheckParts) {
    this.#parts = parts
  }

  get status(): VerificationStatus {
    return this.#status
  }

  start(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true
    await this.#running
  }

  async #run(): Promise<void> {
    const { queries, clock, onFailure } = this.#parts
    this.#isCancelled = false
    this.#status = { ...NEVER_RUN, running: true, startedAtMs: clock.now() }
    const logs = new StoredLogs({
      rows: (...statement) => {
        if (this.#isCancelled) throw new Cancelled()
        return queries.rows(...statement)
      },
    })
    const progress = (done: number) => {
      this.#status = { ...this.#status, progress: done }
    }
    try {
      const verdict = verdictOf(await verifyLogs(logs, NO_EVIDENCE, progress))
      this.#status = { ...this.#status, progress: 1, verdict }
    } catch (error) {
      const isCancelled = error instanceof Cancelled
      if (!isCancelled) onFailure(error)
      const failure = isCancelled ? 'The check was cancelled.' : messageWithCause(error as Error)
      this.#status = { ...this.#status, failure }
    }
    this.#status = { ...this.#status, running: false, finishedAtMs: clock.now() }
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
