// Reads the newest calls of the log as they are sealed, oldest first. A reader keeps its position,
// which stays valid while calls are added and pruned.

import type { UsageView } from '../../audit/entry-fields.ts'
import type { Environment } from '../environment/journaled.ts'
import { summarySeq, u64 } from '../tables/layout.ts'
import { readLogState } from './batch.ts'
import { readRequest, viewOf } from './query.ts'

/** Positions of the calls that are stored: from `first` on, before `end`. */
export interface StoredCalls {
  readonly first: number
  readonly end: number
  /** Sequence number of the newest entry of any type. */
  readonly headSeq: number
}

export class CallTail {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Returns what is stored now. Later reads, up to the next await, see the same. */
  stored(): StoredCalls {
    this.#environment.refresh()
    const state = readLogState(this.#environment.tables)
    return state === null
      ? { first: 0, end: 0, headSeq: 0 }
      : { first: state.firstRequest, end: state.nextRequest, headSeq: state.seq }
  }

  /** Returns the position of the first stored call whose sequence number is above `seq`. */
  positionAfter(seq: number): number {
    const { first, end } = this.stored()
    let low = first
    let high = end
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const row = this.#environment.tables.requests.get(u64(middle))
      if (row === undefined || summarySeq(row) <= seq) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Returns the call at a position; null when it is not stored. */
  call(position: number): UsageView | null {
    const { tables } = this.#environment
    const row = tables.requests.get(u64(position))
    const entry = row === undefined ? null : readRequest(tables, summarySeq(row))
    return entry === null ? null : viewOf(tables, entry)
  }
}
