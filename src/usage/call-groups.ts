// Sums calls by what they are counted by, before the sums are stored: as they are, by each tool, by
// their run, and at a hub by their sidecar. Knows neither periods nor bounds.

import { wellFormed } from '../audit/canonical.ts'
import type { SealedRequest } from '../audit/entry.ts'
import { type SealedTool, SUMMED_FIELDS, type SummedField } from '../audit/entry-fields.ts'
import { stoppedBy } from '../audit/security.ts'
import { costOfEntry } from '../audit/usage-view.ts'
import { CallSums, type CallValues, SUM_HALVES } from './call-sums.ts'
import { type Combination, combinationHash, partOf } from './combination.ts'

/** Members of a call's entry that say what it is counted by, with its tools and its version. */
const GROUPED_MEMBERS = ['api', 'key_id', 'key_name', 'labels', 'model', 'upstream', 'tools', 'run'] as const

/** Members that say how a call ended. */
const ENDING_MEMBERS = ['outcome', 'blocked', 'error_code', 'rules'] as const

/** Members of a call's entry that sums are made of. */
export const COUNTED_MEMBERS = [
  ...GROUPED_MEMBERS,
  ...ENDING_MEMBERS,
  'total_tokens',
  ...SUMMED_FIELDS.map(({ name }) => name),
] as const

/** What sums need of a call's entry. */
export type CountedCall = Pick<
  SealedRequest,
  'v' | 'total_tokens' | SummedField | (typeof GROUPED_MEMBERS | typeof ENDING_MEMBERS)[number]
>

/** An end user as rollups name it. */
export interface CountedUser {
  readonly user: string
  /** In hex; null for a user that was erased. */
  readonly hash: string | null
}

function combinationOf(call: CountedCall, user: CountedUser | null): Combination {
  return {
    api: call.api ?? 'chat',
    key: call.key_id,
    key_name: call.key_name,
    labels: call.labels ?? {},
    model: call.model,
    upstream: call.upstream ?? null,
    user: user === null ? null : wellFormed(user.user),
    user_hash: user?.hash ?? null,
  }
}

/** Returns what one call adds to the sums of whole calls. */
function valuesOf(call: CountedCall): CallValues {
  const cost = costOfEntry(call)
  const tools = call.tools ?? []
  const stopped = stoppedBy(call)
  const fields = {} as Record<SummedField, number>
  for (const { name } of SUMMED_FIELDS) fields[name] = Number(call[name] ?? 0)
  return {
    ...fields,
    requests: 1,
    blocked: Number(stopped === 'blocked'),
    refused: Number(stopped === 'refused'),
    answered: Number(call.outcome === 'ok' || call.total_tokens > 0),
    cost: cost ?? 0,
    priced_requests: Number(cost !== null),
    unpriced_requests: Number(cost === null && call.total_tokens > 0),
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

/** Returns a text whose end is known before what follows it. */
const sized = (text: string): string => `${text.length}:${text}`

/** Some calls of one combination. */
export interface CallGroup {
  /** The values of the combination. */
  readonly name: string
  /** Those that combinations of one call have in common. */
  readonly shared: string
  readonly hasUser: boolean
  combination(): Combination
  readonly sums: CallSums
}

/** Maximum hashes of combinations that are remembered. */
const MAXIMUM_REMEMBERED_HASHES = 10_000
/** By the name of the group. Agents define the same tools in every call. */
const hashes = new Map<string, Buffer>()

/** Returns the hash of the combination of a group. */
export function groupHash({ name, hasUser, combination }: CallGroup): Buffer {
  // A user who may be erased must not stay in memory.
  if (hasUser) return combinationHash(combination())
  let hash = hashes.get(name)
  if (hash === undefined) {
    hash = combinationHash(combination())
    if (hashes.size >= MAXIMUM_REMEMBERED_HASHES) hashes.clear()
    hashes.set(name, hash)
  }
  return hash
}

/** Maximum sums in one allocation, which takes longer than what it is for. */
const MAXIMUM_ALLOCATED_SUMS = 64

/** Sums of some calls by their combination, in the order of the first call of each. */
export class CallGroups {
  /** By the values of the fields, whose text is made faster than canonical JSON. */
  readonly #groups = new Map<string, CallGroup>()
  /** Those of tools, by what their calls have in common and by name: an agent defines many. */
  readonly #tools = new Map<string, Map<string, CallGroup>>()
  /** Zeros for further sums, from a place on. */
  #halves = new Float64Array(0)
  #usedHalves = 0

  get size(): number {
    return this.#groups.size
  }

  /** Returns what the call added to the sums of whole calls. */
  add(call: CountedCall, user: CountedUser | null): CallValues {
    const { api = '', key_id, key_name, labels, model, upstream = '' } = call
    const named = labels === undefined ? '' : JSON.stringify(labels)
    const shared = `${sized(api)}${sized(key_id)}${sized(key_name)}${sized(model)}${sized(upstream)}${named}`
    const values = valuesOf(call)
    const add = (more: string, combination: () => Combination, of: CallValues, hasUser = false) =>
      this.#groupOf({ name: `${shared}\n${more}`, shared, hasUser, combination }).sums.addCall(of)
    const hasUser = user !== null
    add(hasUser ? `${user.hash}\n${user.user}` : '', () => combinationOf(call, user), values, hasUser)
    const { tools, run } = call
    if (tools !== undefined) {
      const valuesOfTool = toolValues(values)
      for (const tool of tools) this.#toolOf(call, shared, tool.name).sums.addCall(valuesOfTool(tool))
    }
    if (run !== undefined) add(`r${run}`, () => ({ ...combinationOf(call, null), run }), values)
    return values
  }

  /**
   * Adds groups of the calls of one sidecar, and counts whole calls by their sidecar besides. The
   * sums of the groups belong to this one from then on.
   */
  addSidecar(groups: CallGroups, sidecar: string): void {
    for (const group of groups.values()) {
      const before = this.#groups.get(group.name)
      if (before === undefined) this.#groups.set(group.name, group)
      else before.sums.add(group.sums)
      const combination = group.combination()
      if (partOf(combination) !== 'call') continue
      const own = { ...combination, user: null, user_hash: null, sidecar }
      const { shared } = group
      const name = `${shared}\ns${sidecar}`
      this.#groupOf({ name, shared, hasUser: false, combination: () => own }).sums.add(group.sums)
    }
  }

  #toolOf(call: CountedCall, shared: string, tool: string): CallGroup {
    let groups = this.#tools.get(shared)
    if (groups === undefined) {
      groups = new Map()
      this.#tools.set(shared, groups)
    }
    let group = groups.get(tool)
    if (group === undefined) {
      const name = `${shared}\nt${tool}`
      const combination = () => ({ ...combinationOf(call, null), tool })
      group = this.#groupOf({ name, shared, hasUser: false, combination })
      groups.set(tool, group)
    }
    return group
  }

  #groupOf(one: Omit<CallGroup, 'sums'>): CallGroup {
    let group = this.#groups.get(one.name)
    if (group === undefined) {
      group = { ...one, sums: this.#newSums() }
      this.#groups.set(one.name, group)
    }
    return group
  }

  #newSums(): CallSums {
    if (this.#usedHalves === this.#halves.length) {
      const sums = Math.min(MAXIMUM_ALLOCATED_SUMS, Math.max(1, this.#groups.size))
      this.#halves = new Float64Array(sums * SUM_HALVES)
      this.#usedHalves = 0
    }
    const start = this.#usedHalves
    this.#usedHalves += SUM_HALVES
    return new CallSums(this.#halves.subarray(start, this.#usedHalves))
  }

  values(): Iterable<CallGroup> {
    return this.#groups.values()
  }
}
