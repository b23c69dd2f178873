// The terms of an API key: what it may call, until when, and whether the text of its calls
// is kept.

import type { KeyIdentity } from './apikey.ts'
import type { Milliseconds } from './clock.ts'
import { LEGIBLE } from './hidden-characters.ts'

/** Names and values that an operator gives to keys, such as `team: search`. */
export type KeyLabels = Readonly<Record<string, string>>

export interface KeyTerms {
  /** Globs of the models that the key may call, as policy/access-list reads them; null for all. */
  readonly models: readonly string[] | null
  /** From this time on the key is refused; null for never. */
  readonly expiresAtMs: Milliseconds | null
  /** Who answers for the key. Free text that may be an address; it is never sealed. */
  readonly owner: string | null
  readonly labels: KeyLabels
  /** Whether the text of its exchanges is kept; null for what the configuration says. */
  readonly capture: 'full' | 'metadata' | null
  /** Maximum calls at a time; null for no limit of its own. */
  readonly maxParallel: number | null
  /**
   * Globs of the namespaces whose sidecars get the key; null for all. Absent outside a hub.
   */
  readonly namespaces?: readonly string[] | null
}

export const NO_TERMS: KeyTerms = {
  models: null,
  expiresAtMs: null,
  owner: null,
  labels: {},
  capture: null,
  maxParallel: null,
}

/** The key of a call. */
export interface CallKey extends KeyIdentity {
  /**
   * Id of the first key that this one replaces, itself included. Keys of one line share limits and
   * stored answers.
   */
  readonly line: string
  readonly terms: KeyTerms
}

/** Sorts labels by name, the order in which they are sealed. */
export const inOrder = (labels: KeyLabels): KeyLabels =>
  Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)))

/** Reports whether labels include each of these names with its value. */
export const includesLabels = (labels: KeyLabels, wanted: readonly (readonly [string, string])[]): boolean =>
  wanted.every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)

const MAXIMUM_GLOBS = 100
const MAXIMUM_LABELS = 8
/** Printable characters, none of them white space at the ends. */
const PRINTABLE = '^[^\\p{C}\\s]([^\\p{C}\\p{Zl}\\p{Zp}]*[^\\p{C}\\s])?$'
const label = (description: string) => ({
  description: `${description} of a label. It must have ${LEGIBLE}.`,
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: PRINTABLE,
})

/** JSON Schema of the terms, by the names of the configuration. */
export const TERM_SCHEMAS = {
  models: {
    description:
      'Models that the key may call: globs, or after `!` globs of models that it may not. `*` matches any characters, `?` one; case counts. A list of `!` globs alone allows everything else, and an empty one nothing. Without a list every model is allowed.',
    type: 'array',
    maxItems: MAXIMUM_GLOBS,
    items: {
      description: 'A glob of printable characters, after at most one `!`.',
      type: 'string',
      minLength: 1,
      maxLength: 128,
      pattern: '^!?[^\\p{C}!][^\\p{C}]*$',
    },
  },
  expiresAt: {
    description: 'When the key ends: a date, or a time with its zone such as `2027-01-01T00:00:00Z`.',
    type: 'string',
    maxLength: 64,
  },
  owner: {
    description:
      'Who answers for the key; may be an address. Kept with the key and never sealed. Printable characters.',
    type: 'string',
    minLength: 1,
    maxLength: 128,
    pattern: '^[^\\p{C}]+$',
  },
  labels: {
    description:
      'Names and values such as `team: search`, which rules match and entries hold. At most eight, each of at most 64 printable characters, without personal data.',
    type: 'object',
    maxProperties: MAXIMUM_LABELS,
    propertyNames: label('Name'),
    additionalProperties: label('Value'),
  },
  capture: {
    description:
      'Whether the exchanges of the key are kept: `full`, or `metadata` for none of their text. Without it, what `audit.capture` says.',
    enum: ['full', 'metadata'],
  },
  maxParallel: {
    description: 'Most calls of the key at a time.',
    type: 'integer',
    minimum: 1,
    maximum: 100_000,
  },
} as const

/** JSON Schema of the term that only a hub has. */
export const NAMESPACES_SCHEMA = {
  description:
    'Globs of the namespaces whose sidecars get the key or the rules: `*` matches any characters, `?` one. Without a list every sidecar gets them.',
  type: 'array',
  maxItems: MAXIMUM_GLOBS,
  items: {
    description: 'A glob of the characters of a namespace (RFC 1123 §2.1).',
    type: 'string',
    minLength: 1,
    maxLength: 63,
    pattern: '^[a-z0-9*?-]+$',
  },
} as const
