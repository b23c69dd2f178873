// Lists the names of months in lower case, in the forms that dates use.

import { CASE_BIT, DOT, HYPHEN, SLASH, SPACE } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'

const MONTHS = new Set(
  (
    'january february march april may june july august september october november december ' +
    'jan feb mar apr jun jul aug sep sept oct nov dec ' +
    'januar februar märz mai juni juli oktober dezember jänner ' +
    'janvier février mars avril juin juillet août septembre octobre novembre décembre ' +
    'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ' +
    'gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre ' +
    'janeiro fevereiro março maio junho julho setembro outubro novembro dezembro ' +
    'januari februari maart mei augustus augusti desember december ' +
    'stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia ' +
    'ledna února března dubna května června července srpna září října listopadu prosince ' +
    'января февраля марта апреля мая июня июля августа сентября октября ноября декабря ' +
    'січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня ' +
    'január február március április május június július augusztus szeptember október ' +
    'siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna studenoga studenog prosinca ' +
    'ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie decembrie ' +
    'januára februára apríla mája júna júla augusta septembra októbra novembra decembra ' +
    'јануара фебруара априла маја јуна јула августа септембра октобра новембра децембра ' +
    'януари февруари март април май юни юли август септември октомври ноември декември ' +
    'tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta ' +
    'maret agustus ' +
    'ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık ' +
    'ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου ' +
    'ינואר פברואר מרץ מרס אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר ' +
    'בינואר בפברואר במרץ במרס באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר ' +
    'يناير فبراير مارس أبريل ابريل مايو يونيو يوليو أغسطس اغسطس سبتمبر أكتوبر اكتوبر نوفمبر ديسمبر شباط آذار نيسان أيار حزيران تموز أيلول ' +
    'जनवरी फ़रवरी फरवरी मार्च अप्रैल जून जुलाई अगस्त सितंबर सितम्बर अक्टूबर अक्तूबर नवंबर नवम्बर दिसंबर दिसम्बर'
  ).split(' '),
)

const MAXIMUM_MONTH = 12

/** So large that no two pairs of ASCII letters share a place. */
const SIZE = 8192
/** Set of first two letters, hashed: rules out most words, and lets a few others pass. */
class Beginnings {
  readonly #set = new Uint8Array(SIZE)

  constructor(words: Iterable<string>) {
    for (const [first = '', second = ''] of words) {
      for (const one of [first, first.toUpperCase()]) {
        for (const two of [second, second.toUpperCase()])
          this.#set[hash(one.charCodeAt(0), two.charCodeAt(0))] = 1
      }
    }
  }

  mayHold(text: string, at: number): boolean {
    return this.#set[hash(codeAt(text, at), codeAt(text, at + 1))] === 1
  }
}

const hash = (first: number, second: number): number =>
  ((first | CASE_BIT) * 31 + (second | CASE_BIT)) & (SIZE - 1)

/** Months, and words between a day and its month. */
const MONTHS_OR_LINKS = [...MONTHS, 'of', 'de', 'di']
const MONTH_BEGINNINGS = new Beginnings(MONTHS)
const AFTER_SPACE = new Beginnings(MONTHS_OR_LINKS)
/** With the suffixes of a day. */
const AFTER_DAY = new Beginnings([...MONTHS_OR_LINKS, 'st', 'nd', 'rd', 'th', 'er'])

/** Reports whether the word at `at` may be the name of a month, judged by its first two letters. */
export const mayBeMonth = (text: string, at: number): boolean => MONTH_BEGINNINGS.mayHold(text, at)

const ORDINAL_SIGN = 0xba

/**
 * Reports whether the name of a month may follow a day that ends at `end`: `12MAY`, `12-May`,
 * `12. May`, `12th of May`. Judges by two letters, so true for some other words too.
 */
export function mayMonthFollow(text: string, end: number): boolean {
  if (AFTER_DAY.mayHold(text, end)) return true
  const mark = codeAt(text, end)
  let at = mark === DOT || mark === ORDINAL_SIGN ? end + 1 : end
  const joint = codeAt(text, at)
  if (joint === SPACE || joint === HYPHEN || joint === SLASH) at++
  return at > end && AFTER_SPACE.mayHold(text, at)
}

/** Reports whether a word is the name of a month. A final `.` or `,` is ignored. */
export function isMonth(text: string, start: number, end: number): boolean {
  if (end - start < 3 || end - start > MAXIMUM_MONTH || !mayBeMonth(text, start)) return false
  const word = text.slice(start, end).toLowerCase()
  return MONTHS.has(word.endsWith('.') || word.endsWith(',') ? word.slice(0, -1) : word)
}
