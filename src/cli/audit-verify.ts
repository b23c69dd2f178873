// What came of checking a log, as people read it, and how far it is while they wait.

import type { LogVerdict } from '../audit/log-verify.ts'
import { uncovered } from '../audit/verdict.ts'

const BAR_CHARACTERS = 30

/** A bar on a terminal, nothing in a pipe; `done` of 1 wipes it away. */
export function progressBar(output: NodeJS.WriteStream): (done: number) => void {
  let shown = -1
  return (done) => {
    const filled = Math.floor(done * BAR_CHARACTERS)
    if (!output.isTTY || filled === shown) return
    shown = filled
    const bar = `${'#'.repeat(filled)}${'.'.repeat(Math.max(0, BAR_CHARACTERS - filled))}`
    output.write(done >= 1 ? '\r\u001b[K' : `\rchecking [${bar}] ${Math.floor(done * 100)} %`)
  }
}

/** The verdict in lines that people read. */
export function verdictText(verdict: LogVerdict): string {
  const { head, firstSeq, agreeing } = verdict
  const row = (name: string, text: string) => `${name.padEnd(13)}${text}`
  const lines = [row('log', verdict.log ?? 'unknown')]
  if (head !== null) {
    lines.push(row('entries', `${firstSeq} to ${head.seq}, ${BEGINNINGS[verdict.beginning]}`))
    lines.push(row('head', head.hash))
  }
  if (verdict.root !== null) lines.push(row('root', verdict.root))
  const signed = verdict.signaturesChecked ? 'signatures checked' : 'signatures not checked: no --public-key'
  lines.push(
    row(
      'checkpoints',
      `${agreeing.elsewhere} kept elsewhere and ${agreeing.beside} beside the log agree; ${signed}`,
    ),
  )
  const open = uncovered(verdict)
  if (open !== null) lines.push(row('uncovered', open))
  for (const limit of verdict.limits) lines.push(row('not checked', limit))
  for (const { seq, reason } of verdict.findings) {
    lines.push(row('FOUND', seq === null ? reason : `at ${seq}: ${reason}`))
  }
  const count = verdict.findings.length === 1 ? '1 finding' : `${verdict.findings.length} findings`
  lines.push(row('verdict', verdict.ok ? 'intact, as far as it says above' : count))
  return lines.join('\n')
}

const BEGINNINGS = {
  genesis: 'from the genesis entry on',
  prune: 'earlier ones pruned, as a prune entry says',
  unanchored: 'a part of a log: nothing ties its beginning to what came before',
} as const
