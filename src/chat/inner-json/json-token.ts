// Reads numbers and literals of JSON (RFC 8259 §3 and §6).

/**
 * Longest number with the white space after it to wait for. No longer token is a number in
 * practice, nor personal data.
 */
const MAXIMUM_TOKEN_CHARACTERS = 64

const TOKEN = /[-+.\w]+/y
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LITERAL = /^(?:true|false|null)$/
const SPACE = /[ \t\r\n]/
const AFTER_VALUE = /[\s,\]}]/

export interface JsonToken {
  readonly kind: 'number' | 'literal'
  readonly length: number
}

/**
 * Reads the token at an offset; null while it is incomplete.
 * @param isInside whether it is in a list or an object, where only a comma or a bracket may follow.
 *   In `[4111 1111]` the first group is no number.
 */
export function readToken(
  text: string,
  at: number,
  isInside: boolean,
  last: boolean,
): JsonToken | 'none' | null {
  TOKEN.lastIndex = at
  const token = TOKEN.exec(text)?.[0] ?? ''
  if (token.length > MAXIMUM_TOKEN_CHARACTERS || !/^[-\dtfn]/.test(token)) return 'none'
  let after = at + token.length
  const limit = at + MAXIMUM_TOKEN_CHARACTERS
  if (isInside) while (after < limit && SPACE.test(text[after] ?? '')) after++
  const follower = text[after]
  if (follower === undefined && !last && after <= limit) return null
  const kind = LITERAL.test(token) ? 'literal' : NUMBER.test(token) ? 'number' : null
  const isWhole = follower === undefined || AFTER_VALUE.test(follower)
  return kind !== null && isWhole ? { kind, length: token.length } : 'none'
}
