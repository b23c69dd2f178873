// Formats the verdict and the progress of `sidegate audit verify` for people, and keeps its result
// for the metrics of the gateway.

import type { LogVerdict } from '../audit/log-verify.ts'
import { isPartial, uncovered, verdictObject } from '../audit/verdict.ts'
import { systemClock } from '../core/clock.ts'
import { resultOf, saveResult } from '../store/verification/last-result.ts'

const BAR_CHARACTERS = 30

/**
 * Returns a function that draws the progress on a terminal, from 0 to 1. 1 clears the bar; a pipe
 * gets nothing.
 * @param work what is done, before the bar
 */
export function progressBar(output: NodeJS.WriteStream, work = 'checking'): (done: number) => void {
  let shown = -1
  return (done) => {
    const filled = Math.floor(done * BAR_CHARACTERS)
    if (!output.isTTY || filled === shown) return
    shown = filled
    const bar = `${'#'.repeat(filled)}${'.'.repeat(Math.max(0, BAR_CHARACTERS - filled))}`
    output.write(done >= 1 ? '\r\u001b[K' : `\r${work} [${bar}] ${Math.floor(done * 100)} %`)
  }
}

/** Stores the result in the data directory, where a gateway finds it. */
export function keepResult(path: string, verdict: LogVerdict): void {
  try {
    saveResult(path, resultOf(verdictObject(verdict), systemClock.now()))
  } catch {
    // A copy to verify may be read-only; the exit code has the result.
  }
}

/** Formats the verdict as rows of a name and a text. */
export function verdictText(verdict: LogVerdict): string {
  const { head, firstSeq, agreeing } = verdict
  const row = (name: string, text: string) => `${name.padEnd(13)}${text}`
  const lines = [row('log', verdict.log ?? 'unknown')]
  if (head !== null) {
    lines.push(row('entries', `${firstSeq} to ${head.seq}, ${BEGINNINGS[verdict.beginning]}`))
    lines.push(row('head', head.hash))
  }
  if (verdict.root !== null) lines.push(row('root', verdict.root))
  const signed = verdict.signaturesChecked
    ? 'signatures checked'
    : 'signatures not checked; give --public-key'
  lines.push(
    row(
      'checkpoints',
      `${agreeing.elsewhere} kept elsewhere and ${agreeing.beside} stored with the log agree; ${signed}`,
    ),
  )
  const open = uncovered(verdict)
  if (open !== null) lines.push(row('uncovered', open))
  for (const limit of verdict.limits) lines.push(row('not checked', limit))
  for (const { seq, reason } of verdict.findings) {
    lines.push(row('FOUND', seq === null ? reason : `at ${seq}: ${reason}`))
  }
  const count = verdict.findings.length === 1 ? '1 finding' : `${verdict.findings.length} findings`
  const pass = isPartial(verdict) ? 'PASS (partial)' : 'PASS'
  lines.push(row('verdict', verdict.ok ? pass : `FAIL, ${count}`))
  return lines.join('\n')
}

const BEGINNINGS = {
  genesis: 'from the genesis entry',
  prune: 'earlier ones pruned, as sealed in a prune entry',
  unanchored: 'a part of a log: nothing ties it to the beginning (--partial accepts that in an export)',
} as const
