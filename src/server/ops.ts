// Serves the ops listener: metrics and health, nothing else.

import type { ServerResponse } from 'node:http'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Handler } from './listener.ts'
import { respond, respondError, respondJson } from './respond.ts'

export interface Health {
  readonly ready: boolean
  /** State of each part: `ok` or what is wrong. */
  readonly detail: JsonObject
}

export interface OpsParts {
  readonly health: () => Health | Promise<Health>
  readonly metrics: { page(): Promise<string>; readonly contentType: string }
  /** Receives the error of a page that failed. */
  readonly onError: (error: unknown) => void
}

export function opsHandler({ health, metrics, onError }: OpsParts): Handler {
  const pages: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
    '/livez': (response) => respondJson(response, 200, { live: true }),
    '/readyz': async (response) => {
      const { ready, detail } = await health()
      respondJson(response, ready ? 200 : 503, { ready, ...detail })
    },
    '/metrics': async (response) =>
      respond(response, 200, { 'content-type': metrics.contentType }, await metrics.page()),
  }
  return (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const page = pages[path]
    void (async () => {
      if (page === undefined)
        throw new GatewayError(
          'not_found',
          'There is nothing at this path; the ops listener has /livez, /readyz and /metrics.',
        )
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw new GatewayError('method_not_allowed', 'The method is not allowed; use GET.', {
          headers: { allow: 'GET, HEAD' },
        })
      }
      await page(response)
    })().catch((error: unknown) => {
      const failure = toGatewayError(error)
      if (failure.code === 'internal_error') onError(error)
      respondError(response, failure)
    })
  }
}
