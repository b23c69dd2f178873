// Which limits the rules of a hub declare. Those hold over its fleet; those of other rules hold in
// one process.

import { declaredLimits } from './compile.ts'
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

/** A limit with the rule that declares it, which may be switched off. */
export interface DeclaredLimit<Declared> {
  readonly limit: UsageLimit
  readonly rule: Declared
}

/**
 * The limits of a hub that hold over its fleet, by their count. A limit of a run or an end user
 * holds in each process: clients name any number of those, and a hub would keep rows for each.
 */
export class FleetLimits<Declared extends Rule> implements HubRules {
  readonly #parsed: () => readonly ParsedRule<Declared>[]
  readonly #isOfHub: (rule: Declared) => boolean
  #known: readonly ParsedRule<Declared>[] | null = null
  #limits: ReadonlyMap<string, DeclaredLimit<Declared>> = new Map()

  /** @param parsed the rules, disabled ones included; another list for each change */
  constructor(
    parsed: () => readonly ParsedRule<Declared>[],
    isOfHub: (rule: Declared) => boolean = () => true,
  ) {
    this.#parsed = parsed
    this.#isOfHub = isOfHub
  }

  limitOf(count: string): UsageLimit | null {
    const found = this.declared(count)
    return found?.rule.enabled === true ? found.limit : null
  }

  /** As `limitOf`, also for a rule that is switched off. */
  declared(count: string): DeclaredLimit<Declared> | null {
    const parsed = this.#parsed()
    if (parsed !== this.#known) {
      this.#known = parsed
      this.#limits = this.#read(parsed.filter(({ rule }) => this.#isOfHub(rule)))
    }
    return this.#limits.get(count) ?? null
  }

  #read(parsed: readonly ParsedRule<Declared>[]): ReadonlyMap<string, DeclaredLimit<Declared>> {
    const rules = new Map(parsed.map(({ rule }) => [rule.id, rule]))
    const limits = declaredLimits(parsed).filter(({ scope }) => isBoundedScope(scope))
    return new Map(limits.map((limit) => [countOf(limit), { limit, rule: rules.get(limit.rule.id)! }]))
  }
}
