// Verifies a signed receipt without the log, trusting only the hash function and the given keys.
// Accepts hostile input: the answer is a verdict that names the first step that fails.

import type { JsonObject } from '../core/json.ts'
import { openCheckpoint } from './checkpoint.ts'
import { leafHash } from './merkle.ts'
import { readVerifier } from './note.ts'
import { verifyInclusion } from './proof.ts'
import { type ReceiptFields, readReceipt } from './receipt-fields.ts'
import { parseObject, type TrustedKey, verifiersOf } from './survey.ts'
import { ChainVerifier } from './verify.ts'

/** The steps in their order; each relies on those before. */
const RECEIPT_STEPS = ['form', 'entry', 'proof', 'checkpoint', 'signature'] as const
export type ReceiptStep = (typeof RECEIPT_STEPS)[number]

export interface CheckedStep {
  readonly step: ReceiptStep
  /** Null when an earlier step failed, so this one was not checked. */
  readonly ok: boolean | null
  /** What the step has shown, or why it failed. */
  readonly detail: string
}

export interface ReceiptVerdict {
  readonly ok: boolean
  readonly steps: readonly CheckedStep[]
  /** The entry without its hash; null unless every step passed. */
  readonly entry: JsonObject | null
  /** The checkpoint that covers it; null unless every step passed. */
  readonly checkpoint: Pick<ReceiptFields['checkpoint'], 'log' | 'size' | 'created_at' | 'public_key'> | null
}

/** A step of a readable receipt: what it has shown, or its fault. */
type StepResult = { readonly shown: string } | { readonly fault: string }
type StepCheck = (receipt: ReceiptFields, keys: readonly TrustedKey[]) => StepResult

const CHECKS: Readonly<Record<Exclude<ReceiptStep, 'form'>, StepCheck>> = {
  entry: checkEntry,
  proof: checkProof,
  checkpoint: checkCheckpoint,
  signature: checkSignature,
}

/**
 * Verifies the receipt in these bytes.
 * @param keys public keys of the operator, from elsewhere; with none, the signature fails
 */
export function verifyReceipt(bytes: Uint8Array, keys: readonly TrustedKey[]): ReceiptVerdict {
  const receipt = readReceipt(bytes)
  const steps: CheckedStep[] = []
  for (const step of RECEIPT_STEPS) {
    const isReached = steps.every(({ ok }) => ok === true)
    if (isReached) steps.push(resultOf(step, receipt, keys))
    else steps.push({ step, ok: null, detail: 'not checked' })
  }
  const ok = steps.every((one) => one.ok === true)
  if (!ok || typeof receipt === 'string') return { ok: false, steps, entry: null, checkpoint: null }
  const { log, size, created_at, public_key } = receipt.checkpoint
  const entry = parseObject(Buffer.from(receipt.entry))
  return { ok, steps, entry, checkpoint: { log, size, created_at, public_key } }
}

function resultOf(
  step: ReceiptStep,
  receipt: ReceiptFields | string,
  keys: readonly TrustedKey[],
): CheckedStep {
  if (typeof receipt === 'string') return { step, ok: false, detail: receipt }
  if (step === 'form') return { step, ok: true, detail: 'it has every member' }
  const result = CHECKS[step](receipt, keys)
  return 'fault' in result
    ? { step, ok: false, detail: result.fault }
    : { step, ok: true, detail: result.shown }
}

/** The entry is canonical, has this hash, and names this log and this position. */
function checkEntry({ log, seq, hash, entry }: ReceiptFields): StepResult {
  const bytes = Buffer.from(entry)
  // The entry before is not known here, so the link to it is taken from the entry.
  const prev = String(parseObject(bytes)?.['prev'])
  const verifier = new ChainVerifier(seq === 0 ? null : { log, seq: seq - 1, hash: prev })
  verifier.push({ seq, hash, bytes })
  const { verdict } = verifier
  if (!verdict.ok) return { fault: verdict.fault.reason }
  // The first entry has none before it that names the log.
  if (verifier.log !== log) return { fault: 'the entry belongs to another log' }
  return { shown: `entry ${seq} has the hash ${hash}` }
}

/** The path leads from the hash of the entry to the root. */
function checkProof({ seq, hash, proof }: ReceiptFields): StepResult {
  const { size } = proof
  if (proof.seq !== seq) return { fault: 'it is the proof of another entry' }
  const nodes = [proof.leaf_hash, proof.root, ...proof.proof].map(decodeNode)
  if (!nodes.every((node) => node !== null)) return { fault: 'a node is not base64' }
  const [leaf, root, ...path] = nodes as [Buffer, Buffer, ...Buffer[]]
  if (!leafHash(hash).equals(leaf)) return { fault: 'leaf_hash is not that of the entry' }
  if (!verifyInclusion(seq, size, leaf, root, path)) {
    return { fault: `it does not lead from entry ${seq} to the root over ${size} entries` }
  }
  return { shown: `it leads to the root over ${size} entries` }
}

/** The signed text names the log, the number of entries and the root of the proof. */
function checkCheckpoint({ log, proof, checkpoint }: ReceiptFields): StepResult {
  const opened = openCheckpoint(checkpoint.checkpoint, () => [])
  if ('fault' in opened) return opened
  const root = opened.root.toString('base64')
  if (opened.log !== log) return { fault: 'the note is of another log' }
  if (opened.size !== proof.size || root !== proof.root)
    return { fault: 'the note is not over the root of the proof' }
  const written = { log, size: opened.size, root, head: opened.head, created_at: opened.time }
  for (const [name, value] of Object.entries(written)) {
    if (checkpoint[name as keyof typeof written] !== value)
      return { fault: `${name} differs from that of the note` }
  }
  return { shown: `it is over this root${opened.time === null ? '' : `, of ${opened.time}`}` }
}

/**
 * One of the keys signed the checkpoint, and the receipt names it; or one cosigned it as a witness,
 * and the key that the receipt names signed it.
 */
function checkSignature({ checkpoint }: ReceiptFields, keys: readonly TrustedKey[]): StepResult {
  const { checkpoint: note, public_key: named } = checkpoint
  const witnesses = new Set<string>()
  const opened = openCheckpoint(note, (origin, name) => {
    const trusted = verifiersOf(keys, origin, name)
    for (const one of trusted) if (one.isCosigner) witnesses.add(one.text)
    return trusted
  })
  if ('fault' in opened) return opened
  if (opened.verified.length === 0) return { fault: 'the checkpoint is not signed by any given public key' }
  if (opened.verified.includes(named)) return { shown: `signed by ${named}` }
  const witness = opened.verified.find((text) => witnesses.has(text))
  if (witness === undefined || !isSignedBy(note, named))
    return { fault: 'public_key is not a given key that signed the checkpoint' }
  return { shown: `signed by ${named}, which was not given, and cosigned by ${witness}` }
}

/** @param key as the receipt names it */
function isSignedBy(note: string, key: string): boolean {
  try {
    const verifier = readVerifier(key, '')
    const opened = openCheckpoint(note, () => [verifier])
    return !('fault' in opened) && opened.verified.includes(key)
  } catch {
    return false
  }
}

/** Returns null unless the text is base64 in its only form. */
function decodeNode(text: string): Buffer | null {
  const node = Buffer.from(text, 'base64')
  return node.toString('base64') === text ? node : null
}
