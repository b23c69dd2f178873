// What the matcher needs to know of single characters. Derived from the Unicode tables of the runtime and remembered,
// so that text outside ASCII costs one look into an array.

import { LATIN_LOOKALIKE_CAPITALS, LATIN_LOOKALIKES } from './confusables.ts'

/** How a code point takes part in clusters. */
export const STARTS = 1
export const EXTENDS = 2
export const IGNORED = 3

/**
 * Characters that NFKC may join with what stands before them: marks, and the conjoining, compatibility and half-width
 * forms of Hangul vowels and finals and of the kana voicing marks (UAX #15, characters not NFKC_Quick_Check=Yes).
 */
const EXTENDING = /^[\p{M}\u1160-\u11FF\u3131-\u3163\uFF9E\uFF9F\uFFA1-\uFFDC]$/u

/** Invisible in any text: zero-width, bidirectional and format characters, fillers, variation selectors, tags. */
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]$/u

/** Control characters other than white space say nothing and are drawn as nothing. */
const CONTROL = /^[\0-\x08\x0E-\x1F\x7F-\x84\x86-\x9F]$/u

/** Draws the line between two Arabic letters longer, and says nothing either. */
const TATWEEL = '\u0640'

/** Scripts that write words without spaces between them: their letters do not join a word in another script. */
const UNSPACED =
  /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Yiii}]$/u
const WORD = /^[\p{L}\p{M}\p{N}\p{Pc}]$/u

const BMP = 0x10000
const NOT_WORD = 1
const IS_WORD = 2
/** In the table of folded characters: not one character but several. */
const SEVERAL = -1

interface Tables {
  readonly role: Uint8Array
  readonly word: Uint8Array
  /** Folded code point, 0 where not asked yet. */
  readonly folded: Int32Array
}

let known: Tables | null = null

/** Made on first use: about 400 KiB. */
const tables = (): Tables => {
  known ??= { role: new Uint8Array(BMP), word: new Uint8Array(BMP), folded: new Int32Array(BMP) }
  return known
}

function remember(
  table: Uint8Array | Int32Array,
  codePoint: number,
  find: (codePoint: number) => number,
): number {
  const known = table[codePoint]!
  if (known !== 0) return known
  const found = find(codePoint)
  table[codePoint] = found
  return found
}

/** STARTS, EXTENDS or IGNORED. */
export function roleOf(codePoint: number): number {
  if (codePoint >= BMP) return findRole(codePoint)
  const { role } = tables()
  return remember(role, codePoint, findRole)
}

function findRole(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (INVISIBLE.test(character) || CONTROL.test(character) || character === TATWEEL) return IGNORED
  return EXTENDING.test(character) ? EXTENDS : STARTS
}

/** Whether `\b` counts the character as part of a word: RE2's `\w`, letters of scripts that put spaces, and look-alikes. */
export function isWordCharacter(codePoint: number): boolean {
  if (codePoint >= BMP) return findWord(codePoint) === IS_WORD
  const { word } = tables()
  return remember(word, codePoint, findWord) === IS_WORD
}

function findWord(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  const isWord = WORD.test(character) && !UNSPACED.test(character)
  return isWord || LATIN_LOOKALIKES.has(codePoint) ? IS_WORD : NOT_WORD
}

/** The code point of a character that folds to one by itself, or -1 when it becomes several or none. */
export function foldCharacter(codePoint: number): number {
  if (codePoint >= BMP) return foldAlone(codePoint)
  const { folded } = tables()
  return remember(folded, codePoint, foldAlone)
}

function foldAlone(codePoint: number): number {
  const points = foldCluster(String.fromCodePoint(codePoint))
  return points.length === 1 ? points[0]! : SEVERAL
}

const MARK = /^\p{M}$/u
/** Marks that belong to no script: accents, strokes, lines, rings, vowel signs of Arabic. */
const STROKE = /^\p{Script=Inherited}$/u
const STROKES = /\p{Script=Inherited}/gu
/** As many of them as any language puts on one letter, such as Greek and Vietnamese. More are not there to be read. */
const MAX_ACCENTS = 3
/** Letters, digits, spaces and signs that no mark of a script belongs to. */
const UNMARKED = /^[\p{Script=Latin}\p{Script=Common}\p{Nd}]$/u

/**
 * One cluster after NFKC and full case folding. Marks that did not become part of what stands before them are drawn over
 * it and left out, but for those that are letters of its script (Thai, Devanagari); letters with an accent of their own
 * (é) stay what they are.
 */
export function foldCluster(cluster: string): number[] {
  const letter = withoutScribble(cluster)
  // Upper case spells out ß and joins ς with σ, which lower case alone does not; ẞ is spelled out as ß alone.
  const folded = letter.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
  const points: number[] = []
  let unmarked = false
  let isWhole = true
  for (const character of folded) {
    if (points.length > 0 && MARK.test(character) && (unmarked || STROKE.test(character))) {
      isWhole = false
      continue
    }
    const codePoint = character.codePointAt(0)!
    if (roleOf(codePoint) === IGNORED) continue
    unmarked = UNMARKED.test(String.fromCodePoint(latinLookalike(codePoint)))
    points.push(codePoint)
  }
  // Once more, for what a stroke kept apart (Hangul).
  return isWhole || points.length < 2 ? points : codePoints(String.fromCodePoint(...points).normalize('NFC'))
}

const codePoints = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0)!)

/** Without its marks where it has more than are read. */
function withoutScribble(cluster: string): string {
  // Most have one mark.
  if (cluster.length <= 2) return cluster
  const apart = cluster.normalize('NFD')
  return (apart.match(STROKES)?.length ?? 0) > MAX_ACCENTS ? apart.replace(STROKES, '') : cluster
}

/** Whether a character is one of the marks that belong to no script. */
export const isStroke = (codePoint: number): boolean => STROKE.test(String.fromCodePoint(codePoint))

/** The ASCII letter that a folded character looks like, or the character itself. */
export function latinLookalike(codePoint: number): number {
  return codePoint < 0x80 ? codePoint : (LATIN_LOOKALIKES.get(codePoint) ?? codePoint)
}

/** Every pair of characters that a normalised text can hold where the two differ. */
export function lookalikePairs(): { readonly plain: number; readonly folded: number }[] {
  const lower = [...LATIN_LOOKALIKES].map(([plain, folded]) => ({ plain, folded }))
  const capitals = [...LATIN_LOOKALIKE_CAPITALS].map(([plain, folded]) => ({
    plain: foldCharacter(plain),
    folded,
  }))
  return [...lower, ...capitals]
}

/** The ASCII character that `codePoint` is or is composed from (é from e), or -1. */
export function asciiBase(codePoint: number): number {
  const base = codePoint < 0x80 ? codePoint : String.fromCodePoint(codePoint).normalize('NFD').codePointAt(0)!
  return base < 0x80 ? base : -1
}

export const ASCII_END = 0x80

/** 1 where a character stands for itself; 0 for the controls that say nothing and are left out. */
export const PLAIN_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  (code >= 0x20 && code !== 0x7f) || (code >= 0x09 && code <= 0x0d) ? 1 : 0,
)

/** Each character in lower case. */
export const LOWER_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  code >= 0x41 && code <= 0x5a ? code + 0x20 : code,
)

export const isAsciiLetter = (codePoint: number): boolean =>
  (codePoint >= 0x61 && codePoint <= 0x7a) || (codePoint >= 0x41 && codePoint <= 0x5a)
