import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { hashEntry } from '../../src/audit/chain.ts'
import { signCheckpoint } from '../../src/audit/checkpoint.ts'
import { leafHash, nodeHash } from '../../src/audit/merkle.ts'
import { readSigner } from '../../src/audit/note.ts'
import { inclusionProof, treeRoot } from '../../src/audit/proof.ts'
import { checkReceipt, type ReceiptDocument } from '../../src/console/proof-check.ts'

const LOG = '01a216a9-be52-777f-982e-2a2b8ea4dd64'
const signer = (log: string) =>
  readSigner(
    `sidegate/${log}`,
    generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
  )
const SIGNER = signer(LOG)
const KEY = SIGNER.verifier.text

/** The receipt of entry `seq` in a log of `size` entries. */
function receiptOf(seq: number, size: number): ReceiptDocument {
  const entries = Array.from({ length: size }, (_, n) => JSON.stringify({ model: 'é', seq: n }))
  const leaves = entries.map((entry) => leafHash(hashEntry(Buffer.from(entry))))
  const subtree = (level: number, index: number): Buffer =>
    level === 0 ? leaves[index]! : nodeHash(subtree(level - 1, 2 * index), subtree(level - 1, 2 * index + 1))
  const root = treeRoot(size, subtree)!
  const proof = inclusionProof(seq, size, subtree)!
  const checkpoint = { log: LOG, size, root, head: null, time: '2026-11-26T00:00:00.000Z' }
  return {
    entry: entries[seq]!,
    hash: hashEntry(Buffer.from(entries[seq]!)),
    proof: {
      seq,
      size,
      leaf_hash: leaves[seq]!.toString('base64'),
      root: root.toString('base64'),
      proof: proof.map((node) => node.toString('base64')),
    },
    checkpoint: {
      checkpoint: signCheckpoint(checkpoint, SIGNER),
      log: LOG,
      size,
      root: root.toString('base64'),
      head: null,
      created_at: checkpoint.time,
      public_key: KEY,
    },
  }
}

const inLog = fc.integer({ min: 1, max: 40 }).chain((size) => fc.tuple(fc.nat(size - 1), fc.constant(size)))

t.test('every entry of every log is proved, in five steps', async (t) => {
  await fc.assert(
    fc.asyncProperty(inLog, async ([seq, size]) => {
      const steps = await checkReceipt(receiptOf(seq, size), KEY)
      t.strictSame(
        steps.map(({ ok }) => ok),
        [true, true, true, true, true],
      )
    }),
    { numRuns: 60 },
  )
})

/** The texts that a change can be made in, and how. */
const PARTS: Record<string, (receipt: any, change: (text: string) => string) => void> = {
  entry: (receipt, change) => {
    receipt.entry = change(receipt.entry)
  },
  hash: (receipt, change) => {
    receipt.hash = change(receipt.hash)
  },
  leaf: ({ proof }, change) => {
    proof.leaf_hash = change(proof.leaf_hash)
  },
  root: ({ proof }, change) => {
    proof.root = change(proof.root)
  },
  path: ({ proof }, change) => {
    proof.proof[0] = change(proof.proof[0] ?? '')
  },
  note: ({ checkpoint }, change) => {
    checkpoint.checkpoint = change(checkpoint.checkpoint)
  },
}

t.test('a change of any character of a receipt fails a step', async (t) => {
  const part = fc.constantFrom(...Object.keys(PARTS))
  await fc.assert(
    fc.asyncProperty(inLog, part, fc.nat(), fc.integer({ min: 33, max: 126 }), async (at, name, n, code) => {
      const receipt = receiptOf(...at)
      let isChanged = false
      PARTS[name]!(receipt, (text) => {
        const index = n % Math.max(1, text.length)
        const changed = text.slice(0, index) + String.fromCharCode(code) + text.slice(index + 1)
        isChanged = changed !== text
        return changed
      })
      const steps = await checkReceipt(receipt, KEY)
      t.equal(steps.at(-1)?.ok, !isChanged, name)
    }),
    { numRuns: 300 },
  )
})

t.test('another number, size or key fails', async (t) => {
  const receipt = receiptOf(3, 10)
  const withProof = (change: object) => ({ ...receipt, proof: { ...receipt.proof, ...change } })
  for (const change of [{ seq: 4 }, { size: 9 }, { size: 11 }, { proof: [] }, { seq: -1 }, { size: 1e300 }])
    t.equal((await checkReceipt(withProof(change), KEY)).at(-1)?.ok, false, JSON.stringify(change))
  for (const key of [signer(LOG).verifier.text, signer('x').verifier.text, '', 'no key'])
    t.match((await checkReceipt(receipt, key)).at(-1), { ok: false, title: /signature/ }, key)
})

t.test('a receipt that holds a hash only is checked from its hash on', async (t) => {
  const steps = await checkReceipt({ ...receiptOf(2, 7), entry: null }, KEY)
  t.ok(steps.every(({ ok }) => ok))
  const other = { ...receiptOf(2, 7), entry: null, hash: receiptOf(3, 7).hash }
  t.match((await checkReceipt(other, KEY)).at(-1), { ok: false, title: /leaf/ })
})
