// The configuration in force over REST.

import type { JsonObject } from '../../core/json.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

export const configRoute = (read: () => JsonObject): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/config',
  access: 'auditor',
  operation: operation(
    'Lists the settings in force with their defaults, and how the file differs. Secrets are shown by reference, and what may be one is hidden.',
    { answer: 'Configuration', errors: [400] },
  ),
  answer: async ({ search }) => {
    new QueryString(search, [])
    return ok(read())
  },
})
