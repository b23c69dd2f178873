// Answers requests that only sidecars may send: verifies the credential first, and answers errors.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { failRequest } from '../server/management.ts'

/** Answers a request. */
export type SidecarAnswer = (request: IncomingMessage, response: ServerResponse) => Promise<void>

type FailureParts = Parameters<typeof failRequest>[0]

interface SidecarAnswerParts<Sidecar> extends FailureParts {
  /** @throws GatewayError (rejects) `invalid_token` */
  readonly verify: (authorization: string | undefined) => Promise<Sidecar>
}

/** @param answer runs for the sidecar whose credential came with the request */
export const answerSidecar =
  <Sidecar>(
    parts: SidecarAnswerParts<Sidecar>,
    answer: (sidecar: Sidecar, ...rest: Parameters<SidecarAnswer>) => Promise<void>,
  ): SidecarAnswer =>
  async (request, response) => {
    try {
      await answer(await parts.verify(request.headers.authorization), request, response)
    } catch (error) {
      failRequest(parts, response, error)
    }
  }
