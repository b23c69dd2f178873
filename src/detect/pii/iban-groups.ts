// Decides where an IBAN in groups may continue on the next line, so that no cut falls inside.

import { CARRIAGE_RETURN, isAsciiUpper, isDigit, SPACE } from '../../core/ascii.ts'
import { codeAt } from './code-unit-classes.ts'

/** Lengths by country: the IBAN registry, and countries that use the form without being listed. */
export const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
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
  return found !== null && found[0].replaceAll(' ', '').length < (IBAN_LENGTHS.get(found[1]!) ?? 0)
}

/** The first groups of an IBAN. */
const BEGUN = /(?<![A-Z0-9])([A-Z]{2})\d{2}(?: [A-Z0-9]{4}){0,8}$/
