// Checks a whole log: the chain, the Merkle tree, and what was signed and kept of both. One pass, bounded memory;
// whatever the log holds, the answer is a verdict and never an exception.

import type { Head } from './chain.ts'
import { type CompletedNode, Frontier, leafHash } from './merkle.ts'
import type { Members } from './plain.ts'
import { Signers } from './signers.ts'
import {
  type Anchor,
  checkpointLabel,
  type LogSurvey,
  parseObject,
  type SurveyedCheckpoint,
} from './survey.ts'
import { type ChainFault, ChainVerifier, MAX_ENTRY_BYTES, type StoredRecord } from './verify.ts'

/** Findings that a verdict lists; a log that is broken in more places is broken enough. */
const MAX_FINDINGS = 100

export interface LogFinding {
  /** The first sequence number that may not be what it was; null when no place can be told. */
  readonly seq: number | null
  readonly reason: string
}

/** How the beginning of what was checked is tied to the beginning of the log. */
export type Beginning =
  /** It is the beginning. */
  | 'genesis'
  /** A `prune` entry further on holds the hashes of what came before. */
  | 'prune'
  /** By nothing: a part of a log, or one whose first entries are gone. */
  | 'unanchored'

export interface LogVerdict {
  readonly ok: boolean
  readonly log: string | null
  readonly firstSeq: number | null
  readonly entries: number
  readonly head: Head | null
  readonly beginning: Beginning
  /** Merkle root over the log up to `head`, base64; null when the beginning is not known. */
  readonly root: string | null
  readonly signaturesChecked: boolean
  /** Checkpoints that agree with the log, by where they were kept. */
  readonly agreeing: { readonly elsewhere: number; readonly beside: number }
  /** Newest sequence number under a checkpoint kept elsewhere that agrees; null without one. */
  readonly coveredSeq: number | null
  readonly findings: readonly LogFinding[]
  /** What could not be checked, in sentences. */
  readonly limits: readonly string[]
}

/** What the log looked like at one size. */
interface TreeSnapshot {
  /** Null while the beginning of the tree is not known. */
  readonly root: Buffer | null
  readonly head: string | null
}

/** Where the entries at hand begin. */
interface LogStart {
  readonly seq: number
  /** What the first entry says of the one before; null at the beginning of the log. An anchor is held against it later. */
  readonly before: Head | null
  readonly log: string | null
}

/** @param seq where the entry was found; null when it alone says so */
function startOf(bytes: Uint8Array, seq: number | null): LogStart {
  const first = bytes.length > MAX_ENTRY_BYTES ? null : parseObject(bytes)
  const claimed = first?.['seq']
  const start = Math.max(
    0,
    seq ?? (typeof claimed === 'number' && Number.isSafeInteger(claimed) ? claimed : 0),
  )
  const log = String(first?.['log'])
  const before = start === 0 ? null : { log, seq: start - 1, hash: String(first?.['prev']) }
  return { seq: start, before, log: typeof first?.['log'] === 'string' ? log : null }
}

/** The tree over entries' hashes and what was signed of it. That the hashes are those of a chain is another's to say. */
class LogTree {
  readonly #survey: LogSurvey
  readonly #completed: CompletedNode | undefined
  readonly #sizes: ReadonlySet<number>
  readonly #signers: Signers
  readonly #snapshots = new Map<number, TreeSnapshot>()
  #frontier: Frontier | null = null
  #firstSeq: number | null = null
  #next = 0
  #head: string | null = null

  /** @param completed told of each complete part of the tree, from where the tree is known on */
  constructor(survey: LogSurvey, completed?: CompletedNode) {
    this.#survey = survey
    this.#completed = completed
    this.#signers = new Signers(survey.keys)
    this.#sizes = new Set([
      ...survey.anchors.keys(),
      ...survey.checkpoints.map(({ checkpoint }) => checkpoint.size),
    ])
  }

  /** Sequence number of the entry that comes next. */
  get next(): number {
    return this.#next
  }

  begin({ seq, before }: LogStart): void {
    this.#firstSeq = this.#next = seq
    if (seq === 0) this.#frontier = Frontier.empty()
    this.#head = before?.hash ?? null
    this.#takeSnapshot()
  }

  /** Takes the next entry, whose hash fits. */
  push({ hash, bytes }: Omit<StoredRecord, 'seq'>): void {
    this.#signers.addEntry(this.#next, bytes)
    this.#frontier?.push(leafHash(hash), this.#completed)
    this.#next++
    this.#head = hash
    this.#takeSnapshot()
  }

  /**
   * The verdict on what was taken.
   * @param log the log's id, as its entries have it
   * @param broken where its chain breaks, if it does
   */
  verdict(log: string | null, broken: ChainFault | null): LogVerdict {
    const builder = new VerdictBuilder(this.#snapshots, this.#firstSeq ?? 0, this.#next)
    if (broken !== null) builder.addFinding(broken.seq, broken.reason)
    for (const reason of this.#survey.faults) builder.addFinding(null, reason)
    for (const anchor of this.#survey.anchors.values()) builder.checkAnchor(anchor)
    for (const known of bySize(this.#survey.checkpoints)) {
      const isWithin = known.checkpoint.log === log && known.checkpoint.size <= this.#next
      if (this.#signers.accepts(known, isWithin)) builder.checkCheckpoint(known, log, broken !== null)
    }
    for (const reason of this.#signers.faults()) builder.addFinding(null, reason)
    if (this.#survey.skipped > 0)
      builder.addLimit(`${this.#survey.skipped} more checkpoints were not looked at`)
    const head = log === null || this.#head === null ? null : { log, seq: this.#next - 1, hash: this.#head }
    return {
      ok: builder.findings.length === 0,
      log,
      firstSeq: this.#firstSeq,
      entries: this.#firstSeq === null ? 0 : this.#next - this.#firstSeq,
      head,
      beginning: this.#beginning(),
      root: this.#frontier?.root().toString('base64') ?? null,
      signaturesChecked: this.#survey.keys.length > 0,
      agreeing: builder.agreeing,
      coveredSeq: builder.coveredSize === null ? null : builder.coveredSize - 1,
      findings: builder.findings,
      limits: builder.limits,
    }
  }

  #takeSnapshot(): void {
    const size = this.#next
    this.#frontier ??= this.#survey.anchors.get(size)?.frontier.copy() ?? null
    if (this.#sizes.has(size)) {
      this.#snapshots.set(size, { root: this.#frontier?.root() ?? null, head: this.#head })
    }
  }

  #beginning(): Beginning {
    if (this.#firstSeq === 0) return 'genesis'
    // The rows before an anchor go a thousand at a time, so some of them may still be there.
    return this.#frontier === null ? 'unanchored' : 'prune'
  }
}

export class LogVerifier {
  readonly #tree: LogTree
  #chain: ChainVerifier | null = null

  /** @param completed as for LogTree */
  constructor(survey: LogSurvey, completed?: CompletedNode) {
    this.#tree = new LogTree(survey, completed)
  }

  /** The newest entry that was found in order. */
  get members(): Members | null {
    return this.#chain?.members ?? null
  }

  /**
   * Takes the next entry; false once the chain is broken, whatever comes later.
   * @param seq where it was found; null when only the order tells, as in an export
   */
  push({ hash, bytes }: Omit<StoredRecord, 'seq'>, seq: number | null): boolean {
    if (this.#chain === null) {
      const start = startOf(bytes, seq)
      this.#tree.begin(start)
      this.#chain = new ChainVerifier(start.before)
    }
    if (!this.#chain.push({ seq: seq ?? this.#tree.next, hash, bytes })) return false
    this.#tree.push({ hash, bytes })
    return true
  }

  /** The verdict on what was taken. @param fault why the log could not be read any further, if so */
  finish(fault: string | null = null): LogVerdict {
    return this.#tree.verdict(this.#chain?.log ?? null, this.#breakOf(fault))
  }

  #breakOf(fault: string | null): ChainFault | null {
    const verdict = this.#chain?.verdict
    if (verdict === undefined) return { seq: 0, reason: fault ?? 'there are no entries' }
    if (!verdict.ok) return verdict.fault
    return fault === null ? null : { seq: this.#tree.next, reason: fault }
  }
}

/** Holds what was said of the log at some size against what it was at that size. */
class VerdictBuilder {
  readonly findings: LogFinding[] = []
  readonly limits: string[] = []
  readonly agreeing = { elsewhere: 0, beside: 0 }
  coveredSize: number | null = null
  readonly #snapshots: ReadonlyMap<number, TreeSnapshot>
  readonly #first: number
  readonly #end: number
  /** Entries below this one are as somebody signed them. */
  #signedSize: number

  constructor(snapshots: ReadonlyMap<number, TreeSnapshot>, first: number, end: number) {
    this.#snapshots = snapshots
    this.#first = first
    this.#end = end
    this.#signedSize = first
  }

  addFinding(seq: number | null, reason: string): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push({ seq, reason })
  }

  addLimit(reason: string): void {
    if (this.limits.length < MAX_FINDINGS) this.limits.push(reason)
  }

  checkAnchor({ size, head, frontier }: Anchor): void {
    const snapshot = this.#snapshots.get(size)
    if (snapshot === undefined) return
    if (snapshot.head !== head || !(snapshot.root?.equals(frontier.root()) ?? true)) {
      this.addFinding(size, `the entries before ${size} are not those that a prune entry speaks of`)
    }
  }

  /** To be called in the order of sizes. @param broken whether the log ends early because its chain is broken */
  checkCheckpoint({ source, checkpoint }: SurveyedCheckpoint, log: string | null, broken: boolean): void {
    const { size, root, head } = checkpoint
    const name = checkpointLabel(source)
    const snapshot = this.#snapshots.get(size)
    if (log !== null && checkpoint.log !== log) {
      this.addFinding(null, `${name}: is of log ${checkpoint.log}, not ${log}`)
    } else if (size > this.#end) {
      // Behind a break nothing can be said, and the break has been found already.
      if (broken) return
      this.addFinding(
        this.#end,
        `${name}: the log had ${size} entries and ends after ${this.#end}; the rest is missing`,
      )
    } else if (size === 0 || snapshot === undefined) {
      this.addLimit(`${name}: size ${size} lies before the first entry (${this.#first})`)
    } else if (snapshot.root === null && head === null) {
      this.addLimit(`${name}: cannot be checked, the beginning of the tree is not known`)
    } else if (!(snapshot.root?.equals(root) ?? true) || (head !== null && head !== snapshot.head)) {
      const from = Math.min(this.#signedSize, size - 1)
      this.addFinding(from, `${name}: entries ${from} to ${size - 1} are not those that it was made of`)
    } else {
      if (snapshot.root === null)
        this.addLimit(`${name}: held against its newest entry only, not against the tree`)
      this.#signedSize = size
      this.agreeing[source === null ? 'beside' : 'elsewhere']++
      if (source !== null) this.coveredSize = size
    }
  }
}

const bySize = (known: readonly SurveyedCheckpoint[]): SurveyedCheckpoint[] =>
  [...known].sort((one, other) => one.checkpoint.size - other.checkpoint.size)
