// Counts calls at a time for limits of parallel calls. In memory: a process that ends has no calls.

import type { RuleReference } from '../../policy/rule.ts'

/** A place among the calls at a time of a limit. */
export interface PlaceRequest {
  /** Null for the key's own limit. */
  readonly rule: RuleReference | null
  readonly subject: string
  readonly amount: number
  /** Enters even when there is no place, for a limit that only monitors. */
  readonly force: boolean
}

/** How a request for a place ends. */
export interface Place {
  readonly allowed: boolean
  /** Places left. */
  readonly remaining: number
  /** Gives the place back; further calls do nothing. */
  readonly end: () => void
  /** True when no hub answered, so that there may be a place. */
  readonly isAway?: boolean
}

export class ParallelCalls {
  /** Running calls by the name of their count; only counts above 0, so as many as calls at most. */
  readonly #counts = new Map<string, number>()

  enter({ rule, subject, amount, force }: PlaceRequest): Place {
    const name = countName(rule, subject)
    const left = amount - this.#running(name)
    const allowed = left > 0
    return { allowed, remaining: Math.max(0, left - 1), end: allowed || force ? this.#begin(name) : NOTHING }
  }

  /** How many calls have a place now. */
  running(rule: PlaceRequest['rule'], subject: string): number {
    return this.#running(countName(rule, subject))
  }

  #running(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  #begin(name: string): () => void {
    this.#counts.set(name, this.#running(name) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = this.#running(name) - 1
      if (left > 0) this.#counts.set(name, left)
      else this.#counts.delete(name)
    }
  }
}

const countName = (rule: PlaceRequest['rule'], subject: string): string => `${rule?.id ?? ''}\0${subject}`

const NOTHING = () => {}
