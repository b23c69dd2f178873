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
  /** What later tokens may depend on, and whether the leet view reads it otherwise: see STATE. */
  state: 6,
  /** Sum and number of all its features, those that have to do with its neighbours too: see TOTAL. */
  total: 7,
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

/** Parts of the column of states. */
export const STATE = {
  /** The last word was of Latin letters, or a number. */
  latin: 1,
  /** The last token is a spaced-out word. */
  spaced: 2,
  /** The two above are what is read on with. */
  readOn: 3,
  /** A word with digits among its letters, which the leet view reads as letters. */
  leet: 4,
} as const

/** Parts of the column of totals: the sum so many bits up, and below it the number. */
export const TOTAL = { sumShift: 8, countMask: 0xff } as const

/** The reader's state before the current offset. */
export interface Before {
  /** Parts of STATE. */
  state: number
  /** Running hash of the ideograph or syllable that ended at `singleEnd`. */
  single: number
  singleEnd: number
}

/** Room for the tokens of one piece; made once and used again and again. */
export interface Tokens {
  length: number
  readonly rows: Int32Array
  /** Words in which a letter follows a digit, as in `1gn0re`. */
  mixedWords: number
  /** Words that STATE.leet is set for. */
  leetWords: number
  /** Whether cleaned letters were written over others. */
  rewritten: boolean
}

export function createTokens(capacity: number): Tokens {
  return {
    length: 0,
    rows: new Int32Array(capacity * TOKEN.columns),
    mixedWords: 0,
    leetWords: 0,
    rewritten: false,
  }
}
