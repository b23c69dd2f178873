// Lists the personal numbers that consist of digits: North, Central and South America.

import { digitAt, isOneDigit, passesLuhn, weighted } from '../checksums.ts'
import { abbreviation } from '../words/label.ts'
import { elevenMinus, isChilean, isCpf } from './checks.ts'
import { checked, type DigitIdentifier, SPACED_3, unchecked } from './digits.ts'

/** ITIN and ATIN: the groups issued by the Internal Revenue Service. */
const TAXPAYER = /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9\d)\d{4}$/
/** `ci` alone also means continuous integration. */
export const CEDULA_WORDS = 'c[ée]dula|\\bc\\. ?[ci]\\.'

export const AMERICAS: readonly DigitIdentifier[] = [
  // United States
  checked(
    9,
    `${abbreviation('itin')}|\\batin|taxpayer`,
    (d) => TAXPAYER.test(d),
    /^(?:9 |3-2-4 (?: {2}|--))$/,
    /^3-2-4 --$/,
  ),
  // Canada
  checked(
    9,
    // Not the function `sin(`.
    `${abbreviation('sin')}(?!\\()|social ?insurance|${abbreviation('nas')}|assurance sociale`,
    (d) => passesLuhn(d) && !isOneDigit(d),
    SPACED_3,
  ),
  // Mexico
  checked(11, `${abbreviation('nss')}|\\bimss\\b|seguro ?social`, passesLuhn, /^(?:11 |2-2-2-4-1 [ -]{4})$/),
  // Guatemala
  checked(
    13,
    '\\bcui\\b|\\bdpi\\b',
    (d) => weighted(d, [2, 3, 4, 5, 6, 7, 8, 9]) % 11 === digitAt(d, 8),
    /^(?:13 |4-5-4 (?: {2}|--))$/,
  ),
  // El Salvador
  checked(
    9,
    '\\bdui\\b',
    (d) => (10 - (weighted(d, [9, 8, 7, 6, 5, 4, 3, 2]) % 10)) % 10 === digitAt(d, 8),
    /^(?:9 |8-1 -)$/,
  ),
  // Honduras
  unchecked(13, 'identidad|\\bdni\\b', /^(?:13 |4-4-5 --)$/),
  // Costa Rica
  unchecked(9, CEDULA_WORDS, /^(?:9 |1-4-4 --)$/),
  // Dominican Republic
  checked(11, CEDULA_WORDS, passesLuhn, /^(?:11 |3-7-1 --)$/),
  // Colombia, Ecuador
  unchecked(10, `${CEDULA_WORDS}|\\bcc\\b`, /^(?:10 |1-3-3-3 \.{3}|2-4-4 --|9-1 -)$/),
  // Colombia, Uruguay, Venezuela
  unchecked(8, `${CEDULA_WORDS}|\\bc[ci]\\b`, /^(?:8 |2-3-3 \.\.|1-3-3-1 \.\.-|7-1 -)$/),
  // Brazil
  checked(
    11,
    abbreviation('cpf'),
    isCpf,
    /^(?:11 |3-3-3-2 (?:\.\.-|\.\.\.| {3}| {2}-)|9-2 -)$/,
    /^3-3-3-2 \.\.-$/,
  ),
  checked(
    11,
    '\\bpis\\b|pasep|\\bnis\\b|\\bnit\\b',
    (d) => elevenMinus(weighted(d, [3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) % 10 === digitAt(d, 10) && !isOneDigit(d),
    /^(?:11 |3-5-2-1 \.\.-)$/,
  ),
  unchecked(9, '\\brg\\b|registro geral|identidade', /^(?:9 |2-3-3-1 \.\.-)$/),
  // Chile
  checked(9, `${abbreviation('rut')}|${abbreviation('run')}`, isChilean),
  checked(8, `${abbreviation('rut')}|${abbreviation('run')}`, isChilean),
  // Argentina
  checked(
    11,
    'cuil|cuit',
    (d) =>
      /^(?:2[03-7]|3[034])/.test(d) &&
      elevenMinus(weighted(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) % 10 === digitAt(d, 10),
    /^(?:11 |2-8-1 (?:--| {2}))$/,
    /^2-8-1 --$/,
  ),
  // Argentina, Peru
  unchecked(8, `${abbreviation('dni')}|documento`, /^(?:8 |2-3-3 \.\.)$/),
  unchecked(9, abbreviation('dni'), /^8-1 -$/),
]
