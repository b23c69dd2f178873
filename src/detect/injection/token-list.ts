// Holds the tokens of one piece of text as rows of numbers, so that no object is made per token.

// Columns of a token's row.

/** 32-bit hash of the token. */
export const COLUMN_HASH = 0
/** Sum of the weights of the features that do not depend on the context. */
export const COLUMN_SUM = 1
/** TRAIT_… fields. */
export const COLUMN_TRAITS = 2
/** Folded unit of the first character. */
export const COLUMN_FIRST = 3
/** Folded unit of the last character. */
export const COLUMN_LAST = 4
/** End of the cleaned letters that begin at COLUMN_FIRST; equal to it without letters. */
export const COLUMN_LETTERS_END = 5
/** STATE_… flags after the token. */
export const COLUMN_STATE = 6
/** Sum and count of all features, context included: TOTAL_… fields. */
export const COLUMN_TOTAL = 7
/** Columns in a row. */
export const ROW_COLUMNS = 8

// Fields of the traits column.

/** Set for a word, number or ideograph, not for punctuation. */
export const TRAIT_WORD = 1
/** Bit offset of the number of the word's idea, 0 for none. */
export const TRAIT_IDEA_SHIFT = 1
/** Mask of the idea's number, after the shift. */
export const TRAIT_IDEA_MASK = 0x1f
/** Bit offset of the number of features that do not depend on the context. */
export const TRAIT_COUNT_SHIFT = 8

// Flags of the state column.

/** The last word is a number or has only Latin letters. */
export const STATE_LATIN = 1
/** The last token is a spaced-out word. */
export const STATE_SPACED = 2
/** The flags that the reading of later tokens depends on: the two above. */
export const STATE_CARRIED = 3
/** The word has digits among its letters, which the leet view reads as letters. */
export const STATE_LEET = 4

// Fields of the total column: the sum above the shift, the count of features below it.

export const TOTAL_SUM_SHIFT = 8
export const TOTAL_COUNT_MASK = 0xff

/** What the reader carries from token to token. */
export interface PrecedingState {
  /** STATE_… flags. */
  state: number
  /** Running hash of the ideograph that ended at `ideographEnd`. */
  ideographHash: number
  ideographEnd: number
}

/** Buffer for the tokens of one piece, made once and reused. */
export interface TokenList {
  length: number
  readonly rows: Int32Array
  /** Words in which a letter follows a digit, as in `1gn0re`. */
  mixedWords: number
  /** Words with STATE_LEET. */
  leetWords: number
  /** Whether cleaned letters have overwritten units of the piece. */
  rewritten: boolean
}

export function createTokenList(capacity: number): TokenList {
  return {
    length: 0,
    rows: new Int32Array(capacity * ROW_COLUMNS),
    mixedWords: 0,
    leetWords: 0,
    rewritten: false,
  }
}
