// Stores every rule set that was in force, by revision: sealed in the log once and stored within a
// limit, so the policy of a call stays readable after its entry is pruned. Does not interpret
// rules.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { GATEWAY_ACTOR } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import type { Rule } from '../../policy/rule.ts'
import { sealedParts, sealedRule } from '../../policy/sealed-rules.ts'
import type { Environment } from '../environment/journaled.ts'
import type { UsageLog } from '../log/log.ts'
import { readJson, u64, writeJson } from '../tables/layout.ts'

/**
 * Share of `audit.maxBytes` for rule sets, and its maximum: rule changes must not displace usage.
 */
const POLICY_SHARE = 1 / 16
const MAXIMUM_POLICY_BYTES = 32 * 1024 ** 2
/** Longest revision to look up, characters. */
const MAXIMUM_REVISION_CHARACTERS = 64

/** Maximum versions of a rule that are listed; older ones are left out. */
const MAXIMUM_VERSIONS = 200

/** What a rule said from one stored rule set on. */
export interface RuleVersion {
  readonly revision: string
  /** When the set was first in force, RFC 3339. */
  readonly firstSeenAt: string
  /** Null when the set did not have the rule. */
  readonly rule: JsonObject | null
}

export interface PolicyRevision {
  readonly revision: string
  /** RFC 3339. */
  readonly firstSeenAt: string
  readonly rules: readonly JsonObject[]
}

interface StoredRevision extends PolicyRevision {
  /** Sequence number of the first entry that holds the set; the oldest set is evicted first. */
  readonly seq: number
}

export class PolicyStore {
  readonly #environment: Environment
  readonly #log: UsageLog
  readonly #clock: Clock
  readonly #maxBytes: number
  /** Bytes of each stored rule set, oldest first. */
  #sizes: Map<string, number> | null = null

  /** @param maxBytes limit of the whole store */
  constructor(environment: Environment, log: UsageLog, clock: Clock, maxBytes: number) {
    this.#environment = environment
    this.#log = log
    this.#clock = clock
    this.#maxBytes = Math.min(maxBytes * POLICY_SHARE, MAXIMUM_POLICY_BYTES)
  }

  /**
   * Seals that a rule set is in force, with its declarations unless a stored entry already holds
   * them.
   * @throws GatewayError `audit_unavailable` (rejects)
   */
  async seal(revision: string, rules: readonly Rule[]): Promise<void> {
    const { policies, entries } = this.#environment.tables
    const rowKey = Buffer.from(revision)
    this.#environment.refresh()
    const existing = this.#read(rowKey)
    const isSealed = existing !== null && entries.get(u64(existing.seq)) !== undefined
    let first = 0
    let evicted: readonly string[] = []
    let size = 0
    const parts = isSealed ? [null] : sealedParts(rules.map(sealedRule))
    for (const [index, declarations] of parts.entries()) {
      const part = { part: index + 1, parts: parts.length, declarations }
      const isLast = !isSealed && index === parts.length - 1
      await this.#log.change(() => {
        const firstSeenAt = existing?.firstSeenAt ?? isoTime(this.#clock.now())
        const stored = { revision, firstSeenAt, rules: parts.flatMap((one) => one ?? []) }
        return {
          draft: { type: 'rules_loaded', revision, rules: rules.length, ...part, actor: GATEWAY_ACTOR },
          write: (seq) => {
            if (index === 0) first = seq
            if (!isLast) return
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
    // Updated after the commit, which may fail.
    for (const other of [...evicted, revision]) if (size > 0) this.#sizes?.delete(other)
    if (size > 0) this.#sizes?.set(revision, size)
  }

  /** Returns null for a revision that was never in force here, or was evicted. */
  find(revision: string): PolicyRevision | null {
    if (revision === '' || revision.length > MAXIMUM_REVISION_CHARACTERS) return null
    this.#environment.refresh()
    return this.#read(Buffer.from(revision))
  }

  /**
   * Returns the versions of a rule in the stored sets, newest first, each where it was first in
   * force; none for an unknown rule.
   */
  async versionsOf(ruleId: string): Promise<RuleVersion[]> {
    this.#environment.refresh()
    const found: (RuleVersion & { readonly seq: number })[] = []
    for (const rowKey of [...this.#environment.tables.policies.keys()]) {
      // A set may have thousands of rules.
      await nextTurn()
      this.#environment.refresh()
      const stored = this.#read(rowKey)
      if (stored === null) continue
      const { revision, firstSeenAt, seq, rules } = stored
      found.push({ revision, firstSeenAt, seq, rule: rules.find(({ id }) => id === ruleId) ?? null })
    }
    const versions: RuleVersion[] = []
    for (const { seq: _, ...version } of found.sort((a, b) => a.seq - b.seq))
      if (!isDeepStrictEqual(version.rule, versions.at(-1)?.rule ?? null)) versions.push(version)
    return versions.slice(-MAXIMUM_VERSIONS).reverse()
  }

  /** Returns the rule sets to evict for a new one, oldest first. */
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
    const revisions = [...rows].map(({ value }) => ({
      ...readJson<StoredRevision>(value),
      bytes: value.length,
    }))
    return new Map(revisions.sort((a, b) => a.seq - b.seq).map(({ revision, bytes }) => [revision, bytes]))
  }

  #read(rowKey: Buffer): StoredRevision | null {
    const bytes = this.#environment.tables.policies.get(rowKey)
    return bytes === undefined ? null : readJson<StoredRevision>(bytes)
  }
}
