// The names of personal data: what `detect` finds, `policy` decides on and the log counts.

/** Every kind, in the order they are listed to people. The names are the values of `pii_types`. */
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

export type PiiKind = (typeof PII_KINDS)[number]

/** Kinds that the form alone does not tell well enough: looked for only where the configuration names them. */
const OPT_IN: ReadonlySet<PiiKind> = new Set(['address', 'person'])

/** What is looked for unless the configuration says otherwise. */
export const DEFAULT_PII_KINDS: readonly PiiKind[] = PII_KINDS.filter((kind) => !OPT_IN.has(kind))

/** Which way a text goes. */
export type Direction = 'request' | 'response'

/** One piece of personal data in one text. */
export interface Finding {
  readonly kind: PiiKind
  /** UTF-16 offset of the first code unit. */
  readonly start: number
  /** UTF-16 offset after the last code unit. */
  readonly end: number
}
