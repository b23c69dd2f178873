// The second reader of a log that is checked by two: a thread that reads it by itself, from the file, and says what came
// of its hashes and its tree. Nothing but verdicts goes from one to the other. This file is both ends, the thread run by
// itself.

import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads'
import type { DumpedEntry } from '../audit/dump.ts'
import { TreePart } from '../audit/log-parts.ts'
import type { LogVerdict } from '../audit/log-verify.ts'
import { type KnownBefore, LogSurvey } from '../audit/survey.ts'
import { isObject } from '../core/json.ts'
import { DirectorySource } from './directory.ts'
import { ExportSource } from './exportfile.ts'
import type { LogPlace, LogReader, LogSource } from './source.ts'

/** What came of it: only if all was in order here. */
export interface TreeOutcome {
  /** If the chain is in order as well. */
  readonly verdict: LogVerdict
  /** Hash of the first entry. */
  readonly first: string | null
  /** Parts of the tree that are not as they were kept. */
  readonly wrongNodes: number
}

interface Task {
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
    const task: Task = { place, known, lastSeq }
    this.#isExport = place.kind === 'export'
    this.#worker = new Worker(import.meta.filename, { workerData: task })
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

/** Gives entries to the tree, as far as they are wanted. */
class TreeReader implements LogReader {
  first: string | null = null
  lastSeq: number
  wrongNodes = 0
  isWanted = true
  readonly tree: TreePart

  constructor(source: LogSource, survey: LogSurvey, lastSeq: number) {
    this.lastSeq = lastSeq
    this.tree = new TreePart(survey, (level, index, node) => {
      this.wrongNodes += Number(!source.agrees(level, index, node))
    })
  }

  entry(entry: DumpedEntry, seq: number | null): boolean {
    if (!this.isWanted || (seq ?? 0) > this.lastSeq) return false
    this.first ??= entry.hash
    return this.tree.push(entry, seq)
  }

  exchange(): void {
    // The other reader holds it against its entry.
  }

  checkpoint(): void {
    // The survey has seen them all.
  }

  progress(): void {
    // The other reader's is told.
  }
}

/** In the thread. */
async function readTree({ place, known, lastSeq }: Task, port: MessagePort): Promise<void> {
  const end = new Promise<number | null>((resolve) => port.once('message', resolve))
  const source = place.kind === 'directory' ? new DirectorySource(place.path) : new ExportSource(place.path)
  try {
    const survey = new LogSurvey(known)
    const first = await source.survey(survey, () => {})
    const reader = new TreeReader(source, survey, lastSeq)
    void end.then((seq) => {
      reader.isWanted = seq !== null
    })
    let fault = await source.read(reader)
    const endSeq = await end
    if (endSeq === null || reader.first !== first) return
    if (fault === null && endSeq > lastSeq) {
      // The log has grown while it was read.
      reader.lastSeq = endSeq
      fault = await source.read(reader, lastSeq + 1)
    }
    const verdict = fault === null ? reader.tree.finish() : null
    if (verdict === null) return
    const outcome: TreeOutcome = { verdict, first, wrongNodes: reader.wrongNodes }
    port.postMessage(outcome)
  } finally {
    await source.close()
  }
}

// This file also is loaded by threads that are something else.
if (parentPort !== null && isTask(workerData)) await readTree(workerData, parentPort)

function isTask(data: unknown): data is Task {
  return isObject(data) && 'place' in data && 'known' in data && 'lastSeq' in data
}
