// Says which calls share the count of a limit: those of one key, of one value of a label, of one
// run, of one end user, or all.

import { hash } from 'node:crypto'
import type { CallKey } from '../core/key-terms.ts'

/** What shares one count. */
export type LimitScope = 'key' | 'all' | 'run' | 'user' | { readonly label: string }

/** Who makes a call, besides its key: hashes, null where the call names none. */
export interface Caller {
  readonly run: string | null
  readonly user: string | null
}

export const NO_CALLER: Caller = { run: null, user: null }

/** The name of a rule's count in a unit, apart from that of its tokens. */
export const countOf = ({
  rule,
  unit,
}: {
  readonly rule: { readonly id: string }
  readonly unit: string
}): string => (unit === 'tokens' ? rule.id : `${rule.id}:${unit}`)

/** Reports whether the subjects of a scope are bounded by the keys. Clients name runs and users. */
export const isBoundedScope = (scope: LimitScope): boolean => scope !== 'run' && scope !== 'user'

/** Begins the name of the count of a run or an end user, of which there may be any number. */
const UNBOUNDED = /^(?:run|user)-/

/** Reports whether the count of a subject is one of any number. */
export const isUnbounded = (subject: string): boolean => UNBOUNDED.test(subject)

/** The name of the count that all keys share. */
export const ALL_KEYS = 'all'
const LABEL = 'label:'
/** Hexadecimal digits of the hash of a label, which may be longer than a name of the database. */
const LABEL_DIGITS = 40

/** Reads `per` of a rule that fits the schema. */
export function readScope(per = 'key'): LimitScope {
  if (per.startsWith(LABEL)) return { label: per.slice(LABEL.length) }
  return per === 'all' || per === 'run' || per === 'user' ? per : 'key'
}

/**
 * Returns the name of the count for the calls of a key. Keys that replace each other share theirs,
 * and so do all keys without the label. The calls of a key without a run, or a user, share one. A
 * run is of one key, because its client chooses the name.
 */
export function subjectOf(
  scope: LimitScope,
  { line, terms }: Pick<CallKey, 'line' | 'terms'>,
  { run, user }: Caller = NO_CALLER,
): string {
  if (scope === 'key') return line
  if (scope === 'run') return run === null ? `no-run-${line}` : `run-${line}-${run}`
  if (scope === 'user') return user === null ? `no-user-${line}` : `user-${user}`
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
  if (scope === 'run') return 'this run'
  if (scope === 'user') return 'this end user'
  return scope === 'all' ? 'all API keys' : `all API keys with the same label "${scope.label}"`
}
