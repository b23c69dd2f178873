// Who signed for a log: held against the keys that whoever checks it trusts, and against what the log's own `boot`
// entries say of who signs from there on. A log can be signed by one key after the other.

import { originOf } from './checkpoint.ts'
import {
  checkpointLabel,
  parseObject,
  type SurveyedCheckpoint,
  type TrustedKey,
  verifiersOf,
} from './survey.ts'
import { MAX_ENTRY_BYTES, viewOf } from './verify.ts'

const BOOT_MARK = Buffer.from('"type":"boot"')
/** Changes of the signer that one check looks at; what comes after so many is held against the keys alone. */
const MAX_SIGNER_CHANGES = 4096
/** Longest verifier key anybody reads, characters; ours have 103. */
const MAX_KEY_LENGTH = 512

/** A `boot` entry from which on another key signs. */
interface SignerChange {
  readonly seq: number
  /** A verifier key. */
  readonly signer: string
}

/** Checkpoints of one label that problem the same: the first one's size stands for them. */
interface RejectedCheckpoints {
  readonly label: string
  readonly problem: string
  readonly remedy: string
  readonly size: number
  count: number
}

export class Signers {
  readonly #keys: readonly TrustedKey[]
  readonly #changes: SignerChange[] = []
  readonly #rejected = new Map<string, RejectedCheckpoints>()

  /** @param keys none to take checkpoints as they are */
  constructor(keys: readonly TrustedKey[]) {
    this.#keys = keys
  }

  /** Looks at an entry's bytes; only those of `boot` entries matter. */
  addEntry(seq: number, bytes: Uint8Array): void {
    if (this.#keys.length === 0 || this.#changes.length === MAX_SIGNER_CHANGES) return
    const view = viewOf(bytes)
    if (view.length > MAX_ENTRY_BYTES || !view.includes(BOOT_MARK)) return
    const entry = parseObject(view)
    const signer = entry?.['type'] === 'boot' ? entry['signer'] : null
    if (typeof signer !== 'string' || signer.length > MAX_KEY_LENGTH) return
    if (signer !== this.#changes.at(-1)?.signer) this.#changes.push({ seq, signer })
  }

  /**
   * Whether a checkpoint is signed as it should be; if not, `faults` says so.
   * @param isWithin whether it is over entries that were seen, of the log that they are of
   */
  accepts({ source, checkpoint }: SurveyedCheckpoint, isWithin: boolean): boolean {
    if (this.#keys.length === 0) return true
    const { verified, size, log } = checkpoint
    const boot = isWithin ? this.#bootOf(size) : undefined
    if (verified.length === 0) {
      const isKnown =
        boot === undefined || verifiersOf(this.#keys, originOf(log)).some(({ text }) => text === boot.signer)
      const remedy = isKnown
        ? ''
        : `; the boot entry at ${boot.seq} names another signer: if it is the gateway's, give that key too: ${boot.signer}`
      this.#reject(checkpointLabel(source), 'not signed by a public key given', remedy, size)
      return false
    }
    // Witnesses have names of their own, and sign for every run.
    const own = verified.filter((key) => key.startsWith(`${originOf(log)}+`))
    if (boot === undefined || own.length === 0 || own.includes(boot.signer)) return true
    this.#reject(
      checkpointLabel(source),
      `signed by another key than the boot entry at ${boot.seq} names`,
      '',
      size,
    )
    return false
  }

  /** What is wrong with those that were not accepted. */
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

  /** A run signs after its boot entry, and before the next one's. */
  #bootOf(size: number): SignerChange | undefined {
    return this.#changes.findLast(({ seq }) => seq < size)
  }
}
