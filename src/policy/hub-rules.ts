// Which limits the rules of a hub declare. Those hold over its fleet; those of other rules hold in
// one process.

import { enabledLimits } from './compile.ts'
import { countOf, isBoundedScope } from './limit-scope.ts'
import type { ParsedRule } from './parse-rule.ts'
import type { Rule } from './rule.ts'
import type { UsageLimit } from './types/rate-limit.ts'

export interface HubRules {
  /** The limit of a count; null without a rule of the hub in force that holds over the fleet. */
  limitOf(count: string): UsageLimit | null
}

/** A hub without rules. */
export const NO_HUB_RULES: HubRules = { limitOf: () => null }

/**
 * The limits of a hub that hold over its fleet, by their count. A limit of a run or an end user
 * holds in each process: clients name any number of those, and a hub would keep rows for each.
 */
export class FleetLimits<Declared extends Rule> implements HubRules {
  readonly #parsed: () => readonly ParsedRule<Declared>[]
  readonly #isOfHub: (rule: Declared) => boolean
  #known: readonly ParsedRule<Declared>[] | null = null
  #limits: ReadonlyMap<string, UsageLimit> = new Map()

  /** @param parsed the rules in force; another list for each change */
  constructor(
    parsed: () => readonly ParsedRule<Declared>[],
    isOfHub: (rule: Declared) => boolean = () => true,
  ) {
    this.#parsed = parsed
    this.#isOfHub = isOfHub
  }

  limitOf(count: string): UsageLimit | null {
    const parsed = this.#parsed()
    if (parsed !== this.#known) {
      this.#known = parsed
      const limits = enabledLimits(parsed.filter(({ rule }) => this.#isOfHub(rule)))
      this.#limits = new Map(
        limits.filter(({ scope }) => isBoundedScope(scope)).map((limit) => [countOf(limit), limit]),
      )
    }
    return this.#limits.get(count) ?? null
  }
}
