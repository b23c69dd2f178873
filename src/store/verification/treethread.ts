// The second reader of a log that is checked by two: a thread that reads it by itself, from the file, and says what came
// of its hashes and its tree. Nothing but verdicts goes from one to the other. The thread runs treereader.ts.

import { Worker } from 'node:worker_threads'
import type { LogVerdict } from '../../audit/log-verify.ts'
import type { KnownBefore } from '../../audit/survey.ts'
import { programBeside } from '../programs/beside.ts'
import type { LogPlace } from './log-source.ts'

const READER = programBeside('treereader')

/** What came of it: only if all was in order here. */
export interface TreeOutcome {
  /** If the chain is in order as well. */
  readonly verdict: LogVerdict
  /** Hash of the first entry. */
  readonly first: string | null
  /** Parts of the tree that are not as they were kept. */
  readonly wrongNodes: number
}

/** What the thread is given. */
export interface TreeTask {
  readonly place: LogPlace
  readonly known: KnownBefore
  /** How far to read before the other reader has said where it ended. */
  readonly lastSeq: number
}

export class TreeThread {
  /** Null when anything was wrong, the thread's own end included. Never rejects. */
  readonly outcome: Promise<TreeOutcome | null>
  readonly #worker: Worker
  readonly #isExport: boolean

  /** @param lastSeq of an entry that the other reader comes to as well */
  constructor(place: LogPlace, known: KnownBefore, lastSeq: number) {
    const task: TreeTask = { place, known, lastSeq }
    this.#isExport = place.kind === 'export'
    this.#worker = new Worker(READER, { workerData: task })
    let outcome: TreeOutcome | null = null
    this.#worker.on('message', (message: TreeOutcome | null) => {
      outcome = message
    })
    this.#worker.on('error', () => {
      outcome = null
    })
    this.outcome = new Promise((resolve) => this.#worker.once('exit', () => resolve(outcome)))
  }

  /** To be called once. @param seq where the other reader ended; null when the outcome no longer matters */
  end(seq: number | null): void {
    this.#worker.postMessage(seq)
    // A thread that has the database open closes it by itself, after the page that it reads.
    if (seq === null && this.#isExport) void this.#worker.terminate()
  }
}
