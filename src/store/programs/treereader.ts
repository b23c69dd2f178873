// What the second reader of a log does, see treethread.ts: a program, run in a thread of its own.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { DumpedEntry } from '../../audit/dump.ts'
import { TreePart } from '../../audit/log-parts.ts'
import { LogSurvey } from '../../audit/survey.ts'
import { DirectorySource } from '../verification/directory.ts'
import { ExportSource } from '../verification/exportfile.ts'
import type { LogReader, LogSource } from '../verification/log-source.ts'
import type { TreeOutcome, TreeTask } from '../verification/treethread.ts'

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

async function readTree({ place, known, lastSeq }: TreeTask, port: MessagePort): Promise<void> {
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

if (parentPort !== null) void readTree(workerData as TreeTask, parentPort)
