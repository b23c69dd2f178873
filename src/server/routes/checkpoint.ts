// The newest checkpoint of a log over REST.

import { checkpointObject, type NotedCheckpoint } from '../../audit/receipt.ts'
import { GatewayError } from '../../core/errors.ts'
import { whole } from '../../core/schema-builders.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/** The signed checkpoints of a log. */
export interface Signatures {
  /** A verifier key. */
  readonly publicKey: string
  /** Null before the first. */
  readonly newest: NotedCheckpoint | null
  /**
   * Returns a checkpoint that covers an entry, and signs one at once if the newest does not. Absent
   * for a log that signs on its own schedule only.
   * @throws GatewayError `audit_unavailable` (rejects) with the time to wait
   */
  covering?(seq: number): Promise<NotedCheckpoint>
}

const COVERING_QUERY = {
  seq: whole(
    'Sequence number of an entry that the checkpoint is to cover: one is signed at once when the newest does not, at most every few seconds.',
  ),
}

/**
 * @param log as the description of the API names it
 * @param entriesOf returns how many entries the log has
 */
export function checkpointRoute(
  signatures: Signatures,
  log: string,
  entriesOf = () => Number.POSITIVE_INFINITY,
): ApiRoute {
  const query = signatures.covering === undefined ? {} : COVERING_QUERY
  return {
    method: 'GET',
    path: '/api/v1/audit/checkpoint',
    access: 'viewer',
    operation: operation(`Returns the newest signed checkpoint of the ${log}.`, {
      answer: 'Checkpoint',
      query,
      errors: [400, 503],
    }),
    async answer({ search }) {
      const asked = new QueryString(search, Object.keys(query))
      const seq = asked.integer('seq', -1, 0, Number.MAX_SAFE_INTEGER)
      if (seq >= entriesOf())
        throw new GatewayError('invalid_parameter', 'seq must be of an entry of the log.', { param: 'seq' })
      const checkpoint = seq < 0 ? null : await signatures.covering?.(seq)
      return ok(checkpointObject(checkpoint ?? newestOf(signatures), signatures.publicKey))
    },
  }
}

/** @throws GatewayError `audit_unavailable` before the first checkpoint */
export function newestOf({ newest }: Signatures): NotedCheckpoint {
  if (newest !== null) return newest
  throw new GatewayError('audit_unavailable', 'No checkpoint has been signed yet; try again in a minute.')
}
