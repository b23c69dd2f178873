// Checks a whole log from where it is kept: first where it was pruned and signed, then entry by entry.

import { hashContent } from '../audit/content.ts'
import type { DumpedEntry, DumpedExchange } from '../audit/dump.ts'
import { type LogFinding, type LogVerdict, LogVerifier } from '../audit/log-verify.ts'
import type { LogSurvey } from '../audit/survey.ts'
import type { JsonObject } from '../core/json.ts'
import type { LogReader, LogSource } from './source.ts'

/** Findings that the data directory adds; the log's own are bounded as well. */
const MAX_FINDINGS = 100

/** A running gateway may prune between survey and check; then both are done again. */
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
    let before = 0
    const firstEntry = await source.survey(surveyed, (done) => {
      before = 0.5
      progress(before * done)
    })
    const check = new Check(source, surveyed, (done) => progress(before + (1 - before) * done))
    const verdict = check.judge(await source.read(check))
    if (check.firstEntry === firstEntry || attempt === MAX_ATTEMPTS) return verdict
  }
}

class Check implements LogReader {
  firstEntry: string | null = null
  readonly progress: (done: number) => void
  readonly #source: LogSource
  readonly #verifier: LogVerifier
  readonly #findings: LogFinding[] = []
  /** The newest entry, until an exchange came that says it is of it. */
  #alone: JsonObject | null = null

  constructor(source: LogSource, survey: LogSurvey, progress: (done: number) => void) {
    this.#source = source
    this.#verifier = new LogVerifier(survey, (level, index, node) => source.node(level, index, node))
    this.progress = progress
  }

  entry(entry: DumpedEntry, seq: number | null): boolean {
    this.firstEntry ??= entry.hash
    if (!this.#verifier.push(entry, seq)) return false
    const sealed = this.#verifier.entry
    this.#alone = sealed
    const fault = sealed === null ? null : this.#source.check(sealed)
    if (fault !== null) this.#find(sealed?.['seq'] as number, fault)
    return true
  }

  exchange({ seq, salt, content }: DumpedExchange): void {
    const { type, seq: place, content_hash: committed } = this.#alone ?? {}
    if (type !== 'request' || place !== seq || typeof committed !== 'string') {
      this.#find(
        null,
        `an exchange that is said to be of entry ${seq} does not follow an entry that commits to it`,
      )
      return
    }
    this.#alone = null
    if (hashContent(salt, content) !== committed) {
      this.#find(seq, 'the exchange is not the one the entry commits to')
    }
  }

  checkpoint(): void {
    // The survey has seen them all.
  }

  #find(seq: number | null, reason: string): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push({ seq, reason })
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
