// Every rule set that was in force, by its revision: sealed in the log once, and kept beside it within a bound, so that
// the policy that decided a call can still be read when its entry is pruned. What rules mean is not known here.

import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import type { Rule } from '../policy/rule.ts'
import { readJson, u64, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'
import type { UsageLog } from './log/log.ts'

/** What one entry takes of declarations, bytes, so that it stays below what an entry may hold. */
const PART_BYTES = 196_608
/** Share of `audit.maxBytes` that rule sets may take, and the most: changing rules must not crowd out usage. */
const POLICY_SHARE = 1 / 16
const MAX_POLICY_BYTES = 32 * 1024 ** 2
/** Longest revision that is looked up, characters. */
const MAX_REVISION_CHARACTERS = 64

export interface PolicyRevision {
  readonly revision: string
  /** RFC 3339. */
  readonly firstSeenAt: string
  readonly rules: readonly JsonObject[]
}

interface StoredRevision extends PolicyRevision {
  /** Of the first entry that holds the set: what goes first. */
  readonly seq: number
}

export class PolicyStore {
  readonly #environment: Environment
  readonly #log: UsageLog
  readonly #clock: Clock
  readonly #maxBytes: number
  /** Bytes of each rule set that is kept, from the one that was sealed first. */
  #sizes: Map<string, number> | null = null

  /** @param maxBytes of the whole store */
  constructor(environment: Environment, log: UsageLog, clock: Clock, maxBytes: number) {
    this.#environment = environment
    this.#log = log
    this.#clock = clock
    this.#maxBytes = Math.min(maxBytes * POLICY_SHARE, MAX_POLICY_BYTES)
  }

  /**
   * Seals that a rule set is in force; with every declaration in it unless an entry that is still there has them.
   * @throws GatewayError `audit_unavailable` (rejects)
   */
  async seal(revision: string, rules: readonly Rule[]): Promise<void> {
    const { policies, entries } = this.#environment.tables
    const rowKey = Buffer.from(revision)
    this.#environment.refresh()
    const known = this.#read(rowKey)
    const kept = known !== null && entries.get(u64(known.seq)) !== undefined
    let first = 0
    let evicted: readonly string[] = []
    let size = 0
    const parts = kept ? [null] : partsOf(rules.map(declarationOf))
    for (const [index, declarations] of parts.entries()) {
      const part = { part: index + 1, parts: parts.length, declarations }
      const last = !kept && index === parts.length - 1
      await this.#log.change(() => {
        const firstSeenAt = known?.firstSeenAt ?? isoTime(this.#clock.now())
        const stored = { revision, firstSeenAt, rules: parts.flatMap((one) => one ?? []) }
        return {
          draft: { type: 'rules_loaded', revision, rules: rules.length, ...part },
          write: (seq) => {
            if (index === 0) first = seq
            if (!last) return
            const bytes = writeJson({ ...stored, seq: first })
            policies.put(rowKey, bytes)
            evicted = this.#evictionsFor(revision, bytes.length)
            for (const other of evicted) policies.remove(Buffer.from(other))
            size = bytes.length
          },
          result: undefined,
        }
      })
    }
    // Only now is it so.
    for (const other of [...evicted, revision]) if (size > 0) this.#sizes?.delete(other)
    if (size > 0) this.#sizes?.set(revision, size)
  }

  /** Null for a revision that was never in force here, or so long ago that others have taken its room. */
  find(revision: string): PolicyRevision | null {
    if (revision === '' || revision.length > MAX_REVISION_CHARACTERS) return null
    this.#environment.refresh()
    return this.#read(Buffer.from(revision))
  }

  /** The rule sets that make room for one: those that were sealed first. */
  #evictionsFor(revision: string, bytes: number): string[] {
    this.#sizes ??= this.#measure()
    const others = [...this.#sizes].filter(([other]) => other !== revision)
    let total = others.reduce((sum, [, size]) => sum + size, bytes)
    const evicted: string[] = []
    for (const [other, size] of others) {
      if (total <= this.#maxBytes) break
      evicted.push(other)
      total -= size
    }
    return evicted
  }

  #measure(): Map<string, number> {
    const rows = this.#environment.tables.policies.rows()
    const kept = [...rows].map(({ value }) => ({ ...readJson<StoredRevision>(value), bytes: value.length }))
    return new Map(kept.sort((a, b) => a.seq - b.seq).map(({ revision, bytes }) => [revision, bytes]))
  }

  #read(rowKey: Buffer): StoredRevision | null {
    const bytes = this.#environment.tables.policies.get(rowKey)
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
