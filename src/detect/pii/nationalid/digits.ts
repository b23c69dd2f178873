// What is known of a personal number that is digits alone: length, grouping, check digits, the words it goes by. How it
// is used is said in nationalid.ts, the countries are in africa.ts, americas.ts, asia.ts and europe.ts.

/** One personal number of one country. */
export interface DigitIdentifier {
  readonly digits: number
  /** How it is written: lengths of the groups, a space, the separators between them. */
  readonly form: RegExp
  /** Forms that nothing else has: no word needs to stand before. */
  readonly alone?: RegExp
  /** Its names, small letters, for the text right before. */
  readonly words: string
  /** Whether a word for such numbers in general does. */
  readonly general: boolean
  readonly valid: (digits: string) => boolean
}

/** The form of one in one piece. */
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

/** A number whose check digits prove it. */
export const checked = (
  digits: number,
  words: string,
  valid: (digits: string) => boolean,
  form: RegExp = PLAIN,
  alone?: RegExp,
): DigitIdentifier => row(true, digits, words, valid, form, alone)

/** A number that nothing proves but its own name before it. @param valid what is known all the same */
export const unchecked = (
  digits: number,
  words: string,
  form: RegExp = PLAIN,
  valid: (digits: string) => boolean = () => true,
  alone?: RegExp,
): DigitIdentifier => row(false, digits, words, valid, form, alone)
