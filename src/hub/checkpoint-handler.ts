// Answers the checkpoints of sidecars: `POST /fleet/v1/logs/:log/checkpoint`.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { MAXIMUM_NOTE_BYTES } from '../audit/note.ts'
import { NOTE_TYPE } from '../fleet/shipping.ts'
import { readBytes } from '../server/body.ts'
import { respond, respondJson } from '../server/respond.ts'
import type { CheckpointWitness } from './checkpoint-witness.ts'

/** @param log id in the path, in the form of a UUID */
export type CheckpointAnswer = (
  sidecar: string,
  log: string,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>

/** Returns what answers a checkpoint. It throws as `cosign` and `readBytes` (rejects). */
export const checkpointHandler =
  (witness: CheckpointWitness): CheckpointAnswer =>
  async (sidecar, log, request, response) => {
    const cosigned = await witness.cosign(sidecar, log, await readBytes(request, MAXIMUM_NOTE_BYTES))
    if ('fork' in cosigned) respondJson(response, 409, { code: 'fork', seq: cosigned.fork })
    else respond(response, 200, { 'content-type': NOTE_TYPE }, cosigned.note)
  }
