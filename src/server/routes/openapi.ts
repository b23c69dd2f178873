// Serves the description of the API without a session: it holds no secret, and tools read it before
// sign-in.

import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { openApiDocument } from '../openapi.ts'

/** As `openApiDocument`. */
export function openApiRoutes(...described: Parameters<typeof openApiDocument>): ApiRoute[] {
  const [routes, ...others] = described
  const own: ApiRoute = {
    method: 'GET',
    path: '/openapi.json',
    access: 'open',
    operation: operation('Returns this description.'),
    answer: async () => ok(document),
  }
  const document = openApiDocument([own, ...routes], ...others)
  return [own]
}
