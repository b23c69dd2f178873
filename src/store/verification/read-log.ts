// Passes a log from its source to the verifier, and asks the source for faults that only it can
// find.

import { hashContent } from '../../audit/content.ts'
import type { DumpedEntry, DumpedExchange } from '../../audit/dump.ts'
import type { LogVerdict } from '../../audit/log-verify.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogFinding } from '../../audit/verdict-builder.ts'
import type { LogReader, LogSource } from './log-source.ts'

/** Maximum findings from the source; the verifier's own are bounded as well. */
const MAXIMUM_FINDINGS = 100

/** Verifies entries like LogVerifier. */
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
  /** The newest entry, until an exchange for it arrives. */
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
      this.#addFinding(null, `an exchange for entry ${seq} does not follow the entry that commits to it`)
      return
    }
    this.#awaitingExchange = null
    if (hashContent(salt, content) !== committed) {
      this.#addFinding(seq, 'the exchange is not the one the entry commits to')
    }
  }

  checkpoint(): void {
    // The survey has read them.
  }

  #addFinding(seq: number | null, reason: string): void {
    if (this.#findings.length < MAXIMUM_FINDINGS) this.#findings.push({ seq, reason })
  }

  /**
   * Returns the verdict on the log and on the source's own data.
   * @param wrongNodes number of tree nodes that differ from their stored copies
   */
  finish(verdict: LogVerdict, wrongNodes: number): LogVerdict {
    // After a break in the chain the rest was not read, so the whole cannot be checked.
    const wholeFault = verdict.ok ? this.#source.checkWhole({ ...verdict, wrongNodes }) : null
    if (wholeFault !== null) this.#findings.push({ seq: null, reason: wholeFault })
    const findings = [...verdict.findings, ...this.#findings]
    return { ...verdict, ok: findings.length === 0, findings }
  }
}
