// Verifies a whole log: the chain, the Merkle tree, and the checkpoints over both. One pass,
// bounded memory. Accepts any input; the answer is a verdict, never an exception.

import type { Head } from './chain.ts'
import { type CompletedNode, Frontier, leafHash } from './merkle.ts'
import type { Members } from './plain.ts'
import { Signers } from './signers.ts'
import { type Anchor, type LogSurvey, parseObject, type SurveyedCheckpoint } from './survey.ts'
import { type LogFinding, type TreeSnapshot, VerdictBuilder } from './verdict-builder.ts'
import {
  type ChainFault,
  ChainVerifier,
  isKnownVersion,
  MAXIMUM_ENTRY_BYTES,
  type StoredRecord,
} from './verify.ts'

/** Maximum gaps of one log; a further one breaks the chain. */
const MAXIMUM_GAPS = 100

/** How the first verified entry is tied to the beginning of the log. */
export type Beginning =
  /** It is the genesis entry. */
  | 'genesis'
  /** A later `prune` entry holds the hashes of the entries before. */
  | 'prune'
  /** The hubs of a fleet dropped the months before, and hold the hashes apart from the log. */
  | 'dropped'
  /** Nothing ties it: this is a part of a log, or its first entries are missing. */
  | 'unanchored'

export interface LogVerdict {
  readonly ok: boolean
  readonly log: string | null
  readonly firstSeq: number | null
  readonly entries: number
  readonly head: Head | null
  readonly beginning: Beginning
  /** Merkle root over the log up to `head`, base64; null when the beginning is not surveyed. */
  readonly root: string | null
  readonly signaturesChecked: boolean
  /** Number of checkpoints that agree with the log: kept elsewhere, or stored with the log. */
  readonly agreeing: { readonly elsewhere: number; readonly beside: number }
  /**
   * Newest sequence number covered by an agreeing checkpoint that was kept elsewhere; null without
   * one.
   */
  readonly coveredSeq: number | null
  readonly findings: readonly LogFinding[]
  /** What could not be checked, in sentences. */
  readonly limits: readonly string[]
}

/** Where the given entries begin. */
interface LogStart {
  readonly seq: number
  /**
   * The previous entry as the first one names it, compared with an anchor later; null at the
   * beginning of the log.
   */
  readonly before: Head | null
  readonly log: string | null
}

/** @param seq position of the entry; null when only the entry states it */
function startOf(bytes: Uint8Array, seq: number | null): LogStart {
  const first = bytes.length > MAXIMUM_ENTRY_BYTES ? null : parseObject(bytes)
  const claimed = first?.['seq']
  const start = Math.max(
    0,
    seq ?? (typeof claimed === 'number' && Number.isSafeInteger(claimed) ? claimed : 0),
  )
  const log = String(first?.['log'])
  const before = start === 0 ? null : { log, seq: start - 1, hash: String(first?.['prev']) }
  return { seq: start, before, log: typeof first?.['log'] === 'string' ? log : null }
}

/** The tree over entries' hashes, and the checkpoints over it. The caller verifies the chain. */
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
  /** Entries that were pruned before a hub had them. */
  readonly #gaps: { readonly first: number; readonly last: number }[] = []
  /** Entries of an unknown version, and the first of them. */
  #unread = { count: 0, first: 0 }

  /** @param completed receives each complete subtree, as soon as the tree is surveyed */
  constructor(survey: LogSurvey, completed?: CompletedNode) {
    this.#survey = survey
    this.#completed = completed
    this.#signers = new Signers(survey.keys, survey.checkpoints)
    this.#sizes = new Set([
      ...survey.anchors.keys(),
      ...survey.checkpoints.map(({ checkpoint }) => checkpoint.size),
    ])
  }

  /** Sequence number of the next entry. */
  get next(): number {
    return this.#next
  }

  begin({ seq, before }: LogStart): void {
    this.#firstSeq = this.#next = seq
    if (seq === 0) this.#frontier = Frontier.empty()
    this.#head = before?.hash ?? null
    this.#takeSnapshot()
  }

  /**
   * Returns the anchor of an entry after a gap. The `prune` entries of the log must account for the
   * entries that are missing; null when they do not.
   */
  anchorAfterGap(seq: number): Anchor | null {
    const anchor = this.#survey.anchors.get(seq)
    if (anchor === undefined || this.#gaps.length >= MAXIMUM_GAPS) return null
    let unshipped = 0
    for (const one of this.#survey.anchors.values())
      if (one.size > this.#next && one.size <= seq) unshipped += one.unshipped
    return unshipped < seq - this.#next ? null : anchor
  }

  /** Continues after a gap. */
  skipTo({ size, head, frontier }: Anchor): void {
    this.#gaps.push({ first: this.#next, last: size - 1 })
    this.#next = size
    this.#head = head
    this.#frontier = frontier.copy()
    this.#takeSnapshot()
  }

  /**
   * Adds the next entry, whose hash the caller has verified.
   * @param isRead whether this release knows the version of the entry
   */
  push({ hash, bytes }: Omit<StoredRecord, 'seq'>, isRead: boolean): void {
    if (isRead) this.#signers.addEntry(this.#next, bytes)
    else if (this.#unread.count++ === 0) this.#unread.first = this.#next
    this.#frontier?.push(leafHash(hash), this.#completed)
    this.#next++
    this.#head = hash
    this.#takeSnapshot()
  }

  /**
   * Returns the verdict on the entries so far.
   * @param log the log's id, from its entries
   * @param broken where the chain breaks, or null
   */
  verdict(log: string | null, broken: ChainFault | null): LogVerdict {
    const builder = new VerdictBuilder(this.#snapshots, this.#firstSeq ?? 0, this.#next)
    if (broken !== null) builder.addFinding(broken.seq, broken.reason)
    for (const reason of this.#survey.faults) builder.addFinding(null, reason)
    for (const anchor of this.#survey.anchors.values()) builder.checkAnchor(anchor)
    for (const surveyed of bySize(this.#survey.checkpoints)) {
      const isWithin = surveyed.checkpoint.log === log && surveyed.checkpoint.size <= this.#next
      if (this.#signers.accepts(surveyed, isWithin)) {
        const isElsewhere = this.#signers.isElsewhere(surveyed)
        builder.checkCheckpoint(surveyed, { log, isElsewhere, isBroken: broken !== null })
      }
    }
    for (const reason of this.#signers.faults()) builder.addFinding(null, reason)
    if (this.#survey.skipped > 0)
      builder.addLimit(`${this.#survey.skipped} more checkpoints were not checked`)
    for (const gap of this.#gaps)
      builder.addLimit(
        `entries ${gap.first} to ${gap.last} were pruned at the sidecar before a hub had them, as its log says`,
      )
    const { count, first } = this.#unread
    if (count > 0)
      builder.addLimit(
        `${count} entries, the first at ${first}, are of an unknown version: only hash, form and place were checked`,
      )
    const head = log === null || this.#head === null ? null : { log, seq: this.#next - 1, hash: this.#head }
    return {
      ok: builder.findings.length === 0,
      log,
      firstSeq: this.#firstSeq,
      entries: this.#firstSeq === null ? 0 : this.#next - this.#firstSeq - this.#missing,
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

  get #missing(): number {
    return this.#gaps.reduce((sum, { first, last }) => sum + last + 1 - first, 0)
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
    // Rows before an anchor are removed a thousand at a time, so some may still exist.
    return this.#frontier === null ? 'unanchored' : 'prune'
  }
}

export class LogVerifier {
  readonly #survey: LogSurvey
  readonly #tree: LogTree
  #chain: ChainVerifier | null = null

  /** @param completed as for LogTree */
  constructor(survey: LogSurvey, completed?: CompletedNode) {
    this.#survey = survey
    this.#tree = new LogTree(survey, completed)
  }

  /** Members of the newest valid entry. */
  get members(): Members | null {
    return this.#chain?.members ?? null
  }

  /** Begins after an entry that is gone with all before it. A surveyed anchor has the tree. */
  beginAfter(head: Head): void {
    this.#tree.begin({ seq: head.seq + 1, before: head, log: head.log })
    this.#chain = new ChainVerifier(head, this.#survey.acceptsUnknown)
  }

  /**
   * Verifies the next entry; false once the chain is broken.
   * @param seq position of the entry; null in an export, where only the order gives it
   */
  push({ hash, bytes }: Omit<StoredRecord, 'seq'>, seq: number | null): boolean {
    if (this.#chain === null) {
      const start = startOf(bytes, seq)
      this.#tree.begin(start)
      this.#chain = new ChainVerifier(start.before, this.#survey.acceptsUnknown)
    }
    if (seq !== null && seq > this.#tree.next) this.#pass(seq)
    if (!this.#chain.push({ seq: seq ?? this.#tree.next, hash, bytes })) return false
    this.#tree.push({ hash, bytes }, isKnownVersion(this.#chain.members?.get('v')))
    return true
  }

  /** Passes the gap before an entry, if the log accounts for it. */
  #pass(seq: number): void {
    const anchor = this.#tree.anchorAfterGap(seq)
    const log = this.#chain?.log ?? null
    if (anchor === null || log === null) return
    this.#tree.skipTo(anchor)
    this.#chain = new ChainVerifier({ log, seq: seq - 1, hash: anchor.head }, this.#survey.acceptsUnknown)
  }

  /**
   * Returns the verdict on the entries so far.
   * @param fault why the log could not be read further, or null
   */
  finish(fault: string | null = null): LogVerdict {
    const verdict = this.#chain?.verdict
    const log = verdict?.ok === true ? (verdict.head?.log ?? null) : (this.#chain?.log ?? null)
    return this.#tree.verdict(log, this.#breakOf(fault))
  }

  #breakOf(fault: string | null): ChainFault | null {
    const verdict = this.#chain?.verdict
    if (verdict === undefined) return { seq: 0, reason: fault ?? 'there are no entries' }
    if (!verdict.ok) return verdict.fault
    return fault === null ? null : { seq: this.#tree.next, reason: fault }
  }
}

const bySize = (surveyed: readonly SurveyedCheckpoint[]): SurveyedCheckpoint[] =>
  [...surveyed].sort((one, other) => one.checkpoint.size - other.checkpoint.size)
