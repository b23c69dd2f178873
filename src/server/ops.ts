// The ops listener: metrics and health, nothing else. Readiness says rules are loaded and the store is open; it never
// depends on the upstream, which would take every app down with it.

import type { ServerResponse } from 'node:http'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Handler } from './listener.ts'
import { respond, respondError, respondJson } from './respond.ts'

export interface Health {
  readonly ready: boolean
  /** One line a part: what it is, how it is, what is wrong with it. */
  readonly detail: JsonObject
}

export interface OpsParts {
  readonly health: () => Health
  readonly metrics: { page(): Promise<string>; readonly contentType: string }
  /** A page could not be made. */
  readonly onError: (error: unknown) => void
}

export function opsHandler({ health, metrics, onError }: OpsParts): Handler {
  const pages: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
    '/livez': (response) => respondJson(response, 200, { live: true }),
    '/readyz': (response) => {
      const { ready, detail } = health()
      respondJson(response, ready ? 200 : 503, { ready, ...detail })
    },
    '/metrics': async (response) =>
      respond(response, 200, { 'content-type': metrics.contentType }, await metrics.page()),
  }
  return (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const page = pages[path]
    void (async () => {
      if (page === undefined) throw new GatewayError('not_found', 'Here are /livez, /readyz and /metrics.')
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw new GatewayError('method_not_allowed', 'This path answers GET.', {
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
