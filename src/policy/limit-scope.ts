// Says which calls share the count of a limit: those of one key, of one value of a label, or all.

import { hash } from 'node:crypto'
import type { CallKey } from '../core/key-terms.ts'

/** What shares one count. */
export type LimitScope = 'key' | 'all' | { readonly label: string }

/** The name of the count that all keys share. */
export const ALL_KEYS = 'all'
const LABEL = 'label:'
/** Hexadecimal digits of the hash of a label, which may be longer than a name of the database. */
const LABEL_DIGITS = 40

/** Reads `per` of a rule that fits the schema. */
export function readScope(per = 'key'): LimitScope {
  if (per.startsWith(LABEL)) return { label: per.slice(LABEL.length) }
  return per === 'all' ? 'all' : 'key'
}

/**
 * Returns the name of the count for the calls of a key. Keys that replace each other share theirs,
 * and so do all keys without the label.
 */
export function subjectOf(scope: LimitScope, { line, terms }: Pick<CallKey, 'line' | 'terms'>): string {
  if (scope === 'key') return line
  if (scope === 'all') return ALL_KEYS
  const value = Object.hasOwn(terms.labels, scope.label) ? terms.labels[scope.label] : undefined
  return labelSubject(scope.label, value ?? null)
}

/** The name of the count for the keys whose label has a value; null for those without the label. */
export const labelSubject = (label: string, value: string | null): string =>
  `label-${hash('sha256', JSON.stringify([label, value])).slice(0, LABEL_DIGITS)}`

/** The calls that share the count, for messages. */
export function describeScope(scope: LimitScope): string {
  if (scope === 'key') return 'this API key'
  return scope === 'all' ? 'all API keys' : `all API keys with the same label "${scope.label}"`
}
