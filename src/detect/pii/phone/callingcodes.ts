// Lists the calling codes of ITU-T E.164 and the lengths of the national numbers after them.

import { DIGIT_0, DIGIT_1 } from '../../../core/ascii.ts'

/** Lengths of national numbers (`6-8` is 6, 7 or 8) and the calling codes that have them. */
const PLANS: Readonly<Record<string, string>> = {
  '5': '290 500 682',
  '5-6': '247',
  '5-7': '677 678 685',
  '6': '298 299 687',
  '6-7': '597 672 688 690',
  '6-8': '386 53',
  '6-9': '508 681 252 355 376 389 421 689',
  '6-10': '27 48 64 880 95',
  '6-11': '31 352 359 375 595 852',
  '6-12': '358 381 39 46 61 971',
  '6-13': '43 49 598 63 82',
  '7': '238 239 246 248 269 291 297 592 673 674 676 679 680 683 691 692 501',
  '7-8': '230 241 372 503 507 599 670 675 853 960 961 965 975',
  '7-9': '220 231 245 265 267 354 385 423 967 968',
  '7-10': '243 254 263 353 44 84',
  '7-11': '886 974',
  '7-12': '62 86 972',
  '8': '216 222 223 226 227 228 232 235 236 253 257 266 350 356 357 370 371 373 374 45 47 502 504 505 506 509 686 973 993',
  '8-9': '213 224 233 237 250 258 264 268 32 36 377 382 387 51 591 962 963',
  '8-10': '98 850 20 225 229 378 60 66 855 856 964 970 976 977',
  '8-11': '55 57 593 65 800',
  '8-12': '234 383 92',
  '8-13': '81 91',
  '9': '211 212 218 221 240 242 244 249 251 255 256 260 261 262 33 34 351 40 590 594 596 93 94 992 994 995 998',
  '9-10': '380 41 56 58 90 966 996',
  '9-12': '420 870 878 881 882 883 888',
  '10': '1 7',
  '10-11': '52',
  '10-12': '30 54',
}

const NATIONAL_DIGITS = new Map<number, readonly [number, number]>()
for (const [lengths, codes] of Object.entries(PLANS)) {
  const [least = 0, most = least] = lengths.split('-').map(Number)
  for (const code of codes.split(' ')) NATIONAL_DIGITS.set(Number(code), [least, most])
}

const MAXIMUM_CODE = 3

/** Access to single digits, since the first few decide about most numbers. */
interface Digits {
  codeOfDigit(index: number): number
}

/**
 * Reports whether the digits in [from, to) are a calling code and a national number of a valid
 * length. A trunk 0 between them does not count.
 */
export function isInternational(digits: Digits, from: number, to: number): boolean {
  let code = 0
  for (let end = from + 1; end <= from + MAXIMUM_CODE; end++) {
    code = code * 10 + digits.codeOfDigit(end - 1) - DIGIT_0
    // No code starts with 0.
    if (code === 0) return false
    const range = NATIONAL_DIGITS.get(code)
    if (range === undefined) continue
    if (code === 1) return isNorthAmerican(digits, end, to)
    const length = to - end
    if (length < range[0]) return false
    if (length <= range[1]) return true
    return length === range[1] + 1 && digits.codeOfDigit(end) === DIGIT_0
  }
  return false
}

const NORTH_AMERICAN_DIGITS = 10
/** Digits of an area code or an exchange. */
const PART_DIGITS = 3

/**
 * Ten digits of the North American plan: area code and exchange start with 2–9, and neither is a
 * service code.
 */
export const isNorthAmerican = (digits: Digits, from: number, to: number): boolean =>
  to - from === NORTH_AMERICAN_DIGITS &&
  isAreaOrExchange(digits, from) &&
  isAreaOrExchange(digits, from + PART_DIGITS)

const isAreaOrExchange = (digits: Digits, at: number): boolean =>
  digits.codeOfDigit(at) > DIGIT_1 &&
  (digits.codeOfDigit(at + 1) !== DIGIT_1 || digits.codeOfDigit(at + 2) !== DIGIT_1)
