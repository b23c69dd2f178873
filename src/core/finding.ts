// The names of personal data: what `detect` finds, `policy` decides on and the log counts.

/** Every kind, in the order they are listed to people; all are on unless the configuration narrows the list. The names are the values of `pii_types`. */
export const PII_KINDS = [
  'email',
  'phone',
  'credit_card',
  'us_ssn',
  'iban',
  'ip_address',
  'mac_address',
  'secret',
] as const

export type PiiKind = (typeof PII_KINDS)[number]

/** One piece of personal data in one text. */
export interface Finding {
  readonly kind: PiiKind
  /** UTF-16 offset of the first code unit. */
  readonly start: number
  /** UTF-16 offset after the last code unit. */
  readonly end: number
}
