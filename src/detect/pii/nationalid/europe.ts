// Lists the personal numbers that consist of digits: Europe.

import {
  digitAt,
  isDay,
  isOneDigit,
  passesLuhn,
  passesMod11And10,
  passesVerhoeff,
  weighted,
} from '../checksums.ts'
import { abbreviation } from '../words/label.ts'
import {
  elevenMinus,
  isBaltic,
  isBelgian,
  isCzech,
  isCzechDay,
  isDated,
  isDayFirst,
  isEuropeanArticle,
  isFrench,
  isHungarian,
  isIcelandic,
  isLatvian,
  isNorwegian,
  isRomanian,
  isRussianTaxpayer,
  isSnils,
  isSpanishInsurance,
  isSwedish,
  twoDigits,
} from './checks.ts'
import { checked, type DigitIdentifier, PLAIN, SPACED_3, SPACED_10, unchecked } from './digits.ts'

/** France. */
export const NIR_WORDS = `${abbreviation('nir')}|s[ée]curit[ée] ?sociale|\\bs[ée]cu\\b|insee|carte vitale|num[ée]ro d['’]assur`

const DATE_DASH_4 = /^(?:10 |12 |6-4 [- ]|8-4 [- ])$/
const TAX_OFFICE_WORDS = 'steuer ?(?:nummer|nr)|\\bst\\.?[ -]?nr'
const SWEDISH_WORDS = 'person(?:lig[ta])? ?nummer|person ?nr|\\bpnr\\b|samordnings|swedish'

export const EUROPE: readonly DigitIdentifier[] = [
  // United Kingdom
  checked(
    10,
    `${abbreviation('nhs')}|national ?health|\\bchi (?:number|no)`,
    (d) => elevenMinus(weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2])) === digitAt(d, 9) && !isOneDigit(d),
    SPACED_10,
  ),
  checked(
    10,
    `${abbreviation('utr')}|unique ?taxpayer`,
    (d) => '21987654321'[weighted(d, [0, 6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11] === d[0],
    /^(?:10 |5-5 [ -])$/,
  ),
  // France
  checked(
    15,
    NIR_WORDS,
    isFrench,
    /^(?:15 |13-2 [ -]|1-2-2-2-3-3-2 [ .-]{6}|1-2-2-2-3-3-2 {7})$/,
    /^1-2-2-2-3-3-2 {7}$/,
  ),
  unchecked(
    13,
    'num[ée]ro fiscal|identifiant fiscal|r[ée]f[ée]rence fiscale|\\bspi\\b',
    /^(?:13 |2-2-3-3-3 {5})$/,
    (d) => /^[0-3]/.test(d),
  ),
  // Cards until 2021.
  unchecked(12, "carte (?:nationale )?d['’]identit|\\bcni\\b", PLAIN, (d) => isDay(twoDigits(d, 2), 1)),
  // Poland
  checked(11, 'pesel', (d) => isDated(d, 0, 20) && weighted(d, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0),
  // Germany
  checked(
    11,
    `steuer ?(?:id|ident|nummer|nr)|id ?nr|identifikationsn(?:umme)?r|${abbreviation('tin')}|tax ?id`,
    (d) => d[0] !== '0' && passesMod11And10(d) && !isOneDigit(d),
    /^(?:11 |2-3-3-3 {4})$/,
  ),
  // Tax numbers; the form differs by state.
  unchecked(10, TAX_OFFICE_WORDS, /^(?:2-3-5 (?:\/\/| {2})|5-5 \/)$/),
  unchecked(11, TAX_OFFICE_WORDS, /^(?:3-3-5 (?:\/\/| {2})|3-4-4 \/\/)$/),
  unchecked(13, TAX_OFFICE_WORDS, PLAIN, (d) => d[4] === '0'),
  // Sweden
  checked(10, SWEDISH_WORDS, isSwedish, DATE_DASH_4),
  checked(12, `${SWEDISH_WORDS}|identity code`, isSwedish, DATE_DASH_4),
  checked(11, 'f[øo]dsels ?nummer|person ?nummer|\\bfnr\\b|norwegian', isNorwegian, /^(?:11 |6-5 [- ])$/),
  // Denmark
  unchecked(10, '\\bcpr\\b|person ?nummer|danish', /^(?:10 |6-4 [- ])$/, isDayFirst),
  // Iceland
  checked(10, 'kennit[aö]l|\\bkt\\.|icelandic', isIcelandic, /^(?:10 |6-4 [- ])$/),
  // Netherlands
  checked(
    9,
    `${abbreviation('bsn')}|burger ?service|sofi ?nummer|dutch`,
    (d) => weighted(d, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !isOneDigit(d),
    /^(?:9 |4-2-3 [ .-]{2}|3-3-3 [ .-]{2}|4-3-2 [ .-]{2})$/,
  ),
  checked(
    11,
    'rijks ?register|registre national|nationaal nummer|num[ée]ro national|national number|insz|niss|belgian',
    isBelgian,
    /^(?:11 |6-3-2 [- .]{2}|2-2-2-3-2 [-. ]{4})$/,
    /^2-2-2-3-2 (?:\.\.-\.|\.\.--)$/,
  ),
  // Luxembourg
  checked(
    13,
    'matricule|luxembourg|numm(?:er)? (?:vun|der) ',
    (d) => isDated(d, 2) && passesLuhn(d.slice(0, 12)) && passesVerhoeff(d.slice(0, 11) + d.slice(12)),
    /^(?:13 |8-5 [ -]|4-2-2-5 [ -]{3}|4-2-2-3-2 {4})$/,
  ),
  checked(
    13,
    '\\bahv\\b|\\bavs\\b|versicherungs ?nummer|swiss',
    (d) => d.startsWith('756') && isEuropeanArticle(d),
    /^(?:13 |3-4-4-2 (?:\.{3}| {3}))$/,
    /^3-4-4-2 \.{3}$/,
  ),
  // Austria
  checked(
    10,
    '\\bsv ?n(?:umme)?r|versicherungs ?n(?:umme)?r|sozialversicherung|austrian',
    (d) => weighted(d, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === digitAt(d, 3),
    /^(?:10 |4-6 [ -])$/,
  ),
  // Portugal
  checked(
    9,
    `${abbreviation('nif')}|contribuinte|\\bnic\\b`,
    (d) => elevenMinus(weighted(d, [9, 8, 7, 6, 5, 4, 3, 2])) % 10 === digitAt(d, 8),
    SPACED_3,
  ),
  // Spain
  checked(
    12,
    `seguridad ?social|${abbreviation('nss')}|\\bnuss\\b|afiliaci[oó]n`,
    isSpanishInsurance,
    /^(?:12 |2-8-2 (?: {2}|--|\/\/)|2-10 [ /-])$/,
  ),
  // Greece
  checked(11, 'amka|αμκα', (d) => isDayFirst(d) && passesLuhn(d)),
  checked(
    9,
    'αφμ|α\\.φ\\.μ|\\bafm\\b',
    (d) => (weighted(d, [256, 128, 64, 32, 16, 8, 4, 2]) % 11) % 10 === digitAt(d, 8) && !isOneDigit(d),
  ),
  // Romania
  checked(13, `${abbreviation('cnp')}|cod ?numeric`, isRomanian),
  // Moldova
  checked(
    13,
    'idnp|moldov',
    (d) => weighted(d, [7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 === digitAt(d, 12),
  ),
  // Bulgaria
  checked(
    10,
    'егн|\\begn\\b',
    (d) => isDated(d, 0, 20) && (weighted(d, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === digitAt(d, 9),
    /^(?:10 |6-4 |6-3-1 {3})$/,
  ),
  checked(
    10,
    'лнч|\\blnch\\b',
    (d) => weighted(d, [21, 19, 17, 13, 11, 9, 7, 3, 1]) % 10 === digitAt(d, 9) && !isOneDigit(d),
    /^(?:10 |4-3-3 {3})$/,
  ),
  // Czechia, Slovakia
  checked(10, 'rodn[ée]|\\br\\. ?č|\\brč|birth number|czech|slovak', isCzech, /^(?:10 |6-4 [/ ])$/),
  // Until 1953, without a check digit.
  unchecked(9, 'rodn[ée]|\\br\\. ?č|\\brč', /^(?:9 |6-3 [/ ])$/, (d) => isCzechDay(d) && d < '54'),
  // Croatia
  checked(11, '\\boib\\b', (d) => passesMod11And10(d) && !isOneDigit(d)),
  // Slovenia, Serbia and neighbours
  checked(
    13,
    'em[šs]o|jmbg|јмбг|\\bembg\\b|ембг',
    (d) => isDayFirst(d) && elevenMinus(weighted(d, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) === digitAt(d, 12),
  ),
  // Hungary
  checked(11, 'személyi (?:szám|azonosító)', isHungarian, /^(?:11 |1-6-4 [ -]{2})$/),
  checked(
    9,
    '\\btaj\\b|társadalombiztosítás',
    (d) => weighted(d, [3, 7, 3, 7, 3, 7, 3, 7]) % 10 === digitAt(d, 8) && !isOneDigit(d),
    SPACED_3,
  ),
  checked(
    10,
    'adóazonosító|adójel',
    (d) => d[0] === '8' && weighted(d, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 === digitAt(d, 9),
  ),
  checked(11, 'isiku ?kood|asmens ?kod|estonian|lithuanian', isBaltic),
  // Latvia
  unchecked(11, 'personas ?kod|latvian', /^(?:11 |6-5 -)$/, isLatvian),
  // Russia
  checked(11, 'снилс|snils', isSnils, /^(?:11 |3-3-3-2 (?:-- |---| {3}))$/, /^3-3-3-2 -- $/),
  checked(12, 'инн|\\binn\\b', isRussianTaxpayer),
  // Ukraine
  checked(
    10,
    'ідентифікаційн|рнокпп|іпн|ипн|ukrain',
    (d) => (((weighted(d, [-1, 5, 7, 9, 4, 6, 10, 5, 7]) % 11) + 11) % 11) % 10 === digitAt(d, 9),
  ),
]
