// Scans one segment: goes from trigger to trigger and examines the bounded surroundings of each.
// Decides which kinds are tried where, and in what order; the files of the kinds decide what a
// value is.

import {
  AT_SIGN,
  COLON,
  DOLLAR,
  EQUALS,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  PLUS,
  TILDE,
} from '../../../core/ascii.ts'
import type { Finding } from '../../../core/finding.ts'
import { scanBirthDate } from '../birthdate.ts'
import { cardForm, isExpiryAfter, isInRow, isIssued, isNoCard, isSigned, SHORT_CARD_DIGITS } from '../card.ts'
import { cardGroups } from '../card-groups.ts'
import { passesLuhn, passesLuhnAt } from '../checksums.ts'
import { codeAt, endOfDigits, isWordBefore } from '../code-unit-classes.ts'
import { scanDocument } from '../documents.ts'
import { isEncodedAtSign, scanEmail, scanEncodedEmail } from '../email.ts'
import { isAfterCountryCode, scanIban } from '../iban.ts'
import { KEY_BEGIN, keyBlocks } from '../keyblock.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'
import { scanDigitIdentifier, scanLetterIdentifier, startOfLettersBefore } from '../nationalid/nationalid.ts'
import { isPartOfMac, scanColons, scanIpv4, scanMac } from '../network.ts'
import { mayBeginNumber } from '../number/begin.ts'
import { NumberRuns } from '../number/run.ts'
import { isUniform } from '../number/separators.ts'
import { personNames } from '../person.ts'
import { isLetterAfter, plusBefore, scanPhone, startsWithExitCode } from '../phone/phone.ts'
import { scanAddress } from '../postal-address.ts'
import { scanAssignment, scanIntroduced } from '../secret/assignment.ts'
import { scanHash } from '../secret/crypt-hash.ts'
import {
  isPartOfBase64,
  scanNamedKey,
  scanSecret,
  scanTilde,
  startOfBotId,
  tokenEnd,
  tokenStart,
} from '../secret/secrets.ts'
import { MIN_TOKEN } from '../secret/token.ts'
import { MIN_WALLET, scanWallet } from '../wallet.ts'
import { isNumberOfThing } from '../words/other-number.ts'
import { endOfRescanned } from './number-rows.ts'
import {
  CARD,
  DASHED_SSN,
  NATIONAL_ID,
  NEEDS_NO_CUE,
  PHONE_TRUNK_FORM,
  SHAPE_FLAGS,
  SOCIAL_SECURITY,
} from './number-shapes.ts'
import { Segment, SegmentSearch } from './segment.ts'
import type { Bounds } from './segmenter.ts'
import { nextCandidate, nextTrigger, TRIGGER_CHARACTERS } from './trigger.ts'

/** @param base added to the offsets of findings */
export const newSearch = (text: string, base: number, kinds: KindSet, findings: Finding[]): SegmentSearch =>
  new SegmentSearch(text, base, kinds, findings, SHARED_RUNS)

/**
 * Adds the findings of one segment, in order.
 * @returns end of its last value, or `rowStart`
 */
export const scanSegment = (search: SegmentSearch, bounds: Bounds): number =>
  scanKeys(new Segment(search, bounds))

/** Adds private keys, and scans the text between them. Returns the end of the last value. */
function scanKeys(segment: Segment): number {
  let done = segment.from
  if (segment.text.includes(KEY_BEGIN)) {
    for (const key of keyBlocks(segment.text, segment.from)) {
      scanNames(segment, done, key.start)
      segment.add('secret', key.start, key.end)
      done = key.end
    }
  }
  scanNames(segment, done, segment.text.length)
  SHARED_RUNS.reset('')
  return segment.last
}

/** Where scanning stops, and the end of the last value, see `scanFrom`. */
export interface Scanned {
  /** The first candidate at or after the end, which need not be a trigger; -1 if there is none. */
  readonly next: number
  /** End of the last value of the segment, or `rowStart`. */
  readonly last: number
}

/**
 * Adds the findings of one segment, in order. Not for the kind `person`.
 * @param trigger the first trigger of the segment, offset in the text
 * @param until where scanning stops; at most `bounds.seen`
 */
export function scanFrom(search: SegmentSearch, trigger: number, bounds: Bounds, until?: number): Scanned {
  const segment = new Segment(search, bounds)
  const { text, kinds } = search
  const { offset } = segment
  const end = bounds.seen
  if (bounds.holdsKey) {
    // The whole segment is read, and so the numbers before the trigger once more.
    search.rewind()
    return { last: scanKeys(segment), next: nextTrigger(text, end, kinds, search.words, until) }
  }
  const rescannedEnd = endOfRescanned(text, bounds.end, end, kinds)
  let at = trigger
  while (at >= 0 && at < (until ?? end)) {
    if (at >= bounds.end && at < rescannedEnd) {
      at = nextTrigger(text, rescannedEnd, kinds, search.words, until)
      continue
    }
    // Text after the segment does not count: in a stream it may not have arrived.
    const isWhole =
      at + TRIGGER_CHARACTERS <= end || nextCandidate(segment.text, at - offset, kinds) === at - offset
    const next = isWhole ? Math.max(scanAt(segment, at - offset) + offset, at + 1) : at + 1
    at = nextTrigger(text, next, kinds, search.words, until)
  }
  SHARED_RUNS.reset('')
  return { next: at, last: segment.last }
}

/** Adds names of persons, if enabled, and scans the text between them for everything else. */
function scanNames(segment: Segment, from: number, to: number): void {
  let done = from
  if ((segment.kinds & PERSON) !== 0) {
    for (const name of personNames(segment.text, from, to)) {
      scanTriggers(segment, done, name.start)
      segment.add('person', name.start, name.end)
      done = name.end
    }
  }
  scanTriggers(segment, done, to)
}

function scanTriggers(segment: Segment, from: number, to: number): void {
  const { text, kinds } = segment
  let at = nextTrigger(text, from, kinds, null)
  while (at >= 0 && at < to) at = nextTrigger(text, Math.max(scanAt(segment, at), at + 1), kinds, null)
}

/** Examines the surroundings of a trigger. Returns where to continue. */
function scanAt(segment: Segment, at: number): number {
  const { text } = segment
  const code = text.charCodeAt(at)
  if (isDigit(code)) return isEncodedAtSign(text, at) ? scanEncodedEmail(segment, at) : scanDigit(segment, at)
  if (code === AT_SIGN) return scanEmail(segment, at)
  if (code === EQUALS) return scanAssignment(segment, at) || at + 1
  if (code === COLON) return scanAssignment(segment, at) || scanColons(segment, at) || at + 1
  if (text.startsWith(KEY_BEGIN, at)) return at + 1
  return scanMac(segment, at) || scanToken(segment, at, at + 1) || at + 1
}

/** Tries what starts with the word that holds the digit, then what starts with the digit. */
function scanDigit(segment: Segment, at: number): number {
  const { text } = segment
  const digitsEnd = endOfDigits(text, at)
  let word = at
  while (word > segment.end && isAlphanumeric(text.charCodeAt(word - 1))) word--
  let wordEnd = digitsEnd
  while (wordEnd < text.length && isAlphanumeric(text.charCodeAt(wordEnd))) wordEnd++
  const begins = !isWordBefore(text, word)
  const token = scanToken(segment, word, wordEnd)
  if (token > 0) return token
  if (!begins) return wordEnd
  const wallet = wordEnd - word >= MIN_WALLET ? scanWallet(segment, word, wordEnd) : 0
  if (wallet > 0) return wallet
  if (codeAt(text, wordEnd) === COLON) {
    const address = scanColons(segment, wordEnd)
    if (address > 0) return address
  }
  const mac = isPartOfMac(text, word, wordEnd) ? scanMac(segment, word) : 0
  if (mac > 0) return mac
  if (word < at) {
    const iban = at - word === 2 ? scanIban(segment, word) : 0
    return (
      iban || scanLetterIdentifier(segment, word, at, digitsEnd) || scanDocument(segment, word) || wordEnd
    )
  }
  const other = codeAt(text, at - 1) === PLUS ? 0 : scanLettersOrDate(segment, at, digitsEnd)
  if (other > 0) return other
  return isDigit(text.charCodeAt(wordEnd - 1))
    ? scanNumber(segment, at, digitsEnd)
    : scanDocument(segment, at) || wordEnd
}

/** Tries what starts with a digit and contains letters, and dates. */
function scanLettersOrDate(segment: Segment, at: number, digitsEnd: number): number {
  const letters = startOfLettersBefore(segment.text, at, segment.end)
  return (
    (letters < at ? scanLetterIdentifier(segment, letters, at, digitsEnd) : 0) ||
    (at - 3 >= segment.end && isAfterCountryCode(segment.text, at) ? scanIban(segment, at - 3) : 0) ||
    scanLetterIdentifier(segment, at, at, digitsEnd) ||
    scanBirthDate(segment, at, digitsEnd) ||
    ((segment.kinds & ADDRESS) !== 0 ? scanAddress(segment, at) : 0)
  )
}

/** Tries a secret that starts with the word, or with the part of it before a `-` or `_`. */
function scanToken(segment: Segment, word: number, wordEnd: number): number {
  if (word < segment.tokenEnd) return 0
  const start = tokenStart(segment.text, word, segment.end)
  segment.tokenEnd = tokenEnd(segment.text, wordEnd)
  const hash = codeAt(segment.text, word - 1) === DOLLAR ? scanHash(segment, word - 1) : 0
  if (hash > 0) return hash
  const introduced = scanIntroduced(segment, start)
  if (introduced > 0) return introduced
  const bot = startOfBotId(segment.text, segment.tokenEnd)
  if (bot >= segment.end) return scanSecret(segment, bot)
  // An underscore before it may be emphasis, or part of the key: `SG._…`.
  if (isAlphanumeric(codeAt(segment.text, start - 1))) return 0
  const tilde = codeAt(segment.text, segment.tokenEnd) === TILDE ? scanTilde(segment, start) : 0
  if (tilde > 0) return tilde
  if (segment.tokenEnd - start >= MIN_TOKEN) return scanSecret(segment, start)
  return isPartOfBase64(segment.text, start, segment.tokenEnd) ? scanNamedKey(segment, start) : 0
}

/** Shared by all searches: one ends before the next begins, and no text is retained. */
const SHARED_RUNS = new NumberRuns(SHAPE_FLAGS)

/** Reports whether something indicates what a number is: a word before it, or a calling code. */
const hasCue = (segment: Segment, at: number): boolean =>
  segment.isAfterLetter(at) ||
  plusBefore(segment.text, at) > 0 ||
  !segment.before(at).isEmpty ||
  startsWithExitCode(segment.runs)

/** Reports whether a number of this shape may be a value without a label. */
const needsNoCue = (runs: NumberRuns): boolean =>
  (runs.flags & NEEDS_NO_CUE) !== 0 || ((runs.flags & PHONE_TRUNK_FORM) !== 0 && runs.leadingZeros === 1)

/** Tries numbers in groups: cards, social security numbers, phone numbers. */
function scanNumber(segment: Segment, at: number, firstEnd: number): number {
  const { text, runs } = segment
  if (!mayBeginNumber(text, at)) return firstEnd
  const dotted = codeAt(text, at - 1) === PLUS ? 0 : scanIpv4(segment, at, firstEnd)
  if (dotted > 0) return dotted
  const card = scanCardGroups(segment, at)
  if (card > 0) return card
  runs.read(at)
  if (runs.count === 0) return scanDocument(segment, at) || firstEnd
  const cued = hasCue(segment, at)
  // Most numbers in tables: they have no label, and their shape needs one.
  if (!cued && !needsNoCue(runs) && !isLetterAfter(text, runs)) return firstEnd
  return (
    ((runs.flags & NATIONAL_ID) !== 0 ? scanDigitIdentifier(segment, runs) : 0) ||
    ((runs.flags & CARD) !== 0 ? scanCard(segment, runs) : 0) ||
    ((runs.flags & SOCIAL_SECURITY) !== 0 ? scanSsn(segment, runs) : 0) ||
    scanDocument(segment, at) ||
    scanPhone(segment, at, runs) ||
    firstEnd
  )
}

const CARD_WORD_DISTANCE = 40
/** Labels of other numbers that pass Luhn or have the same length. */
const NOT_CARD_BEFORE =
  /(?:\bimei|\bmeid|\biccid|serial|tracking|invoice|isbn|\bean|\bupc|gtin|barcode|sendungs|rechnung|факт)[^\d\n]{0,16}$|(?:_(?:ns|us|ms)|nanos?|micros?|offset|seed|hash|checksum|snowflake|trace|span|uid|uuid|guid|(?:^|[^a-z])(?:id|ids|pid|tid|sum|size|bytes|ptr|addr|key|ts))["'\])]{0,2}\s?[:=]\s?["'(]?$/

/** Reports whether the label of another number precedes; none does without a letter. */
const isOtherNumber = (segment: Segment, at: number): boolean =>
  segment.isAfterLetter(at) && NOT_CARD_BEFORE.test(segment.windowBefore(at))

function scanCard(segment: Segment, runs: NumberRuns): number {
  const { text } = segment
  for (let i = runs.count - 1; i >= 0; i--) {
    if ((runs.flagsAt(i) & CARD) === 0 || (runs.isOpen(i) && !isExpiryAfter(text, runs.end(i)))) continue
    if (!passesLuhnAt(text, runs.start, runs.end(i))) continue
    const run = runs.run(i)
    const form = cardForm(run)
    const { separators } = run
    if (form === 'no' || !isUniform(separators) || separators[0] === '/' || isNoCard(text, run)) continue
    const words = segment.before(run.start)
    const named = words.card <= CARD_WORD_DISTANCE && words.card < words.other
    // The last three groups of four, which together are no card number.
    if (run.digitCount === SHORT_CARD_DIGITS && isDigit(codeAt(text, run.start - 2))) continue
    if (!named && isInRow(text, run, segment.rowStart)) continue
    if (!named && (form !== 'known' || isOtherNumber(segment, run.start))) continue
    return segment.add('credit_card', run.start, run.end) ? run.end : 0
  }
  return 0
}

/** Tries a card with unusual separators. */
function scanCardGroups(segment: Segment, at: number): number {
  const groups = isSigned(segment.text, at) ? null : cardGroups(segment.text, at)
  if (groups === null || !passesLuhn(groups.digits)) return 0
  if (!isIssued(groups.digits.slice(0, 4), groups.digits.length)) return 0
  if (groups.needsWord) {
    const { card, other } = segment.before(at)
    if (card > CARD_WORD_DISTANCE || card >= other) return 0
  }
  return segment.add('credit_card', at, groups.end) ? groups.end : 0
}

const SSN_WORD_DISTANCE = 40
/** SSA rules: no area 000, 666 or 9xx, no group 00, no serial 0000. */
const ISSUED_SSN = /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/
/** Numbers printed on sample cards. */
const SAMPLE_SSNS = new Set(['078051120', '219099999'])

/** Words for digits in one piece; `ss` and `social` alone also name other things. */
const PLAIN_SSN_WORD =
  /ssn|\bsocial ?[:#]|\bss ?(?:#|n[ou.])|soc\w{0,3}[\W_]{0,3}(?:sec|ins|nr|num)|sozialv|s[ée]cu|segur/

/** `69-263-10-3948` */
const isAfterHyphenatedDigits = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === HYPHEN && isDigit(codeAt(text, at - 2))

function scanSsn(segment: Segment, runs: NumberRuns): number {
  for (let i = 0; i < runs.count; i++) {
    if ((runs.flagsAt(i) & SOCIAL_SECURITY) === 0 || runs.isOpen(i)) continue
    const named = segment.before(runs.start).ssn <= SSN_WORD_DISTANCE
    if (!named && (runs.shape(i) !== DASHED_SSN || isAfterHyphenatedDigits(segment.text, runs.start)))
      return 0
    const run = runs.run(i)
    if (run.isPlain && !PLAIN_SSN_WORD.test(segment.windowBefore(run.start))) return 0
    if (!ISSUED_SSN.test(run.digits) || SAMPLE_SSNS.has(run.digits) || !isUniform(run.separators)) return 0
    if ((!named && run.separators !== '--') || isNumberOfThing(segment.text, run.start)) return 0
    return segment.add('us_ssn', run.start, run.end) ? run.end : 0
  }
  return 0
}
