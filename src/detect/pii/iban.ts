// Detects international bank account numbers (ISO 13616) by country, length and mod 97.

import {
  CARRIAGE_RETURN,
  CASE_BIT,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isAsciiUpper,
  isDigit,
  LINE_FEED,
  LOWER_A,
  SPACE,
} from '../../core/ascii.ts'
import { codeAt, isWordBefore } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'

/** Lengths by country: the IBAN registry, and countries that use the form without being listed. */
const LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AO25 AT20 AZ28 BA20 BE16 BF28 BG22 BH22 BI27 BJ28 BR29 BY28 CF27 CG27 CH21 CI28 CM27 CR22 CV25 ' +
    'CY28 CZ24 DE22 DJ27 DK18 DO28 DZ26 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GA27 GB22 GE22 GI23 GL18 GQ27 GR27 GT28 ' +
    'GW25 HN28 HR21 HU28 IE22 IL23 IQ23 IR26 IS26 IT27 JO30 KM27 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MA28 ' +
    'MC27 MD24 ME22 MG27 MK19 ML28 MN20 MR27 MT31 MU30 MZ25 NE28 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 ' +
    'RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SN28 SO23 ST25 SV28 TD27 TG28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 ' +
    'YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/**
 * Reports whether a country code precedes the digits with a space between, as in `DE 89 3704 0044`.
 * Capitals only: lower-case letters are a word.
 */
export const isAfterCountryCode = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === SPACE &&
  isAsciiUpper(codeAt(text, at - 2)) &&
  isAsciiUpper(codeAt(text, at - 3)) &&
  !isWordBefore(text, at - 3)

const isSeparator = (code: number): boolean => code === SPACE || code === HYPHEN || code === DOT

/** Longest IBAN with its spaces, and what may precede a line end. */
const MAXIMUM_WRITTEN = 44

/** Reports whether an IBAN in groups may continue on the line that starts at `at`. */
export function isInsideIban(text: string, at: number): boolean {
  let end = at - 1
  if (codeAt(text, end - 1) === CARRIAGE_RETURN) end--
  let start = end
  for (; end - start < MAXIMUM_WRITTEN; start--) {
    const code = codeAt(text, start - 1)
    if (!isDigit(code) && !isAsciiUpper(code) && code !== SPACE) break
  }
  if (start === end) return false
  const found = BEGUN.exec(text.slice(start, end))
  return found !== null && found[0].replaceAll(' ', '').length < (LENGTHS.get(found[1]!) ?? 0)
}

/** The first groups of an IBAN. */
const BEGUN = /(?<![A-Z0-9])([A-Z]{2})\d{2}(?: [A-Z0-9]{4}){0,8}$/

/** Where the character after a separator is; `at` if there is none. */
function afterSeparator(text: string, at: number): number {
  const code = codeAt(text, at)
  if (code === CARRIAGE_RETURN && codeAt(text, at + 1) === LINE_FEED) return at + 2
  return isSeparator(code) || code === LINE_FEED ? at + 1 : at
}

/**
 * @param at of two letters before two digits, perhaps with a space between; not inside a word
 * @returns end of the IBAN; 0 if there is none
 */
export function scanIban(segment: Segment, at: number): number {
  const { text } = segment
  const length = LENGTHS.get(text.slice(at, at + 2).toUpperCase())
  if (length === undefined || !isDigit(codeAt(text, at + (codeAt(text, at + 2) === SPACE ? 4 : 3)))) return 0
  let compact = ''
  let end = at
  for (; compact.length < length && end < text.length; end++) {
    const code = codeAt(text, end)
    if (isAlphanumeric(code)) {
      compact += text[end]
      continue
    }
    const next = afterSeparator(text, end)
    if (next === end || !isAlphanumeric(codeAt(text, next))) return 0
    end = next - 1
  }
  if (compact.length < length || isAlphanumeric(codeAt(text, end)) || !isOneCase(compact)) return 0
  if (!passesMod97(compact) || (end - at > length && isAmongGroups(text, at, end))) return 0
  return segment.add('iban', at, end) ? end : 0
}

/** A group of four capital hexadecimal digits with a letter and a digit among them. */
const GROUP = '(?=[0-9]*[A-F])(?=[A-F]*[0-9])[0-9A-F]{4}'
const GROUP_BEFORE = new RegExp(`(?<![0-9A-Za-z])${GROUP}[ \\n]$`)
const GROUP_AFTER = new RegExp(`^[ \\n]${GROUP}(?![0-9A-Za-z])`)
/** A group, and one character on either side. */
const GROUP_CHARACTERS = 6

/** Reports whether the groups of a number continue those of a table of codes, before or after. */
const isAmongGroups = (text: string, start: number, end: number): boolean =>
  GROUP_BEFORE.test(text.slice(Math.max(0, start - GROUP_CHARACTERS), start)) ||
  GROUP_AFTER.test(text.slice(end, end + GROUP_CHARACTERS))

const isOneCase = (text: string): boolean => text === text.toUpperCase() || text === text.toLowerCase()

/** ISO 7064 mod 97-10, with the first four characters moved to the end. */
function passesMod97(iban: string): boolean {
  let remainder = 0
  for (let i = 0; i < iban.length; i++) {
    const code = iban.charCodeAt((i + 4) % iban.length) | CASE_BIT
    // The case bit is already set in digits. Letters count from 10.
    remainder = code >= LOWER_A ? (remainder * 100 + code - 87) % 97 : (remainder * 10 + code - 48) % 97
  }
  return remainder === 1
}
