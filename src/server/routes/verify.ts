// A full check of the usage log over REST, on demand and in the background.

import type { Milliseconds } from '../../core/clock.ts'
import { within } from '../../core/deadline.ts'
import type { JsonObject } from '../../core/json.ts'
import { isoTimeOrNull } from '../../core/time.ts'
import type { VerificationStatus } from '../../store/verification/background.ts'
import { type ApiAnswer, type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

/** Time an answer waits for the end of a check; that of a short log ends within it. */
const MAXIMUM_WAIT_MS: Milliseconds = 5000

/** A check of a log, or of all logs of a fleet; one run at a time. */
export interface LogCheck {
  readonly status: VerificationStatus | Promise<VerificationStatus>
  /** Starts a run, or joins the current one; resolves when it has ended. */
  start(): Promise<void>
  /** Ends a current run; `status` then says that it was cancelled. */
  cancel(): Promise<void>
}

/** @param errors statuses of errors besides those of a gateway */
export function checkRoutes(check: LogCheck, errors: readonly number[] = []): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/audit/verify',
      access: 'viewer',
      operation: operation('Reports the running full check of the log, or the result of the last one.', {
        answer: 'LogCheck',
        errors,
      }),
      answer: async () => ok(describeCheck(await check.status)),
    },
    {
      method: 'POST',
      path: '/api/v1/audit/verify',
      access: 'auditor',
      operation: operation(
        'Checks the whole log, or joins the running check. Answers 202 when that takes longer than five seconds.',
        { answer: 'LogCheck', statuses: [200, 202], errors },
      ),
      answer: () => verify(check),
    },
    {
      method: 'DELETE',
      path: '/api/v1/audit/verify',
      access: 'auditor',
      operation: operation(
        'Cancels the running full check, which then has no verdict. Without one it changes nothing.',
        { answer: 'LogCheck', errors },
      ),
      async answer() {
        await within(check.cancel(), MAXIMUM_WAIT_MS)
        return ok(describeCheck(await check.status))
      },
    },
  ]
}

/** Starts or joins a check. Answers 200 with the verdict, or 202 when the check takes longer. */
async function verify(check: LogCheck): Promise<ApiAnswer> {
  await within(check.start(), MAXIMUM_WAIT_MS)
  const status = await check.status
  return { status: status.running ? 202 : 200, body: describeCheck(status) }
}

function describeCheck(status: VerificationStatus): JsonObject {
  const { running, progress, startedAtMs, finishedAtMs, verdict, failure } = status
  return {
    running,
    progress,
    ok: verdict === null ? null : verdict['ok'] === true,
    started_at: isoTimeOrNull(startedAtMs),
    finished_at: isoTimeOrNull(finishedAtMs),
    result: verdict,
    error: failure,
  }
}
