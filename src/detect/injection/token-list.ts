// The tokens of one piece of text as rows of numbers: no objects are made per token.

/** Columns of a token's row. */
export const TOKEN = {
  /** 32-bit hash. */
  hash: 0,
  /** Sum of the weights of the features that the token has by itself. */
  sum: 1,
  /** What it is: see TRAIT. */
  traits: 2,
  /** Folded unit of its first character. */
  first: 3,
  /** Folded unit of its last character. */
  last: 4,
  /** Where a word's cleaned letters end that begin at `first`; `first` itself for what has no letters. */
  lettersEnd: 5,
  /** From one row to the next. */
  columns: 8,
} as const

/** Parts of the column of traits. */
export const TRAIT = {
  /** Set for a word, number or ideograph, not for punctuation. */
  word: 1,
  /** The number of the idea that the word stands for, 0 for none, so many bits up. */
  ideaShift: 1,
  ideaMask: 0x1f,
  /** How many features the token has by itself, so many bits up. */
  countShift: 8,
} as const

/** Room for the tokens of one piece; made once and used again and again. */
export interface Tokens {
  length: number
  readonly rows: Int32Array
  /** Words in which a letter follows a digit, as in `1gn0re`. */
  mixedWords: number
}

export function createTokens(capacity: number): Tokens {
  return { length: 0, rows: new Int32Array(capacity * TOKEN.columns), mixedWords: 0 }
}
