// Holds the candidate rule set, which shadow evaluation judges calls by. It comes from files of its
// own; API rules and overrides are not part of it. Knows nothing of calls.

import type { PiiKind } from '../core/finding.ts'
import type { Problem } from '../core/problem.ts'
import type { RuleSet } from '../policy/compile.ts'
import { ruleSetOf } from './rule-set.ts'
import { problemsOf, type RuleSnapshot } from './snapshot.ts'

export class CandidateRules {
  readonly #openKinds: readonly PiiKind[]
  #current: RuleSet | null = null
  #errors: readonly Problem[] = []

  /** @param openKinds that the configuration defines */
  constructor(openKinds: readonly PiiKind[] = []) {
    this.#openKinds = openKinds
  }

  /** The last candidate without errors; null before the first. */
  get current(): RuleSet | null {
    return this.#current
  }

  /** Errors in the newest files; the candidate stays the one before while there are any. */
  get errors(): readonly Problem[] {
    return this.#errors
  }

  /** Takes the files whole or not at all. Returns the errors in them. */
  replaceFiles(snapshot: RuleSnapshot): readonly Problem[] {
    const problems = problemsOf(snapshot, this.#openKinds)
    this.#errors = problems
    if (problems.length === 0) this.#current = ruleSetOf(snapshot.rules, this.#openKinds)
    return problems
  }
}
