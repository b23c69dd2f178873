// White space at the edges of keyword alternatives. It belongs to what is looked for, which hardly anybody means.

import { splitAlternatives } from '../policy/alternatives.ts'

/** Behind the flags that the splitting repeats. */
const LEADING = /^((?:\(\?[a-zA-Z-]+\))*)\s+/
/** A backslash says that the next one is meant. */
const TRAILING = /(?<!\\)\s+$/

/** What is wrong with the edges of a pattern's alternatives, in sentences. */
export function marginFaults(pattern: string): string[] {
  return splitAlternatives(pattern).flatMap((alternative, index) => {
    const bare = alternative.replace(LEADING, '$1').replace(TRAILING, '')
    if (bare === alternative || bare === '') return []
    const where = [
      ...(LEADING.test(alternative) ? ['begins'] : []),
      ...(TRAILING.test(alternative) ? ['ends'] : []),
    ].join(' and ')
    const hasLineEnd = /^\s*\n|\n\s*$/.test(alternative)
    const what = hasLineEnd ? 'a line end' : 'white space'
    const cause = hasLineEnd
      ? '; in YAML `>-` and `|-` leave none behind the last line, and quotes on one line none at all'
      : '; where it is meant, `\\x20`'
    return [
      `alternative ${index + 1} ${where} with ${what}, without which a text does not match: write \`${bare}\`${cause}`,
    ]
  })
}
