// The hubs as a witness of the logs of sidecars: compares a signed checkpoint with the entries that
// were shipped, and cosigns it if they agree. What does not agree is kept as evidence.

import {
  type Checkpoint,
  cosignCheckpoint,
  type OpenedCheckpoint,
  openCheckpoint,
  originOf,
} from '../audit/checkpoint.ts'
import { readVerifier, type Signer, type Verifier } from '../audit/note.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { hashText } from '../ledger/hub-log.ts'
import type { LedgerCheckpoints, StoredTree } from '../ledger/ledger-checkpoints.ts'
import type { KeepConflict } from './conflicts.ts'

/** Time after which a checkpoint is sent again, when its entries may have arrived. */
const RETRY_AFTER_SECONDS = '1'

interface CheckpointWitnessParts {
  readonly checkpoints: Pick<LedgerCheckpoints, 'log' | 'treeAt' | 'forkOf' | 'save'>
  /** Signs the checkpoints of the hubs' log. */
  readonly signer: Signer
  readonly clock: Pick<Clock, 'now'>
  readonly keep: KeepConflict
}

/** The note with the signature of the hubs, or the entry at which the log is another one. */
export type Cosigned = { readonly note: string } | { readonly fork: number }

export class CheckpointWitness {
  readonly #parts: CheckpointWitnessParts

  constructor(parts: CheckpointWitnessParts) {
    this.#parts = parts
  }

  /**
   * Cosigns and stores a checkpoint of a log.
   * @param sidecar who sends it
   * @throws GatewayError (rejects) `invalid_body` for a note of another log or without its
   * signature, `forbidden` for the log of another sidecar, `not_found` when its entries are not
   * stored any more, `fleet_unavailable` when they have not arrived yet
   */
  async cosign(sidecar: string, log: string, note: Buffer): Promise<Cosigned> {
    const checkpoint = readNote(note, log)
    const { checkpoints, signer, clock, keep } = this.#parts
    const stored = await checkpoints.log(log)
    const evidence = {
      ...{ sidecar, log, seq: checkpoint.size - 1, stored: null, sent: hashText(checkpoint.root) },
      ...{ body: note, isFork: false },
    }
    if (stored !== null && stored.sidecar !== sidecar) {
      await keep({ ...evidence, kind: 'foreign' })
      throw new GatewayError('forbidden', 'The log belongs to another sidecar.')
    }
    if (stored === null || checkpoint.size > stored.size) throw notYet()
    if (stored.state === 'forked') return { fork: (await checkpoints.forkOf(log)) ?? checkpoint.size - 1 }
    const tree = await checkpoints.treeAt(log, checkpoint.size)
    if (!isSigned(note, log, tree.signer)) {
      await keep({ ...evidence, kind: 'checkpoint' })
      throw refuse('is not signed by the signer that the newest boot entry below its size names')
    }
    if (tree.root === null)
      throw new GatewayError('not_found', 'The entries of the checkpoint are not stored any more.')
    if (!fits(checkpoint, tree)) {
      await keep({ ...evidence, kind: 'fork', stored: hashText(tree.root), isFork: true })
      return { fork: checkpoint.size - 1 }
    }
    const cosigned = cosignCheckpoint(note.toString('utf8'), signer, clock.now())
    await checkpoints.save(checkpoint, cosigned)
    return { note: cosigned }
  }
}

const fits = ({ root, head }: Checkpoint, tree: StoredTree): boolean =>
  tree.root?.equals(root) === true && (head === null || tree.head === null || head === tree.head)

/** @param signer null for a log without a stored boot entry; then the credential vouches */
function isSigned(note: Buffer, log: string, signer: string | null): boolean {
  if (signer === null) return true
  const verifier = verifierIn(signer)
  if (verifier === null) return false
  const opened = openCheckpoint(note, () => [verifier])
  return !('fault' in opened) && opened.verified.includes(verifier.text) && verifier.name === originOf(log)
}

/** The entry may hold anything. */
function verifierIn(signer: string): Verifier | null {
  try {
    return readVerifier(signer, '')
  } catch {
    return null
  }
}

function readNote(note: Buffer, log: string): OpenedCheckpoint {
  const opened = openCheckpoint(note, () => [])
  if ('fault' in opened) throw refuse(`cannot be read: ${opened.fault}`)
  if (opened.log !== log) throw refuse('is of another log')
  if (opened.size === 0) throw refuse('covers no entry')
  return opened
}

const refuse = (problem: string): GatewayError =>
  new GatewayError('invalid_body', `The checkpoint ${problem}.`)

const notYet = (): GatewayError =>
  new GatewayError(
    'fleet_unavailable',
    'The entries of the checkpoint have not arrived; send them first, and then the checkpoint again.',
    { headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  )
