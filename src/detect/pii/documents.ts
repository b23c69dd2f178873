// Detects the numbers of passports, identity cards and driving licences. Their forms prove nothing,
// so a label must directly precede.

import { HASH, HYPHEN, isAlphanumeric, isAsciiUpper, isDigit, PLUS, SLASH, SPACE } from '../../core/ascii.ts'
import { codeAt } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { labelBefore } from './words/label.ts'

/** Things that have other numbers, and the end of the statement about the document. */
const OTHER_NUMBER =
  '(?![^\\d]{0,40}(?:expir|valid|until|issue|born|phone|call|order|page|version|date|ticket|invoice|tracking|parcel|' +
  'software|activation|product key|queue|office|plate|appointment|booking|room|;\\s+(?!n[or.°º]|#)[^\\s\\d]{2}))'
/** Words for a number in a label, with their inflections. */
const NUMBER_WORD =
  'numbers?|numm?er|n[uú]mero|num[eé]ro|num[aă]r|numaras[iı]|\\bno|n[rº°]|№|#|номер|nomor|αριθμ[οό]ς|号码|號碼|番号|번호|หมายเลข|số|מספר|رقم|संख्या'
/**
 * The end of a label at a line end: a colon, or a word for a number. The value may be on the next
 * line.
 */
const LINE_END = `(?:[:：]|(?<=${NUMBER_WORD})\\.?)[ \\t*_|"]{0,4}\\r?\\n[\\s*_>|"]{0,8}$`
/** Text allowed between label and number: `passport number (US): `. */
const BETWEEN = `${OTHER_NUMBER}[^\\d\\n]{0,36}(?:$|${LINE_END})`
const PASSPORT = new RegExp(
  '(?:passport|\\bpas ?n(?:umme)?r|\\bpass(?:i|in|ini) |paso[sš]|пасош|putovnic|potn(?:i|ega) list|\\bpasu |cestovní pas|paspor|گذرنامه|พาสปอร์ต|পাসপোর্ট|reisepass|\\bpass ?n(?:umme)?r|passnummer|pasaporte|passaport[eo]|passeport|paspoort|paszport|' +
    'passinumero|pa[sșş]aport|útlevél|διαβατ[ηή]ρ|паспорт|جواز|דרכון|पासपोर्ट|护照|護照|パスポート|旅券|여권|หนังสือเดินทาง|hộ chiếu)' +
    BETWEEN,
)
const LICENCE = new RegExp(
  "(?:driv(?:er|ing)[’']?s?[’']? ?(?:licen[cs]e|permit|lic\\b)|\\bdl \\([a-z ]{2,20}\\)|\\bd\\.?l\\.? ?(?:no|num|number|#|:)|\\bd\\.?l\\.?n\\b|f[üu]hrerschein|permis(?:ul)? de conduc|permis de conduire|[rř]idi[cč](?:sk|[aá]k)|vodičsk|voza[cč]k|возачк|шофьорск|jogosítván|vezetői enged|گواهینامه|" +
    'licencia de conduc|permiso de conduc|carn[eé] de conduc|carnet de conducir|\\bpatente\\b|carteira de (?:motorista|habilita)|' +
    '\\bcnh\\b|carta de condução|rijbewijs|prawo jazdy|k[öo]rkort|f[øo]rerkort|k[øo]rekort|ajokort|s[üu]r[üu]c[üu] belge|ehliyet|' +
    'водительск|посвідчення водія|رخصة (?:ال)?قيادة|رخصة السياقة|ड्राइविंग ला|רישיון נהיגה|רשיון נהיגה|άδεια οδήγησης|δίπλωμα οδήγησης|驾照|驾驶证|駕照|運転免許|免許証|운전면허|ใบขับขี่|bằng lái|giấy phép lái|vozni[sš]k|juhil(?:uba|oa)|vad[iī]t[aā]ja apliec|vairuotojo pa[zž]ym|свидетелство за управ)' +
    BETWEEN,
)
const IDENTITY_CARD = new RegExp(
  "(?:identity card|personal ?ausweis|\\bausweis ?n(?:umme)?r|carta d[’']identit|carte (?:nationale )?d[’']identit|carte de identitate|" +
    'identiteits ?kaart|\\bid kaart|dow[oó]d\\p{L}* osobist|osobn[aeu] iskaznic|\\bli[cč]n[aeu] kart|osebn[aeo] izkaznic|' +
    'občansk\\p{L}* průkaz|občiansk\\p{L}* preukaz|személyi ?(?:igazolvány|ig\\.)|henkilökort|asmens tapatyb|personas apliec|' +
    'личн[аи]\\p{L}* карт|личн[аи] карт)' +
    BETWEEN,
  'u',
)
/** `licence` may mean that of software, so the number must have LICENCE_FORM. */
const ANY_LICENCE = new RegExp(`(?:licen[cs]e|\\bd\\.?l)${BETWEEN}`)
/** Forms of the United Kingdom, Korea, India and Ontario. */
const LICENCE_FORM =
  /^(?:[A-Z9]{5}\d{6}[A-Z9]{2}[A-Z0-9]{3}|\d{2}-\d{2}-\d{6}-\d{2}|[A-Z]{2}\d{2}[ -]?(?:19|20)\d{9}|[A-Z]\d{4}-\d{5}-\d{5})$/i

/** Letters and digits, perhaps in groups. */
const NUMBER = /[A-Za-z0-9]{1,16}(?:[ -](?=[A-Z0-9]*\d)[A-Z0-9]{1,12}){0,4}(?![A-Za-z0-9_])/y
/** Form of Poland. */
const SLASHED = /\d{5}\/\d{2}\/\d{4}(?![\d/])/y
const PLAIN_NUMBER = /[A-Za-z0-9]{1,16}(?![A-Za-z0-9_])/y
/** Maximum characters of a group after the first, see NUMBER. */
const MAXIMUM_GROUP = 12
/** Longest match of NUMBER: the first group, and four with a separator each. */
const MAXIMUM_LOOK_AHEAD = 16 + 4 * (1 + MAXIMUM_GROUP)
const MIN_CHARACTERS = 6
const MAXIMUM_PASSPORT = 12
const MAXIMUM_IDENTITY_CARD = 12
const MAXIMUM_LICENCE = 20
const MIN_DIGITS = 3
/** Germany: capitals without vowels and a digit. France: capitals and two digits. */
const FEW_DIGITS = /^(?:[CFGHJ-NPRTV-Z][CFGHJ-NPRTV-Z\d]{8}\d?|(?=.*\d.*\d)[A-Z\d]{9})$/
const FEW_DIGITS_CHARACTERS = 9
/** Only a date, perhaps with the hour; years; a week. */
const DATE =
  /^(?:(?:\d{4}[-. ]\d{1,2}[-. ]\d{1,2}|\d{1,2}[-. ]\d{1,2}[-. ]\d{2,4})(?:[ T]\d{1,2})?|(?:19|20)\d{2}(?:-(?:19|20)\d{2}|-W\d{2})?)$/
const UUID_AFTER = /-[\da-f]{4}-/iy
const WINDOW_CHARACTERS = 60
/**
 * Prefilter for all labels above on a window of text. Matches inside of words, which are not split
 * there: `userDL`, `user_dl`.
 */
const ANY_WORD =
  /pa[sșş]|licen[cs]|driv|d\.?l(?![a-mo-z])|führer|fuhrer|permis|carn|patente|carteira|cnh|condu|rijbewijs|prawo|kort|belge|ehliyet|útlevél|διαβ|паспорт|водит|جواز|דרכון|पास|护照|護照|パス|旅券|여권|หนังสือ|hộ chiếu|驾|駕|免許|면허|ใบขับ|bằng lái|посвід|putov|potn|cestov|گذر|พาส|পাস|пасош|[rř]idi[cč]|vodič|voza[cč]|возач|шофьор|jogos|vezet|گواهی|رخصة|ड्राइ|נהיגה|οδήγ|lái|vozni|juhil|vad[iī]t|vairuo|свидет|ausweis|identit|osob|i[sz]kazn|li[cč]n|kaart|průkaz|preukaz|személyi|henkil|tapatyb|apliec|личн/i

/** Source of the pattern that `mayBeDocumentLabel` tests. */
export const DOCUMENT_LABELS = ANY_WORD.source

/** Reports whether the text before a number may hold the label of a document. */
export const mayBeDocumentLabel = (before: string): boolean => ANY_WORD.test(before)

/** Reports whether words end in the label of a document. */
export const isDocumentLabel = (words: string): boolean =>
  PASSPORT.test(words) || LICENCE.test(words) || IDENTITY_CARD.test(words)

/**
 * @param word start of a word with a digit
 * @returns end of the number; 0 if there is none
 */
export function scanDocument(segment: Segment, word: number): number {
  if (!segment.isAfterLetter(word) || !mayBeDocumentNumber(segment.text, word)) return 0
  if (!segment.mentions(ANY_WORD, word)) return 0
  const window = labelBefore(segment.text, word, WINDOW_CHARACTERS)
  if (PASSPORT.test(window)) return addDocument(segment, word, 'passport', MAXIMUM_PASSPORT, PASSPORT)
  if (LICENCE.test(window)) return addDocument(segment, word, 'driver_license', MAXIMUM_LICENCE, LICENCE)
  if (IDENTITY_CARD.test(window))
    return addDocument(segment, word, 'national_id', MAXIMUM_IDENTITY_CARD, IDENTITY_CARD)
  if (!ANY_LICENCE.test(window)) return 0
  NUMBER.lastIndex = word
  const form = NUMBER.exec(segment.text)?.[0] ?? ''
  return LICENCE_FORM.test(form)
    ? addDocument(segment, word, 'driver_license', MAXIMUM_LICENCE, ANY_LICENCE)
    : 0
}

const UPPER_L = 0x4c

/** Prefilter: reports whether enough letters and digits follow before the number must end. */
export function mayBeDocumentNumber(text: string, word: number): boolean {
  const before = codeAt(text, word - 1)
  // `+1234567`, and in links: the line of a file, `#L1234`, and a number in a path.
  if (before === PLUS || (before === HASH && codeAt(text, word) === UPPER_L)) return false
  if (
    (before === SLASH && isAlphanumeric(codeAt(text, word - 2)) && isDigit(codeAt(text, word))) ||
    text.startsWith('0x', word)
  )
    return false
  let characters = 0
  let digits = 0
  for (let at = word; at - word < MAXIMUM_LOOK_AHEAD; at++) {
    const code = codeAt(text, at)
    if (isAlphanumeric(code)) {
      characters++
      if (isDigit(code)) digits++
      if (characters >= MIN_CHARACTERS && digits >= MIN_DIGITS) return true
      if (characters === FEW_DIGITS_CHARACTERS && digits > 0) return true
    } else if ((code !== SPACE && code !== HYPHEN && code !== SLASH) || !isDocumentGroup(text, at + 1))
      return false
  }
  return false
}

/** Reports whether a group of capitals and digits starts there that contains a digit. */
export function isDocumentGroup(text: string, start: number): boolean {
  for (let at = start; at - start < MAXIMUM_GROUP; at++) {
    const code = codeAt(text, at)
    if (isDigit(code)) return true
    if (!isAsciiUpper(code)) return false
  }
  return false
}

/**
 * A series directly before the digits, `EM 969752`, `L-123456`; words that announce a number are
 * excluded.
 */
const SERIES = /(?<![\p{L}\p{N}])(?:(?!(?:NO|NR|ID|DL|US|UK|EU) )[A-Z]{1,3} |(?!(?:NO|NR|ID)-)[A-Z]{1,3}-)$/u
/** Longest series, and one character before it. */
const MAXIMUM_SERIES = 5

/** Length of the series between label and digits; 0 if there is none. */
function seriesBefore(segment: Segment, word: number, label: RegExp): number {
  if (!isDigit(codeAt(segment.text, word))) return 0
  const before = segment.text.slice(Math.max(segment.end, word - MAXIMUM_SERIES), word)
  const { length } = SERIES.exec(before)?.[0] ?? ''
  // `CNH 12345678900`
  return length > 0 && label.test(labelBefore(segment.text, word - length, WINDOW_CHARACTERS)) ? length : 0
}

function addDocument(
  segment: Segment,
  word: number,
  kind: 'passport' | 'national_id' | 'driver_license',
  most: number,
  label: RegExp,
): number {
  for (const form of [SLASHED, NUMBER, PLAIN_NUMBER]) {
    form.lastIndex = word
    const found = form.exec(segment.text)?.[0]
    if (found === undefined) continue
    const characters = found.replace(/[ /-]/g, '')
    const digits = characters.replace(/\D/g, '').length
    if (characters.length < MIN_CHARACTERS || characters.length > most) continue
    if (digits < MIN_DIGITS && !FEW_DIGITS.test(found)) continue
    UUID_AFTER.lastIndex = word + found.length
    if (DATE.test(found) || UUID_AFTER.test(segment.text)) continue
    const start = word - seriesBefore(segment, word, label)
    return segment.add(kind, start, word + found.length) ? word + found.length : 0
  }
  return 0
}
