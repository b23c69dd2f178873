// Checks who signed a log's checkpoints, against the auditor's keys and against the log's `boot`
// entries, which name the signer of each run. A log may change its signer.

import { originOf } from './checkpoint.ts'
import {
  checkpointLabel,
  parseObject,
  type SurveyedCheckpoint,
  type TrustedKey,
  verifiersOf,
} from './survey.ts'
import { MAXIMUM_ENTRY_BYTES, viewOf } from './verify.ts'

const BOOT_MARK = Buffer.from('"type":"boot"')
/** Maximum changes of signer in one verification; later ones are checked against the keys alone. */
const MAXIMUM_SIGNER_CHANGES = 4096
/** Longest verifier key, characters; ours have 103. */
const MAXIMUM_KEY_LENGTH = 512

/** A `boot` entry that names a new signer. */
interface SignerChange {
  readonly seq: number
  /** A verifier key. */
  readonly signer: string
}

/** Checkpoints with the same label and problem, reported once with the first one's size. */
interface RejectedCheckpoints {
  readonly label: string
  readonly problem: string
  readonly remedy: string
  readonly size: number
  count: number
}

/** Reports whether a verifier key is one of the log itself, by its name. */
const isOwn = (key: string, log: string): boolean => key.startsWith(`${originOf(log)}+`)

/** Returns the public key in a verifier key, in base64 without the type. */
const rawKeyOf = (verifier: string): string =>
  Buffer.from(verifier.split('+').slice(2).join('+'), 'base64').subarray(1).toString('base64')

export class Signers {
  readonly #keys: readonly TrustedKey[]
  /** Whether the keys are those of witnesses alone. */
  readonly #areWitnesses: boolean
  readonly #changes: SignerChange[] = []
  /** Public keys of the log itself. */
  readonly #ownKeys = new Set<string>()
  readonly #rejected = new Map<string, RejectedCheckpoints>()

  /**
   * @param keys empty to accept checkpoints without a signature check
   * @param checkpoints all that are to be compared with the log
   */
  constructor(keys: readonly TrustedKey[], checkpoints: readonly SurveyedCheckpoint[]) {
    this.#keys = keys
    const signed = checkpoints.flatMap(({ checkpoint: { log, verified } }) =>
      verified.map((key) => isOwn(key, log)),
    )
    this.#areWitnesses = signed.length > 0 && !signed.includes(true)
  }

  /** Takes an entry's bytes; only `boot` entries matter. */
  addEntry(seq: number, bytes: Uint8Array): void {
    if (this.#keys.length === 0 || this.#changes.length === MAXIMUM_SIGNER_CHANGES) return
    const view = viewOf(bytes)
    if (view.length > MAXIMUM_ENTRY_BYTES || !view.includes(BOOT_MARK)) return
    const entry = parseObject(view)
    const signer = entry?.['type'] === 'boot' ? entry['signer'] : null
    if (typeof signer !== 'string' || signer.length > MAXIMUM_KEY_LENGTH) return
    if (signer === this.#changes.at(-1)?.signer) return
    this.#changes.push({ seq, signer })
    this.#ownKeys.add(rawKeyOf(signer))
  }

  /**
   * Reports whether the holder of the log could not have made a checkpoint: it was kept elsewhere,
   * or a witness signed it.
   */
  isElsewhere(surveyed: SurveyedCheckpoint): boolean {
    const { source, isHeldByWitness, isWitnessedElsewhere, checkpoint } = surveyed
    if (isWitnessedElsewhere !== null) return isWitnessedElsewhere
    return source !== null || (!isHeldByWitness && this.#isWitnessed(checkpoint))
  }

  /** A log is never its own witness, under any name. */
  #isWitnessed({ log, verified }: SurveyedCheckpoint['checkpoint']): boolean {
    return verified.some((key) => !isOwn(key, log) && !this.#ownKeys.has(rawKeyOf(key)))
  }

  /**
   * Reports whether a checkpoint has the required signatures; `faults` reports those that do not.
   * @param isWithin whether it covers entries of this log that were read
   */
  accepts({ source, isWitnessedElsewhere, checkpoint }: SurveyedCheckpoint, isWithin: boolean): boolean {
    if (this.#keys.length === 0 || isWitnessedElsewhere !== null) return true
    const { verified, size, log } = checkpoint
    const boot = isWithin ? this.#bootOf(size) : undefined
    // The auditor has keys of witnesses alone; the log's own checkpoints prove nothing anyway.
    if (verified.length === 0 && source === null && this.#areWitnesses) return true
    if (verified.length === 0) {
      const isTrusted =
        boot === undefined || verifiersOf(this.#keys, originOf(log)).some(({ text }) => text === boot.signer)
      const remedy = isTrusted
        ? ''
        : `; the boot entry at ${boot.seq} names another signer: if it is the gateway's, give that key too: ${boot.signer}`
      this.#reject(checkpointLabel(source), 'not signed by any given public key', remedy, size)
      return false
    }
    // Witnesses sign under their own names, for every run.
    const own = verified.filter((key) => isOwn(key, log))
    if (boot === undefined || own.includes(boot.signer)) return true
    if (own.length === 0 && this.#isWitnessed(checkpoint)) return true
    this.#reject(
      checkpointLabel(source),
      `signed by a key that the boot entry at ${boot.seq} does not name`,
      '',
      size,
    )
    return false
  }

  /** Returns one fault for each group of rejected checkpoints. */
  faults(): string[] {
    return [...this.#rejected.values()].map(({ label, problem, remedy, size, count }) => {
      const more = count === 1 ? '' : ` and ${count - 1} more`
      return `${label}: ${problem} (size ${size}${more})${remedy}`
    })
  }

  #reject(label: string, problem: string, remedy: string, size: number): void {
    const name = `${label}\n${problem}\n${remedy}`
    const rejected = this.#rejected.get(name)
    if (rejected === undefined) this.#rejected.set(name, { label, problem, remedy, size, count: 1 })
    else rejected.count++
  }

  /** A run signs after its boot entry and before the next one. */
  #bootOf(size: number): SignerChange | undefined {
    return this.#changes.findLast(({ seq }) => seq < size)
  }
}
