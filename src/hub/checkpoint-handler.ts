// Answers the checkpoints of sidecars: `POST /fleet/v1/logs/:log/checkpoint`.

import { MAXIMUM_NOTE_BYTES } from '../audit/note.ts'
import { NOTE_TYPE } from '../fleet/shipping.ts'
import { readBytes } from '../server/body.ts'
import type { ManagementParts } from '../server/management.ts'
import { respond, respondJson } from '../server/respond.ts'
import type { CheckpointWitness } from './checkpoint-witness.ts'
import { answerSidecar, type SidecarAnswer } from './sidecar-answer.ts'
import { Slots } from './slots.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Checkpoints that are compared at once: they share the connections of the ingest. */
const MAXIMUM_COMPARED = 2
const CHECKPOINT_PATH = /^\/fleet\/v1\/logs\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/checkpoint$/

interface CheckpointHandlerParts extends Pick<ManagementParts, 'logger' | 'metrics' | 'newId'> {
  /** @throws GatewayError (rejects) `invalid_token` */
  readonly verify: (authorization: string | undefined) => Promise<Pick<SidecarIdentity, 'id'>>
  readonly witness: Pick<CheckpointWitness, 'cosign'>
}

/** Returns what answers a method and a path; null for others. */
export function checkpointHandler(
  parts: CheckpointHandlerParts,
): (method: string, path: string) => SidecarAnswer | null {
  const slots = new Slots(MAXIMUM_COMPARED)
  return (method, path) => {
    const [, log] = method === 'POST' ? (CHECKPOINT_PATH.exec(path) ?? []) : []
    if (log === undefined) return null
    return answerSidecar(parts, async ({ id }, request, response) => {
      const note = await readBytes(request, MAXIMUM_NOTE_BYTES)
      const release = await slots.take()
      const cosigned = await parts.witness.cosign(id, log, note).finally(release)
      if ('fork' in cosigned) respondJson(response, 409, { code: 'fork', seq: cosigned.fork })
      else respond(response, 200, { 'content-type': NOTE_TYPE }, cosigned.note)
    })
  }
}
