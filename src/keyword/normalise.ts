// Normalises text for keyword search: drops invisible characters, applies NFKC and case folding,
// and maps characters that stand for ASCII ones: look-alikes of Latin letters, digits, dashes.
// Works on a growing text; the output depends on the text alone, not on how it is cut into chunks.

import { ASCII_END } from '../core/ascii.ts'
import {
  asciiLookalike,
  EXTENDS,
  foldCharacter,
  foldCluster,
  IGNORED,
  isAsciiLetter,
  isScriptlessMark,
  LOWER_ASCII,
  PLAIN_ASCII,
  roleOf,
} from './characters.ts'
import { LATIN_LOOKALIKE_CAPITALS } from './confusables.ts'

/**
 * Maximum code points of a cluster. The next mark begins a cluster of its own, or is dropped if it
 * belongs to no script. UAX #15 §13 (Stream-Safe Text Format) finds no use for more than 30. Bounds
 * what a stream keeps.
 */
const MAXIMUM_CLUSTER_POINTS = 32

/** Receives normalised characters. */
export interface CharacterSink {
  /**
   * @param plain the folded code point
   * @param folded the ASCII character it stands for, or `plain`
   * @param start UTF-16 offset of the cluster it comes from
   * @param end UTF-16 offset after that cluster
   */
  take(plain: number, folded: number, start: number, end: number): void
}

const NONE = -1

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/**
 * Splits text into clusters, each a character and what joins it (UAX #15). Folds a cluster as soon
 * as the next one begins.
 */
export class Normaliser {
  readonly #sink: CharacterSink
  /** UTF-16 units taken so far, without a pending high surrogate. */
  offset = 0
  #high = NONE
  #base = NONE
  #marks = ''
  #points = 0
  #start = 0
  #end = 0
  /** The last cluster has MAXIMUM_CLUSTER_POINTS, and nothing but dropped marks has followed. */
  #isFull = false
  /** The last cluster is an ASCII letter, or a look-alike in a word that began with one. */
  #afterAscii = false

  constructor(sink: CharacterSink) {
    this.#sink = sink
  }

  push(text: string): void {
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (this.#high !== NONE) {
        const high = this.#high
        this.#high = NONE
        if (isLowSurrogate(code)) {
          this.#take(0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00), 2)
          continue
        }
        this.#take(high, 1)
      }
      if (code < ASCII_END) this.#takeAscii(code)
      else if (isHighSurrogate(code)) this.#high = code
      else this.#take(code, 1)
    }
  }

  /** Folds the last cluster. Nothing may be pushed after it. */
  finish(): void {
    if (this.#high !== NONE) this.#take(this.#high, 1)
    this.#high = NONE
    this.#flush(NONE)
  }

  /** UTF-16 offset of the text that is taken but not folded yet; `offset` if there is none. */
  get pendingStart(): number {
    return this.#base === NONE ? this.offset : this.#start
  }

  /** The pending character if it is ASCII and has no marks so far, else -1. */
  get pendingAscii(): number {
    return this.#base < ASCII_END && this.#marks === '' && this.#high === NONE ? this.#base : NONE
  }

  #takeAscii(code: number): void {
    if (PLAIN_ASCII[code] === 0) {
      this.offset++
      return
    }
    const base = this.#base
    if (base !== NONE) {
      if (base < ASCII_END && this.#marks === '') {
        const folded = LOWER_ASCII[base]!
        this.#sink.take(folded, folded, this.#start, this.#end)
        this.#afterAscii = isAsciiLetter(base)
      } else {
        this.#flush(code)
      }
    }
    this.#base = code
    this.#points = 1
    this.#start = this.offset++
    this.#end = this.offset
  }

  #take(codePoint: number, units: number): void {
    const role = roleOf(codePoint)
    if (role === IGNORED) {
      this.offset += units
    } else if (role === EXTENDS && this.#base !== NONE && this.#points < MAXIMUM_CLUSTER_POINTS) {
      this.#marks += String.fromCodePoint(codePoint)
      this.#points++
      this.offset += units
      this.#end = this.offset
    } else if (role === EXTENDS && (this.#isFull || this.#base !== NONE) && isScriptlessMark(codePoint)) {
      this.#flush(codePoint)
      this.#isFull = true
      this.offset += units
    } else {
      this.#flush(codePoint)
      this.#base = codePoint
      this.#points = 1
      this.#start = this.offset
      this.offset += units
      this.#end = this.offset
    }
  }

  /** @param next the code point after the cluster, or NONE */
  #flush(next: number): void {
    const base = this.#base
    this.#isFull = false
    if (base === NONE) return
    const marks = this.#marks
    const capital = LATIN_LOOKALIKE_CAPITALS.get(base)
    const mixed = capital !== undefined && (this.#afterAscii || isAsciiLetter(next))
    const single = marks === '' ? foldCharacter(base) : NONE
    let isLookalike = false
    if (single !== NONE) {
      const folded = mixed ? capital : asciiLookalike(single)
      isLookalike = folded !== single && isAsciiLetter(folded)
      this.#sink.take(single, folded, this.#start, this.#end)
    } else {
      for (const plain of foldCluster(String.fromCodePoint(base) + marks)) {
        this.#sink.take(plain, asciiLookalike(plain), this.#start, this.#end)
      }
    }
    this.#afterAscii = isAsciiLetter(base) || (this.#afterAscii && isLookalike)
    this.#base = NONE
    this.#marks = ''
  }
}

/** Returns the folded characters of a short text, such as a keyword. */
export function foldText(text: string): number[] {
  const characters: number[] = []
  const normaliser = new Normaliser({ take: (_plain, folded) => characters.push(folded) })
  normaliser.push(text)
  normaliser.finish()
  return characters
}

/** Returns what a keyword and its disguises share. */
export const foldedText = (text: string): string => String.fromCodePoint(...foldText(text))
