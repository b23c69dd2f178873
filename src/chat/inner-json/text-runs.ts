// Matches the characters of a text that its level reads at once.

/** Text in which no JSON begins and no character is escaped: a bracket needs a fitting follower. */
export const PROSE = /(?:[^{[\\]+|\\+(?=[^u\\])|\{(?=\s*[^\s"\\}])|\[(?=\s*[^\s"\\\]{[\dtfn-]))+/y
export const NOT_ESCAPE = /[^\\]+/y
export const IN_STRING = /[^"\\]+/y
export const IN_STRING_ON_LINE = /[^"\\\r\n]+/y
/** Text of JSON whose quotes are escaped, up to a bracket that may end it. */
export const IN_ESCAPED_JSON = /[^"\\}\]]+|[}\]]/y

/** Returns the characters at an offset that a sticky pattern matches. */
export function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/**
 * Reports whether the line after the text has begun with white space only; null for spaces, which
 * continue the line.
 */
export function endsAtLineStart(text: string): boolean | null {
  let at = text.length - 1
  while (at >= 0 && (text[at] === ' ' || text[at] === '\t')) at--
  return at < 0 ? null : text[at] === '\n' || text[at] === '\r'
}
