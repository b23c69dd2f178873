// Serves the description of the API without a session: it holds no secret, and tools read it before
// sign-in.

import { type ApiRoute, ok } from '../api.ts'
import { openApiDocument } from '../openapi.ts'

export function openApiRoutes(): ApiRoute[] {
  const document = openApiDocument()
  return [{ method: 'GET', path: '/openapi.json', open: true, answer: async () => ok(document) }]
}
