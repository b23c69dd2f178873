// What must be known of a log before it can be checked in one pass: where it was pruned, and at which sizes somebody
// signed for it. Takes hostile input, believes none of it, and keeps no more than it says here.

import { isObject, type JsonObject } from '../core/json.ts'
import { type OpenedCheckpoint, openCheckpoint } from './checkpoint.ts'
import { Frontier } from './merkle.ts'
import { type Verifier, verifierOf } from './note.ts'
import { MAX_ENTRY_BYTES, viewOf } from './verify.ts'

/** Checkpoints that one check looks at: at one a minute more than a month of them. Each costs a signature. */
const MAX_CHECKPOINTS = 65_536
/** Prune entries that one check looks at, the newest ones; a log needs its last. */
const MAX_ANCHORS = 4096
const PRUNE_MARK = Buffer.from('"type":"prune"')
const ENTRY_HASH = /^sha256:[0-9a-f]{64}$/

/** What a `prune` entry says of the entries before `size`. */
export interface Anchor {
  readonly size: number
  /** Hash of the entry `size - 1`. */
  readonly head: string
  readonly frontier: Frontier
}

/** A checkpoint to be held against the log. */
export interface SurveyedCheckpoint {
  /** Where it was kept, as the person who checks calls it; null when it came with the log itself. */
  readonly source: string | null
  readonly checkpoint: OpenedCheckpoint
}

/** A public key to check signatures against: a verifier, or a key that signs under the name of any log. */
export type TrustedKey = Verifier | { readonly name: null; readonly key: Verifier['key'] }

/** What whoever checks a log brings along. */
export interface AuditorEvidence {
  /** One of these must have signed every checkpoint; none to take checkpoints as they are. */
  readonly keys: readonly TrustedKey[]
  /** Signed notes kept elsewhere, and what the person who checks calls those places. */
  readonly checkpoints: readonly { readonly note: string | Uint8Array; readonly source: string }[]
}

/** Nothing: the log is held against itself. */
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

  /** What is wrong with checkpoints in themselves. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** Checkpoints beyond what one check looks at. */
  get skipped(): number {
    return this.#skipped
  }

  /** Looks at an entry's bytes; only those of `prune` entries matter. */
  addEntry(bytes: Uint8Array): void {
    const view = viewOf(bytes)
    if (view.length > MAX_ENTRY_BYTES || !view.includes(PRUNE_MARK)) return
    const entry = parseObject(view)
    const anchor = entry?.['type'] === 'prune' ? readAnchor(entry) : null
    if (anchor === null) return
    this.#anchors.set(anchor.size, anchor)
    const [oldest] = this.#anchors.keys()
    if (this.#anchors.size > MAX_ANCHORS && oldest !== undefined) this.#anchors.delete(oldest)
  }

  /** Looks at a signed checkpoint. @param source null when it came with the log itself */
  addCheckpoint(note: string | Uint8Array, source: string | null): void {
    if (this.#checkpoints.length + this.#faults.length >= MAX_CHECKPOINTS) {
      this.#skipped++
      return
    }
    const opened = openCheckpoint(note, (origin) => verifiersOf(this.keys, origin))
    if ('fault' in opened) this.#faults.push(`${checkpointLabel(source)}: ${opened.fault}`)
    else this.#checkpoints.push({ source, checkpoint: opened })
  }
}

/** Keys as verifiers of one origin: a bare one takes its name. */
export const verifiersOf = (keys: readonly TrustedKey[], origin: string): Verifier[] =>
  keys.map((key) => (key.name === null ? verifierOf(origin, key.key) : key))

/** What a finding calls a checkpoint. @param source as of SurveyedCheckpoint */
export const checkpointLabel = (source: string | null): string => source ?? 'a checkpoint beside the log'

function readAnchor(entry: JsonObject): Anchor | null {
  const { first_seq: size, head, frontier } = entry
  if (typeof size !== 'number' || typeof head !== 'string' || !ENTRY_HASH.test(head)) return null
  if (!Array.isArray(frontier) || !frontier.every((node) => typeof node === 'string')) return null
  try {
    return { size, head, frontier: Frontier.read(size, frontier) }
  } catch {
    return null
  }
}

/** The object in these bytes, or null. */
export function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(viewOf(bytes).toString('utf8'))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
