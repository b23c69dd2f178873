// Kinds of personal data, shared by detection, policy and the log.

/** Every kind, in the order of lists and documents. The names are the values of `pii_types`. */
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

/**
 * Kinds whose format alone does not identify them. Detected only if the configuration names them.
 */
const OPT_IN: ReadonlySet<PiiKind> = new Set(['address', 'person'])

/** Kinds that are detected unless the configuration names others. */
export const DEFAULT_PII_KINDS: readonly PiiKind[] = PII_KINDS.filter((kind) => !OPT_IN.has(kind))

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
