// A whole rule set on trial: read from files of its own, compiled as it would be in force, and judged beside the
// rules that are. Nothing of the API's is part of it. Knows nothing of calls.

import type { Problem } from '../core/problem.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import { revisionOf } from './declaration.ts'
import type { RuleSnapshot } from './snapshot.ts'

export class CandidateRules {
  #current: RuleSet | null = null
  #errors: readonly Problem[] = []

  /** The candidate as it was last read without a mistake; null before that. */
  get current(): RuleSet | null {
    return this.#current
  }

  /** Why the files as they are now are not on trial. */
  get errors(): readonly Problem[] {
    return this.#errors
  }

  /** Takes the files whole or not at all, as the rules in force are taken. */
  replaceFiles({ rules, problems }: RuleSnapshot): void {
    this.#errors = problems
    if (problems.length === 0) this.#current = compileRules(rules, revisionOf(rules))
  }
}
