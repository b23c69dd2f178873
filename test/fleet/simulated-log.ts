// The log of a simulated sidecar: seals calls in memory, keeps what no hub is known to have, and is
// read by a real shipper.

import { generateKeyPairSync } from 'node:crypto'
import { genesis, type Head, type Sealed, seal } from '../../src/audit/chain.ts'
import { originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { readSigner, type Signer } from '../../src/audit/note.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import { isoTime } from '../../src/core/time.ts'
import type { ShippedNote, ShipperParts } from '../../src/fleet/shipper.ts'
import type { ShippedEntry, ShippedHead } from '../../src/fleet/shipping.ts'
import { bootDraft, requestDraft } from '../audit/drafts.ts'

type LogOfShipper = ShipperParts['log']

const ID_BYTES = 16
/** One signing key for all: making a thousand takes a second. */
const KEY = String(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }))

export class SimulatedLog implements LogOfShipper {
  readonly log: string
  readonly #signer: Signer
  readonly #random: () => number
  readonly #frontier = Frontier.empty()
  #head: Head
  /** Entries from `#from` on. */
  #kept: ShippedEntry[] = []
  #from = 0
  #shipped: ShippedHead | null = null
  /** As on disk. */
  #saved: ShippedHead | null = null
  /** The newest entry that a hub has ever acknowledged. */
  acknowledged: ShippedHead | null = null
  /** Why a shipper has given it up; null while it is sent. */
  ended: string | null = null
  /** Checkpoints that a hub has cosigned. */
  cosigned = 0

  constructor(random: () => number) {
    this.#random = random
    this.log = uuidv7(Date.now(), this.#bytes(ID_BYTES))
    this.#signer = readSigner(originOf(this.log), KEY)
    const draft = { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' } as const
    const first = genesis(this.log, draft, Date.now())
    this.#head = { log: this.log, seq: 0, hash: first.hash }
    this.#keep(first)
    this.#seal(bootDraft(this.#signer.verifier.text))
  }

  /** Seals calls. */
  seal(count: number, nowMs = Date.now()): void {
    const createdAt = isoTime(nowMs)
    for (let made = 0; made < count; made++) {
      const id = uuidv7(nowMs, this.#bytes(ID_BYTES))
      this.#seal(requestDraft({ id, created_at: createdAt, prompt_tokens: this.#head.seq }), nowMs)
    }
  }

  /** Signs a checkpoint over all entries. */
  sign(nowMs = Date.now()): ShippedNote {
    const { seq, hash } = this.#head
    const size = seq + 1
    const root = this.#frontier.root()
    const checkpoint = { log: this.log, size, root, head: hash, time: isoTime(nowMs) }
    return { size, note: signCheckpoint(checkpoint, this.#signer) }
  }

  /** The process is killed: it forgets what it had not written. */
  crash(): void {
    this.#shipped = this.#saved
  }

  get newest(): number {
    return this.#head.seq
  }

  get next(): number {
    return this.#shipped === null ? 0 : this.#shipped.seq + 1
  }

  get first(): number {
    return this.next
  }

  read(seq: number): ShippedEntry | null {
    return this.#kept[seq - this.#from] ?? null
  }

  hashOf(seq: number): string | null {
    return this.read(seq)?.hash ?? null
  }

  took(head: ShippedHead): void {
    this.#shipped = head
    if (head.seq > (this.acknowledged?.seq ?? -1)) this.acknowledged = head
  }

  moveTo(seq: number): boolean {
    if (seq < this.#from) return false
    const hash = seq === 0 ? null : this.hashOf(seq - 1)
    if (seq > 0 && hash === null) return false
    this.#shipped = hash === null ? null : { seq: seq - 1, hash }
    return true
  }

  async save(): Promise<void> {
    this.#saved = this.#shipped
    if (this.#saved === null) return
    // The last one is kept, for its hash.
    const gone = this.#saved.seq - this.#from
    if (gone > 0) this.#kept = this.#kept.slice(gone)
    this.#from += Math.max(0, gone)
  }

  #seal(draft: EntryDraft, nowMs = Date.now()): void {
    const sealed = seal(this.#head, draft, nowMs, null)
    this.#head = { log: this.log, seq: this.#head.seq + 1, hash: sealed.hash }
    this.#keep(sealed)
  }

  #keep({ bytes, hash }: Sealed): void {
    this.#kept.push({ bytes, hash, content: null, user: null, before: null })
    this.#frontier.push(leafHash(hash))
  }

  #bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => Math.floor(this.#random() * 256)))
  }
}
