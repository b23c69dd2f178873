// The roots of the logs of sidecars that the log of the hubs holds, as far as a verification
// compares them with these logs.

import { readCheckpointRoot } from '../audit/checkpoint.ts'
import { parseObject } from '../audit/survey.ts'
import { isObject } from '../core/json.ts'

/** Logs, and roots of each, to keep. Beyond that every other root goes; the newest stays. */
const MAXIMUM_WITNESSED = 100_000
const MAXIMUM_ROOTS = 256

/** Types of the entries that hold roots: of logs that grew, and of what was dropped of logs. */
export const WITNESS_TYPES: ReadonlySet<unknown> = new Set(['fleet_witness', 'month_dropped'])

/** The size of a log, and its root. */
export interface WitnessedSize {
  readonly size: number
  readonly root: Buffer
  /** Whether a checkpoint of the hubs' log, kept elsewhere, covers the entry that holds it. */
  readonly isElsewhere: boolean
}

interface WitnessedAt {
  readonly size: number
  readonly root: Buffer
  /** Place of the entry in the log of the hubs. */
  readonly seq: number
}

export class WitnessedRoots {
  readonly #roots = new Map<string, WitnessedAt[]>()

  /** Takes an entry of the hubs' log of one of WITNESS_TYPES. Its members may have any value. */
  add(seq: number, body: Buffer): void {
    const logs = parseObject(body)?.['logs']
    for (const one of Array.isArray(logs) ? logs : []) {
      const { log, first_seq: cut, size = cut, root: text } = isObject(one) ? one : {}
      const root = readCheckpointRoot(text)
      if (typeof log !== 'string' || !Number.isSafeInteger(size) || root === null) continue
      this.#keep(log, { size: size as number, root, seq })
    }
  }

  /** Ids of all logs that were witnessed. */
  get logs(): readonly string[] {
    return [...this.#roots.keys()]
  }

  /**
   * Returns the roots of a log, by size.
   * @param coveredSeq newest entry of the hubs' log that a checkpoint kept elsewhere covers
   */
  of(log: string, coveredSeq: number | null): WitnessedSize[] {
    const roots = this.#roots.get(log) ?? []
    return roots.map(({ size, root, seq }) => ({ size, root, isElsewhere: seq <= (coveredSeq ?? -1) }))
  }

  #keep(log: string, root: WitnessedAt): void {
    const roots = this.#roots.get(log) ?? []
    if (roots.length === 0 && this.#roots.size >= MAXIMUM_WITNESSED) return
    roots.push(root)
    const last = roots.length - 1
    const kept = roots.length > MAXIMUM_ROOTS ? roots.filter((_, at) => at % 2 === 0 || at === last) : roots
    this.#roots.set(log, kept)
  }
}
