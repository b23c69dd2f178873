// Detects dates of birth: a date in a common notation after a label. Without a label, a date is not
// personal.

import { ASCII_END, COMMA, isDigit, OPEN_PAREN, SPACE } from '../../core/ascii.ts'
import { isDay } from './checksums.ts'
import { codeAt, codesOf, isLetter } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { labelBefore } from './words/label.ts'
import { isMonth, mayBeMonth } from './words/months.ts'

/** Words of a label, in lower case. */
const WORDS = [
  // English.
  String.raw`\bd\.?o\.?b\b|\bdo ?b\b|\bd\/o\/b\b|birth(?! ?time)|\bborn\b|\bb[- ]?day`,
  // German, Dutch.
  String.raw`geboren|\bgeb\.|\bgeb ?dat|geburt|geboorte`,
  // French.
  String.raw`(?<![a-zà-ÿ])n(?:[ée](?:e|\(e\))? le\b|é(?:e|\(e\))? (?:à|au|aux|en) )|\bnaiss|\bddn\b`,
  // Spanish, Portuguese, Catalan.
  String.raw`nacimiento|\bnac[ií](?:d[oa]|[oó])?(?![a-zà-ÿ])|\bnac\.|\bf(?:ec|echa)?\.? ?(?:de ?)?nac\b|\bnasc(?!en)|nacemento|naixement`,
  // Italian.
  String.raw`nascita|\bnat[oa](?= (?:il|l['’]|a|ad|in|nel) | ?[:(/,]| $)`,
  // Scandinavia.
  'född|f[öo]delse|fødse|f[øo]dselsda|født|fødd|fæðing|fædd',
  // Finnish, Estonian.
  String.raw`synty|\bsynt\.|sünni|sündinud`,
  // Polish, Czech, Slovak.
  String.raw`urodz|\bur\.|naro[zd]|\bnar\.`,
  // Slovene, Croatian, Serbian.
  'rojen|rojst|rođen|rodjen|рођен',
  // Latvian, Lithuanian.
  String.raw`dzimš|dzim(?:is|usi|san)|\bgim(?:imo|ė|ęs|usi)`,
  // Hungarian, Romanian, Turkish, Albanian.
  String.raw`szül|n[aă][sșş]cut|na[sșş]ter|do[gğ]um|\bdo[gğ]\. ?tar|dat[eë]lindj`,
  // Irish, Maltese.
  'dáta breithe|twelid|twieled',
  // Greek.
  String.raw`γ[εέ]νν[ηή]|γεν\.`,
  // Cyrillic.
  String.raw`рожд|родил|(?<![а-яё])д\. ?р\.|(?<![а-яё])др ?:|народж|народи[вл]|нараджэн|раждан|раѓањ|роден`,
  // Arabic, Persian, Urdu, Hebrew.
  'تولد|ميلاد|مواليد|مولود|ولدت?|پیدائش|לידה|נולד',
  // India.
  'जन्म|জন্ম|જન્મ|ਜਨਮ|பிறந்த|పుట్టిన',
  // East Asia.
  '出生|生年月日|生日|生于|生於|誕生|생년월일|생일|출생|วันเกิด|เกิดวัน|ปีเกิด',
  // Vietnam, Indonesia, Philippines.
  String.raw`\bsinh\b|lahir|\bttl ?: ?[a-z]{3,20},|kapanganakan|ipinanganak`,
].join('|')
/** A label before a date, with no digit between. */
const BIRTH = new RegExp(`(?:${WORDS})[^\\d]{0,32}$`)
/**
 * Prefilter for a window of text. Words are not split there: a label may start inside a name,
 * `userDob`, and have other joints, `née_le`.
 */
const ANY_WORD = new RegExp(WORDS.replace(/\\b|\(\?<!.*?\)/g, '').replace(/ \??/g, '[ _-]?'), 'i')
/** Source of the pattern that `mayBeBirthLabel` tests. */
export const BIRTH_LABELS = ANY_WORD.source

/** Reports whether the text before a date may hold the label of a date of birth. */
export const mayBeBirthLabel = (before: string): boolean => ANY_WORD.test(before)

/** Reports whether words end in the label of a date of birth. */
export const isBirthLabel = (words: string): boolean => BIRTH.test(words)

/** Words that follow a date of birth in some languages. */
const BORN =
  /(?:,? )?(?:tarihinde )?\(?(?:geboren|geb\.|do[gğ](?:umlu|du|\.)|生(?![産产成效効放活徒])|出生|誕生|생(?![산성활방])|출생|г\. ?р\.|года? рожд|р\. ?н\.|року народж|szület|synty|naroz|urodz|født|född|(?<=\()(?:birth|d\.?o\.?b\b)|को जन्म)/iuy

/** Prefilter for a date and the word after it. */
const MAY_BE_BORN = /geb|do[gğ]|[生誕출생]|[гр]\.|рожд|народж|szül|synt|naroz|urod|f[øö]d|birt|d\.?o\.?b|जन्म/i
/** Longest date with such a word. */
const DATE_CHARACTERS = 48

/** Reports whether the word for a birth directly follows a date that ends at an offset. */
export function isBornAfter(text: string, end: number): boolean {
  const code = codeAt(text, end)
  if (code !== SPACE && code !== COMMA && code !== OPEN_PAREN && code < ASCII_END) return false
  BORN.lastIndex = end
  return BORN.test(text)
}

/** Characters before a date that are read. */
const WINDOW_CHARACTERS = 56

const NUMERIC = [
  /(?<year>\d{4})(?: ?[-/／] ?|\. ?)(?<a>\d{1,2})(?: ?[-/／] ?|\. ?)(?<b>\d{1,2})(?!\d)/y,
  /(?<a>\d{1,2})(?: ?[-/／] ?|\. ?| )(?<b>\d{1,2})(?: ?[-/／] ?|\. ?| )(?<year>\d{4}|\d{2})(?!\d)/y,
  /(?<year>(?:19|20)\d{2}) (?<a>\d{2}) (?<b>\d{2})(?!\d)/y,
  /(?<year>\d{4}) ?[年년] ?(?<a>\d{1,2}) ?[月월] ?(?<b>\d{1,2}) ?[日일]/y,
  /(?<year>(?:19|20)\d{2})(?<a>\d{2})(?<b>\d{2})(?!\d)/y,
  // Years of Japanese eras.
  /(?<=昭和|平成|令和)(?<year>\d{1,2})年(?<a>\d{1,2})月(?<b>\d{1,2})日/y,
]
/**
 * `12 May 1990`, `12 de mayo de 1990`, `12/May/1990`, `12MAY1990`; not the start of `7feb27e1b8`,
 * but that of `12-May-1990T00:00`
 */
const DAY_FIRST =
  /\d{1,2}(?:st|nd|rd|th|\.|º|er)?[ /-]?(?:(?:of|de|di) )?(?<month>[\p{L}\p{M}]{3,12})[.,]?[ /-]?(?:(?:de|del) )?(?:\d{4}|\d{2})(?!\d)(?:(?![a-z])|(?<=[ /-]\d{2,4})(?:(?=t\d)|(?![a-z]{1,16}\d)))/iuy
/** `1973. augusztus 30.` */
const YEAR_FIRST = /\d{4}\.? (?<month>[\p{L}\p{M}]{3,12}) \d{1,2}(?!\d)/uy
const DAY_AND_YEAR = /\d{1,2}(?:st|nd|rd|th)?,? \d{4}(?!\d)/y
const MONTH_CHARACTERS = 14

/**
 * @param at of a digit that starts a word
 * @param digitsEnd end of the digits that start there
 * @returns end of the date; 0 if there is no date of birth
 */
export function scanBirthDate(segment: Segment, at: number, digitsEnd: number): number {
  const { text } = segment
  if (!mayBeDate(text, at, digitsEnd)) return 0
  const mayBeLabelled = segment.isAfterLetter(at) && segment.mentions(ANY_WORD, at)
  if (!mayBeLabelled && !MAY_BE_BORN.test(text.slice(at, at + DATE_CHARACTERS))) return 0
  const span = dateAt(text, at, segment.end)
  if (span === null || isLayout(text, span.start, span.end)) return 0
  const isBorn =
    (mayBeLabelled && BIRTH.test(labelBefore(text, span.start, WINDOW_CHARACTERS))) ||
    isBornAfter(text, span.end)
  if (!isBorn) return 0
  return segment.add('date_of_birth', span.start, span.end) ? span.end : 0
}

/** The reference time of Go, by which its programs name layouts. */
const LAYOUTS = new Set([
  '2006-01-02',
  '2006/01/02',
  '02/01/2006',
  '01/02/2006',
  '02.01.2006',
  '20060102',
  '2 Jan 2006',
  'Jan 2, 2006',
])
const LAYOUT_BEFORE =
  /(?:format|parse\w{0,8}|layout|time\w{0,8}|date\w{0,8}|fmt)[\w"'`:.]{0,12} ?(?:\(|:=?|=)? ?["'`]$/i
const LAYOUT_AFTER = /^(?:["'`],|["'`]\)|[T ]15:04)/
const MAXIMUM_CALL = 24

/** Reports whether a date is a layout in a program: `Parse("2006-01-02", born)`. */
const isLayout = (text: string, start: number, end: number): boolean =>
  LAYOUTS.has(text.slice(start, end)) &&
  (LAYOUT_BEFORE.test(text.slice(Math.max(0, start - MAXIMUM_CALL), start)) ||
    LAYOUT_AFTER.test(text.slice(end, end + MAXIMUM_CALL)))

/** First characters after a day or a month: separators of dates, suffixes of ordinal numbers. */
const AFTER_DAY = codesOf('-/／., \u00baestnrd年')
const AFTER_YEAR = codesOf('-/／. 年년')

/** Prefilter: reports whether the digits in [at, end) may start a date. */
export function mayBeDate(text: string, at: number, end: number): boolean {
  const digits = end - at
  if (digits <= 2) return AFTER_DAY.has(codeAt(text, end)) || mayBeMonth(text, end)
  return digits === 8 || (digits === 4 && AFTER_YEAR.has(codeAt(text, end)))
}

/**
 * Reports whether a word is a day, a month and a year: `12MAY1990`.
 * @param end end of the day
 */
export function isDateInOneWord(text: string, end: number, wordEnd: number): boolean {
  let year = wordEnd
  while (isDigit(codeAt(text, year - 1))) year--
  return (wordEnd - year === 2 || wordEnd - year === 4) && isMonth(text, end, year)
}

function dateAt(text: string, at: number, from: number): { start: number; end: number } | null {
  for (const form of NUMERIC) {
    form.lastIndex = at
    const found = form.exec(text)
    if (found === null) continue
    const a = Number(found.groups?.['a'])
    const b = Number(found.groups?.['b'])
    if (isDay(a, b) || isDay(b, a)) return { start: at, end: at + found[0].length }
  }
  for (const form of [DAY_FIRST, YEAR_FIRST]) {
    form.lastIndex = at
    const found = form.exec(text)
    const month = found?.groups?.['month'] ?? ''
    if (found !== null && isMonth(month, 0, month.length)) return { start: at, end: at + found[0].length }
  }
  DAY_AND_YEAR.lastIndex = at
  const rest = DAY_AND_YEAR.exec(text)
  if (rest === null || text[at - 1] !== ' ') return null
  const end = at - 1
  let start = end
  if (text[start - 1] === '.') start--
  while (start > from && end - start < MONTH_CHARACTERS && isLetter(codeAt(text, start - 1))) start--
  return isMonth(text, start, end) ? { start, end: at + rest[0].length } : null
}
