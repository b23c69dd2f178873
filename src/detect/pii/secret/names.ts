// Recognises the name of a credential (`DB_PASSWORD`, `clientSecret`, `api-key`) before a sign or
// before its value. A name that continues (`token_count`, `secretName`) is that of something else.

import {
  APOSTROPHE,
  ASCII_END,
  CASE_BIT,
  COLON,
  EQUALS,
  GREATER_THAN,
  isAlphanumeric,
  isDigit,
  LOWER_A,
  LOWER_P,
  QUOTE,
  SPACE,
  UNDERSCORE,
} from '../../../core/ascii.ts'
import { codeAt, codesOf, matchesAt } from '../code-unit-classes.ts'

/** Words before `key` that make it a credential. */
const KEY_OWNERS =
  'api|access|account|admin|app|application|auth|client|consumer|deploy|encryption|function|functions|hmac|jwt|' +
  'master|preshared|private|secret|service|session|shared|shared[_-]?access|signing|ssh|storage|' +
  'subscription|webhook|write'
/** Words that may directly precede a short `pass` or `pw`; after others it is a part of a word. */
const SHORT_OWNERS =
  '(?:(?<![a-z])|admin|app|bind|db|ftp|ldap|mail|my|mysql|redis|require|root|smtp|ssh|store|user)'

/** How names of credentials end: the last three letters, and the words. */
const ENDINGS: readonly (readonly [tails: string, words: string])[] = [
  ['ord', 'password'],
  ['swd', 'passwd'],
  ['ase', 'passphrase'],
  ['ass', `${SHORT_OWNERS}pass`],
  ['pwd', '(?<![a-z])pwd'],
  ['psk', '(?<![a-z])psk'],
  ['ret', 'secret'],
  ['ken', 'token'],
  ['ial als', '(?<!amz-)credentials?'],
  ['key', `(?:${KEY_OWNERS})[_. -]?key`],
]
/** Others, which are recognised next to a value with a digit only. */
const RARE_TAILS = 'sse ode ort ena nha ola pat lue rod dev uth ion sig ing str'
const RARE_WORDS =
  'passcode|mot de passe|passwort|kennwort|contrase[ñn]a|senha|parola|пароль|密码|密碼|パスワード|비밀번호|(?<=_)pat|' +
  `(?:${SHORT_OWNERS}(?<=[a-z])|(?<=[_-]))pw|(?<![a-z])pw(?=["']? ?:)`
/** What may follow without changing what is named. */
const SUFFIX = '(?:[_.-]?(?:base|value|prod|dev)|[_-]?\\d{1,2})?'
const NAME = `(?:(?:${ENDINGS.map(([, words]) => words).join('|')}|${RARE_WORDS})${SUFFIX})`

/** Quotes and brackets after a name: `"name"`, `\"name\"`, `['name']`, `name[64]`. */
const CLOSING = '\\\\{0,2}["\'`]?(?:\\]|\\[\\d{0,4}\\])?'
const BLANKS = '[ \\t]{0,10}'
const OPENING = '\\\\{0,2}["\'`]?'
const SIGN = '(?:=>|:=|[:=：])'

/** A pattern for what directly precedes an offset. None reads more than 64 characters. */
const before = (source: string): RegExp => new RegExp(`(?<=${source})`, 'iy')

const LETTERS = 26
/** The number of the last three letters before `end`; -1 if there are other characters. */
function tailBefore(text: string, end: number): number {
  let tail = 0
  for (let at = end - 3; at < end; at++) {
    const letter = (codeAt(text, at) | CASE_BIT) - LOWER_A
    if (letter < 0 || letter >= LETTERS) return -1
    tail = tail * LETTERS + letter
  }
  return tail
}
const tailsOf = (tails: string): number[] => tails.split(' ').map((tail) => tailBefore(tail, 3))

/** Patterns for what precedes a `:` or `=`, by the number of the last three letters. */
const BY_TAIL: (RegExp | undefined)[] = Array.from({ length: LETTERS ** 3 })
for (const [tails, words] of ENDINGS)
  for (const tail of tailsOf(tails)) BY_TAIL[tail] = before(`(?:${words})${CLOSING}${BLANKS}\\??`)

const eitherCase = (letters: string): string =>
  Array.from(letters, (letter) => `[${letter}${letter.toUpperCase()}]`).join('')
const SIGN_TAILS = ENDINGS.flatMap(([tails]) => tails.split(' '))
const GAP = '["\'`\\]\\\\? \\t]{0,13}.'
/**
 * Source of a pattern for what precedes a sign and the sign itself. A class for each letter rules
 * most texts out, faster than the list of endings.
 */
export const NAME_TAIL_SOURCE =
  `(?<=${[0, 1, 2].map((index) => `[${eitherCase(SIGN_TAILS.map((tail) => tail.charAt(index)).join('')).replace(/[[\]]/g, '')}]`).join('')}${GAP})` +
  `(?<=(?:${SIGN_TAILS.map(eitherCase).join('|')})${GAP})`

/** Last letters of names, and what may lie between a name and its sign. */
const BEFORE_SIGN = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  /[dsektnly"'`\]\\? \t]/i.test(String.fromCharCode(code)) ? 1 : 0,
)

/** Blanks, quotes and brackets between a name and its sign. */
const MAXIMUM_CLOSING = 15
const isNamePart = (code: number): boolean => isAlphanumeric(code) || code >= ASCII_END

/** Reports whether a `:` or `=` follows the name of a credential. */
export function isNamingSign(text: string, sign: number): boolean {
  const code = codeAt(text, sign)
  if (code !== COLON && code !== EQUALS) return false
  if (BEFORE_SIGN[codeAt(text, sign - 1)] !== 1) return false
  let end = sign
  while (end > 0 && sign - end <= MAXIMUM_CLOSING && !isNamePart(text.charCodeAt(end - 1))) end--
  const pattern = BY_TAIL[tailBefore(text, end)]
  return pattern !== undefined && matchesAt(pattern, text, sign)
}

/** How a name precedes a value. */
export type Introduction = 'assigned' | 'argument' | 'linked' | 'blank'

/** `"name": "`, `"name","value":"`, `name: string = "` */
const ASSIGNED = [
  `${NAME}${CLOSING}${BLANKS}\\??${SIGN} {0,3}${OPENING}`,
  `${NAME}(?:["'\`],? {0,3}["'\`]?|\\s{1,12})value["'\`]? ?[:=] ?${OPENING}`,
  `${NAME}(?:\\??: ?&?| )(?:str|string) = ${OPENING}`,
  `${NAME}\\(${OPENING}`,
  `${NAME}[*\`]{0,3} {0,3}\\| {0,3}\`?`,
  `${NAME}${SIGN}[*]{2} {0,3}\`?`,
  `(?<![a-z])(?:proxy-)?authorization${CLOSING} ?${SIGN} {0,3}${OPENING}`,
].map(before)
/** `--name `, `('name', '`, commands with a password */
const ARGUMENT = [
  `(?<![\\w-])--?[\\w-]{0,12}${NAME}[ \\t]{1,3}${OPENING}`,
  `["'\`][\\w.-]{0,12}${NAME}["'\`] ?, ?${OPENING}`,
  `[?&]sig=`,
  `${NAME} {1,3}["']`,
  'IDENTIFIED (?:WITH \\w{1,24} )?BY ["\']?',
  'SecureString (?:-String )?["\']',
  '\\b(?:redis-cli|ldap\\w{1,8}|openssl)\\b[^\\n|;]{0,40} -[akw] ["\']?',
  '(?:sshpass|login)\\b[^\\n]{0,30} -p ["\']?',
].map(before)
/** Names of base64 with a name and a password: `"auth": "`. */
const BASIC = before(`(?<![a-z])_?auth${CLOSING} ?[:=] ?${OPENING}`)
/** `mysql -u svc -p`, of which the password follows without a blank. */
const GLUED = before('\\b(?:mysql\\w{0,6}|mariadb)\\b[^\\n|;]{0,36} -p["\']?')
/** `curl -u svc:`, `db.example.net:5432:app:svc:` */
const AFTER_COLON = [
  `(?<![\\w-])(?:-u|--user|--proxy-user)[ =]["']?[\\w.@-]{1,32}:["']?`,
  '(?:^|\\n)[\\w.*-]{1,30}:(?:\\d{2,5}|\\*):[\\w*-]{1,12}:[\\w.-]{1,12}:',
].map(before)
/** `<password>`, `<x name="password">`, `<key>password</key> <string>` */
const AFTER_TAG = before(
  `(?:<[\\w:.-]{0,16}${NAME}(?: [^<>]{0,20})?|(?:name|key)=["'][\\w.-]{0,12}${NAME}["']|${NAME}</key>\\s{0,8}<string)>`,
)
/** `the password is `, `das Passwort lautet: ` */
const LINKED = before(
  `${NAME}["'\`]? {1,2}(?:(?:for|of|on) [\\w. -]{1,16} )?(?:now )?(?:is|was|to|ist|lautet|est|es)(?: now)? ?:? ["'\`]?`,
)
/** `requirepass `, `password ` */
const AFTER_BLANK = before(`${NAME}[ \\t]{1,3}["'\`]?`)

const VALUE_TAILS = new Uint8Array(LETTERS ** 3)
for (const tail of [...SIGN_TAILS, RARE_TAILS].flatMap(tailsOf)) VALUE_TAILS[tail] = 1
/** Words and options that precede a value, and short names. */
const LINKS = new Set('is was to ist lautet est es by string -p -a -k -w pw'.split(' '))
const MAXIMUM_LINK = 7
/** What lies between a name and its value, and digits at the end of the name. */
const BETWEEN = codesOf(' \t"\'`,:=：>\\]?(|*0123456789')
const MAXIMUM_BETWEEN = 18

/** Prefilter: reports whether a name, or a word that links it to a value, may precede. */
function mayEndIntroduction(text: string, start: number): boolean {
  let end = start
  while (start - end < MAXIMUM_BETWEEN && BETWEEN.has(codeAt(text, end - 1))) end--
  if (
    codeAt(text, end - 1) >= ASCII_END ||
    codeAt(text, end - 2) >= ASCII_END ||
    VALUE_TAILS[tailBefore(text, end)] === 1
  )
    return true
  // In rows of numbers; no link ends in a digit.
  if (isDigit(codeAt(text, end - 1))) return false
  let link = end
  while (end - link < MAXIMUM_LINK && isLinkPart(codeAt(text, link - 1))) link--
  return LINKS.has(text.slice(link, end).toLowerCase())
}

const isLinkPart = (code: number): boolean => code > SPACE && code !== UNDERSCORE && code < ASCII_END

/** How a name precedes the value at an offset; null without a name. */
export function introductionBefore(text: string, start: number): Introduction | null {
  const last = codeAt(text, start - 1)
  if (last === GREATER_THAN) return matchesAt(AFTER_TAG, text, start) ? 'argument' : null
  if (last === LOWER_P) return matchesAt(GLUED, text, start) ? 'argument' : null
  const isQuoted = last === QUOTE || last === APOSTROPHE
  const pair = isQuoted ? start - 1 : start
  const isAfterColon = codeAt(text, pair - 1) === COLON && isNamePart(codeAt(text, pair - 2))
  if ((isAfterColon || last === COLON) && AFTER_COLON.some((pattern) => matchesAt(pattern, text, start)))
    return 'argument'
  const isPlace = isQuoted || last === SPACE || last === COLON || last === EQUALS
  if (!isPlace || !mayEndIntroduction(text, start)) return null
  if (ASSIGNED.some((pattern) => matchesAt(pattern, text, start))) return 'assigned'
  if (matchesAt(GLUED, text, start) || ARGUMENT.some((pattern) => matchesAt(pattern, text, start)))
    return 'argument'
  if (matchesAt(LINKED, text, start)) return 'linked'
  return matchesAt(AFTER_BLANK, text, start) ? 'blank' : null
}

/** Reports whether a name of base64 with a name and a password precedes a value. */
export const isBasicBefore = (text: string, start: number): boolean => matchesAt(BASIC, text, start)
