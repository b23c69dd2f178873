// Candidate rules over REST: how their decisions differ from those in force.

import { GatewayError } from '../../core/errors.ts'
import { formatProblem, type Problem } from '../../core/problem.ts'
import { isoTime } from '../../core/time.ts'
import type { ShadowReport } from '../../pipeline/record/shadow.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

/** The part of the candidate rules that the route reads. */
export interface ShadowView {
  readonly path: string
  readonly rules: {
    readonly current: { readonly revision: string; readonly rules: readonly unknown[] } | null
    readonly errors: readonly Problem[]
  }
  readonly shadow: { report(): ShadowReport }
}

/** @param view null when rules.candidatePath is not set */
export function candidateRoutes(view: ShadowView | null): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/rules/candidate',
      access: 'viewer',
      operation: operation(
        'Reports how the candidate rules (rules.candidatePath) differ from the rules in force on recent calls.',
        { answer: 'Trial', errors: [404] },
      ),
      async answer() {
        if (view === null) {
          throw new GatewayError('not_found', 'There are no candidate rules; set rules.candidatePath.')
        }
        const { current, errors } = view.rules
        const { sinceMs, calls, changed, skipped, differences, samples } = view.shadow.report()
        return ok({
          path: view.path,
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
