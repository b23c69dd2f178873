// Takes a log from where it is kept to whoever verifies it, and asks of each entry what only that place can tell.

import { hashContent } from '../../audit/content.ts'
import type { DumpedEntry, DumpedExchange } from '../../audit/dump.ts'
import type { LogFinding, LogVerdict } from '../../audit/log-verify.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogReader, LogSource } from './log-source.ts'

/** Findings that the data directory adds; the log's own are bounded as well. */
const MAX_FINDINGS = 100

/** Takes entries as LogVerifier does. */
interface EntryVerifier {
  readonly members: Members | null
  push(entry: DumpedEntry, seq: number | null): boolean
}

export class VerifyingReader implements LogReader {
  /** Hash of the first entry. */
  first: string | null = null
  readonly progress: (done: number) => void
  readonly #source: LogSource
  readonly #verifier: EntryVerifier
  readonly #findings: LogFinding[] = []
  /** The newest entry, until an exchange came that says it is of it. */
  #awaitingExchange: Members | null = null
  #seq: number | null = null

  constructor(source: LogSource, verifier: EntryVerifier, progress: (done: number) => void) {
    this.#source = source
    this.#verifier = verifier
    this.progress = progress
  }

  /** Sequence number of the newest entry. */
  get seq(): number | null {
    return this.#seq
  }

  entry(entry: DumpedEntry, seq: number | null): boolean {
    this.first ??= entry.hash
    if (!this.#verifier.push(entry, seq)) return false
    const members = this.#verifier.members as Members
    this.#awaitingExchange = members
    this.#seq = members.get('seq') as number
    const fault = this.#source.checkEntry(this.#seq, members)
    if (fault !== null) this.#addFinding(this.#seq, fault)
    return true
  }

  exchange({ seq, salt, content }: DumpedExchange): void {
    const committed = this.#seq === seq ? this.#awaitingExchange?.get('content_hash') : null
    if (this.#awaitingExchange?.get('type') !== 'request' || typeof committed !== 'string') {
      this.#addFinding(
        null,
        `an exchange that is said to be of entry ${seq} does not follow an entry that commits to it`,
      )
      return
    }
    this.#awaitingExchange = null
    if (hashContent(salt, content) !== committed) {
      this.#addFinding(seq, 'the exchange is not the one the entry commits to')
    }
  }

  checkpoint(): void {
    // The survey has seen them all.
  }

  #addFinding(seq: number | null, reason: string): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push({ seq, reason })
  }

  /** The verdict on the log and all that lies beside it. @param wrongNodes parts of the tree not as they were kept */
  finish(verdict: LogVerdict, wrongNodes: number): LogVerdict {
    // Behind a break in the chain the rest was not read, so that nothing can be said of the whole.
    const whole = verdict.ok ? this.#source.checkWhole({ ...verdict, wrongNodes }) : null
    if (whole !== null) this.#findings.push({ seq: null, reason: whole })
    const findings = [...verdict.findings, ...this.#findings]
    return { ...verdict, ok: findings.length === 0, findings }
  }
}
