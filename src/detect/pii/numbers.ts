// Checks of numbers that carry their own proof, and of numbering plans.

/** Luhn, ISO/IEC 7812-1 annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = (digits.charCodeAt(digits.length - 1 - i) - 48) * (i % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** Issuer ranges: digits at the beginning, and the lengths that go with them. */
const ISSUERS: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^(?:30[0-5]|3095|36|3[89])/, [14, 16]],
  [/^35(?:2[89]|[3-8])/, [16, 17, 18, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, [12, 13, 14, 15, 16, 17, 18, 19]],
]

const GROUPINGS =
  /^(?:\d+|\d{4}([ .-])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{4}\2\d{5}|\d{4}([ -])\d{6}\3\d{4,5}|\d{4}([ -])\d{4}\4\d{4}\4\d{4}\4\d{3})$/

/** A payment card number as people write it. */
export function isCard(text: string): boolean {
  if (!GROUPINGS.test(text)) return false
  const digits = text.replace(/[ .-]/g, '')
  if (/^(\d)\1+$/.test(digits)) return false
  return (
    ISSUERS.some(([prefix, lengths]) => prefix.test(digits) && lengths.includes(digits.length)) &&
    passesLuhn(digits)
  )
}

/** Lengths of IBANs by country, ISO 13616 registry. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** Characters of an IBAN's country, 0 for a country without. */
export const ibanLength = (country: string): number => IBAN_LENGTHS[country.toUpperCase()] ?? 0

/** ISO 7064 mod 97-10, with the first four characters moved to the end. */
export function passesMod97(iban: string): boolean {
  let remainder = 0
  for (const character of (iban.slice(4) + iban.slice(0, 4)).toUpperCase()) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

const CALLING_CODES = new Set(
  '1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 355 356 357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 691 692 800 808 850 852 853 855 856 870 878 880 881 882 883 886 888 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 979 992 993 994 995 996 998'.split(
    ' ',
  ),
)

/** Digits behind `+` or `00`: a calling code (ITU-T E.164) and a national number of possible length. */
export function isInternational(digits: string): boolean {
  if (digits.length < 8 || digits.length > 15) return false
  if (digits[0] === '1') return digits.length === 11 && isNorthAmerican(digits.slice(1))
  return [1, 2, 3].some((length) => CALLING_CODES.has(digits.slice(0, length)))
}

/** Ten digits of the North American plan: area and exchange begin with 2–9, neither is a service code. */
export const isNorthAmerican = (digits: string): boolean => /^[2-9](?!11)\d{2}[2-9](?!11)\d{6}$/.test(digits)

/** SSA: no area 000, 666 or 9xx, no group 00, no serial 0000; the two numbers that were printed on samples. */
export const isSsn = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) &&
  digits !== '078051120' &&
  digits !== '219099999'
