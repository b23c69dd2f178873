// Finds the route of a method and a path. A pattern has literal segments, `:name` segments and, at
// the end, `*name` for the rest of the path. Patterns without names have precedence, then the first
// match.

import { isGoverned } from '../chat/apis.ts'
import { GatewayError } from '../core/errors.ts'
import { looseForm } from '../core/request-path.ts'

export interface Matched<T> {
  readonly route: T
  readonly params: Readonly<Record<string, string>>
}

interface Entry<T> {
  readonly method: string
  readonly segments: readonly string[]
  readonly route: T
}

export class Router<T extends { readonly method: string; readonly path: string }> {
  readonly #entries: readonly Entry<T>[]
  readonly #nothingAt: (method: string, path: string) => string
  /** Routes without names in their patterns, by path and method. */
  readonly #literal = new Map<string, Map<string, Matched<T>>>()

  /** @param nothing returns the message for a path that no route has */
  constructor(routes: readonly T[], nothing = nothingAt) {
    this.#nothingAt = nothing
    for (const route of routes) {
      const { method, path } = route
      if (/[:*]/.test(path)) continue
      if (!this.#literal.has(path)) this.#literal.set(path, new Map())
      const methods = this.#literal.get(path)!
      if (!methods.has(method)) methods.set(method, { route, params: {} })
    }
    this.#entries = routes.map((route) => ({ method: route.method, segments: route.path.split('/'), route }))
  }

  /** Reports whether a route answers a method at a path. */
  has(method: string, path: string): boolean {
    if (this.#literal.get(path)?.has(method) === true) return true
    const segments = path.split('/')
    return this.#entries.some((entry) => entry.method === method && match(entry.segments, segments) !== null)
  }

  /**
   * @param path without its query
   * @throws GatewayError `not_found`, or `method_not_allowed` with `allow`
   */
  find(method: string, path: string): Matched<T> {
    const literal = this.#literal.get(path)?.get(method)
    if (literal !== undefined) return literal
    const segments = path.split('/')
    const allowed: string[] = []
    for (const entry of this.#entries) {
      const params = match(entry.segments, segments)
      if (params === null) continue
      if (entry.method === method) return { route: entry.route, params }
      allowed.push(entry.method)
    }
    if (allowed.length === 0) {
      throw new GatewayError('not_found', this.#nothingAt(method, path))
    }
    throw notAllowed(allowed)
  }
}

/** The error of a path that answers other methods only. */
export function notAllowed(allowed: readonly string[]): GatewayError {
  const allow = [...new Set(allowed)].join(', ')
  return new GatewayError('method_not_allowed', `The method is not allowed here; use ${allow}.`, {
    headers: { allow },
  })
}

/** What an error says of a path that is never forwarded without a scan. */
export const GOVERNED_PATH =
  'The gateway does not serve this method and path, and forwards nothing at or below an endpoint that it scans; GET /openapi.json lists what it serves.'

function nothingAt(method: string, path: string): string {
  if (isGoverned(looseForm(path))) return GOVERNED_PATH
  return path.startsWith('/v1/')
    ? `The gateway does not scan this path, so it does not forward it. An administrator can let it pass unscanned: passThrough: [{path: "${shown(path)}", methods: [${method}]}]. GET /openapi.json lists the paths that are served.`
    : 'There is nothing at this path. The base URL of an SDK ends in /v1. GET /openapi.json lists all paths.'
}

/** Letters and words only: a path may hold anything. */
const shown = (path: string): string =>
  /^[\w/.*-]{1,80}$/.test(path) && !/\d{4}/.test(path) ? path : '/v1/…'

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {}
  for (const [i, expected] of pattern.entries()) {
    const actual = segments[i] ?? ''
    if (expected.startsWith('*') && actual !== '') {
      params[expected.slice(1)] = segments.slice(i).join('/')
      return params
    }
    if (expected.startsWith(':') && actual !== '') params[expected.slice(1)] = actual
    else if (expected !== actual) return null
  }
  return pattern.length === segments.length ? params : null
}
