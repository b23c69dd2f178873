// Matches a token by its form. The form alone proves nothing: the rest must look random.

import { parseApiKey } from '../../../core/apikey.ts'
import { isDigit } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'
import type { Span } from '../keyblock.ts'
import { innerTokenAt } from './inner-forms.ts'
import { distinctCharacters, isMachineMade, isRandom, MIN_DISTINCT } from './randomness.ts'
import { type TokenMatch, tokensAt } from './token-forms.ts'

/** Length of the shortest token, and of the part that must look random. */
export const MIN_TOKEN = 15

const TELEGRAM = /\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/y

/** The token that starts at an offset; null without one. */
export function secretAt(text: string, start: number): Span | null {
  for (const token of tokensAt(text, start))
    if (isSecret(token)) return { start, end: start + token.value.length }
  TELEGRAM.lastIndex = start
  const value =
    innerTokenAt(text, start) ?? (isDigit(codeAt(text, start)) ? TELEGRAM.exec(text)?.[0] : undefined)
  return value === undefined || !isRandom(value) ? null : { start, end: start + value.length }
}

function isSecret({ value, test }: TokenMatch): boolean {
  if (test === 'none') return true
  if (value.startsWith('sgate_live_')) return parseApiKey(value)
  if (/^(?:AKIA|ASIA)/.test(value)) return distinctCharacters(value) > MIN_DISTINCT
  const separator = Math.max(4, value.search(/[-_.](?=[^-_.]*$)/))
  const randomPart = value.slice(value.length - separator > MIN_TOKEN ? separator : 4)
  return isRandom(value, randomPart) && (test === 'random' || isMachineMade(value))
}
