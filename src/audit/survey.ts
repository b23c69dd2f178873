// Collects what a single-pass verification must know beforehand: where the log was pruned, and the
// sizes of its checkpoints. Accepts hostile input, trusts none of it, and stays within the limits
// below.

import { isObject, type JsonObject } from '../core/json.ts'
import {
  type Checkpoint,
  cosignerNamed,
  hubCosigner,
  type OpenedCheckpoint,
  openCheckpoint,
} from './checkpoint.ts'
import { Frontier } from './merkle.ts'
import { type Verifier, verifierOf } from './note.ts'
import { MAXIMUM_ENTRY_BYTES, viewOf } from './verify.ts'

/**
 * Maximum checkpoints in one verification: more than a month at one a minute. Each costs a
 * signature check.
 */
const MAXIMUM_CHECKPOINTS = 65_536
/** Maximum prune entries in one verification, newest first; a log needs its last. */
const MAXIMUM_ANCHORS = 4096
/** Names a root of the hubs' log in findings. */
const WITNESS_LABEL = 'a root in the log of the hubs'
const PRUNE_MARK = Buffer.from('"type":"prune"')
const ENTRY_HASH = /^sha256:[0-9a-f]{64}$/

/** The claim of a `prune` entry, or of a database, about the entries before `size`. */
export interface Anchor {
  readonly size: number
  /** Hash of the entry `size - 1`. */
  readonly head: string
  readonly frontier: Frontier
  /** Entries pruned before a hub had them, as the entry says. */
  readonly unshipped: number
}

/** A checkpoint to compare with the log. */
export interface SurveyedCheckpoint {
  /** Where it was kept, in the auditor's words; null when it came with the log. */
  readonly source: string | null
  /** Whether the witness whose signature it may have is also the one that holds the log. */
  readonly isHeldByWitness: boolean
  /**
   * For a root in an entry of the hubs' log, which needs no signature: whether a checkpoint that
   * was kept elsewhere covers that entry. Null for a signed note.
   */
  readonly isWitnessedElsewhere: boolean | null
  readonly checkpoint: OpenedCheckpoint
}

/** A public key for signature checks: a verifier, or a key that signs under the name of any log. */
export type TrustedKey = Verifier | { readonly name: null; readonly key: Verifier['key'] }

/** Keys and checkpoints that the auditor brings. */
export interface AuditorEvidence {
  /** Every checkpoint must be signed by one of these; empty to skip signature checks. */
  readonly keys: readonly TrustedKey[]
  /** Signed notes kept elsewhere, and the auditor's names for those places. */
  readonly checkpoints: readonly { readonly note: string | Uint8Array; readonly source: string }[]
}

/** No evidence: the log is compared with itself. */
export const NO_EVIDENCE: AuditorEvidence = { keys: [], checkpoints: [] }

export class LogSurvey {
  readonly keys: readonly TrustedKey[]
  readonly #anchors = new Map<number, Anchor>()
  readonly #checkpoints: SurveyedCheckpoint[] = []
  readonly #faults: string[] = []
  #skipped = 0

  constructor({ keys, checkpoints }: AuditorEvidence) {
    this.keys = keys
    for (const { note, source } of checkpoints) this.addCheckpoint(note, source)
  }

  get anchors(): ReadonlyMap<number, Anchor> {
    return this.#anchors
  }

  get checkpoints(): readonly SurveyedCheckpoint[] {
    return this.#checkpoints
  }

  /** Faults of the checkpoints themselves. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** Whether entries of an unknown version are limits of the verification, and no findings. */
  acceptsUnknown = false

  /** Checkpoints beyond MAXIMUM_CHECKPOINTS. */
  get skipped(): number {
    return this.#skipped
  }

  /** Takes an entry's bytes; only `prune` entries matter. */
  addEntry(bytes: Uint8Array): void {
    const view = viewOf(bytes)
    if (view.length > MAXIMUM_ENTRY_BYTES || !view.includes(PRUNE_MARK)) return
    const entry = parseObject(view)
    const anchor = entry?.['type'] === 'prune' ? readAnchor(entry) : null
    if (anchor !== null) this.addAnchor(anchor)
  }

  /** Takes a claim about the entries before a place. */
  addAnchor(anchor: Anchor): void {
    this.#anchors.set(anchor.size, anchor)
    const [oldest] = this.#anchors.keys()
    if (this.#anchors.size > MAXIMUM_ANCHORS && oldest !== undefined) this.#anchors.delete(oldest)
  }

  /**
   * Takes a root that an entry of the hubs' log holds.
   * @param isElsewhere as in SurveyedCheckpoint
   */
  addWitnessed(root: Pick<Checkpoint, 'log' | 'size' | 'root'>, isElsewhere: boolean): void {
    this.#checkpoints.push({
      ...{ source: WITNESS_LABEL, isHeldByWitness: true, isWitnessedElsewhere: isElsewhere },
      checkpoint: { ...root, head: null, time: null, verified: [] },
    })
  }

  /**
   * Takes a signed checkpoint.
   * @param source null when it came with the log
   * @param isHeldByWitness as in SurveyedCheckpoint
   */
  addCheckpoint(note: string | Uint8Array, source: string | null, isHeldByWitness = false): void {
    if (this.#checkpoints.length + this.#faults.length >= MAXIMUM_CHECKPOINTS) {
      this.#skipped++
      return
    }
    const opened = openCheckpoint(note, (origin, name) => verifiersOf(this.keys, origin, name))
    if ('fault' in opened) this.#faults.push(`${checkpointLabel(source)}: ${opened.fault}`)
    else this.#checkpoints.push({ source, isHeldByWitness, isWitnessedElsewhere: null, checkpoint: opened })
  }
}

/**
 * Returns the keys as those that may sign checkpoints of an origin under a name. A bare key signs
 * under the origin, and as a witness under the name of any hubs; the key of a log of hubs signs as
 * the witness of that name as well.
 */
export const verifiersOf = (keys: readonly TrustedKey[], origin: string, name = origin): Verifier[] =>
  keys
    .flatMap((key) =>
      key.name === null
        ? [verifierOf(origin, key.key), cosignerNamed(name, key.key)]
        : [key, hubCosigner(key)],
    )
    .filter((one) => one !== null)

/**
 * Returns the name of a checkpoint in findings.
 * @param source as in SurveyedCheckpoint
 */
export const checkpointLabel = (source: string | null): string => source ?? 'a checkpoint stored with the log'

function readAnchor(entry: JsonObject): Anchor | null {
  const { first_seq: size, head, frontier, unshipped = 0 } = entry
  if (typeof size !== 'number' || typeof head !== 'string' || !ENTRY_HASH.test(head)) return null
  if (!Array.isArray(frontier) || !frontier.every((node) => typeof node === 'string')) return null
  try {
    const isCount = typeof unshipped === 'number' && Number.isSafeInteger(unshipped)
    return { size, head, frontier: Frontier.read(size, frontier), unshipped: isCount ? unshipped : 0 }
  } catch {
    return null
  }
}

/** Returns the object in these bytes, or null. */
export function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(viewOf(bytes).toString('utf8'))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
