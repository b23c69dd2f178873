// Remembers signed reasoning as the provider wrote it, for as long as its client may send the
// redacted form back. Only in memory: after a restart such a block is left out.

import { hash } from 'node:crypto'
import type { RemovedItems } from '../../chat/json-rewrite.ts'
import { removeThoughts, type SignedThought, signedThoughts } from '../../chat/signed-thoughts.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import { PSEUDONYM_CHARACTERS } from '../scan/pseudonyms.ts'
import { shapesIn } from '../scan/shapes.ts'

/** Text remembered for one key, UTF-16 units; the oldest goes first. */
const MAXIMUM_KEY_UNITS = 512 * 1024
/** Keys that are remembered; the one that was used least recently goes first. */
const MAXIMUM_KEYS = 64

/** What the hash of a signature takes, as units of text. */
const BLOCK_UNITS = 64

/** A placeholder of ours, in the text of a block. */
const PLACEHOLDER = new RegExp(`\\[[A-Z][A-Z_]{1,30}_(?:\\d{1,9}|${PSEUDONYM_CHARACTERS})\\]`)

/** The originals of one key by the hash of their signature, the oldest first. */
interface KeyThoughts {
  readonly originals: Map<string, string>
  units: number
}

/** What became of the blocks of a request. */
interface RestoredThoughts {
  readonly changed: boolean
  /** Number of blocks that were removed. */
  readonly dropped: number
  readonly removed: RemovedItems
}

export class ThoughtMemory {
  readonly #keys = new Map<string, KeyThoughts>()
  readonly #maxUnits: number
  readonly #maxKeys: number

  constructor(maxUnits = MAXIMUM_KEY_UNITS, maxKeys = MAXIMUM_KEYS) {
    this.#maxUnits = maxUnits
    this.#maxKeys = maxKeys
  }

  /**
   * Remembers a block of an answer, when its redacted form differs or may be read as redacted.
   * @param logged the text in its redacted form
   */
  keep(keyId: string, { signature, text }: Pick<SignedThought, 'signature' | 'text'>, logged: string): void {
    const isPlain = logged === text && !PLACEHOLDER.test(text) && shapesIn(text).length === 0
    if (isPlain || text.length > this.#maxUnits) return
    const known = this.#use(keyId) ?? this.#begin(keyId)
    const name = nameOf(signature)
    this.#forget(known, name)
    known.originals.set(name, text)
    known.units += text.length
    for (const oldest of known.originals.keys()) {
      if (known.units <= this.#maxUnits) break
      this.#forget(known, oldest)
    }
  }

  /**
   * Makes the blocks of a request fit their signatures, in steps: puts back the original of an
   * altered one, and removes it without one.
   * @param received texts of the blocks as the client sent them, in order
   * @param body the redacted body; changed in place
   */
  *restore(keyId: string, received: readonly string[], body: JsonObject): Steps<RestoredThoughts> {
    if (received.length === 0) return { changed: false, dropped: 0, removed: new Map() }
    let changed = false
    const dropped: SignedThought[] = []
    const pace = new Pace()
    for (const [index, thought] of (yield* signedThoughts(body)).entries()) {
      if (pace.isOver(thought.text.length + thought.signature.length + BLOCK_UNITS)) yield
      if (thought.text === received[index] && !PLACEHOLDER.test(thought.text)) continue
      const original = this.#use(keyId)?.originals.get(nameOf(thought.signature))
      if (original === undefined) dropped.push(thought)
      else thought.replace(original)
      changed = true
    }
    return { changed, dropped: dropped.length, removed: removeThoughts(dropped) }
  }

  #use(keyId: string): KeyThoughts | undefined {
    const known = this.#keys.get(keyId)
    if (known === undefined) return undefined
    this.#keys.delete(keyId)
    this.#keys.set(keyId, known)
    return known
  }

  #begin(keyId: string): KeyThoughts {
    const known = { originals: new Map<string, string>(), units: 0 }
    this.#keys.set(keyId, known)
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= this.#maxKeys) break
      this.#keys.delete(oldest)
    }
    return known
  }

  #forget(known: KeyThoughts, name: string): void {
    known.units -= known.originals.get(name)?.length ?? 0
    known.originals.delete(name)
  }
}

const nameOf = (signature: string): string => hash('sha256', signature, 'base64')
