// `sidegate audit verify`: reads a log twice, once for where it was pruned and signed, once to check it, and says
// what came of it, to people or to programs.

import type { DumpedEntry } from '../audit/dump.ts'
import { type LogFinding, type LogVerdict, LogVerifier } from '../audit/log-verify.ts'
import type { LogSurvey } from '../audit/survey.ts'
import type { LogReader, LogSource } from './audit-source.ts'

const BAR_CHARACTERS = 30
/** Findings that the data directory adds; the log's own are bounded as well. */
const MAX_FINDINGS = 100

/** A running gateway may prune between the two readings; then both are done again. */
const MAX_ATTEMPTS = 5

/**
 * Checks the whole of a log.
 * @param survey makes one with the checkpoints kept elsewhere already in it
 * @param progress called now and then with a fraction of 1
 */
export async function verifyLog(
  source: LogSource,
  survey: () => LogSurvey,
  progress: (done: number) => void,
): Promise<LogVerdict> {
  for (let attempt = 1; ; attempt++) {
    const surveyed = survey()
    let firstEntry: string | null = null
    await source.read({
      entry: ({ bytes, hash }) => {
        firstEntry ??= hash
        surveyed.entry(bytes)
        return true
      },
      checkpoint: (note) => surveyed.checkpoint(note, null),
      progress: (done) => progress(done / 2),
    })
    const check = new Check(source, surveyed, (done) => progress((1 + done) / 2))
    const verdict = check.judge(await source.read(check))
    if (check.firstEntry === firstEntry || attempt === MAX_ATTEMPTS) return verdict
  }
}

/** The second reading. */
class Check implements LogReader {
  firstEntry: string | null = null
  readonly progress: (done: number) => void
  readonly #source: LogSource
  readonly #verifier: LogVerifier
  readonly #findings: LogFinding[] = []

  constructor(source: LogSource, survey: LogSurvey, progress: (done: number) => void) {
    this.#source = source
    this.#verifier = new LogVerifier(survey)
    this.progress = progress
  }

  entry(entry: DumpedEntry, seq: number | null): boolean {
    this.firstEntry ??= entry.hash
    if (!this.#verifier.push(entry, seq)) return false
    const sealed = this.#verifier.entry
    const fault = sealed === null ? null : this.#source.check(sealed)
    if (fault !== null && this.#findings.length < MAX_FINDINGS) {
      this.#findings.push({ seq: sealed?.['seq'] as number, reason: fault })
    }
    return true
  }

  checkpoint(): void {
    // The survey has seen them all.
  }

  judge(fault: string | null): LogVerdict {
    const verdict = this.#verifier.finish(fault)
    // Behind a break in the chain the rest was not read, so that nothing can be said of the whole.
    const whole = verdict.ok ? this.#source.conclude(verdict) : null
    if (whole !== null) this.#findings.push({ seq: null, reason: whole })
    const findings = [...verdict.findings, ...this.#findings]
    return { ...verdict, ok: findings.length === 0, findings }
  }
}

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

/** The verdict as one JSON object. */
export const verdictJson = (verdict: LogVerdict): string =>
  JSON.stringify({
    ok: verdict.ok,
    log: verdict.log,
    first_seq: verdict.firstSeq,
    entries: verdict.entries,
    head: verdict.head === null ? null : { seq: verdict.head.seq, hash: verdict.head.hash },
    beginning: verdict.beginning,
    root: verdict.root,
    signatures_checked: verdict.signaturesChecked,
    checkpoints_agreeing: verdict.agreeing,
    covered_seq: verdict.coveredSeq,
    uncovered: uncovered(verdict),
    findings: verdict.findings,
    limits: verdict.limits,
  })

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

/** What the holder of the log could change without anybody noticing; null when nothing. */
function uncovered({ head, coveredSeq }: LogVerdict): string | null {
  if (head === null || coveredSeq === head.seq) return null
  return coveredSeq === null
    ? 'no entry is covered by a checkpoint kept elsewhere'
    : `entries after ${coveredSeq} are covered by no checkpoint kept elsewhere`
}
