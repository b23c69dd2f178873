// Answers requests for the receipt of a call, after the same key check as a call. Seals nothing.

import { GatewayError, toGatewayError } from '../core/errors.ts'
import { type Admission, drainingError } from './call/admission.ts'
import { authenticate } from './call/authenticate.ts'
import type { Client } from './call/client.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Answers `GET /v1/audit/receipts/{id}`. Keys of one line share receipts, as they share stored
 * answers; for any other key the call does not exist. Never rejects.
 */
export async function answerReceipt(pipeline: Pipeline, client: Client, id: string): Promise<void> {
  const { admission, metrics, receipts } = pipeline
  const headers = { 'x-request-id': pipeline.newId(), 'cache-control': 'no-store' }
  let place: Admission | null = null
  try {
    if (admission.draining) throw drainingError()
    const key = await authenticate(pipeline, client)
    // A receipt takes a signature and a hundred reads at most, so it counts as a call in flight.
    place = admission.enter(client)
    if (place.refusal !== null) throw place.refusal
    const call = receipts.find(id)
    const own = call?.keyLine === key.line ? await receipts.prove(call.record) : null
    const isElsewhere = call === null || call.keyLine === key.line
    const receipt = own ?? (isElsewhere ? await receipts.elsewhere(id, key) : null)
    if (receipt === null)
      throw new GatewayError(
        'not_found',
        'This key has no call with this id; give the x-request-id of its answer.',
      )
    client.respond(200, { 'content-type': 'application/json', ...headers }, JSON.stringify(receipt))
  } catch (error) {
    const failure = client.interrupted ? drainingError() : toGatewayError(error)
    metrics.refusals.inc({ code: failure.code })
    if (failure.code === 'internal_error')
      pipeline.logger.error({ err: error }, 'unexpected error making a receipt')
    client.fail(failure, headers)
  } finally {
    if (place !== null) admission.leave(place)
  }
}
