// `sidegate audit export`: writes the log as JSON Lines to standard output, at the speed of the
// reader.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { counted } from '../rulecheck/report.ts'
import type { Environment } from '../store/environment/journaled.ts'
import { type ExportOptions, exportChunks, type Omissions } from '../store/verification/log-export.ts'

const NOTHING_OMITTED: Omissions = { exchanges: 0, prunedSeq: null }

/**
 * Writes the export to `output`, no faster than it is read. A failed output ends the export without
 * an error; the owner of the output reports it.
 */
export async function exportLog(
  environment: Environment,
  options: ExportOptions,
  output: Writable,
): Promise<Omissions> {
  const failed = new AbortController()
  output.on('error', () => failed.abort())
  const chunks = exportChunks(environment, options)
  for (;;) {
    const { done, value } = chunks.next()
    if (done === true) return value
    await write(output, value, failed.signal)
    if (failed.signal.aborted) return NOTHING_OMITTED
    await nextTurn()
  }
}

/** Resolves once the output accepts more, or has failed. */
async function write(output: Writable, bytes: Buffer, failed: AbortSignal): Promise<void> {
  if (bytes.length === 0 || output.write(bytes)) return
  try {
    await once(output, 'drain', { signal: failed })
  } catch {
    // The output has failed, which the signal says.
  }
}

/** Describes the omissions for people, one sentence each. */
export function describeOmissions({ exchanges, prunedSeq }: Omissions): string[] {
  const sentences: string[] = []
  if (exchanges > 0) {
    sentences.push(
      `${counted(exchanges, 'stored exchange')} left out because they are too large or damaged; run sidegate audit verify`,
    )
  }
  if (prunedSeq !== null) {
    sentences.push(
      `entry ${prunedSeq} was pruned before it was written; the export ends before it; run the export again`,
    )
  }
  return sentences
}
