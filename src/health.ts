// What readiness says: rules are loaded and the store takes writes, never whether the upstream is well.

import { formatProblem } from './core/problem.ts'
import type { EffectiveRules } from './rules/effective.ts'
import type { Health } from './server/ops.ts'
import type { Store } from './store/store.ts'

interface HealthParts {
  readonly store: Store
  readonly rules: EffectiveRules
  readonly draining: boolean
  /** Logs set aside in the data folder. */
  readonly quarantines: number
}

export function healthOf({ store, rules, draining, quarantines }: HealthParts): Health {
  const errors = rules.errors().map(formatProblem)
  const isAvailable = store.log.available
  return {
    ready: isAvailable && !draining,
    detail: {
      store: isAvailable ? 'ok' : 'the usage log cannot be written',
      rules: errors.length === 0 ? 'ok' : 'the last good rules are in force',
      rule_errors: errors,
      revision: rules.revision,
      draining,
      quarantines,
    },
  }
}
