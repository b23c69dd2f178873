// Lists the personal numbers that consist of digits: Asia and Oceania.

import { digitAt, isDay, isOneDigit, passesLuhn, passesVerhoeff, weighted } from '../checksums.ts'
import {
  isChinese,
  isDated,
  isKazakh,
  isKorean,
  isMyNumber,
  isNewZealandTaxpayer,
  isOldKorean,
  isThai,
  isTurkish,
  twoDigits,
} from './checks.ts'
import { checked, type DigitIdentifier, PLAIN, SPACED_3, SPACED_4, unchecked } from './digits.ts'

export const ASIA: readonly DigitIdentifier[] = [
  // Australia
  checked(
    9,
    'tfn|tax ?file',
    (d) => weighted(d, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && !isOneDigit(d),
    SPACED_3,
  ),
  checked(
    10,
    'medicare',
    (d) => /^[2-6]/.test(d) && weighted(d, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === digitAt(d, 8),
    /^(?:10 |4-5-1 (?: {2}|--))$/,
  ),
  // New Zealand
  checked(8, '\\bird\\b|inland revenue', isNewZealandTaxpayer, /^(?:8 |2-3-3 (?: {2}|--))$/),
  checked(9, '\\bird\\b|inland revenue', isNewZealandTaxpayer, SPACED_3),
  // India
  checked(12, 'a+dha+r|uidai|\\buid\\b|आधार', (d) => /^[2-9]/.test(d) && passesVerhoeff(d), SPACED_4),
  checked(18, '身份证|身份證|公民身份|chinese id', isChinese, PLAIN, PLAIN),
  checked(
    13,
    '\\brrn\\b|\\bfrn\\b|resident ?registration|주민|외국인\\s?등록',
    isKorean,
    /^(?:13 |6-7 [- ])$/,
  ),
  checked(13, 'korea', isOldKorean, /^(?:13 |6-7 -)$/, /^6-7 -$/),
  checked(
    11,
    'kiml[iı]k|tckn|\\bt\\.?\\s?c\\.?(?: no|:)|vatanda[sş]l[iı]k|turkish',
    isTurkish,
    /^(?:11 |3-3-3-2 {4})$/,
  ),
  checked(
    13,
    'thai|tnin|เลข|บัตร|ประชาชน',
    isThai,
    /^(?:13 |1-4-5-2-1 (?: {4}|-{4}))$/,
    /^1-4-5-2-1 (?: {4}|-{4})$/,
  ),
  // Israel
  checked(9, 'teudat|ת"ז|ת\\.ז|ת״ז|זהות|israeli', passesLuhn, /^(?:9 |8-1 -)$/),
  // Without the leading zero.
  checked(8, 'teudat|ת"ז|ת\\.ז|ת״ז|זהות|israeli', passesLuhn, /^(?:8 |7-1 -)$/),
  // Japan
  checked(12, 'my ?number|マイナンバー|個人番号', isMyNumber, SPACED_4),
  unchecked(
    12,
    'my ?kad|\\bnric\\b|\\bic\\b|pengenalan|malaysia',
    /^(?:12 |6-2-4 --)$/,
    isDated,
    /^6-2-4 --$/,
  ),
  // Indonesia
  unchecked(16, '\\bnik\\b|\\bktp\\b|kependudukan', PLAIN, (d) =>
    isDay(twoDigits(d, 8), twoDigits(d, 6) % 40),
  ),
  // Philippines
  unchecked(10, '\\bsss\\b', /^(?:10 |2-7-1 --)$/),
  unchecked(12, 'phil ?sys|phil ?id', SPACED_4),
  unchecked(16, 'phil ?sys|phil ?id', /^(?:16 |4-4-4-4 (?: {3}|---))$/),
  // Bangladesh
  unchecked(10, '\\bnid\\b|জাতীয়|এনআইডি'),
  unchecked(17, '\\bnid\\b|জাতীয়|এনআইডি'),
  // Sri Lanka
  unchecked(12, '\\bnic\\b|sri lanka'),
  unchecked(13, 'cnic|nadra|pakistan', /^(?:13 |5-7-1 --)$/, undefined, /^5-7-1 --$/),
  // Kazakhstan
  checked(12, '\\biin\\b|иин|жсн', isKazakh),
  // Uzbekistan
  unchecked(14, '\\bpinfl\\b|jshshir|пинфл|жшшир'),
  checked(
    15,
    'emirates id|هوية',
    (d) => /^784(?:19|20)/.test(d) && passesLuhn(d),
    /^(?:15 |3-4-7-1 (?:---| {3}))$/,
    /^3-4-7-1 ---$/,
  ),
  checked(10, 'iqama|إقامة|هوية|saudi', (d) => /^[12]/.test(d) && passesLuhn(d)),
  // Kuwait
  checked(
    12,
    'civil (?:id|number)|مدني|kuwait',
    (d) => isDated(d, 1) && 11 - (weighted(d, [2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11) === digitAt(d, 11),
  ),
  // Qatar
  unchecked(11, '\\bqid\\b|qatari? id|قطر', PLAIN, (d) => /^[23]/.test(d)),
  checked(
    10,
    'کد ملی|کدملی|melli|iranian',
    (d) => {
      const rest = weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11
      return (rest < 2 ? rest : 11 - rest) === digitAt(d, 9) && !isOneDigit(d)
    },
    /^(?:10 |3-6-1 --)$/,
  ),
  // Vietnam
  unchecked(12, 'cccd|c[aă]n c[uư][oớ]c|cmnd', PLAIN, (d) => d[0] === '0'),
]
