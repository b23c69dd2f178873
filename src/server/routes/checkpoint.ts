// The newest checkpoint of a log over REST.

import { checkpointObject, type NotedCheckpoint } from '../../audit/receipt.ts'
import { GatewayError } from '../../core/errors.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

/** The signed checkpoints of a log. */
export interface Signatures {
  /** A verifier key. */
  readonly publicKey: string
  /** Null before the first. */
  readonly newest: NotedCheckpoint | null
}

/** @param log as the description of the API names it */
export const checkpointRoute = (signatures: Signatures, log: string): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/audit/checkpoint',
  access: 'viewer',
  operation: operation(`Returns the newest signed checkpoint of the ${log}.`, {
    answer: 'Checkpoint',
    errors: [503],
  }),
  answer: async () => ok(checkpointObject(newestOf(signatures), signatures.publicKey)),
})

/** @throws GatewayError `audit_unavailable` before the first checkpoint */
export function newestOf({ newest }: Signatures): NotedCheckpoint {
  if (newest !== null) return newest
  throw new GatewayError('audit_unavailable', 'No checkpoint has been signed yet; try again in a minute.')
}
