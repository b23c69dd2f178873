// Judges whether the text after the name of a credential is one: neither a placeholder, a variable,
// a type, code nor words.

import type { Introduction } from './names.ts'
import { distinctCharacters, isIdentifier, isMachineMade, isWordy, NO_PASSWORD } from './randomness.ts'

/**
 * How a value is written: in quotes, alone in a line after its name, among pairs as in a URL or as
 * the argument of a command, or without quotes in other text.
 */
export type Notation = 'quoted' | 'line' | 'pair' | 'inline'

export const MIN_LENGTH = 8
const MIN_DISTINCT_VALUE = 5

/** Placeholders and variables. */
const NO_VALUE =
  /x{4}|\*{3}|\.{3}|[…•<`]|[$#%]\{|\$\(|\{\{|\[\[|^[$@%&*]\w+(?:[.:/]\w+)*%?$|^[[({]|^__|^!|^ENC|change_?-?(?:me|this|it)|placeholder|redacted|example|sample|dummy|your|insert|replace|todo|fixme|not[-_]?set|undefined|12345678|abcdefg|qwerty|foobar|^test|-here$/i
/** The name as the value, with a few characters: `password123`. */
const NAME_AS_VALUE =
  /^.{0,5}(?:password|passwort|passwd|secret|token|api[-_]?key|admin|root)[\d!@#$_-]{0,5}$/i
/** Paths, URLs, names of cloud resources, selectors, addresses. */
const REFERENCE =
  /:\/\/|^~\/|^(?:arn|urn|ref|env|file|vault|projects|data|op):?[/:]|^[#.][a-z]|@[\w-]+\.[a-z]{2,}$/i
const PATH = /^\.{0,2}(?:\/[\w.-]+)+\/?$/
/** Numbers, dates, addresses of wallets, fingerprints. */
const NUMBER = /^(?:[-+\d.,:/TZ]+|0x[0-9a-f]{1,16}[ul]{0,3}|0x[0-9a-f]{40}|(?:[0-9a-f]{2}:)+[0-9a-f]{2})$/i
/** A member of an object: `process.env.TOKEN`. */
const MEMBER = /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/
/** Other code: calls, indices, arrows, pointers, constants. */
const CODE = /[()[\]{}|]|=(?!=*$)|->|::|^\*|^&[a-z]|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/
const SYMBOL = /[^A-Za-z0-9_./:\s-]/
const DIGIT = /\d/
const LETTER = /\p{L}/u
const BASE32 = /^(?=.*\d)[A-Z2-7]{16,}=*$/
/** The last name before a value is that of a password, not of a key. */
const PASSWORD_NAME =
  /(?:pass|pwd|pw|psk|kennwort|contrase[ñn]a|senha|parola|пароль|密码|密碼|パスワード|비밀번호|identified|mot de passe|securestring|-[pakw]|-u |user)(?![\s\S]*(?:secret|token|key|credential))/

/** `arn:aws:secretsmanager:eu-west-1:1:secret:`, and the picture of a badge: `badge.svg?token=` */
const IN_RESOURCE = /(?:arn|urn):[\w:./-]*$|\.(?:svg|png)\?\w+=$/

/** Reports whether it is neither a placeholder, a variable, a reference nor a number. */
const mayBeSecret = (value: string): boolean =>
  value.length >= MIN_LENGTH &&
  !NO_VALUE.test(value) &&
  !NAME_AS_VALUE.test(value) &&
  !REFERENCE.test(value) &&
  (!PATH.test(value) || isMachineMade(value)) &&
  !NUMBER.test(value) &&
  !NO_PASSWORD.test(value) &&
  LETTER.test(value) &&
  distinctCharacters(value) >= MIN_DISTINCT_VALUE

/** @param before the text before the value in lower case */
export function isSecretValue(value: string, notation: Notation, before: string): boolean {
  if (!mayBeSecret(value) || IN_RESOURCE.test(before)) return false
  const isNamedPassword = PASSWORD_NAME.test(before)
  if (notation !== 'quoted' && MEMBER.test(value)) return false
  // Few names of variables have neither capitals nor `_`.
  const isPlain = notation === 'line' && isNamedPassword && !CAMEL_OR_SNAKE.test(value)
  if (notation !== 'quoted' && !isPlain && isIdentifier(value, MIN_WORDS[notation])) return false
  if (notation !== 'quoted' && notation !== 'line' && CODE.test(value)) return false
  if (BASE32.test(value)) return true
  return isNamedPassword ? isPassword(value, notation) : isKey(value)
}

const CAMEL_OR_SNAKE = /[a-z][A-Z]|_/
/** Share of words in names of types and variables. In settings they are rare. */
const MIN_WORDS = { inline: 0.3, pair: 0.5, line: 0.5 }

/** Passwords may be made by people: a word with digits and symbols. */
function isPassword(value: string, notation: Notation): boolean {
  const hasDigit = DIGIT.test(value)
  const hasSymbol = SYMBOL.test(value)
  if (hasDigit && (hasSymbol || notation === 'line')) return true
  return hasDigit ? !isWordy(value) : isMachineMade(value)
}

/** Keys and tokens are made by machines. */
const isKey = (value: string): boolean => isMachineMade(value) && !isWordy(value)

/** Shortest value that directly follows a name, as in `requirepass …`. */
const MIN_AFTER_BLANK = 12

/** The same for a value that its place introduces without a sign. */
export function isIntroducedSecret(
  value: string,
  introduction: Introduction,
  notation: Notation,
  before: string,
): boolean {
  if (introduction === 'assigned') return isSecretValue(value, notation, before)
  if (introduction === 'argument')
    return isSecretValue(value, notation === 'inline' ? 'pair' : notation, before)
  if (!mayBeSecret(value) || MEMBER.test(value) || CODE.test(value)) return false
  if (introduction === 'blank' && value.length < MIN_AFTER_BLANK) return false
  return isKey(value) || (SYMBOL.test(value) && DIGIT.test(value))
}
