// Where looking begins: what every value has that is found. Knows nothing of values but what none of them is like.

import {
  ASTERISK,
  AT_SIGN,
  COLON,
  COMMA,
  DOT,
  HYPHEN,
  isAsciiLower,
  isDigit,
  isHexDigit,
  LOWER_O,
  QUOTE,
  SLASH,
  SPACE,
  UNDERSCORE,
} from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isLetter } from '../code-unit-classes.ts'
import { ADDRESS, type KindSet } from '../kinds.ts'
import type { ContextWords } from '../words/context.ts'
import { mayBeMonth } from '../words/months.ts'
import { skipNumber } from './skip-numbers.ts'
import { isLoneColon } from './skip-times.ts'

/** What every value has that is found: one character, those between hexadecimal digits or long words only before such. */
const TRIGGER =
  /[0-9@]|:(?=[0-9A-Fa-f:])|-(?=[A-Fa-f]{2}-|[A-Za-z_-]{20})|\.(?=[A-Fa-f]{4}\.[A-Fa-f])|_(?=[A-Za-z]{20})|A(?=[KS]IA[A-Z]{16})/g
/** So many characters say whether one is a trigger: itself, and what the pattern looks at behind it. */
export const TRIGGER_CHARACTERS = 21
/** The next trigger is mostly near where a number was: so many characters are looked at before the pattern is. */
const NEAR = 6
/** Behind one that is none, where most are. */
const NEAR_SKIPPED = 16

/** The first place from one on where a value may begin, by the characters there and right behind; -1 for none. */
export function nextCandidate(text: string, from: number, kinds: KindSet): number {
  let at = nextTriggerCharacter(text, from, NEAR)
  // A house number is followed by words, too.
  if ((kinds & ADDRESS) !== 0) return at
  while (at >= 0 && isFollowedByWord(text, at)) at = nextTriggerCharacter(text, endOfDigits(text, at), NEAR)
  return at
}

/**
 * The first trigger from a place on: less than half of such places in prose, next to none in tables; -1 for none.
 * @param words of the text, if they are at hand: with them fewer places are triggers
 * @param until from there on any place is good enough
 */
export function nextTrigger(
  text: string,
  from: number,
  kinds: KindSet,
  words: ContextWords | null,
  until = text.length,
): number {
  let at = nextTriggerCharacter(text, from, NEAR)
  if ((kinds & ADDRESS) !== 0) return at
  while (at >= 0 && at < until) {
    const end = isFollowedByWord(text, at) ? endOfDigits(text, at) : skip(text, at, words)
    if (end === at) return at
    at = nextTriggerCharacter(text, end, NEAR_SKIPPED)
  }
  return at
}

/** Where to continue after a trigger that no value begins at; `at` if one may begin there. */
function skip(text: string, at: number, words: ContextWords | null): number {
  const code = text.charCodeAt(at)
  if (isDigit(code)) return skipNumber(text, at, words)
  if (code === COLON) return isLoneColon(text, at) ? at + 1 : at
  return code === AT_SIGN && hasNoLocalPart(text, at) ? at + 1 : at
}

/** No part of an address or a password ends before it. */
function hasNoLocalPart(text: string, at: number): boolean {
  const before = codeAt(text, at - 1)
  return before <= SPACE || before === SLASH || before === QUOTE || before === ASTERISK
}

function nextTriggerCharacter(text: string, from: number, near: number): number {
  const limit = Math.min(text.length, from + near)
  for (let at = from; at < limit; at++) {
    const code = text.charCodeAt(at)
    if (isDigit(code) || code === AT_SIGN) return at
    if (code === COLON) {
      const next = codeAt(text, at + 1)
      if (isHexDigit(next) || next === COLON) return at
    } else if ((code === HYPHEN || code === DOT || code === UNDERSCORE) && isLetter(codeAt(text, at + 1)))
      break
  }
  TRIGGER.lastIndex = from
  return TRIGGER.test(text) ? TRIGGER.lastIndex - 1 : -1
}

/** Numbers of documents have six characters, and no number has so few digits before a word. */
const MAX_QUANTITY_DIGITS = 5
/** Of a day. */
const MAX_DAY_DIGITS = 2
/** `1973.` */
const YEAR_CHARACTERS = 5

/**
 * Whether a number is followed by a word, as most in prose are: `under 120 words`, `in 2024, the`. No value is like
 * that, wherever the text is cut behind its beginning; a day may be, before its month.
 */
function isFollowedByWord(text: string, at: number): boolean {
  if (codeAt(text, at - 1) !== SPACE) return false
  let end = at
  while (isDigit(codeAt(text, end))) if (++end - at > MAX_QUANTITY_DIGITS) return false
  const isDay = end - at <= MAX_DAY_DIGITS
  const mark = codeAt(text, end)
  const isEnded = mark === DOT || mark === COMMA
  if (isEnded) end++
  if (codeAt(text, end) !== SPACE) return false
  const first = codeAt(text, end + 1)
  if (isEnded ? !isLetter(first) : !isAsciiLower(first)) return false
  // `4 July`, `4 of July`, `4 de julio`: the last begins like December. `1973. augusztus 30.`
  if (isDay) return first !== LOWER_O && !mayBeMonth(text, end + 1)
  return mark !== DOT || end - at !== YEAR_CHARACTERS || !mayBeMonth(text, end + 1)
}
