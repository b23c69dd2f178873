// The rules on trial over REST: what they would have done with the calls since they are on trial.

import { GatewayError } from '../../core/errors.ts'
import { formatProblem, type Problem } from '../../core/problem.ts'
import { isoTime } from '../../core/time.ts'
import type { ShadowReport } from '../../pipeline/shadow.ts'
import { type ApiRoute, ok } from '../api.ts'

/** What the route asks of a trial. */
export interface TrialView {
  readonly path: string
  readonly rules: {
    readonly current: { readonly revision: string; readonly rules: readonly unknown[] } | null
    readonly errors: readonly Problem[]
  }
  readonly shadow: { report(): ShadowReport }
}

/** @param trial null when no candidate is configured */
export function candidateRoutes(trial: TrialView | null): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/rules/candidate',
      async answer() {
        if (trial === null) {
          throw new GatewayError('not_found', 'No rules are on trial; set rules.candidatePath.')
        }
        const { current, errors } = trial.rules
        const { sinceMs, calls, changed, skipped, differences, samples } = trial.shadow.report()
        return ok({
          path: trial.path,
          revision: current?.revision ?? null,
          rules: current?.rules.length ?? 0,
          errors: errors.map((problem) => ({ ...problem, text: formatProblem(problem) })),
          since: isoTime(sinceMs),
          calls,
          changed,
          skipped,
          differences: differences.map((difference) => ({ ...difference })),
          samples: samples.map(({ logId, createdAtMs, ...difference }) => ({
            log_id: logId,
            created_at: isoTime(createdAtMs),
            ...difference,
          })),
        })
      },
    },
  ]
}
