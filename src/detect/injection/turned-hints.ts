// Finds words that give away reversed or rot13 text: common words and an attacker's words in that
// form, or a mention of rot13. Each has three letters that are rare in ordinary text; only where
// these occur is the word compared.

import { CASE_BIT, DIGIT_1, DIGIT_3, HYPHEN, isWordCharacter } from '../../core/ascii.ts'

type TurnedView = 'rot13' | 'reversed'

interface TurnedHint {
  readonly view: TurnedView
  /** In lower case. */
  readonly word: string
  /** Offset in the word after its rare letters. */
  readonly rareEnd: number
  /** Whether the hint must begin, or end, at a word boundary. */
  readonly atWordStart: boolean
  readonly atWordEnd: boolean
}

/** Rare letters in capitals; `<` and `>` are word boundaries. */
const HINTS: Readonly<Record<TurnedView, string>> = {
  rot13:
    '<cAESar> <GUR> <LBH> <LBHe> <NAQ> <GUNg> <GUVf> <sEBZ> <FUBj> <VTAber> <ceBZCg> <NYY> <ceriVBHf> <FLFgrz>',
  reversed:
    '<REVers <baCKWard <EHT> <UOY> <rUOY> <tAHT> <sIHT> <tAHW> <mORF> eroNGI TPMorp sUOIverp snoitcurTSNi meTSYs eVEIlebsid droWSSap TEGrof',
}

/** `rot13`, also with a hyphen or white space before the number. */
const MENTION = 'rot'
const MENTION_NUMBER = '13'
const SPACE = /\s/

/** Longest hint, including the characters around it. */
export const HINT_UNITS_MAX = 16
/** A trigram is the lower five bits of three characters. */
export const TRIGRAM_MASK = 0x7fff

/**
 * Returns the trigram after one more character. The case of letters does not matter; other
 * characters may equal letters.
 */
function nextTrigram(trigram: number, unit: number): number {
  return ((trigram << 5) | (unit & 31)) & TRIGRAM_MASK
}

const byTrigram = new Map<number, TurnedHint[]>()
/** One bit per trigram that is rare or ends in the number of `rot13`; 32 to an element. */
export const RARE_TRIGRAMS = new Int32Array((TRIGRAM_MASK + 1) / 32)
fillTables()

function fillTables(): void {
  for (const view of ['rot13', 'reversed'] as const) {
    for (const entry of HINTS[view].split(' ')) {
      const marked = entry.replace(/[<>]/g, '')
      const rareEnd = marked.search(/[A-Z]/) + 3
      const trigram = codeOf(marked.slice(rareEnd - 3, rareEnd))
      const hint = {
        view,
        word: marked.toLowerCase(),
        rareEnd,
        atWordStart: entry.startsWith('<'),
        atWordEnd: entry.endsWith('>'),
      }
      byTrigram.set(trigram, [...(byTrigram.get(trigram) ?? []), hint])
      setRare(trigram)
    }
  }
  for (let before = 0; before < 32; before++) setRare((before << 10) | codeOf(MENTION_NUMBER))
}

function codeOf(letters: string): number {
  return Array.from(letters).reduce((code, letter) => nextTrigram(code, letter.charCodeAt(0)), 0)
}

function setRare(trigram: number): void {
  RARE_TRIGRAMS[trigram >> 5]! |= 1 << (trigram & 31)
}

/** Whether a hint may surround the last of these letters. */
export function isRare(trigram: number): boolean {
  return ((RARE_TRIGRAMS[trigram >> 5] as number) & (1 << (trigram & 31))) !== 0
}

/** Calls `found` with the span of every hint whose rare letters end at `index`. */
export function findHints(
  text: string,
  index: number,
  trigram: number,
  found: (view: TurnedView, start: number, end: number) => void,
): void {
  const mention = mentionStart(text, index)
  if (mention >= 0) found('rot13', mention, index + 1)
  for (const { view, word, rareEnd, atWordStart, atWordEnd } of byTrigram.get(trigram) ?? []) {
    const start = index + 1 - rareEnd
    const end = start + word.length
    if (atWordStart && isWordCharacter(text.charCodeAt(start - 1))) continue
    if (atWordEnd && isWordCharacter(text.charCodeAt(end))) continue
    if (hasWordAt(text, start, word)) found(view, start, end)
  }
}

/** Returns the start of a mention of rot13 that ends at `index`, or -1. */
function mentionStart(text: string, index: number): number {
  if (text.charCodeAt(index) !== DIGIT_3 || text.charCodeAt(index - 1) !== DIGIT_1) return -1
  if (isWordCharacter(text.charCodeAt(index + 1))) return -1
  let end = index - 1
  if (SPACE.test(text.charAt(end - 1))) end--
  if (text.charCodeAt(end - 1) === HYPHEN) end--
  const start = end - MENTION.length
  return hasWordAt(text, start, MENTION) && !isWordCharacter(text.charCodeAt(start - 1)) ? start : -1
}

function hasWordAt(text: string, start: number, word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    const letter = word.charCodeAt(index)
    const unit = text.charCodeAt(start + index)
    if (unit !== letter && unit !== letter - CASE_BIT) return false
  }
  return true
}
