// The upstream's list of models behind the same key check. Not a chat call: nothing is counted or sealed.

import { toGatewayError } from '../core/errors.ts'
import { clientHeaders } from '../upstream/headers.ts'
import { drainingError } from './admission.ts'
import { readAll } from './answer.ts'
import { authenticate } from './authenticate.ts'
import type { Client } from './client.ts'
import { cleanJson } from './credential.ts'
import type { Pipeline } from './handle.ts'

/** Answers `GET /v1/models`. Never rejects. */
export async function listModels(pipeline: Pipeline, client: Client): Promise<void> {
  const headers = { 'x-request-id': pipeline.newId() }
  try {
    if (pipeline.admission.draining) throw drainingError()
    authenticate(pipeline.keys, client.headers)
    const response = await pipeline.upstream.models(client.headers, client)
    const body = cleanJson(await readAll(response), response.credential)
    client.respond(response.status, { ...clientHeaders(response.headers), ...headers }, body)
  } catch (error) {
    const failure = toGatewayError(error)
    pipeline.metrics.refusals.inc({ code: failure.code })
    if (failure.code === 'internal_error')
      pipeline.logger.error({ err: error }, 'unexpected error listing models')
    client.fail(failure, headers)
  }
}
