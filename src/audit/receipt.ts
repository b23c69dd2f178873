// A signed receipt: what proves to a reader without the log that an entry is in it. That is the
// entry as hashed, its path to the root of the Merkle tree, and a signed checkpoint over that root.

import type { JsonObject } from '../core/json.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { ConsistencyProof, InclusionProof } from './proof.ts'
import { type StoredRecord, viewOf } from './verify.ts'

/** A checkpoint with its signed note. */
export interface NotedCheckpoint extends Checkpoint {
  readonly note: string
}

const base64 = (node: Buffer): string => node.toString('base64')

/** Returns a checkpoint as the API answers it. @param publicKey a verifier key */
export const checkpointObject = (
  { note, log, size, root, head, time }: NotedCheckpoint,
  publicKey: string,
): JsonObject => ({
  checkpoint: note,
  log,
  size,
  root: base64(root),
  head,
  created_at: time,
  public_key: publicKey,
})

/** Returns the proof that entry `seq` is in the log of `size` entries, as the API answers it. */
export const inclusionObject = (
  seq: number,
  size: number,
  { leaf, root, proof }: InclusionProof,
): JsonObject => ({ seq, size, leaf_hash: base64(leaf), root: base64(root), proof: proof.map(base64) })

/** Returns the proof that a log of `size` entries begins with one of `from`, as the API answers. */
export const consistencyObject = (
  from: number,
  size: number,
  { fromRoot, root, proof }: ConsistencyProof,
): JsonObject => ({
  from,
  size,
  from_root: base64(fromRoot),
  root: base64(root),
  proof: proof.map(base64),
})

/**
 * Returns the receipt of an entry. `log`, `seq` and `hash` are those of the header
 * `x-sidegate-audit`; `entry` is the text that was hashed.
 * @param proof from the entry to the root of the checkpoint
 */
export const receiptObject = (
  { seq, hash, bytes }: StoredRecord,
  proof: InclusionProof,
  checkpoint: NotedCheckpoint,
  publicKey: string,
): JsonObject => ({
  log: checkpoint.log,
  seq,
  hash,
  entry: viewOf(bytes).toString('utf8'),
  proof: inclusionObject(seq, checkpoint.size, proof),
  checkpoint: checkpointObject(checkpoint, publicKey),
})
