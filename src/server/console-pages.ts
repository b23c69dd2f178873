// Which pages and parts of the console a program can serve: those whose routes it has.

import { choice, list } from '../core/schema-builders.ts'

/** Routes below /api/v1 that a page cannot do without. */
const PAGES = {
  fleet: ['/fleet'],
  overview: ['/status', '/usage/series'],
  log: ['/usage/logs', '/usage/logs/:id'],
  security: ['/usage/security'],
  rules: ['/rules'],
  keys: ['/keys', '/usage/report'],
  usage: ['/usage/report', '/usage/limits'],
  audit: ['/audit/checkpoint', '/audit/verify', '/audit/changes'],
  settings: ['/config'],
  // Parts of pages.
  'recent-calls': ['/overview'],
  'live-log': ['/usage/logs/live'],
  receipts: ['/audit/receipts/:id'],
  'try-prompt': ['/rules/evaluate'],
  candidate: ['/rules/candidate'],
} as const

/** Schema of their names in the description of the API. */
export const SERVED_PAGES = list(
  choice('Name of a page or a part of the console whose API is here.', ...Object.keys(PAGES)),
)

/** Returns the names of the pages and parts whose routes are all among these. */
export function servedPages(routes: readonly { readonly path: string }[]): string[] {
  const paths = new Set(routes.map(({ path }) => path))
  return Object.entries(PAGES)
    .filter(([, needed]) => needed.every((path) => paths.has(`/api/v1${path}`)))
    .map(([name]) => name)
}
