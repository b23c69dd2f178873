// Every rule set that was ever in force, by its revision: sealed in the log once, and kept for as long as the store,
// so that the policy that decided a call can still be read years later. What rules mean is not known here.

import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Rule } from '../policy/rule.ts'
import { readJson, u64, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'
import type { UsageLog } from './log.ts'

/** What one entry takes of declarations, bytes, so that it stays below what an entry may hold. */
const PART_BYTES = 196_608
/** Longest revision that is looked up, characters. */
const MAX_REVISION_CHARACTERS = 64

export interface PolicyRevision {
  readonly revision: string
  /** RFC 3339. */
  readonly firstSeenAt: string
  readonly rules: readonly JsonObject[]
}

interface StoredRevision extends PolicyRevision {
  /** Of the last entry that holds the set. */
  readonly seq: number
}

export class PolicyStore {
  readonly #environment: Environment
  readonly #log: UsageLog
  readonly #clock: Clock

  constructor(environment: Environment, log: UsageLog, clock: Clock) {
    this.#environment = environment
    this.#log = log
    this.#clock = clock
  }

  /**
   * Seals that a rule set is in force; with every declaration in it unless an entry that is still there has them.
   * @returns how many entries that took
   * @throws GatewayError `audit_unavailable` (rejects)
   */
  async seal(revision: string, rules: readonly Rule[]): Promise<number> {
    const { policies, entries } = this.#environment.tables
    const place = Buffer.from(revision)
    this.#environment.refresh()
    const known = this.#read(place)
    const kept = known !== null && entries.get(u64(known.seq)) !== undefined
    const parts = kept ? [null] : partsOf(rules.map(declarationOf))
    for (const [index, declarations] of parts.entries()) {
      const part = { part: index + 1, parts: parts.length, declarations }
      const last = !kept && index === parts.length - 1
      await this.#log.change(() => {
        const firstSeenAt = known?.firstSeenAt ?? new Date(this.#clock.now()).toISOString()
        const stored = { revision, firstSeenAt, rules: parts.flatMap((one) => one ?? []) }
        return {
          draft: { type: 'rules_loaded', revision, rules: rules.length, ...part },
          write: (seq) => {
            if (last) policies.put(place, writeJson({ ...stored, seq }))
          },
          result: undefined,
        }
      })
    }
    return parts.length
  }

  /** Null for a revision that was never in force here. */
  find(revision: string): PolicyRevision | null {
    if (revision === '' || revision.length > MAX_REVISION_CHARACTERS) return null
    this.#environment.refresh()
    return this.#read(Buffer.from(revision))
  }

  #read(place: Buffer): StoredRevision | null {
    const bytes = this.#environment.tables.policies.get(place)
    return bytes === undefined ? null : readJson<StoredRevision>(bytes)
  }
}

/** A rule as it is declared, and nothing that is known of it besides. */
function declarationOf({ id, name, type, pattern, action, enabled, description, match }: Rule): JsonObject {
  return {
    ...{ id, name, type, pattern, action, enabled },
    ...(description === undefined ? {} : { description }),
    ...(match === undefined ? {} : { match: structuredClone(match) as JsonObject }),
  }
}

/** At least one, however few there are. */
function partsOf(declarations: readonly JsonObject[]): JsonObject[][] {
  const parts: JsonObject[][] = [[]]
  let bytes = 0
  for (const declaration of declarations) {
    const length = Buffer.byteLength(JSON.stringify(declaration))
    if (bytes > 0 && bytes + length > PART_BYTES) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(declaration)
    bytes += length
  }
  return parts
}
