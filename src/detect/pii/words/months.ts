// Lists the names of months in lower case, in the forms that dates use.

import { CASE_BIT } from '../../../core/ascii.ts'
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

/** Set of first two letters, hashed: rules out most words, and lets a few others pass. */
const BEGINNINGS = new Uint8Array(1024)
const beginning = (first: number, second: number): number =>
  ((first | CASE_BIT) * 31 + (second | CASE_BIT)) & 1023
for (const [first = '', second = ''] of MONTHS) {
  for (const one of [first, first.toUpperCase()]) {
    for (const two of [second, second.toUpperCase()])
      BEGINNINGS[beginning(one.charCodeAt(0), two.charCodeAt(0))] = 1
  }
}

/** Reports whether the word at `at` may be the name of a month, judged by its first two letters. */
export const mayBeMonth = (text: string, at: number): boolean =>
  BEGINNINGS[beginning(codeAt(text, at), codeAt(text, at + 1))] === 1

/** Reports whether a word is the name of a month. A final `.` or `,` is ignored. */
export function isMonth(text: string, start: number, end: number): boolean {
  if (end - start < 3 || end - start > MAXIMUM_MONTH || !mayBeMonth(text, start)) return false
  const word = text.slice(start, end).toLowerCase()
  return MONTHS.has(word.endsWith('.') || word.endsWith(',') ? word.slice(0, -1) : word)
}
