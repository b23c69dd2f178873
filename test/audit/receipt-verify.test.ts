// Signed receipts: those of any log verify, and a change of any byte is found and named by its step.

import fc from 'fast-check'
import t from 'tap'
import { canonicalize } from '../../src/audit/canonical.ts'
import { hashEntry } from '../../src/audit/chain.ts'
import { cosignCheckpoint, openCheckpoint } from '../../src/audit/checkpoint.ts'
import { leafHash } from '../../src/audit/merkle.ts'
import { inclusionProof, joinHalves, type Subtree, treeRoot } from '../../src/audit/proof.ts'
import { receiptObject } from '../../src/audit/receipt.ts'
import { MAXIMUM_RECEIPT_BYTES } from '../../src/audit/receipt-fields.ts'
import { verifyReceipt } from '../../src/audit/receipt-verify.ts'
import { anyRequestDraft } from './drafts.ts'
import { newSigner, TestLog } from './logs.ts'

const SIGNER = newSigner()
const KEYS = [SIGNER.verifier]
const STEPS = ['form', 'entry', 'proof', 'checkpoint', 'signature']

/** The receipt of an entry, as a gateway makes it from a log with a new checkpoint. */
function receiptOf(log: TestLog, seq: number) {
  const note = log.checkpoint()
  const checkpoint = openCheckpoint(note, () => [])
  if ('fault' in checkpoint) throw new Error(checkpoint.fault)
  const { size, root } = checkpoint
  const subtree: Subtree = (level, index) =>
    level > 0 ? joinHalves(level, index, subtree) : index < size ? leafHash(log.records[index]!.hash) : null
  t.same(treeRoot(size, subtree), root)
  const record = log.records[seq]!
  const proof = { leaf: leafHash(record.hash), root, proof: inclusionProof(seq, size, subtree)! }
  return receiptObject(record, proof, { ...checkpoint, note }, log.signer.verifier.text) as any
}

/** A log of calls after its genesis entry. */
function logOf(calls: number): TestLog {
  const log = new TestLog(undefined, SIGNER)
  for (let call = 0; call < calls; call++) log.add()
  return log
}

const check = (receipt: unknown, keys = KEYS) =>
  verifyReceipt(Buffer.from(typeof receipt === 'string' ? receipt : JSON.stringify(receipt)), keys)

/** The step that fails first, and why. */
function failureOf(receipt: unknown, keys = KEYS): [string | undefined, string | undefined] {
  const { steps, ok, entry, checkpoint } = check(receipt, keys)
  const at = steps.findIndex((one) => one.ok === false)
  t.strictSame(
    steps.map((one) => one.step),
    STEPS,
  )
  t.strictSame(
    steps.map((one) => one.ok),
    STEPS.map((_, index) => (at < 0 || index < at ? true : index === at ? false : null)),
    'no step counts after one that failed',
  )
  t.strictSame([ok, entry === null, checkpoint === null], [at < 0, at >= 0, at >= 0])
  return [steps[at]?.step, steps[at]?.detail]
}

t.test('the receipt of any entry of any log verifies', async (t) => {
  fc.assert(
    fc.property(fc.array(anyRequestDraft, { minLength: 1, maxLength: 20 }), fc.nat(), (drafts, pick) => {
      const log = new TestLog(undefined, SIGNER)
      for (const draft of drafts) log.add(draft)
      const seq = pick % log.size
      const receipt = receiptOf(log, seq)
      const verdict = check(receipt)
      t.strictSame(failureOf(receipt), [undefined, undefined])
      t.match(verdict, { entry: { seq }, checkpoint: { log: log.log, size: log.size } })
      // People read JSON through other programs.
      t.strictSame(failureOf(JSON.stringify(receipt, null, 2)), [undefined, undefined])
    }),
    { numRuns: 30 },
  )
})

t.test('a receipt with any changed byte fails', async (t) => {
  const bytes = Buffer.from(JSON.stringify(receiptOf(logOf(9), 4)))
  const met = new Set<string>()
  for (let at = 0; at < bytes.length; at++) {
    for (const mask of [0x01, 0x20, 0x80]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= mask
      const { ok, steps } = verifyReceipt(changed, KEYS)
      if (ok) t.fail(`byte ${at} with ${mask}`)
      met.add(steps.find((one) => one.ok === false)?.step ?? 'none')
    }
  }
  t.strictSame([...met].sort(), [...STEPS].sort(), 'each step finds some')
})

t.test('any changed, removed or added part fails and no input throws', async (t) => {
  const text = JSON.stringify(receiptOf(logOf(6), 3))
  const edit = fc.record({
    at: fc.nat(text.length - 1),
    removed: fc.nat(40),
    added: fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('"', '\\', '{', '\ud800', '0', ',"seq":3')),
  })
  fc.assert(
    fc.property(edit, ({ at, removed, added }) => {
      const changed = text.slice(0, at) + added + text.slice(at + removed)
      // White space between tokens, and `\/` for `/`, are other spellings of the same JSON.
      const isSame = changed === text || changed.replaceAll(/[ \t\n\r]|\\(?=\/)/g, '') === text
      t.ok(isSame || !check(changed).ok, changed)
    }),
    { numRuns: 2000 },
  )
  fc.assert(fc.property(fc.json(), (json) => !check(json).ok))
  fc.assert(fc.property(fc.uint8Array(), (bytes) => !verifyReceipt(bytes, KEYS).ok))
})

t.test('each kind of tampering fails at its step', async (t) => {
  const log = logOf(11)
  const receipt = receiptOf(log, 5)
  const other = receiptOf(log, 6)
  const longer = receiptOf(logOf(13), 5)
  const stranger = receiptOf(TestLog.of([], newSigner()), 0)
  const rewrite = (change: object) => {
    const entry = canonicalize({ ...JSON.parse(receipt.entry), ...change })
    return { ...receipt, entry, hash: hashEntry(Buffer.from(entry)) }
  }
  const { proof, checkpoint } = receipt
  const cases: [string, unknown, string, RegExp][] = [
    ['no JSON', 'x', 'form', /not JSON/],
    ['a list', [receipt], 'form', /not a JSON object/],
    [
      'too long',
      `${JSON.stringify(receipt)}${' '.repeat(MAXIMUM_RECEIPT_BYTES)}`,
      'form',
      /longer than 1048576/,
    ],
    ['a missing member', { ...receipt, hash: undefined }, 'form', /hash is missing/],
    [
      'a missing inner member',
      { ...receipt, proof: { ...proof, root: undefined } },
      'form',
      /proof\.root is/,
    ],
    ['an unknown member', { ...receipt, note: 'trust me' }, 'form', /not known/],
    ['a wrong type', { ...receipt, seq: '5' }, 'form', /seq is not of its type/],
    ['a fraction', { ...receipt, seq: 5.5 }, 'form', /seq is not of its type/],
    ['a lone surrogate', JSON.stringify(receipt).replace('batch-jobs', '\\ud800'), 'form', /entry is not/],
    ['a name twice', JSON.stringify(receipt).replace('{', '{"seq":5,'), 'form', /twice/],
    [
      'an edited entry',
      { ...receipt, entry: receipt.entry.replace('"status":200', '"status":201') },
      'entry',
      /hash/,
    ],
    ['another form of the entry', { ...rewrite({}), ...spaced(receipt.entry) }, 'entry', /canonical/],
    ['another seq', { ...receipt, seq: 6 }, 'entry', /another sequence number/],
    ['another log', { ...receipt, log: receipt.log.replace('ff', 'fe') }, 'entry', /another log/],
    ['an entry with its own hash', rewrite({ status: 201 }), 'proof', /leaf_hash/],
    ['the proof of another', { ...receipt, proof: other.proof }, 'proof', /another entry/],
    [
      'the path of another',
      { ...receipt, proof: { ...proof, proof: other.proof.proof } },
      'proof',
      /does not lead/,
    ],
    ['a deeper tree', { ...receipt, proof: { ...proof, size: 40 } }, 'proof', /does not lead/],
    ['an entry more', { ...receipt, proof: { ...proof, size: 13 } }, 'checkpoint', /root of the proof/],
    [
      'a node less',
      { ...receipt, proof: { ...proof, proof: proof.proof.slice(1) } },
      'proof',
      /does not lead/,
    ],
    ['a node that is no base64', { ...receipt, proof: { ...proof, root: '*' } }, 'proof', /base64/],
    ['another checkpoint', { ...receipt, checkpoint: longer.checkpoint }, 'checkpoint', /root of the proof/],
    ['one of another log', { ...receipt, checkpoint: foreign().checkpoint }, 'checkpoint', /another log/],
    ['another time', edited({ created_at: '2027-01-01T00:00:00.000Z' }), 'checkpoint', /created_at differs/],
    ['no note', edited({ checkpoint: 'x' }), 'checkpoint', /no signatures/],
    ['another public key', edited({ public_key: newSigner().verifier.text }), 'signature', /public_key/],
    [
      'an invalid signature',
      edited({ checkpoint: badlySigned(checkpoint.checkpoint) }),
      'signature',
      /not valid/,
    ],
    ['a log of a stranger', stranger, 'signature', /not signed by any given public key/],
  ]
  function edited(change: object) {
    return { ...receipt, checkpoint: { ...checkpoint, ...change } }
  }
  for (const [name, changed, step, reason] of cases) {
    const [failed, detail] = failureOf(changed)
    t.equal(failed, step, name)
    t.match(detail, reason, name)
  }
  t.match(failureOf(receipt, []), ['signature', /not signed by any given/], 'without a key')
})

t.test('the key of hubs that cosigned stands for that of the sidecar', async (t) => {
  const receipt = receiptOf(logOf(5), 3)
  const hubs = newSigner('99999999-9999-4999-8999-999999999999')
  const { checkpoint } = receipt
  const note = cosignCheckpoint(checkpoint.checkpoint, hubs, Date.parse('2026-11-01T00:00:00Z'))
  const cosigned = { ...receipt, checkpoint: { ...checkpoint, checkpoint: note } }
  const bare = { name: null, key: hubs.verifier.key }
  for (const key of [hubs.verifier, bare] as const) {
    const bytes = Buffer.from(JSON.stringify(cosigned))
    const { ok, steps } = verifyReceipt(bytes, [key])
    t.ok(ok)
    t.match(steps.at(-1)?.detail, /^signed by .*, which was not given, and cosigned by sidegate/)
    const named = (public_key: string) =>
      verifyReceipt(
        Buffer.from(JSON.stringify({ ...cosigned, checkpoint: { ...cosigned.checkpoint, public_key } })),
        [key],
      ).steps.at(-1)
    for (const other of ['', 'x', newSigner().verifier.text])
      t.match(named(other), { ok: false, detail: /^public_key/ }, 'it signed nothing')
    const uncosigned = verifyReceipt(Buffer.from(JSON.stringify(receipt)), [key])
    t.match(uncosigned.steps.at(-1), { ok: false, detail: /not signed by any/ })
  }
})

/** An entry with a space, and its hash. */
function spaced(entry: string) {
  const changed = entry.replace('{', '{ ')
  return { entry: changed, hash: hashEntry(Buffer.from(changed)) }
}

function foreign() {
  const log = '01980000-0000-7000-8000-0000000000aa'
  return receiptOf(new TestLog(log, newSigner(log)), 0)
}

/** Changes a bit of the signature, and no other byte of the note. */
function badlySigned(note: string): string {
  const at = note.lastIndexOf(' ') + 1
  const signed = Buffer.from(note.slice(at), 'base64')
  signed[20]! ^= 1
  return `${note.slice(0, at)}${signed.toString('base64')}\n`
}
