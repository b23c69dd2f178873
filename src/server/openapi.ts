// The description of everything on the gateway listener, OpenAPI 3.1. A test compares it with the
// running gateway: every route is here, and every answer matches its schema.

import type { JsonObject } from '../core/json.ts'
import { VERSION } from '../core/version.ts'
import { BODY_SCHEMAS, MANAGEMENT_SCHEMAS } from './openapi/management-schemas.ts'
import { OPERATIONS } from './openapi/operations.ts'
import { USAGE_SCHEMAS } from './openapi/usage-schemas.ts'

export function openApiDocument(): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const { path, method, description } of OPERATIONS) {
    paths[path] = { ...paths[path], [method]: description }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sidegate', version: VERSION, description: 'An LLM gateway sidecar.' },
    paths,
    components: {
      schemas: { ...MANAGEMENT_SCHEMAS, ...USAGE_SCHEMAS, ...BODY_SCHEMAS },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A Sidegate API key.' },
        session: { type: 'apiKey', in: 'cookie', name: 'sidegate_session' },
      },
    },
  }
}
