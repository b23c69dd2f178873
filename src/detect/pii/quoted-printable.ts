// Reads the escapes of quoted-printable e-mail (RFC 2045 §6.7) where they can hardly be something
// else: `=20` after a name is a number.

import { isAlphanumeric } from '../../core/ascii.ts'
import {
  ahead,
  type Before,
  behind,
  characterOf,
  type Decoded,
  LOOK_AHEAD,
  readBytes,
  verbatim,
} from './escape-text.ts'

/** A soft line break of quoted-printable (RFC 2045 §6.7). */
const SOFT_BREAK = /^=\r?\n(?=[^\s"'=]| [A-Z0-9])/
const SOFT_BREAK_BEGUN = /^=\r?(?:\n ?)?$/
/** An empty setting in a file of settings, or the end of base64. */
const NO_SOFT_BREAK = /(?:^|[\r\n])[ \t]*(?:\w{1,12} )?[\w.-]+ ?$|[A-Za-z0-9+/]{20}$|=$/
/** A line of words as long as those of quoted-printable. */
const LONG_LINE = /^(?=.*\w \w.* \w)[^\r\n]{60}/
const QUOTED_BYTE = /=([0-9A-F]{2})/y
const QUOTED_BEGUN = /^=(?:[0-9A-F]{0,2}|[0-9A-F]{2}=[0-9A-F]?|[CDE][0-9A-F]=[0-9A-F]{2}(?:=[0-9A-F]?)?)$/
/** The sign of an address and the first label of its domain. */
const QUOTED_AT = /^=40[A-Za-z](?:[A-Za-z0-9-]|=\r?\n){0,62}(?:\.|=2E)/
const QUOTED_AT_BEGUN = /^=40(?:[A-Za-z](?:[A-Za-z0-9-]|=\r?\n){0,62}(?:=(?:\r|2)?)?)?$/
const LOCAL_BEFORE = /[\w.+-]$/
/** A group of a number before a space. */
const GROUP_BEFORE = /(?:^|[^A-Za-z0-9_])[A-Z0-9]{1,12}\)?$|=29$/
const GROUP_AFTER = /^=20[A-Z0-9(=]/
const AREA_CODE = /^=28\d{2,5}=29/
const AREA_CODE_BEGUN = /^=28\d{0,5}=?2?$/
const AREA_CODE_BEFORE = /=28\d{2,5}$/

export function readEquals(text: string, at: number, last: boolean, before: Before): Decoded | null {
  const rest = ahead(text, at)
  if (!last && (SOFT_BREAK_BEGUN.test(rest) || QUOTED_BEGUN.test(rest))) return null
  const softBreak = SOFT_BREAK.exec(rest)
  if (softBreak !== null) {
    const line = behind(text, at)
    if (!before.isQuotedPrintable && NO_SOFT_BREAK.test(line)) return verbatim(text, at, 1)
    return { view: '', length: softBreak[0].length, ...(LONG_LINE.test(line) && { isEvidence: true }) }
  }
  const found = readBytes(rest, QUOTED_BYTE)
  const character = found === null ? null : characterOf(found.code)
  if (found === null || character === null) return verbatim(text, at, 1)
  const { code, length } = found
  if (length > 3) return { view: character, length, isEvidence: true }
  const isRun = before.isAfterEscape || QUOTED_RUN.test(rest)
  if (before.isQuotedPrintable && (!isAlphanumeric(code) || isRun)) return { view: character, length }
  const isRead = readsQuoted(rest, behind(text, at), last)
  return isRead === null ? null : isRead ? { view: character, length } : verbatim(text, at, 1)
}

const QUOTED_RUN = /^=[0-9A-F]{2}=[0-9A-F]{2}/
/** Signs with a letter in their code, which is no number. */
const LETTERED = /^=(?:2[BDEF]|3A|5F|A0)/
const NAME_BEFORE = /[A-Za-z_\])]$/

/** Reports whether an escape of one byte is one in a text that may not be quoted-printable. */
function readsQuoted(rest: string, line: string, last: boolean): boolean | null {
  const isCut = !last && rest.length < LOOK_AHEAD
  if (isCut && (QUOTED_AT_BEGUN.test(rest) || AREA_CODE_BEGUN.test(rest) || rest === '=20')) return null
  if (QUOTED_AT.test(rest)) return LOCAL_BEFORE.test(line)
  if (GROUP_AFTER.test(rest)) return GROUP_BEFORE.test(line)
  if (AREA_CODE.test(rest) || (rest.startsWith('=29') && AREA_CODE_BEFORE.test(line))) return true
  return LETTERED.test(rest) && !NAME_BEFORE.test(line)
}
