// The log of a sidecar as it is shipped: sealed entries with what is stored apart from them.

import { canonicalize } from '../../src/audit/canonical.ts'
import { genesis, type Head, hashEntry, type Sealed, seal } from '../../src/audit/chain.ts'
import { commit, SALT_BYTES } from '../../src/audit/content.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import type { ShippedEntry } from '../../src/fleet/shipping.ts'
import { requestDraft } from './drafts.ts'
import { LOG } from './logs.ts'

const START_MS = Date.UTC(2026, 2, 1)

export class SidecarLog {
  readonly log: string
  readonly entries: ShippedEntry[] = []

  constructor(log = LOG, startMs = START_MS) {
    this.log = log
    this.#startMs = startMs
    const draft = { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' } as const
    this.#take(genesis(log, draft, startMs))
  }

  readonly #startMs: number

  get head(): Head {
    return { log: this.log, seq: this.entries.length - 1, hash: this.entries.at(-1)!.hash }
  }

  /** Seals an entry. @param content of its exchange */
  add(draft: EntryDraft = requestDraft(), content: string | null = null, user: string | null = null): this {
    const exchange = content === null ? null : commit(Buffer.alloc(SALT_BYTES, 7), content)
    const named = user === null ? draft : { ...draft, has_user: true }
    const sealed = seal(
      this.head,
      named as EntryDraft,
      this.#startMs + this.entries.length,
      exchange?.hash ?? null,
    )
    this.#take(sealed, {
      content: exchange?.salted ?? null,
      user: user === null ? null : { hash: Buffer.alloc(16, 1), clear: user },
    })
    return this
  }

  addMany(count: number): this {
    for (let index = 0; index < count; index++) this.add()
    return this
  }

  /** Another process with the same past. */
  fork(length = this.entries.length): SidecarLog {
    const other = new SidecarLog(this.log, this.#startMs)
    other.entries.splice(0, 1, ...this.entries.slice(0, length))
    return other
  }

  /** The entries from one on, as after the ones before it were pruned. */
  from(seq: number): ShippedEntry[] {
    const frontier = Frontier.empty()
    for (const { hash } of this.entries.slice(0, seq)) frontier.push(leafHash(hash))
    const before = { hash: this.entries[seq - 1]!.hash, frontier: frontier.encoded() }
    return this.entries.slice(seq).map((entry, index) => (index === 0 ? { ...entry, before } : entry))
  }

  /** An entry after the newest one with members as a tamperer likes them. */
  crafted(members: object): ShippedEntry {
    const { seq, hash } = this.head
    const bytes = Buffer.from(
      canonicalize({
        ...{ v: 2, log: this.log, seq: seq + 1, prev: hash, ts: '2026-03-01T00:00:00.000Z', type: 'stop' },
        ...members,
      }),
    )
    return shipped(bytes)
  }

  #take({ bytes, hash }: Sealed, more: Partial<ShippedEntry> = {}): void {
    this.entries.push({ bytes, hash, content: null, user: null, before: null, ...more })
  }
}

/** Bytes as an entry with its hash. */
export const shipped = (bytes: Buffer): ShippedEntry => ({
  ...{ bytes, hash: hashEntry(bytes) },
  ...{ content: null, user: null, before: null },
})
