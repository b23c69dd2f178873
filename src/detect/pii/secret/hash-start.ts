// Recognises the start of a hash of crypt and its successors: `$2b$`, `$argon2id$`.

import { DOLLAR } from '../../../core/ascii.ts'
import { codeAt, matchesAt } from '../code-unit-classes.ts'

const AT_START = /\$(?:2[abxy]?|[156y7]|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-sha\d{1,3})\$/y

/** The same with the salt of a short name: `$1$` alone occurs in scripts. */
const WITH_SALT =
  /\$(?:(?:[156]|apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{20}|(?:2[abxy]?|[y7]|argon2(?:id|i|d)|scrypt|pbkdf2-sha\d{1,3})\$)/y

/** Reports whether a hash may start at a `$`, judged by the characters up to the next `$`. */
export const isHashStart = (text: string, dollar: number): boolean =>
  codeAt(text, dollar) === DOLLAR && matchesAt(AT_START, text, dollar)

/** Reports whether a hash may start at a `$`, with enough of it to be found. */
export const isHashBegun = (text: string, dollar: number): boolean =>
  codeAt(text, dollar) === DOLLAR && matchesAt(WITH_SALT, text, dollar)
