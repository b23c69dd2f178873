// The description of the API, open to everyone: it holds no secret and tools want it before they can sign in.

import { type ApiRoute, ok } from '../api.ts'
import { openApiDocument } from '../openapi.ts'

export function openApiRoutes(): ApiRoute[] {
  const document = openApiDocument()
  return [{ method: 'GET', path: '/openapi.json', open: true, answer: async () => ok(document) }]
}
