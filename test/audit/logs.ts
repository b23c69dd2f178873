// Whole logs for the tests of the verifier, sealed like the gateway's, with checkpoints and prunes.

import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { genesis, seal } from '../../src/audit/chain.ts'
import { originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { checkpointLine, type DumpedEntry, entryLine } from '../../src/audit/dump.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { readSigner } from '../../src/audit/note.ts'
import { anyRequestDraft, requestDraft } from './drafts.ts'

export const LOG = '01980000-0000-7000-8000-0000000000ff'
const START_MS = Date.UTC(2026, 2, 1)

export const newSigner = (log = LOG) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  return readSigner(originOf(log), String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
}

export type Step =
  | { readonly kind: 'entry'; readonly draft: EntryDraft }
  | { readonly kind: 'checkpoint' }
  /** Keeps this percentage of the entries. */
  | { readonly kind: 'prune'; readonly keep: number }

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: anyRequestDraft.map((draft) => ({ kind: 'entry' as const, draft })) },
  {
    weight: 1,
    arbitrary: fc.constant({
      kind: 'entry' as const,
      draft: { type: 'erase' as const, selection: { key_id: 'k' }, erased: 2, actor: 'vera' },
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 100 }).map((keep) => ({ kind: 'prune' as const, keep })),
  },
)

/** A log under construction. */
export class TestLog {
  readonly log: string
  /** Signs the next checkpoint. */
  signer: ReturnType<typeof newSigner>
  /** With their sequence numbers; without pruned entries. */
  records: (DumpedEntry & { readonly seq: number })[] = []
  readonly checkpoints: string[] = []
  #frontier = Frontier.empty()
  #frontiers = new Map<number, Frontier>([[0, Frontier.empty()]])
  #hashes: string[] = []

  constructor(log = LOG, signer = newSigner(log)) {
    this.log = log
    this.signer = signer
    this.#take(
      genesis(log, { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' }, START_MS),
    )
  }

  static of(steps: readonly Step[], signer = newSigner()): TestLog {
    const log = new TestLog(LOG, signer)
    for (const step of steps) log.step(step)
    return log
  }

  get size(): number {
    return this.#hashes.length
  }

  step(step: Step): void {
    if (step.kind === 'entry') this.add(step.draft)
    else if (step.kind === 'checkpoint') this.checkpoint()
    else this.prune(step.keep)
  }

  add(draft: EntryDraft = requestDraft()): void {
    const seq = this.size - 1
    const head = { log: this.log, seq, hash: this.#hashes[seq] as string }
    this.#take(seal(head, draft, START_MS + seq, null))
  }

  checkpoint(): string {
    const { size } = this
    const head = this.#hashes[size - 1] as string
    const time = new Date(START_MS + size).toISOString()
    const note = signCheckpoint({ log: this.log, size, root: this.#frontier.root(), head, time }, this.signer)
    this.checkpoints.push(note)
    return note
  }

  prune(keepPercent: number): void {
    const first = this.size - Math.ceil((this.records.length * keepPercent) / 100)
    if (first <= (this.records[0]?.seq ?? 0)) return
    const frontier = (this.#frontiers.get(first) as Frontier).encoded()
    this.add({
      type: 'prune',
      first_seq: first,
      head: this.#hashes[first - 1] as string,
      frontier,
      reason: 'age',
      actor: 'gateway',
    })
    this.records = this.records.filter(({ seq }) => seq >= first)
  }

  get dump(): string {
    return this.records.map(entryLine).join('') + this.checkpoints.map(checkpointLine).join('')
  }

  #take({ hash, bytes }: DumpedEntry): void {
    this.records.push({ seq: this.size, hash, bytes })
    this.#hashes.push(hash)
    this.#frontier.push(leafHash(hash))
    this.#frontiers.set(this.size, this.#frontier.copy())
  }
}
