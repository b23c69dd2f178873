// The tokens of one piece of text as columns of numbers: no objects are made per token.

/** Room for the tokens of one piece; made once and used again and again. */
export interface Tokens {
  length: number
  /** One 32-bit hash a token. */
  readonly hashes: Int32Array
  /** 1 for a word, number or ideograph, 0 for punctuation. */
  readonly words: Uint8Array
  /** Number of the idea the word stands for, 0 for none. */
  readonly ideas: Uint8Array
  /** Source offset of the token's first character. */
  readonly starts: Int32Array
  /** Source offset of the token's last character. */
  readonly lasts: Int32Array
  /** Cleaned letters of the words one after another; a word's are `letters[letterStarts[i], letterEnds[i])`. */
  readonly letters: Uint16Array
  readonly letterStarts: Int32Array
  readonly letterEnds: Int32Array
  /** Words in which a letter follows a digit, as in `1gn0re`. */
  mixedWords: number
}

export function createTokens(capacity: number): Tokens {
  return {
    length: 0,
    hashes: new Int32Array(capacity),
    words: new Uint8Array(capacity),
    ideas: new Uint8Array(capacity),
    starts: new Int32Array(capacity),
    lasts: new Int32Array(capacity),
    letters: new Uint16Array(capacity),
    letterStarts: new Int32Array(capacity),
    letterEnds: new Int32Array(capacity),
    mixedWords: 0,
  }
}
