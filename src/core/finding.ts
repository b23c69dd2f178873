// Kinds of personal data, shared by detection, policy and the log.

import { nearest } from './suggest.ts'

/**
 * Every kind that is built in, in the order of lists and documents. The names are values of
 * `pii_types`.
 */
export const PII_KINDS = [
  'email',
  'phone',
  'credit_card',
  'us_ssn',
  'iban',
  'ip_address',
  'mac_address',
  'secret',
  'crypto_wallet',
  'national_id',
  'date_of_birth',
  'passport',
  'driver_license',
  'address',
  'person',
] as const

export type BuiltInKind = (typeof PII_KINDS)[number]

/** A kind that is built in, or one that a rule or the configuration defines: an open kind. */
export type PiiKind = BuiltInKind | (string & Record<never, never>)

const BUILT_IN: ReadonlySet<string> = new Set(PII_KINDS)

export const isBuiltIn = (kind: string): kind is BuiltInKind => BUILT_IN.has(kind)

/** Matches names of kinds. A placeholder writes one in capitals, without digits: `[CASE_ID_1]`. */
export const KIND_NAME = /^[a-z]+(?:_[a-z]+)*$/

export const MAXIMUM_KIND_CHARACTERS = 32

/** What a name of an open kind is, for messages. */
const KIND_FORM = `lower-case letters, with \`_\` between words, at most ${MAXIMUM_KIND_CHARACTERS} characters, such as \`case_number\``

/** Edits by which a mistyped kind differs. Open kinds such as `us_passport` differ more. */
const MISTYPED_EDITS = 2

/** Returns why a name cannot be that of an open kind; null when it can. */
export function whyNotOpenKind(name: string): string | null {
  if (isBuiltIn(name)) return `must not be a built-in kind (${PII_KINDS.join(', ')}); choose another name`
  const close = nearest(name, PII_KINDS, MISTYPED_EDITS)
  if (close !== null) return `is too much like the built-in kind \`${close}\`; choose another name`
  const fits = name.length <= MAXIMUM_KIND_CHARACTERS && KIND_NAME.test(name)
  return fits ? null : `must be ${KIND_FORM}`
}

/** How a placeholder names a kind: `EMAIL`. */
export const labelOfKind = (kind: PiiKind): string => kind.toUpperCase()

/**
 * Kinds whose format alone does not identify them. Detected only if the configuration names them.
 */
const OPT_IN: ReadonlySet<PiiKind> = new Set(['address', 'person'])

/** Kinds that are detected unless the configuration names others. */
export const DEFAULT_PII_KINDS: readonly BuiltInKind[] = PII_KINDS.filter((kind) => !OPT_IN.has(kind))

export const DIRECTIONS = ['request', 'response'] as const
/** Direction of a text: to the upstream or from it. */
export type Direction = (typeof DIRECTIONS)[number]

/** Personal data found in a text. Offsets are UTF-16 code units. */
export interface Finding {
  readonly kind: PiiKind
  readonly start: number
  /** Exclusive. */
  readonly end: number
}
