// Words that betray text written backwards or in rot13: everyday words and the attacker's, so written, or a mention of it.
// Each is noticed by three of its letters that are rare in everyday text, and then compared.

type View = 'rot13' | 'reversed'

interface Hint {
  readonly view: View
  /** Lower case. */
  readonly word: string
  /** Where in it the rare letters end. */
  readonly rareEnd: number
  /** Whether a word begins, or ends, with it. */
  readonly begins: boolean
  readonly ends: boolean
}

/** Rare letters in capitals; `<` and `>` where a word begins and ends. */
const HINTS: Readonly<Record<View, string>> = {
  rot13:
    '<cAESar> <GUR> <LBH> <LBHe> <NAQ> <GUNg> <GUVf> <sEBZ> <FUBj> <VTAber> <ceBZCg> <NYY> <ceriVBHf> <FLFgrz>',
  reversed:
    '<REVers <baCKWard <EHT> <UOY> <rUOY> <tAHT> <sIHT> <tAHW> <mORF> eroNGI TPMorp sUOIverp snoitcurTSNi meTSYs eVEIlebsid droWSSap TEGrof',
}

/** `rot13`, also with a hyphen and white space in front of the number. */
const MENTION = 'rot'
const MENTION_NUMBER = '13'
const SPACE = /\s/

/** Longest hint with the characters around it. */
export const HINT_UNITS_MAX = 16
/** A trigram is the lower five bits of three characters. */
export const TRIGRAM_MASK = 0x7fff

/** The running code of the last three letters, whatever their case, after one more; of other characters, anything. */
function nextTrigram(trigram: number, unit: number): number {
  return ((trigram << 5) | (unit & 31)) & TRIGRAM_MASK
}

const byTrigram = new Map<number, Hint[]>()
/** A bit for each trigram that is rare, and for the number in `rot13` behind anything; 32 a word. */
export const RARE_TRIGRAMS = new Int32Array((TRIGRAM_MASK + 1) / 32)
fill()

function fill(): void {
  for (const view of ['rot13', 'reversed'] as const) {
    for (const entry of HINTS[view].split(' ')) {
      const marked = entry.replace(/[<>]/g, '')
      const rareEnd = marked.search(/[A-Z]/) + 3
      const trigram = codeOf(marked.slice(rareEnd - 3, rareEnd))
      const hint = {
        view,
        word: marked.toLowerCase(),
        rareEnd,
        begins: entry.startsWith('<'),
        ends: entry.endsWith('>'),
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

/** Whether a hint may stand around the last of these letters; often no. */
export function isRare(trigram: number): boolean {
  return ((RARE_TRIGRAMS[trigram >> 5] as number) & (1 << (trigram & 31))) !== 0
}

/** Calls `found` for every hint whose rare letters end with the unit at `index`, with its place. */
export function findHints(
  text: string,
  index: number,
  trigram: number,
  found: (view: View, start: number, end: number) => void,
): void {
  const mention = mentionStart(text, index)
  if (mention >= 0) found('rot13', mention, index + 1)
  for (const { view, word, rareEnd, begins, ends } of byTrigram.get(trigram) ?? []) {
    const start = index + 1 - rareEnd
    const end = start + word.length
    if (begins && isWordCharacter(text.charCodeAt(start - 1))) continue
    if (ends && isWordCharacter(text.charCodeAt(end))) continue
    if (isWord(text, start, word)) found(view, start, end)
  }
}

/** Where a mention of rot13 begins that ends with the unit at `index`, or -1. */
function mentionStart(text: string, index: number): number {
  if (text.charCodeAt(index) !== 0x33 || text.charCodeAt(index - 1) !== 0x31) return -1
  if (isWordCharacter(text.charCodeAt(index + 1))) return -1
  let end = index - 1
  if (SPACE.test(text.charAt(end - 1))) end--
  if (text.charCodeAt(end - 1) === 0x2d) end--
  const start = end - MENTION.length
  return isWord(text, start, MENTION) && !isWordCharacter(text.charCodeAt(start - 1)) ? start : -1
}

function isWord(text: string, start: number, word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    const letter = word.charCodeAt(index)
    const unit = text.charCodeAt(start + index)
    if (unit !== letter && unit !== letter - 0x20) return false
  }
  return true
}

/** A letter, digit or underscore of ASCII; not a number beyond either end of the text. */
function isWordCharacter(unit: number): boolean {
  return (
    (unit >= 0x61 && unit <= 0x7a) ||
    (unit >= 0x41 && unit <= 0x5a) ||
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x5f
  )
}
