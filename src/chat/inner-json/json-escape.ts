// Reads escape sequences of JSON strings (RFC 8259 §7), also those that are escaped again.

/** Characters of an escape, and what they spell. */
export interface Escape {
  readonly view: string
  readonly length: number
}

const SIMPLE: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const UNICODE = /u([0-9a-fA-F]{4})/y
const BEGUN_UNICODE = /(?:u[0-9a-fA-F]{0,3})?$/y
const BACKSLASHES = /\\+/y
/** Stands for half a surrogate pair. */
const REPLACEMENT = '\uFFFD'

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Returns the number of backslashes at an offset. */
export const countBackslashes = (text: string, at: number): number =>
  matchAt(BACKSLASHES, text, at)?.[0].length ?? 0

/**
 * Reads the escape at a backslash; null while it is incomplete. Characters that are no escape spell
 * themselves.
 * @param last whether the text ends here
 */
export function readEscape(text: string, at: number, last: boolean): Escape | null {
  const letter = text[at + 1]
  if (letter === undefined) return last ? { view: '\\', length: 1 } : null
  const simple = SIMPLE[letter]
  if (simple !== undefined) return { view: simple, length: 2 }
  if (letter !== 'u') {
    // A pair may be one escape of a string around this one.
    const view = `\\${String.fromCodePoint(text.codePointAt(at + 1)!)}`
    return { view, length: view.length }
  }
  const unicode = readUnicode(text, at, 1, 1, last)
  return unicode === 'none' ? { view: '\\u', length: 2 } : unicode
}

/**
 * Reads a `\uXXXX`, or two for a surrogate pair, after any number of backslashes.
 * @param run number of backslashes at `at`
 * @param longest maximum backslashes before the second half of a pair
 * @returns null while it is incomplete
 */
export function readUnicode(
  text: string,
  at: number,
  run: number,
  longest: number,
  last: boolean,
): Escape | null | 'none' {
  const first = matchAt(UNICODE, text, at + run)
  if (first === null) return !last && matchAt(BEGUN_UNICODE, text, at + run) !== null ? null : 'none'
  const code = Number.parseInt(first[1]!, 16)
  const length = run + first[0].length
  if (code < 0xd800 || code > 0xdfff) return { view: String.fromCharCode(code), length }
  if (code > 0xdbff) return { view: REPLACEMENT, length }
  const next = Math.min(longest, countBackslashes(text, at + length))
  const second = next === 0 ? null : matchAt(UNICODE, text, at + length + next)
  if (second === null && !last && matchAt(BEGUN_UNICODE, text, at + length + next) !== null) return null
  const low = second === null ? Number.NaN : Number.parseInt(second[1]!, 16)
  return low >= 0xdc00 && low <= 0xdfff
    ? { view: String.fromCharCode(code, low), length: length + next + second![0].length }
    : { view: REPLACEMENT, length }
}
