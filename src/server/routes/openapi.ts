// Serves the description of the API without a session: it holds no secret, and tools read it before
// sign-in.

import { type ApiRoute, ok } from '../api.ts'
import { openApiDocument } from '../openapi.ts'

/** @param routes of the management API */
export function openApiRoutes(routes: readonly ApiRoute[]): ApiRoute[] {
  const document = openApiDocument(routes)
  return [{ method: 'GET', path: '/openapi.json', access: 'open', answer: async () => ok(document) }]
}
