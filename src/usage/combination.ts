// What sums of usage are counted by: the fields of a combination, which part of a call it counts,
// and what replaces its values beyond the bounds of a day. Clients can name any model, user, tool
// and run.

import { hash as digest } from 'node:crypto'
import { canonicalize } from '../audit/canonical.ts'
import type { KeyLabels } from '../core/key-terms.ts'

/** What calls are grouped by. */
export type Combination = {
  readonly key: string
  readonly key_name: string
  readonly model: string
  readonly api: string
  readonly upstream: string | null
  readonly labels: KeyLabels
  /** As people see the user; null without one. */
  readonly user: string | null
  /** In hex, to find the rows of a user; null for OTHER and ERASED. */
  readonly user_hash: string | null
  /** Only where the sums are of the part of calls with one tool, which have no user. */
  readonly tool?: string
  /** Only where the sums are of the calls of one run, which have no user. */
  readonly run?: string
  /** Only where the sums are of the calls of one sidecar, which have no user. */
  readonly sidecar?: string
}

/** Model, user, tool, run or sidecar of the calls beyond the bounds. */
export const OTHER = 'other'
/** User of calls whose user was erased. */
export const ERASED = 'erased'

/**
 * What sums can be of: whole calls, the part of calls with one tool, or the calls of one run or
 * sidecar. A gateway does not count by sidecar.
 */
const PARTS = ['call', 'tool', 'run', 'sidecar'] as const
export type CountedPart = (typeof PARTS)[number]

export const partOf = ({ tool, run, sidecar }: Combination): CountedPart =>
  tool !== undefined ? 'tool' : run !== undefined ? 'run' : sidecar !== undefined ? 'sidecar' : 'call'

/** Returns the part that a report by these fields reads. */
export const partOfReport = (groupBy: readonly string[]): CountedPart =>
  PARTS.find((part) => groupBy.includes(part)) ?? 'call'

/** Maximum users of a UTC day with rows of their own. */
const MAXIMUM_USERS_OF_DAY = 10_000
/** Maximum tools of a UTC day with rows of their own. */
const MAXIMUM_TOOLS_OF_DAY = 200
/**
 * Maximum combinations of a UTC day, and so of an hour. Beyond it model and user are OTHER; keys,
 * APIs and upstreams are as many as the operator has.
 */
export const MAXIMUM_COMBINATIONS_OF_DAY = 12_000
/** The same for combinations with a tool, a run and a sidecar. */
const MAXIMUM_TOOL_COMBINATIONS_OF_DAY = 2000
const MAXIMUM_RUN_COMBINATIONS_OF_DAY = 6000
const MAXIMUM_SIDECAR_COMBINATIONS_OF_DAY = 12_000
/** Maximum runs that are named; the one that was idle for the most days is forgotten first. */
const MAXIMUM_KEPT_RUNS = 40_000

/** Values of which a day has only so many. */
export type BoundedCount = 'users' | 'tools'

export interface RollupBounds extends Readonly<Record<BoundedCount, number>> {
  readonly combinations: Readonly<Record<CountedPart, number>>
  readonly runs: number
}

export const ROLLUP_BOUNDS: RollupBounds = {
  users: MAXIMUM_USERS_OF_DAY,
  tools: MAXIMUM_TOOLS_OF_DAY,
  combinations: {
    call: MAXIMUM_COMBINATIONS_OF_DAY,
    tool: MAXIMUM_TOOL_COMBINATIONS_OF_DAY,
    run: MAXIMUM_RUN_COMBINATIONS_OF_DAY,
    sidecar: MAXIMUM_SIDECAR_COMBINATIONS_OF_DAY,
  },
  runs: MAXIMUM_KEPT_RUNS,
}

/** A value of a combination of which a day has only so many. */
interface BoundedValue {
  readonly count: BoundedCount
  /** Bytes that name the value. */
  readonly name: Buffer
  /** The combination beyond the bound. */
  readonly rest: Combination
}

const hashOf = (json: string): Buffer => digest('sha256', json, 'buffer')

/** Returns null for a combination whose values are not bounded, or are OTHER. */
export function boundedValue(combination: Combination): BoundedValue | null {
  const { user_hash: hash, tool } = combination
  if (hash !== null) {
    const rest = { ...combination, user: OTHER, user_hash: null }
    return { count: 'users', name: Buffer.from(hash, 'hex'), rest }
  }
  if (tool === undefined || tool === OTHER) return null
  return { count: 'tools', name: hashOf(tool), rest: { ...combination, tool: OTHER } }
}

/** The combination that counts what is beyond the combinations of a day. */
export const restOf = (combination: Combination): Combination => ({
  ...combination,
  model: OTHER,
  user: combination.user === null ? null : OTHER,
  user_hash: null,
  ...(combination.tool !== undefined && { tool: OTHER }),
  ...(combination.run !== undefined && { run: OTHER }),
  ...(combination.sidecar !== undefined && { sidecar: OTHER }),
})

/** The text by which combinations are equal. */
export const combinationText = (combination: Combination): string => canonicalize(combination)

/** The hash of the text of a combination. */
export const hashOfText = hashOf
export const combinationHash = (combination: Combination): Buffer => hashOf(combinationText(combination))
