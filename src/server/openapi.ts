// The description of everything on the gateway listener, OpenAPI 3.1, made of the routes. A test
// compares every answer of the running gateway with its schema.

import { ADMIN_ROLES } from '../core/admin-role.ts'
import type { JsonObject } from '../core/json.ts'
import { VERSION } from '../core/version.ts'
import type { ApiRoute } from './api.ts'
import { DATA_ROUTES, type DataRoute } from './data-routes.ts'
import { AUDIT_SCHEMAS } from './openapi/audit-schemas.ts'
import { FLEET_SCHEMAS } from './openapi/fleet-schemas.ts'
import { LIMIT_SCHEMAS } from './openapi/limit-schemas.ts'
import { BODY_SCHEMAS, MANAGEMENT_SCHEMAS } from './openapi/management-schemas.ts'
import { describeOperation, type Security } from './openapi/operation-builders.ts'
import { OVERVIEW_SCHEMAS } from './openapi/overview-schemas.ts'
import { TRIAL_SCHEMAS } from './openapi/trial-schemas.ts'
import { USAGE_SCHEMAS } from './openapi/usage-schemas.ts'

/** What a program serves besides the management API. */
interface Served {
  readonly title: string
  readonly description: string
  /** Routes of models. */
  readonly dataRoutes: readonly DataRoute[]
}

export const SERVED_BY = {
  gateway: { title: 'Sidegate', description: 'An LLM gateway sidecar.', dataRoutes: DATA_ROUTES },
  hub: {
    title: 'Sidegate hub',
    description: 'Keys, administrators and usage logs of many Sidegate gateways.',
    dataRoutes: [],
  },
} as const satisfies Readonly<Record<string, Served>>

/** @param routes of the management API */
export function openApiDocument(
  routes: readonly ApiRoute[],
  { title, description, dataRoutes }: Served = SERVED_BY.gateway,
): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  const add = (route: DataRoute | ApiRoute, security: Security, more: JsonObject = {}): void => {
    const path = templateOf(route.path)
    const method = route.method.toLowerCase()
    paths[path] ??= {}
    paths[path][method] = { ...describeOperation(route.method, path, security, route.operation), ...more }
  }
  for (const route of dataRoutes) add(route, 'key')
  for (const route of routes) {
    const { access } = route
    if (access === 'open') add(route, 'none')
    else
      add(route, 'session', {
        description: `Needs the role ${access}; each role includes those before it: ${ADMIN_ROLES.join(', ')}.`,
        'x-sidegate-role': access,
      })
  }
  return {
    openapi: '3.1.0',
    info: { title, version: VERSION, description },
    paths,
    components: {
      schemas: {
        ...MANAGEMENT_SCHEMAS,
        ...TRIAL_SCHEMAS,
        ...USAGE_SCHEMAS,
        ...AUDIT_SCHEMAS,
        ...LIMIT_SCHEMAS,
        ...OVERVIEW_SCHEMAS,
        ...FLEET_SCHEMAS,
        ...BODY_SCHEMAS,
      },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A Sidegate API key, or a token of an issuer.' },
        session: { type: 'apiKey', in: 'cookie', name: 'sidegate_session' },
      },
    },
  }
}

/** The path of a route as a template of OpenAPI. */
const templateOf = (path: string): string => path.replace(/[:*](\w+)/g, '{$1}')
