// Tells keyword search how single characters fold and join. Derived from the Unicode tables of the
// runtime and cached, so that a character outside ASCII costs one array access.

import {
  ASCII_END,
  CARRIAGE_RETURN,
  CASE_BIT,
  isAsciiLower,
  isAsciiUpper,
  SPACE,
  TAB,
} from '../core/ascii.ts'
import { isInvisible } from '../core/hidden-characters.ts'
import { ASCII_LOOKALIKES, LATIN_LOOKALIKE_CAPITALS, LATIN_LOOKALIKES } from './confusables.ts'

/** How a code point takes part in a cluster: begins one, joins the one before, or is dropped. */
export const STARTS = 1
export const EXTENDS = 2
export const IGNORED = 3

/**
 * Characters that NFKC may join with the character before them: marks, and the conjoining,
 * compatibility and half-width forms of Hangul vowels and finals and of the kana voicing marks (UAX
 * #15, characters that are not NFKC_Quick_Check=Yes).
 */
const EXTENDING = /^[\p{M}\u1160-\u11FF\u3131-\u3163\uFF9E\uFF9F\uFFA1-\uFFDC]$/u

/** Control characters other than white space. They have no meaning and no glyph. */
const CONTROL = /^[\0-\x08\x0E-\x1F\x7F-\x84\x86-\x9F]$/u

/** Lengthens the line between two Arabic letters and has no meaning. */
const TATWEEL = '\u0640'

const DELETE = 0x7f
const BMP = 0x10000
/** Entry for a character that folds to none or to several. */
const SEVERAL = -1

interface CharacterTables {
  readonly role: Uint8Array
  /** Folded code point; 0 if not computed yet. */
  readonly folded: Int32Array
}

let allocated: CharacterTables | null = null

/** Allocated on first use: about 320 KiB. */
const tables = (): CharacterTables => {
  allocated ??= { role: new Uint8Array(BMP), folded: new Int32Array(BMP) }
  return allocated
}

function lookUp(
  table: Uint8Array | Int32Array,
  codePoint: number,
  compute: (codePoint: number) => number,
): number {
  const cached = table[codePoint]!
  if (cached !== 0) return cached
  const found = compute(codePoint)
  table[codePoint] = found
  return found
}

/** Returns STARTS, EXTENDS or IGNORED. */
export function roleOf(codePoint: number): number {
  if (codePoint >= BMP) return computeRole(codePoint)
  const { role } = tables()
  return lookUp(role, codePoint, computeRole)
}

function computeRole(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  if (isInvisible(character) || CONTROL.test(character) || character === TATWEEL) return IGNORED
  return EXTENDING.test(character) ? EXTENDS : STARTS
}

/** Returns the code point that a character folds to, or -1 if it folds to none or to several. */
export function foldCharacter(codePoint: number): number {
  if (codePoint >= BMP) return computeFold(codePoint)
  const { folded } = tables()
  return lookUp(folded, codePoint, computeFold)
}

function computeFold(codePoint: number): number {
  const points = foldCluster(String.fromCodePoint(codePoint))
  return points.length === 1 ? points[0]! : SEVERAL
}

const MARK = /^\p{M}$/u
/** Marks that belong to no script: accents, strokes, lines, rings, Arabic vowel signs. */
const SCRIPTLESS_MARK = /^\p{Script=Inherited}$/u
const SCRIPTLESS_MARKS = /\p{Script=Inherited}/gu
/**
 * The most such marks that any language puts on one letter (Greek, Vietnamese). A letter with more
 * is decorated.
 */
const MAXIMUM_MARKS = 3
/** Letters, digits, spaces and signs that take no mark of a script. */
const UNMARKED = /^[\p{Script=Latin}\p{Script=Common}\p{Nd}]$/u

/**
 * Returns one cluster after NFKC and full case folding. A mark that does not compose with its
 * letter is dropped, unless it is a letter of its script (Thai, Devanagari). Letters with an accent
 * of their own (é) keep it.
 */
export function foldCluster(cluster: string): number[] {
  const letter = withoutExcessMarks(cluster)
  // Upper case expands ß and maps ς to σ, which lower case alone does not. ẞ expands to ss only as
  // ß.
  const folded = letter.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
  const points: number[] = []
  let unmarked = false
  let isWhole = true
  for (const character of folded) {
    if (points.length > 0 && MARK.test(character) && (unmarked || SCRIPTLESS_MARK.test(character))) {
      isWhole = false
      continue
    }
    const codePoint = character.codePointAt(0)!
    if (roleOf(codePoint) === IGNORED) continue
    unmarked = UNMARKED.test(String.fromCodePoint(latinLookalike(codePoint)))
    points.push(codePoint)
  }
  // Compose again: a dropped mark may have kept characters apart (Hangul).
  return isWhole || points.length < 2 ? points : codePoints(String.fromCodePoint(...points).normalize('NFC'))
}

const codePoints = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0)!)

/** Returns the cluster without its scriptless marks if it has more than MAXIMUM_MARKS. */
function withoutExcessMarks(cluster: string): string {
  // Most clusters have one mark.
  if (cluster.length <= 2) return cluster
  const decomposed = cluster.normalize('NFD')
  return (decomposed.match(SCRIPTLESS_MARKS)?.length ?? 0) > MAXIMUM_MARKS
    ? decomposed.replace(SCRIPTLESS_MARKS, '')
    : cluster
}

/** Whether a character is a mark that belongs to no script. */
export const isScriptlessMark = (codePoint: number): boolean =>
  SCRIPTLESS_MARK.test(String.fromCodePoint(codePoint))

/** Returns the ASCII letter that a folded character looks like, or the character itself. */
export function latinLookalike(codePoint: number): number {
  return codePoint < ASCII_END ? codePoint : (LATIN_LOOKALIKES.get(codePoint) ?? codePoint)
}

/** Lines between words of a name that look like `-`. */
const DASH = /\p{Pd}/gu

/**
 * Returns a text in NFKC as a reader of Latin letters sees it: look-alikes become ASCII letters of
 * the same case, dashes `-`, and marks that do not compose with their letter are dropped.
 */
export function asLatin(text: string): string {
  const seen = Array.from(text, (character) => {
    const lower = character.toLowerCase()
    const latin =
      LATIN_LOOKALIKES.get(lower.codePointAt(0)!) ?? LATIN_LOOKALIKE_CAPITALS.get(character.codePointAt(0)!)
    if (latin === undefined) return character
    const letter = String.fromCodePoint(latin)
    return lower === character ? letter : letter.toUpperCase()
  })
  return seen.join('').replace(SCRIPTLESS_MARKS, '').replace(DASH, '-')
}

/**
 * Returns the ASCII character that a folded one stands for: a letter that it looks like, a digit of
 * another script, a dash; or the character itself.
 */
export function asciiLookalike(codePoint: number): number {
  return codePoint < ASCII_END ? codePoint : (ASCII_LOOKALIKES.get(codePoint) ?? codePoint)
}

/**
 * Returns every pair of different characters that the normaliser can report as `plain` and
 * `folded`.
 */
export function lookalikePairs(): { readonly plain: number; readonly folded: number }[] {
  const lower = [...ASCII_LOOKALIKES].map(([plain, folded]) => ({ plain, folded }))
  const capitals = [...LATIN_LOOKALIKE_CAPITALS].map(([plain, folded]) => ({
    plain: foldCharacter(plain),
    folded,
  }))
  return [...lower, ...capitals]
}

/** Returns the ASCII character that `codePoint` is or is composed from (é from e), or -1. */
export function asciiBase(codePoint: number): number {
  const base =
    codePoint < ASCII_END ? codePoint : String.fromCodePoint(codePoint).normalize('NFD').codePointAt(0)!
  return base < ASCII_END ? base : -1
}

/** 0 for control characters that are dropped, 1 for all others. */
export const PLAIN_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  (code >= SPACE && code !== DELETE) || (code >= TAB && code <= CARRIAGE_RETURN) ? 1 : 0,
)

/** Each character in lower case. */
export const LOWER_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  isAsciiUpper(code) ? code | CASE_BIT : code,
)

export const isAsciiLetter = (codePoint: number): boolean =>
  isAsciiLower(codePoint) || isAsciiUpper(codePoint)
