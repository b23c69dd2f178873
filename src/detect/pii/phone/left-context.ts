// Reads the text directly before a phone number: what marks it as one, such as an owner or a chat
// link, and what rules it out.

import { HASH, HYPHEN, isAsciiUpper, isDigit, isWordCharacter, SLASH, SPACE } from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isLetter } from '../code-unit-classes.ts'
import type { DigitRun } from '../number/run.ts'
import { shapeOf } from '../number/shape.ts'
import { areLinkWords } from '../words/context.ts'

const SOMEBODYS_NUMBER = [
  String.raw`(?:my|your|his|her|their|our) (?:\w{2,10} )?number(?:'s)?`,
  '(?:мой|моя|мій|наш) номер',
  'meine nummer|mijn nummer|mi(?:t|tt) nummer|numeroni',
  'mi n[uú]mero|meu n[uú]mero|mon num[ée]ro|il mio numero|numărul meu',
  'mój numer|moje číslo|a számom|numaram|nomor saya',
  'số của tôi|मेरा नंबर|ο αριθμός μου',
].join('|')
const IS = 'is|ist|es|é|e|est|è|er|är|on|to|je|este|adalah|là|είναι|это|-|—'
/** A number with an owner is a phone number. */
const OWN_NUMBER = new RegExp(`(?<![\\p{L}\\p{M}])(?:${SOMEBODYS_NUMBER})(?: (?:${IS}))?[\\s:]*$`, 'u')

/** @param window the text before the number, in lower case */
export const isOwnNumber = (window: string): boolean => OWN_NUMBER.test(window)

/** `direct line 020 7946 0958`, while `line 12` is a line number. */
const PHONE_LINE =
  /\b(?:direct|office|phone|telephone|help|support|main|home|land|hot|fax|mobile|business|customer)[ -]?line[s:\s]*$/

/** @param window the text before the number, in lower case */
export const isPhoneLine = (window: string): boolean => PHONE_LINE.test(window)

/**
 * The speaker at the start of a line, which may follow an escaped line end: `Customer: it is `,
 * `**User:** `.
 */
const SPEAKER =
  /(?:^|\n|\\ )[\s*_>#-]{0,6}(?:customer|client|caller|user|member|patient|student|employee|guest|kund(?:e|in)|cliente|klant)[*_]{0,2} ?:[^\d\n]{0,24}$/

/**
 * Reports whether the label names the speaker in a transcript, not what the number belongs to.
 * @param window the text before the number, in lower case
 */
export const isAfterSpeaker = (window: string): boolean => SPEAKER.test(window)

const CHAT_LINK = 'wa.me/'

/**
 * Reports whether a link that opens a chat with the number ends there. The number starts with its
 * calling code.
 */
export const isChatLink = (text: string, start: number): boolean => text.endsWith(CHAT_LINK, start)

/** Numbers of issues, tickets and commits have fewer digits. */
const MIN_CALLED_DIGITS = 10

/** `#1234567`: the number of an issue or ticket. */
export function isAfterHash(text: string, start: number): boolean {
  return codeAt(text, start - 1) === HASH && endOfDigits(text, start) - start < MIN_CALLED_DIGITS
}

/** `mobile users: 1234567`, `"mobileSessions": 2345678` */
const COUNTED_THINGS =
  /(?:users|subscribers|visit(?:or)?s|sessions|views|clicks|downloads|installs|hits|units|calls|anrufe|llamadas|messages|sent|requests|errors|devices|traffic|volume|length|revenue|telemetry)["']?[ \t]{0,3}[:=]?[ \t]{0,3}$/

/**
 * Reports whether a number in one piece is a count of users, visits or the like. Phone numbers have
 * more digits.
 * @param window the text before the number, in lower case
 */
export const isUsageCount = (window: string, digits: number): boolean =>
  digits < MIN_CALLED_DIGITS && COUNTED_THINGS.test(window)

/** Games and rows of results. */
const DRAWN =
  /(?<!\p{L})(?:play(?:s|ed|ing)?|pick(?:s|ed|ing)?(?! ?up)|lucky|winning|balls?|bets?|combinations?|combinaisons?|sequences?|zahlen|tirés|gagnants?|gagnantes?|números|numeri|getrokken|getallen|wylosowano)(?!\p{L})[^\d\n]{0,32}$/u
/** The same with a date or a prize between. */
const LOTTERY =
  /(?<!\p{L})(?:draw(?:s|n|ing|ings)?|drew|lott\p{L}*|loteri\p{L}*|loto|jackpot|powerball|euro ?(?:million|jackpot|dreams)\p{L}*|mega ?millions|bingo|keno|tombola|raffle|gewinnzahl\p{L}*|gewonnen|ziehung\p{L}*|tirages?|boules?|sorteos?|quiniela|primitiva|estrazion[ei]|superenalotto|lotería|loterij|trekking|losowani\p{L}*|лотере\p{L}*|тираж\p{L}*)(?!\p{L})[^\n]{0,40}$/u
/** `04 15 55 26 71 were drawn`. */
const DRAWN_AFTER =
  /,? (?:\(?bonus|(?:were|was|are|have been|has been|got|is|was) (?:drawn|picked|winning|the)|(?:won|wins?|came|come|hit|gewinnt|gewinnen|gagne\p{L}*|ganaron|sort(?:i|ent)s?)(?!\p{L}))/uy

/** Five and six pairs of digits; phone numbers in France have five. */
const PAIRS = new Set(['2-2-2-2-2', '2-2-2-2-2-2'].map(shapeOf))

/**
 * Reports whether pairs of digits are the numbers of a draw.
 * @param window the text before the number, in lower case
 */
export function isDraw(text: string, run: DigitRun, window: string): boolean {
  if (!PAIRS.has(run.shape)) return false
  DRAWN_AFTER.lastIndex = run.end
  return DRAWN.test(window) || LOTTERY.test(window) || DRAWN_AFTER.test(text)
}

/** Identifiers that contain numbers: DOIs, and ARNs of cloud resources. */
const IN_IDENTIFIER = /\b(?:10\.\d{4,9}\/|arn:aws)\S*$/

/** @param window the text before the number, in lower case */
export const isInIdentifier = (window: string): boolean => IN_IDENTIFIER.test(window)

/** Words for a phone that also have other meanings, in tables, programs and invoices. */
const WEAK_WORD =
  /(?:cells?|call(?:s|ed|ing)?|contacts?|direct|home|mobile|office|reach(?:ed|es)?|ring|signal|text)$/iu
const MAXIMUM_WEAK_WORD = 8
/** A member of an object with one letter: `n.ring=`. */
const MINIFIED = /(?:^|[^\w.])[A-Za-z_$]\.[A-Za-z]{1,8}$/
/** Calls and signals of programs: `system call 5380416`, `signal=5380416`. */
const OF_MACHINE =
  /(?:\b(?:sys(?:tem)?|rpc|grpc|https?|api|rest|function|method|tool|remote|async|db|sql|kernel|library|lib|procedure|service|virtual|recursive)[ -]calls?|(?<![A-Za-z])signals?)$/
const MAXIMUM_OF_MACHINE = 20
const isOfMachine = (text: string, wordEnd: number): boolean =>
  OF_MACHINE.test(
    text.slice(Math.max(0, wordEnd - MAXIMUM_OF_MACHINE), wordEnd).replace(/RPC|HTTPS?|API|SQL|DB/, 'rpc'),
  )
/** `mobileNumber`, but not `cellSize` */
const NUMBER_GLUED = /^n(?:umbers?|o|r|um)(?![a-z])/i
/** `mobile2: …`, `home_1` */
const ORDINAL = /^_?\d(?!\w)/
/** Two groups, the last of four digits. */
const FEW_DIGITS = new Set(['4-4', '3-4'].map(shapeOf))
/** Longest distance from a word for a phone to a number that may be a decimal. */
const MAXIMUM_DECIMAL_DISTANCE = 12
/** A local number without its area code. */
const MAXIMUM_LOCAL_DIGITS = 8
/**
 * Words about whom to call, when and how. Only they and link words may come between such a word and
 * a number.
 */
const BETWEEN_WORD =
  /^(?:\p{Lu}\p{Ll}+|me|us|him|them|back|please|now|today|tonight|tomorrow|anytime|later|again|instead|directly|only|private|personal|work|line|phone|or|via|between|before|after|until|\d{1,2}[ap]m)$/u
/** `contact the front desk at` */
const CALLED_AT = /[ ,](?:at|on|under|unter|auf|au|al|op|på)[ :]{1,2}$/

/**
 * Reports whether the word for a phone before few digits in one piece does not refer to them:
 * `cell B12: 1234567`, `direct costs 12345678`.
 * @param distance from the end of the word to the digits
 */
export function isUnrelatedToWord(text: string, start: number, run: DigitRun, distance: number): boolean {
  const wordEnd = start - distance
  if (!run.isPlain && !FEW_DIGITS.has(run.shape)) return false
  // `555.1234` is a decimal unless the word is near.
  if (run.gaps > 0 && run.separator(0) === '.' && distance > MAXIMUM_DECIMAL_DISTANCE) return true
  if (!WEAK_WORD.test(text.slice(Math.max(0, wordEnd - MAXIMUM_WEAK_WORD), wordEnd))) return false
  if (run.isPlain && isOfMachine(text, wordEnd)) return true
  if (MINIFIED.test(text.slice(Math.max(0, wordEnd - MAXIMUM_WEAK_WORD - 3), wordEnd))) return true
  const between = text.slice(wordEnd, start).replace(ORDINAL, '')
  if (isLetter(codeAt(between, 0))) return !NUMBER_GLUED.test(between)
  return (
    run.digitCount <= MAXIMUM_LOCAL_DIGITS &&
    !CALLED_AT.test(between) &&
    !between.split(/[^\p{L}\p{M}\p{N}]+/u).every((word) => BETWEEN_WORD.test(word) || areLinkWords(word))
  )
}

/**
 * Reports whether the number is the end of an identifier or a web address: `INV-2019-8210`,
 * `1Z 999 4E4 03 4567 2994`, `TGHU 448291 6`.
 */
export function isTail(text: string, start: number): boolean {
  const before = codeAt(text, start - 1)
  if (before === SPACE) return isCode(text, start - 1)
  return (before === HYPHEN || before === SLASH) && isWordCharacter(codeAt(text, start - 2))
}

/** Longest group of a code that is read. */
const MAXIMUM_CODE = 12
const CONTAINER = /[A-Z]{3}[JUZ]$/
const CONTAINER_LETTERS = 4

/**
 * Reports whether a group ends at `end` that alternates between capitals and digits more than once,
 * or an owner code of a container (ISO 6346).
 */
function isCode(text: string, end: number): boolean {
  let at = end
  let changes = -1
  let wasDigit: boolean | null = null
  for (; end - at < MAXIMUM_CODE; at--) {
    const code = codeAt(text, at - 1)
    const digit = isDigit(code)
    if (!digit && !isAsciiUpper(code)) break
    if (digit !== wasDigit) changes++
    wasDigit = digit
  }
  if (isWordCharacter(codeAt(text, at - 1))) return false
  return changes > 1 || (end - at === CONTAINER_LETTERS && CONTAINER.test(text.slice(at, end)))
}
