// Stores signed checkpoints and builds the proofs that lead to them. Knows neither the key nor the
// signing schedule.

import type { Checkpoint } from '../../audit/checkpoint.ts'
import { Frontier } from '../../audit/merkle.ts'
import { type ConsistencyProof, type InclusionProof, verifyInclusion } from '../../audit/proof.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import { readU64, u64 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { readLogState } from './batch.ts'
import { readPrunePoint } from './prune.ts'
import { pathToRoot, proveConsistency, proveInclusion } from './tree.ts'

/**
 * Maximum stored checkpoints, about 2 MB. Above it, every second one of the older half is removed,
 * so old ones grow sparse.
 */
const MAXIMUM_CHECKPOINTS = 4096

export interface StoredCheckpoint {
  /** Number of entries that it covers. */
  readonly size: number
  readonly note: string
}

export class Checkpoints {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Returns a checkpoint over all entries that are durable now. */
  describe(nowMs: Milliseconds): Checkpoint {
    this.#environment.refresh()
    const state = readLogState(this.#environment.tables)
    if (state === null) throw new Error('the log has no genesis entry')
    const size = state.seq + 1
    const root = Frontier.read(size, state.frontier).root()
    return { log: state.log, size, root, head: state.hash, time: isoTime(nowMs) }
  }

  /**
   * Stores a signed checkpoint, in place of one with the same size; resolves when it is durable.
   */
  save({ size, note }: StoredCheckpoint): Promise<void> {
    const { checkpoints } = this.#environment.tables
    return this.#environment.transaction(() => {
      checkpoints.put(u64(size), Buffer.from(note))
      if (checkpoints.size > MAXIMUM_CHECKPOINTS) this.#thin()
    })
  }

  /** Number of entries in the log. */
  get size(): number {
    this.#environment.refresh()
    return (readLogState(this.#environment.tables)?.seq ?? -1) + 1
  }

  /**
   * Returns null when pruned entries are needed.
   * @param size at most the number of entries; `seq` is below it
   */
  inclusion(seq: number, size: number): InclusionProof | null {
    this.#environment.refresh()
    const { tables } = this.#environment
    return proveInclusion(tables, readPrunePoint(tables), seq, size)
  }

  /**
   * Proves that entry `seq` is under the root of a checkpoint of this log; null when pruned entries
   * are needed.
   * @throws Error when the stored tree does not lead to that root
   */
  inclusionIn({ size, root }: Checkpoint, seq: number): InclusionProof | null {
    this.#environment.refresh()
    const { tables } = this.#environment
    const path = pathToRoot(tables, readPrunePoint(tables), seq, size)
    if (path === null) return null
    if (verifyInclusion(seq, size, path.leaf, root, path.proof)) return { ...path, root }
    throw new Error(`the stored tree does not lead from entry ${seq} to the root over ${size} entries`)
  }

  /**
   * Returns null when pruned entries are needed.
   * @param size at most the number of entries; `from` is no larger
   */
  consistency(from: number, size: number): ConsistencyProof | null {
    this.#environment.refresh()
    const { tables } = this.#environment
    return proveConsistency(tables, readPrunePoint(tables), from, size)
  }

  /** Runs inside a transaction. */
  #thin(): void {
    const { tables } = this.#environment
    const { checkpoints } = tables
    // Checkpoints over pruned entries can no longer be compared.
    const pruned = checkpoints.keys({ end: u64(readPrunePoint(tables).firstSeq) })
    const older = checkpoints.keys({ limit: MAXIMUM_CHECKPOINTS / 2 })
    const every2nd = older.filter((_, index) => index % 2 === 1)
    for (const key of pruned.length > 0 ? pruned : every2nd) checkpoints.remove(key)
  }
}

/** Returns all stored checkpoints, oldest first. */
export function storedCheckpoints({ checkpoints }: StoreTables): StoredCheckpoint[] {
  return checkpoints.rows().map(({ key, value }) => ({ size: readU64(key), note: value.toString() }))
}
