// The description of everything on the gateway listener, OpenAPI 3.1. A test compares it with the
// running gateway: every route is here, and every answer matches its schema. Roles come from the
// routes.

import { ADMIN_ROLES } from '../core/admin-role.ts'
import type { JsonObject } from '../core/json.ts'
import { VERSION } from '../core/version.ts'
import type { ApiRoute } from './api.ts'
import { AUDIT_SCHEMAS } from './openapi/audit-schemas.ts'
import { LIMIT_SCHEMAS } from './openapi/limit-schemas.ts'
import { BODY_SCHEMAS, MANAGEMENT_SCHEMAS } from './openapi/management-schemas.ts'
import { OPERATIONS } from './openapi/operations.ts'
import { OVERVIEW_SCHEMAS } from './openapi/overview-schemas.ts'
import { USAGE_SCHEMAS } from './openapi/usage-schemas.ts'

/** @param routes of the management API, which say what role an operation needs */
export function openApiDocument(routes: readonly Pick<ApiRoute, 'method' | 'path' | 'access'>[]): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const { path, method, description } of OPERATIONS) {
    const route = routes.find((one) => templateOf(one.path) === path && one.method.toLowerCase() === method)
    const access = route?.access ?? 'open'
    const needs =
      access === 'open'
        ? {}
        : {
            description: `Needs the role ${access}; each role includes those before it: ${ADMIN_ROLES.join(', ')}.`,
            'x-sidegate-role': access,
          }
    paths[path] = { ...paths[path], [method]: { ...description, ...needs } }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sidegate', version: VERSION, description: 'An LLM gateway sidecar.' },
    paths,
    components: {
      schemas: {
        ...MANAGEMENT_SCHEMAS,
        ...USAGE_SCHEMAS,
        ...AUDIT_SCHEMAS,
        ...LIMIT_SCHEMAS,
        ...OVERVIEW_SCHEMAS,
        ...BODY_SCHEMAS,
      },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A Sidegate API key.' },
        session: { type: 'apiKey', in: 'cookie', name: 'sidegate_session' },
      },
    },
  }
}

/** The path of a route as a template of OpenAPI. */
const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}')
