// Who signed for a log: held against the keys that whoever checks it trusts, and against what the log's own `boot`
// entries say of who signs from there on. A log can be signed by one key after the other.

import { originOf } from './checkpoint.ts'
import { type KnownCheckpoint, parseObject, placeOf, type TrustedKey, verifiersOf } from './survey.ts'
import { MAX_ENTRY_BYTES, viewOf } from './verify.ts'

const BOOT_MARK = Buffer.from('"type":"boot"')
/** Changes of the signer that one check looks at; what comes after so many is held against the keys alone. */
const MAX_BOOTS = 4096
/** Longest verifier key anybody reads, characters; ours have 103. */
const MAX_KEY_LENGTH = 512

/** A `boot` entry from which on another key signs. */
interface Boot {
  readonly seq: number
  /** A verifier key. */
  readonly signer: string
}

/** Checkpoints of one place that lack the same: the first one's size stands for them. */
interface Refusal {
  readonly place: string
  readonly lack: string
  readonly remedy: string
  readonly size: number
  count: number
}

export class Signers {
  readonly #keys: readonly TrustedKey[]
  readonly #boots: Boot[] = []
  readonly #refusals = new Map<string, Refusal>()

  /** @param keys none to take checkpoints as they are */
  constructor(keys: readonly TrustedKey[]) {
    this.#keys = keys
  }

  /** Looks at an entry's bytes; only those of `boot` entries matter. */
  entry(seq: number, bytes: Uint8Array): void {
    if (this.#keys.length === 0 || this.#boots.length === MAX_BOOTS) return
    const view = viewOf(bytes)
    if (view.length > MAX_ENTRY_BYTES || !view.includes(BOOT_MARK)) return
    const entry = parseObject(view)
    const signer = entry?.['type'] === 'boot' ? entry['signer'] : null
    if (typeof signer !== 'string' || signer.length > MAX_KEY_LENGTH) return
    if (signer !== this.#boots.at(-1)?.signer) this.#boots.push({ seq, signer })
  }

  /**
   * Whether a checkpoint is signed as it should be; if not, `faults` says so.
   * @param isWithin whether it is over entries that were seen, of the log that they are of
   */
  accepts({ source, checkpoint }: KnownCheckpoint, isWithin: boolean): boolean {
    if (this.#keys.length === 0) return true
    const { verified, size, log } = checkpoint
    const boot = isWithin ? this.#bootOf(size) : undefined
    if (verified.length === 0) {
      const isKnown =
        boot === undefined || verifiersOf(this.#keys, originOf(log)).some(({ text }) => text === boot.signer)
      const remedy = isKnown
        ? ''
        : `; the boot entry at ${boot.seq} names another signer: if it is the gateway's, give that key too: ${boot.signer}`
      this.#refuse(placeOf(source), 'not signed by a public key given', remedy, size)
      return false
    }
    // Witnesses have names of their own, and sign for every run.
    const own = verified.filter((key) => key.startsWith(`${originOf(log)}+`))
    if (boot === undefined || own.length === 0 || own.includes(boot.signer)) return true
    this.#refuse(placeOf(source), `signed by another key than the boot entry at ${boot.seq} names`, '', size)
    return false
  }

  /** What is wrong with those that were not accepted. */
  faults(): string[] {
    return [...this.#refusals.values()].map(({ place, lack, remedy, size, count }) => {
      const more = count === 1 ? '' : ` and ${count - 1} more`
      return `${place}: ${lack} (size ${size}${more})${remedy}`
    })
  }

  #refuse(place: string, lack: string, remedy: string, size: number): void {
    const name = `${place}\n${lack}\n${remedy}`
    const refusal = this.#refusals.get(name)
    if (refusal === undefined) this.#refusals.set(name, { place, lack, remedy, size, count: 1 })
    else refusal.count++
  }

  /** A run signs after its boot entry, and before the next one's. */
  #bootOf(size: number): Boot | undefined {
    return this.#boots.findLast(({ seq }) => seq < size)
  }
}
