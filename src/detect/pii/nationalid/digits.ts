// Personal numbers of countries that are digits alone: length, grouping, check digits, the words they go by. A table;
// how it is used is said in nationalid.ts.

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
  any,
  elevenMinus,
  isBaltic,
  isBelgian,
  isChinese,
  isCpf,
  isCzech,
  isDated,
  isDayFirst,
  isEuropeanArticle,
  isFrench,
  isKorean,
  isLatvian,
  isMyNumber,
  isNorwegian,
  isOldKorean,
  isRomanian,
  isRussianTaxpayer,
  isSnils,
  isSouthAfrican,
  isSpanishInsurance,
  isSwedish,
  isThai,
  isTurkish,
  twoDigits,
} from './checks.ts'

/** One personal number of one country. */
export interface DigitIdentifier {
  readonly digits: number
  /** How it is written: lengths of the groups, a space, the separators between them. */
  readonly form: RegExp
  /** Forms that nothing else has: no word needs to stand before. */
  readonly alone?: RegExp
  /** Its names, small letters, for the text right before. */
  readonly words: string
  /** Whether a word for such numbers in general does; false where no check digit proves anything. */
  readonly general: boolean
  readonly valid: (digits: string) => boolean
}

/** ITIN: the groups that the Internal Revenue Service has given out. */
const ITIN = /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])\d{4}$/

/** The form of one in one piece. */
export const PLAIN = /^\d+ $/
const row = (
  digits: number,
  words: string,
  valid: (digits: string) => boolean,
  form: RegExp = PLAIN,
  alone?: RegExp,
  general = true,
): DigitIdentifier => ({ digits, words, valid, form, general, ...(alone === undefined ? {} : { alone }) })

const SPACED_3 = /^(?:9 |3-3-3 (?: {2}|-{2}|\.{2}))$/
const SPACED_10 = /^(?:10 |3-3-4 (?: {2}|--))$/
const DATE_DASH_4 = /^(?:10 |12 |6-4 [- ]|8-4 [- ])$/

/** All countries, in no order. */
/** France. */
export const NIR_WORDS = `${abbreviation('nir')}|s[ée]curit[ée] ?sociale|\\bs[ée]cu\\b|insee|carte vitale|num[ée]ro d['’]assur`

export const IDENTIFIERS: readonly DigitIdentifier[] = [
  row(9, 'itin|taxpayer', (d) => ITIN.test(d), /^(?:9 |3-2-4 (?: {2}|--))$/, /^3-2-4 --$/), // United States
  row(
    9,
    // Not the function.
    `${abbreviation('sin')}(?!\\()|social ?insurance|${abbreviation('nas')}|assurance sociale`,
    (d) => passesLuhn(d) && !isOneDigit(d),
    SPACED_3,
  ), // Canada
  row(
    9,
    'tfn|tax ?file',
    (d) => weighted(d, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && !isOneDigit(d),
    SPACED_3,
  ), // Australia
  row(
    10,
    'medicare',
    (d) => /^[2-6]/.test(d) && weighted(d, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === digitAt(d, 8),
    /^(?:10 |4-5-1 (?: {2}|--))$/,
  ),
  row(
    10,
    `${abbreviation('nhs')}|national ?health`,
    (d) => elevenMinus(weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2])) === digitAt(d, 9) && !isOneDigit(d),
    SPACED_10,
  ), // United Kingdom
  row(
    12,
    'a+dha+r|uidai|\\buid\\b|आधार',
    (d) => /^[2-9]/.test(d) && passesVerhoeff(d),
    /^(?:12 |4-4-4 (?: {2}|--))$/,
  ), // India
  row(
    11,
    abbreviation('cpf'),
    isCpf,
    /^(?:11 |3-3-3-2 (?:\.\.-|\.\.\.| {3}| {2}-)|9-2 -)$/,
    /^3-3-3-2 \.\.-$/,
  ), // Brazil
  row(
    15,
    NIR_WORDS,
    isFrench,
    /^(?:15 |13-2 [ -]|1-2-2-2-3-3-2 [ .-]{6}|1-2-2-2-3-3-2 {7})$/,
    /^1-2-2-2-3-3-2 {7}$/,
  ), // France
  row(
    12,
    "carte (?:nationale )?d['’]identit|\\bcni\\b",
    (d) => isDay(twoDigits(d, 2), 1),
    PLAIN,
    undefined,
    false,
  ), // France, cards until 2021
  row(11, 'pesel', (d) => isDated(d, 0, 20) && weighted(d, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0), // Poland
  row(
    11,
    `steuer ?(?:id|ident|nummer|nr)|id ?nr|identifikationsn(?:umme)?r|${abbreviation('tin')}|tax ?id`,
    (d) => d[0] !== '0' && passesMod11And10(d) && !isOneDigit(d),
    /^(?:11 |2-3-3-3 {4})$/,
  ), // Germany
  row(18, '身份证|身份證|公民身份|chinese id', isChinese, PLAIN, PLAIN),
  row(13, '\\brrn\\b|\\bfrn\\b|resident ?registration|주민|외국인\\s?등록', isKorean, /^(?:13 |6-7 [- ])$/),
  row(13, 'korea', isOldKorean, /^(?:13 |6-7 -)$/, /^6-7 -$/),
  row(
    11,
    'kiml[iı]k|tckn|\\bt\\.?\\s?c\\.?(?: no|:)|vatanda[sş]l[iı]k|turkish',
    isTurkish,
    /^(?:11 |3-3-3-2 {4})$/,
  ),
  row(
    13,
    'thai|tnin|เลข|บัตร|ประชาชน',
    isThai,
    /^(?:13 |1-4-5-2-1 (?: {4}|-{4}))$/,
    /^1-4-5-2-1 (?: {4}|-{4})$/,
  ),
  row(10, 'person(?:lig[ta])? ?nummer|person ?nr|\\bpnr\\b|samordnings|swedish', isSwedish, DATE_DASH_4), // Sweden
  row(
    12,
    'person(?:lig[ta])? ?nummer|person ?nr|\\bpnr\\b|samordnings|swedish|identity code',
    isSwedish,
    DATE_DASH_4,
  ),
  row(11, 'f[øo]dsels ?nummer|person ?nummer|\\bfnr\\b|norwegian', isNorwegian, /^(?:11 |6-5 [- ])$/),
  row(10, '\\bcpr\\b|person ?nummer|danish', isDayFirst, /^(?:10 |6-4 [- ])$/, undefined, false), // Denmark
  row(
    9,
    `${abbreviation('bsn')}|burger ?service|sofi ?nummer|dutch`,
    (d) => weighted(d, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !isOneDigit(d),
    /^(?:9 |4-2-3 [ .-]{2}|3-3-3 [ .-]{2}|4-3-2 [ .-]{2})$/,
  ), // Netherlands
  row(
    11,
    'rijks ?register|registre national|nationaal nummer|num[ée]ro national|insz|niss|belgian',
    isBelgian,
    /^(?:11 |6-3-2 [- .]{2}|2-2-2-3-2 [-. ]{4})$/,
    /^2-2-2-3-2 (?:\.\.-\.|\.\.--)$/,
  ),
  row(
    13,
    '\\bahv\\b|\\bavs\\b|versicherungs ?nummer|swiss',
    (d) => d.startsWith('756') && isEuropeanArticle(d),
    /^(?:13 |3-4-4-2 (?:\.{3}| {3}))$/,
    /^3-4-4-2 \.{3}$/,
  ),
  row(
    10,
    '\\bsv ?n(?:umme)?r|sozialversicherung|austrian',
    (d) => weighted(d, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === digitAt(d, 3),
    /^(?:10 |4-6 [ -])$/,
  ), // Austria
  row(
    9,
    `${abbreviation('nif')}|contribuinte|\\bnic\\b`,
    (d) => elevenMinus(weighted(d, [9, 8, 7, 6, 5, 4, 3, 2])) % 10 === digitAt(d, 8),
    SPACED_3,
  ), // Portugal
  row(
    12,
    `seguridad ?social|${abbreviation('nss')}|\\bnuss\\b|afiliaci[oó]n`,
    isSpanishInsurance,
    /^(?:12 |2-8-2 (?: {2}|--|\/\/)|2-10 [ /-])$/,
  ), // Spain
  row(11, 'amka|αμκα', (d) => isDayFirst(d) && passesLuhn(d)), // Greece
  row(13, `${abbreviation('cnp')}|cod ?numeric`, isRomanian), // Romania
  row(
    10,
    'егн|\\begn\\b',
    (d) => isDated(d, 0, 20) && (weighted(d, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === digitAt(d, 9),
  ), // Bulgaria
  row(10, 'rodn[ée]|\\brč\\b|birth number|czech|slovak', isCzech, /^(?:10 |6-4 [/ ])$/), // Czechia, Slovakia
  row(11, '\\boib\\b', (d) => passesMod11And10(d) && !isOneDigit(d)), // Croatia
  row(
    13,
    'em[šs]o|jmbg|јмбг',
    (d) => isDayFirst(d) && elevenMinus(weighted(d, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) === digitAt(d, 12),
  ), // Slovenia, Serbia and neighbours
  row(11, 'isiku ?kood|asmens ?kod|estonian|lithuanian', isBaltic),
  row(11, 'personas ?kod|latvian', isLatvian, /^(?:11 |6-5 -)$/, undefined, false), // Latvia
  row(11, 'снилс|snils', isSnils, /^(?:11 |3-3-3-2 (?:-- |---| {3}))$/, /^3-3-3-2 -- $/), // Russia
  row(12, 'инн|\\binn\\b', isRussianTaxpayer),
  row(
    10,
    'ідентифікаційн|рнокпп|іпн|ипн|ukrain',
    (d) => (((weighted(d, [-1, 5, 7, 9, 4, 6, 10, 5, 7]) % 11) + 11) % 11) % 10 === digitAt(d, 9),
  ), // Ukraine
  row(13, 'south africa|\\brsa\\b|\\bsa id|permanent resident|refugee|id (?:number|no)', isSouthAfrican),
  row(9, 'teudat|ת"ז|ת\\.ז|ת״ז|זהות|israeli', passesLuhn, /^(?:9 |8-1 -)$/), // Israel
  row(12, 'my ?number|マイナンバー|個人番号', isMyNumber, /^(?:12 |4-4-4 (?: {2}|--))$/), // Japan
  row(
    12,
    'mykad|\\bnric\\b|\\bic\\b|pengenalan|malaysia',
    isDated,
    /^(?:12 |6-2-4 --)$/,
    /^6-2-4 --$/,
    false,
  ),
  row(
    16,
    '\\bnik\\b|\\bktp\\b|kependudukan',
    (d) => isDay(twoDigits(d, 8), twoDigits(d, 6) % 40),
    PLAIN,
    undefined,
    false,
  ), // Indonesia
  row(13, 'cnic|nadra|pakistan', any, /^(?:13 |5-7-1 --)$/, /^5-7-1 --$/, false),
  row(
    15,
    'emirates id|هوية',
    (d) => /^784(?:19|20)/.test(d) && passesLuhn(d),
    /^(?:15 |3-4-7-1 (?:---| {3}))$/,
    /^3-4-7-1 ---$/,
  ),
  row(14, 'الرقم القومي|egypt', (d) => /^[23]/.test(d) && isDated(d, 1)), // Egypt
  row(10, 'iqama|إقامة|هوية|saudi', (d) => /^[12]/.test(d) && passesLuhn(d)),
  row(
    10,
    'کد ملی|کدملی|melli|iranian',
    (d) => {
      const rest = weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11
      return (rest < 2 ? rest : 11 - rest) === digitAt(d, 9) && !isOneDigit(d)
    },
    /^(?:10 |3-6-1 --)$/,
  ),
  row(
    11,
    'cuil|cuit',
    (d) =>
      /^(?:2[03-7]|3[034])/.test(d) &&
      elevenMinus(weighted(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) % 10 === digitAt(d, 10),
    /^(?:11 |2-8-1 (?:--| {2}))$/,
    /^2-8-1 --$/,
  ), // Argentina
  row(8, `${abbreviation('dni')}|documento`, any, /^(?:8 |2-3-3 \.\.)$/, undefined, false),
  row(10, 'c[ée]dula|\\bc\\.?c\\.?\\b', any, /^(?:10 |1-3-3-3 \.{3})$/, undefined, false), // Colombia, Ecuador
  row(8, 'c[ée]dula|\\bc\\.?[ci]\\.?\\b', any, /^(?:8 |2-3-3 \.\.)$/, undefined, false),
  row(12, 'cccd|c[aă]n c[uư][oớ]c|cmnd', (d) => d[0] === '0', PLAIN, undefined, false), // Vietnam
  row(11, '\\bnin\\b|national identification number', any, /^(?:11 |4-3-4 (?: {2}|--))$/, undefined, false), // Nigeria
]
