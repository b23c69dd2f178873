// Compares anchors and checkpoints with a log at their sizes, and collects findings.

import { type Anchor, checkpointLabel, type SurveyedCheckpoint } from './survey.ts'

/** Maximum findings that a verdict lists; the same for limits. */
const MAXIMUM_FINDINGS = 100

export interface LogFinding {
  /**
   * The first sequence number that may differ from the sealed log; null when no place is surveyed.
   */
  readonly seq: number | null
  readonly reason: string
}

/** The log at one size. */
export interface TreeSnapshot {
  /** Null while the beginning of the tree is not surveyed. */
  readonly root: Buffer | null
  readonly head: string | null
}

interface CheckpointCheck {
  /** The log that was read. */
  readonly log: string | null
  /** Whether the holder of the log could not have made the checkpoint. */
  readonly isElsewhere: boolean
  /** Whether the log ends early because its chain is broken. */
  readonly isBroken: boolean
}

export class VerdictBuilder {
  readonly findings: LogFinding[] = []
  readonly limits: string[] = []
  readonly agreeing = { elsewhere: 0, beside: 0 }
  coveredSize: number | null = null
  readonly #snapshots: ReadonlyMap<number, TreeSnapshot>
  readonly #first: number
  readonly #end: number
  /** Entries below this one agree with a checkpoint. */
  #signedSize: number

  constructor(snapshots: ReadonlyMap<number, TreeSnapshot>, first: number, end: number) {
    this.#snapshots = snapshots
    this.#first = first
    this.#end = end
    this.#signedSize = first
  }

  addFinding(seq: number | null, reason: string): void {
    if (this.findings.length < MAXIMUM_FINDINGS) this.findings.push({ seq, reason })
  }

  addLimit(reason: string): void {
    if (this.limits.length < MAXIMUM_FINDINGS) this.limits.push(reason)
  }

  checkAnchor({ size, head, frontier }: Anchor): void {
    const snapshot = this.#snapshots.get(size)
    if (snapshot === undefined) return
    if (snapshot.head !== head || !(snapshot.root?.equals(frontier.root()) ?? true)) {
      this.addFinding(size, `the entries before ${size} differ from those that a prune entry names`)
    }
  }

  /** Requires ascending sizes. */
  checkCheckpoint(
    { source, isWitnessedElsewhere, checkpoint }: SurveyedCheckpoint,
    { log, isElsewhere, isBroken }: CheckpointCheck,
  ): void {
    const { size, root, head } = checkpoint
    const name = checkpointLabel(source)
    const snapshot = this.#snapshots.get(size)
    if (log !== null && checkpoint.log !== log) {
      this.addFinding(null, `${name}: belongs to log ${checkpoint.log}, not ${log}`)
    } else if (size > this.#end) {
      // Nothing is surveyed after a break, which is already a finding.
      if (isBroken) return
      this.addFinding(
        this.#end,
        `${name}: covers ${size} entries, and the log has only ${this.#end}; the others are missing`,
      )
    } else if (size === 0 || snapshot === undefined) {
      // There is a root every few seconds.
      if (isWitnessedElsewhere === null)
        this.addLimit(
          size > this.#first
            ? `${name}: covers ${size} entries, of which the newest is not here`
            : `${name}: covers ${size} entries, all before the first entry here (${this.#first})`,
        )
    } else if (snapshot.root === null && head === null) {
      this.addLimit(`${name}: the beginning of the tree is unknown`)
    } else if (!(snapshot.root?.equals(root) ?? true) || (head !== null && head !== snapshot.head)) {
      const from = Math.min(this.#signedSize, size - 1)
      this.addFinding(from, `${name}: entries ${from} to ${size - 1} differ from those it covers`)
    } else {
      if (snapshot.root === null)
        this.addLimit(`${name}: compared with its newest entry only; the beginning of the tree is unknown`)
      this.#signedSize = size
      this.agreeing[isElsewhere ? 'elsewhere' : 'beside']++
      if (isElsewhere) this.coveredSize = size
    }
  }
}
