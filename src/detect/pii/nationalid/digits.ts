// Defines a personal number that consists of digits: length, grouping, check digits, labels. See
// nationalid.ts for its use; the numbers of the countries are in africa.ts, americas.ts, asia.ts
// and europe.ts.

/** One personal number of one country. */
export interface DigitIdentifier {
  readonly digits: number
  /** Matches the notation: lengths of the groups, a space, the separators. */
  readonly form: RegExp
  /** Matches notations that no other number has; these need no label. */
  readonly alone?: RegExp
  /** Pattern of its labels, in lower case, for the text directly before. */
  readonly words: string
  /** Whether a general label for personal numbers is enough. */
  readonly general: boolean
  readonly valid: (digits: string) => boolean
}

/** Form of a number in one piece. */
export const PLAIN = /^\d+ $/
export const SPACED_3 = /^(?:9 |3-3-3 (?: {2}|-{2}|\.{2}))$/
export const SPACED_4 = /^(?:12 |4-4-4 (?: {2}|--))$/
export const SPACED_10 = /^(?:10 |3-3-4 (?: {2}|--))$/

const row = (
  general: boolean,
  digits: number,
  words: string,
  valid: (digits: string) => boolean,
  form: RegExp,
  alone?: RegExp,
): DigitIdentifier => ({ digits, words, valid, form, general, ...(alone === undefined ? {} : { alone }) })

/** Defines a number that its check digits prove. */
export const checked = (
  digits: number,
  words: string,
  valid: (digits: string) => boolean,
  form: RegExp = PLAIN,
  alone?: RegExp,
): DigitIdentifier => row(true, digits, words, valid, form, alone)

/**
 * Defines a number that only its own label proves.
 * @param valid what can be verified nevertheless
 */
export const unchecked = (
  digits: number,
  words: string,
  form: RegExp = PLAIN,
  valid: (digits: string) => boolean = () => true,
  alone?: RegExp,
): DigitIdentifier => row(false, digits, words, valid, form, alone)
