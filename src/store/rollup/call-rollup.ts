// Counts the calls of one transaction into the hour in which they are sealed.

import type { SealedRequest } from '../../audit/entry.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { CallGroups, type CountedUser, groupHash } from '../../usage/call-groups.ts'
import type { Combination } from '../../usage/combination.ts'
import { dayOfHour, hourOf } from '../../usage/periods.ts'
import { readJson, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { admitCombination, findCombination } from './combinations.ts'
import type { StoredPart } from './counted-parts.ts'
import { addToOpen, beginOpen } from './packed-sums.ts'

const BEGIN_KEY = Buffer.from('rollups')

interface RollupBegin {
  readonly firstHour: number
  /** For tools and runs; absent in a store of an older release. */
  readonly firstPartHour?: number
  /** From which on refused calls are counted apart; absent in a store of an older release. */
  readonly firstRefusedHour?: number
}

/**
 * The first hour from which on a part of every call is counted; `refused` for refused and answered
 * calls. Null in a store without such rollups. In hours before the first of `refused`, the sum
 * `blocked` has the calls refused for their model or a tool, too.
 */
export function readFirstHour({ meta }: StoreTables, part: StoredPart | 'refused'): number | null {
  const row = meta.get(BEGIN_KEY)
  if (row === undefined) return null
  const { firstHour, firstPartHour = null, firstRefusedHour = null } = readJson<RollupBegin>(row)
  if (part === 'refused') return firstRefusedHour
  return part === 'call' ? firstHour : firstPartHour
}

/** Runs inside a transaction. */
export function writeFirstHour(
  { meta }: StoreTables,
  firstHour: number,
  firstPartHour = firstHour,
  firstRefusedHour = firstHour,
): void {
  const begin: RollupBegin = { firstHour, firstPartHour, firstRefusedHour }
  meta.put(BEGIN_KEY, writeJson(begin))
}

/** The calls that one transaction seals. */
export class CallRollup {
  readonly #tables: StoreTables
  readonly #hour: number
  readonly #groups = new CallGroups()

  /** @param nowMs when the calls are sealed */
  constructor(tables: StoreTables, nowMs: Milliseconds) {
    this.#tables = tables
    this.#hour = hourOf(nowMs)
  }

  add(entry: SealedRequest, user: CountedUser | null): void {
    this.#groups.add(entry, user)
  }

  /** Writes one row for each combination. */
  write(): void {
    const tables = this.#tables
    for (const group of this.#groups.values()) {
      const { sums } = group
      const known = findCombination(tables, groupHash(group))
      // Most calls follow one of the same hour, which was admitted.
      if (known !== null && addToOpen(tables, this.#hour, known, sums)) continue
      const number = this.#admit(group.combination())
      if (!addToOpen(tables, this.#hour, number, sums)) beginOpen(tables, this.#hour, number, sums)
    }
  }

  #admit(combination: Combination): number {
    // The calls that an older release sealed in this hour are not counted.
    const next = this.#hour + 1
    if (readFirstHour(this.#tables, 'refused') === null)
      writeFirstHour(
        this.#tables,
        readFirstHour(this.#tables, 'call') ?? next,
        readFirstHour(this.#tables, 'run') ?? next,
        next,
      )
    return admitCombination(this.#tables, combination, dayOfHour(this.#hour))
  }
}
