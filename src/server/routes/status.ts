// The state of the gateway over REST.

import type { JsonObject } from '../../core/json.ts'
import { type ApiRoute, ok } from '../api.ts'
import { servedPages } from '../console-pages.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/**
 * @param read returns the state now
 * @param routes returns those of the program, by which the console knows what to show
 */
export const statusRoute = (read: () => JsonObject, routes: () => readonly ApiRoute[]): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/status',
  access: 'viewer',
  operation: operation('Reports the state of the gateway.', { answer: 'Status', errors: [400] }),
  async answer({ search }) {
    new QueryString(search, [])
    return ok({ ...read(), serves: servedPages(routes()) })
  },
})
