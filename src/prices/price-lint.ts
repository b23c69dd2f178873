// Warns about lines of a price file that are valid and probably wrong: globs that match nothing,
// and lines that are never asked because of one before them.

import { formatPath, readDocument } from '../core/document.ts'
import type { Problem } from '../core/problem.ts'
import { compileGlob, MAXIMUM_GLOB_CHARACTERS } from '../policy/glob.ts'
import { whyOddGlob } from '../policy/odd-glob.ts'
import { PRICES_SCHEMA } from './price-schema.ts'

/**
 * Returns the warnings on a price file, in the order of its lines; none if it has errors.
 * @param file names it in problems
 */
export function lintPrices(text: string, file: string): Problem[] {
  const { value, locate } = readDocument<{ readonly prices: object }>(text, file, PRICES_SCHEMA)
  const lines = Object.keys(value?.prices ?? {})
    .map((glob) => ({ glob, at: locate(['prices', glob]) }))
    .sort((a, b) => a.at.line - b.at.line || a.at.column - b.at.column)
  const warnings: Problem[] = []
  const wide: WideGlob[] = []
  for (const { glob, at } of lines) {
    const warn = (message: string) =>
      warnings.push({ file, ...at, path: formatPath(['prices', glob]), message })
    const odd = whyOddGlob(glob, 'models')
    if (odd !== null) warn(odd)
    const before = wide.find((other) => other.covers(glob))
    if (before !== undefined)
      warn(
        `is never used, because \`${before.glob}\` in line ${before.line} comes first and matches the same models; move this line up`,
      )
    if (/[*?]/.test(glob)) wide.push(wideGlob(glob, at.line))
  }
  return warnings
}

interface WideGlob {
  readonly glob: string
  readonly line: number
  /** Reports whether it matches every name that another glob matches. */
  covers(other: string): boolean
}

/** No name of a model has it, so that only a wildcard matches it. */
const ANY = '\0'
/** Longer than what a glob can match without `*`. */
const MANY = ANY.repeat(MAXIMUM_GLOB_CHARACTERS + 1)

function wideGlob(glob: string, line: number): WideGlob {
  const matches = compileGlob(glob)
  const [start = ''] = glob.split(/[*?]/, 1)
  return {
    glob,
    line,
    covers: (other) => {
      if (!other.startsWith(start)) return false
      const one = other.replaceAll('?', ANY)
      return matches(one.replaceAll('*', '')) && matches(one.replaceAll('*', MANY))
    },
  }
}
