// Counts the calls of one transaction into the hour in which they are sealed.

import { wellFormed } from '../../audit/canonical.ts'
import type { SealedRequest } from '../../audit/entry.ts'
import { type SealedTool, SUMMED_FIELDS, type SummedField } from '../../audit/entry-fields.ts'
import { stoppedBy } from '../../audit/security.ts'
import { costOfEntry } from '../../audit/usage-view.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { readJson, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { CallSums, type CallValues } from './call-sums.ts'
import { admitCombination, type Combination, combinationHash, findCombination } from './combinations.ts'
import type { CountedPart } from './counted-parts.ts'
import { addToOpen, beginOpen } from './packed-sums.ts'
import { dayOfHour, hourOf } from './rollup-periods.ts'

const BEGIN_KEY = Buffer.from('rollups')

/** An end user as rollups name it. */
export interface CountedUser {
  readonly user: string
  /** In hex; null for a user that was erased. */
  readonly hash: string | null
}

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
export function readFirstHour({ meta }: StoreTables, part: CountedPart | 'refused'): number | null {
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

function combinationOf(entry: SealedRequest, user: CountedUser | null): Combination {
  return {
    api: entry.api ?? 'chat',
    key: entry.key_id,
    key_name: entry.key_name,
    labels: entry.labels ?? {},
    model: entry.model,
    upstream: entry.upstream ?? null,
    user: user === null ? null : wellFormed(user.user),
    user_hash: user?.hash ?? null,
  }
}

function valuesOf(entry: SealedRequest): CallValues {
  const cost = costOfEntry(entry)
  const tools = entry.tools ?? []
  const stopped = stoppedBy(entry)
  const fields = {} as Record<SummedField, number>
  for (const { name } of SUMMED_FIELDS) fields[name] = Number(entry[name] ?? 0)
  return {
    ...fields,
    requests: 1,
    blocked: Number(stopped === 'blocked'),
    refused: Number(stopped === 'refused'),
    answered: Number(entry.outcome === 'ok' || entry.total_tokens > 0),
    cost: cost ?? 0,
    priced_requests: Number(cost !== null),
    unpriced_requests: Number(cost === null && entry.total_tokens > 0),
    tool_calls: tools.reduce((sum, { called }) => sum + called, 0),
    tool_refusals: tools.reduce((sum, { refused }) => sum + refused, 0),
  }
}

const NO_VALUES = new CallSums().values() as CallValues

/** Returns what a call adds to its tools: tokens, cost and answer only to those that it called. */
function toolValues(values: CallValues): (tool: SealedTool) => CallValues {
  const { requests, blocked, refused } = values
  const defined: CallValues = { ...NO_VALUES, requests, blocked, refused }
  return ({ called, refused }) =>
    called + refused === 0
      ? defined
      : { ...(called > 0 ? values : defined), tool_calls: called, tool_refusals: refused }
}

/** Some calls of one combination. */
interface CallGroup {
  /** The values of the combination. */
  readonly name: string
  readonly hasUser: boolean
  combination(): Combination
  readonly sums: CallSums
}

/** Maximum hashes of combinations that are remembered. */
const MAXIMUM_REMEMBERED_HASHES = 10_000
/** By the name of the group. Agents define the same tools in every call. */
const hashes = new Map<string, Buffer>()

function hashOf({ name, combination }: CallGroup): Buffer {
  let hash = hashes.get(name)
  if (hash === undefined) {
    hash = combinationHash(combination())
    if (hashes.size >= MAXIMUM_REMEMBERED_HASHES) hashes.clear()
    hashes.set(name, hash)
  }
  return hash
}

/** Sums of some calls by their combination, in the order of the first call of each. */
export class CallGroups {
  /** By the values of the fields, whose text is made faster than canonical JSON. */
  readonly #groups = new Map<string, CallGroup>()

  get size(): number {
    return this.#groups.size
  }

  add(entry: SealedRequest, user: CountedUser | null): void {
    const { api = '', key_id, key_name, labels, model, upstream = '' } = entry
    const named = labels === undefined ? '' : JSON.stringify(labels)
    const shared = `${api}\n${key_id}\n${JSON.stringify([key_name, model, upstream])}\n${named}`
    const name = `${shared}\n${user?.hash ?? ''}\n${user?.user ?? ''}`
    const values = valuesOf(entry)
    this.#groupOf(name, () => combinationOf(entry, user), user !== null).addCall(values)
    const { tools = [], run } = entry
    const valuesOfTool = toolValues(values)
    for (const tool of tools)
      this.#groupOf(`${shared}\nt${tool.name}`, () => ({
        ...combinationOf(entry, null),
        tool: tool.name,
      })).addCall(valuesOfTool(tool))
    if (run !== undefined)
      this.#groupOf(`${shared}\nr${run}`, () => ({ ...combinationOf(entry, null), run })).addCall(values)
  }

  #groupOf(name: string, combination: () => Combination, hasUser = false): CallSums {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { name, hasUser, combination, sums: new CallSums() }
      this.#groups.set(name, group)
    }
    return group.sums
  }

  values(): Iterable<CallGroup> {
    return this.#groups.values()
  }
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
      // A user who may be erased must not stay in memory.
      const hash = group.hasUser ? combinationHash(group.combination()) : hashOf(group)
      const known = findCombination(tables, hash)
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
