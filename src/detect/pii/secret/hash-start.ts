// Recognises the start of a hash of crypt and its successors: `$2b$`, `$argon2id$`.

import { DOLLAR } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'

const AT_START = /\$(?:2[abxy]?|[156y7]|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-sha\d{1,3})\$/y

/** Reports whether a hash may start at a `$`. */
export function isHashStart(text: string, dollar: number): boolean {
  if (codeAt(text, dollar) !== DOLLAR) return false
  AT_START.lastIndex = dollar
  return AT_START.test(text)
}
