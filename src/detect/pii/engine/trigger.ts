// Finds triggers: the characters at which detection starts. Every value contains one. Knows of
// values only what rules them out.

import {
  ASCII_END,
  ASTERISK,
  AT_SIGN,
  COLON,
  COMMA,
  DOT,
  EQUALS,
  HYPHEN,
  isAsciiLower,
  isDigit,
  isHexDigit,
  QUOTE,
  SLASH,
  SPACE,
} from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isLetter } from '../code-unit-classes.ts'
import { isKeyHeader, KEY_BEGIN } from '../keyblock.ts'
import { ADDRESS, type KindSet } from '../kinds.ts'
import { isNamingSign, NAME_TAIL_SOURCE } from '../secret/names.ts'
import type { ContextWords } from '../words/context.ts'
import { mayMonthFollow } from '../words/months.ts'
import { skipNumber } from './skip-numbers.ts'
import { isLoneColon } from './skip-times.ts'

/**
 * Matches a trigger: any digit or `@`, the beginning of a private key, and the other characters
 * before hexadecimal digits or a long word, or after the name of a credential. Starts with one of
 * at most 16 characters: V8 looks for so many at once.
 */
const TRIGGER = new RegExp(
  `[0-9@]|:(?=[0-9A-Fa-f:])|[:=]${NAME_TAIL_SOURCE}|-(?=[A-Fa-f]{2}-|[A-Za-z_-]{20}|${KEY_BEGIN.slice(1)})|\\.(?=[A-Fa-f]{4}\\.[A-Fa-f])|A(?=[KS]IA[A-Z]{16})`,
  'g',
)
/**
 * Characters that decide whether there is a trigger: the character itself and those in the
 * lookaheads.
 */
export const TRIGGER_CHARACTERS = 21
/**
 * Characters read one by one before the pattern is used: the next trigger is usually near the last
 * number.
 */
const NEAR = 6
/** The same after a skipped trigger, when the next is usually further away. */
const NEAR_SKIPPED = 16

/**
 * The first offset at or after `from` where a value may start, judged by the characters there and
 * just after; -1 if there is none.
 */
export function nextCandidate(text: string, from: number, kinds: KindSet): number {
  let at = nextTriggerCharacter(text, from, NEAR)
  // A house number may precede a word.
  if ((kinds & ADDRESS) !== 0) return at
  while (at >= 0 && isFollowedByWord(text, at)) at = nextTriggerCharacter(text, endOfDigits(text, at), NEAR)
  return at
}

/**
 * The first trigger at or after `from`; -1 if there is none. In prose less than half of the
 * candidates are triggers, in tables almost none.
 * @param words context words of the text; with them, more candidates are ruled out
 * @param until from here on, any candidate may be returned
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

/** Where to continue after a candidate at which no value starts; `at` if one may start there. */
function skip(text: string, at: number, words: ContextWords | null): number {
  const code = text.charCodeAt(at)
  if (isDigit(code)) return skipNumber(text, at, words)
  if (code === EQUALS) return isNamingSign(text, at) ? at : at + 1
  if (code === COLON) return isLoneColon(text, at) && !isNamingSign(text, at) ? at + 1 : at
  if (code === HYPHEN) return text.startsWith(KEY_BEGIN, at) && !isKeyHeader(text, at) ? at + 1 : at
  return code === AT_SIGN && hasNoLocalPart(text, at) ? at + 1 : at
}

/** Asterisks before a name in a comment or in bold type: `/** @param`, `**@jo**`. */
const MAXIMUM_ASTERISKS = 3

/** Reports whether no address and no password can end before the `@`. */
function hasNoLocalPart(text: string, at: number): boolean {
  let end = at
  while (at - end < MAXIMUM_ASTERISKS && codeAt(text, end - 1) === ASTERISK) end--
  const before = codeAt(text, end - 1)
  return before <= SPACE || before === SLASH || before === QUOTE
}

/** The first character of a text that may be a trigger; -1 if there is none. */
export const firstTrigger = (text: string): number => nextTriggerCharacter(text, 0, NEAR)

/** Characters that may be triggers. */
const MAY_TRIGGER = new Uint8Array(ASCII_END)
for (const sign of '0123456789@:=-.') MAY_TRIGGER[sign.charCodeAt(0)] = 1

function nextTriggerCharacter(text: string, from: number, near: number): number {
  const limit = Math.min(text.length, from + near)
  for (let at = from; at < limit; at++) {
    const code = text.charCodeAt(at)
    if (code >= ASCII_END || MAY_TRIGGER[code] === 0) continue
    if (isDigit(code) || code === AT_SIGN) return at
    if (code === COLON) {
      const next = codeAt(text, at + 1)
      if (isHexDigit(next) || next === COLON || isNamingSign(text, at)) return at
    } else if (code === EQUALS) {
      if (isNamingSign(text, at)) return at
    } else {
      const next = codeAt(text, at + 1)
      if (isLetter(next) || next === HYPHEN) break
    }
  }
  TRIGGER.lastIndex = from
  return TRIGGER.test(text) ? TRIGGER.lastIndex - 1 : -1
}

/** Document numbers have six characters; no other number before a word has so few digits. */
const MAXIMUM_QUANTITY_DIGITS = 5
/** Digits of a day of the month. */
const MAXIMUM_DAY_DIGITS = 2
/** `1973.` */
const YEAR_CHARACTERS = 5

/**
 * Reports whether a number is followed by a word, as most are in prose: `under 120 words`,
 * `in 2024, the`. No value has that form, wherever the text is cut after its start, except a day
 * before its month.
 */
function isFollowedByWord(text: string, at: number): boolean {
  if (codeAt(text, at - 1) !== SPACE) return false
  let end = at
  while (isDigit(codeAt(text, end))) if (++end - at > MAXIMUM_QUANTITY_DIGITS) return false
  const isDay = end - at <= MAXIMUM_DAY_DIGITS
  const mark = codeAt(text, end)
  const isEnded = mark === DOT || mark === COMMA
  if (isEnded) end++
  if (codeAt(text, end) !== SPACE) return false
  const first = codeAt(text, end + 1)
  if (isEnded ? !isLetter(first) : !isAsciiLower(first)) return false
  // `4 July`, `4 of July`, `1973. augusztus 30.`
  if (isDay || (mark === DOT && end - at === YEAR_CHARACTERS)) return !mayMonthFollow(text, end)
  return true
}
