// The check of a log in two parts that are done side by side, each over all entries: what every entry is by itself and
// after the one before, and what they are together. Either says only whether all was in order: where it was not, and what
// that comes to, is found by `log-verify.ts`, which does both at once.

import { type LogStart, LogTree, type LogVerdict, startOf } from './log-verify.ts'
import type { CompletedNode } from './merkle.ts'
import type { Members } from './plain.ts'
import type { LogSurvey } from './survey.ts'
import { ChainVerifier, faultOfHash, type StoredRecord } from './verify.ts'

/** The chain, but for the hashes: canonical form, envelope, each entry after the one before. */
export class ChainPart {
  #chain: ChainVerifier | null = null
  #next = 0

  /** The newest entry that was found in order, if its hash fits. */
  get members(): Members | null {
    return this.#chain?.members ?? null
  }

  /** As LogVerifier. */
  push({ hash, bytes }: Omit<StoredRecord, 'seq'>, seq: number | null): boolean {
    if (this.#chain === null) {
      const start = startOf(bytes, seq)
      this.#next = start.seq
      this.#chain = new ChainVerifier(start.before, true)
    }
    return this.#chain.push({ seq: seq ?? this.#next++, hash, bytes })
  }

  /** Hash of the newest entry; null when anything was wrong, or there was nothing. */
  get head(): string | null {
    const verdict = this.#chain?.verdict
    return verdict?.ok === true ? (verdict.head?.hash ?? null) : null
  }
}

/** The hashes and the tree over them, with what was signed of it. */
export class TreePart {
  readonly #tree: LogTree
  #start: LogStart | null = null
  #isWhole = true

  /** @param completed as for LogTree */
  constructor(survey: LogSurvey, completed?: CompletedNode) {
    this.#tree = new LogTree(survey, completed)
  }

  /** Takes the next entry; false once a hash did not fit or an entry was missing. */
  push(entry: Omit<StoredRecord, 'seq'>, seq: number | null): boolean {
    if (this.#start === null) {
      this.#start = startOf(entry.bytes, seq)
      this.#tree.begin(this.#start)
    }
    const isNext = seq === null || seq === this.#tree.next
    this.#isWhole &&= isNext && faultOfHash(entry) === null
    if (this.#isWhole) this.#tree.push(entry)
    return this.#isWhole
  }

  /** The verdict if the chain is in order; null when anything was wrong here, or there was nothing. */
  finish(): LogVerdict | null {
    if (this.#start === null || !this.#isWhole) return null
    return this.#tree.verdict(this.#start.log, null)
  }
}
