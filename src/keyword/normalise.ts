// Text as keywords see it: without invisible characters, NFKC, case folded, look-alikes of Latin letters known as
// such. Works on a growing text; what comes out depends on the text alone, not on how it was cut. Knows no rules.

import {
  ASCII_END,
  EXTENDS,
  foldCharacter,
  foldCluster,
  IGNORED,
  isAsciiLetter,
  isStroke,
  LOWER_ASCII,
  latinLookalike,
  PLAIN_ASCII,
  roleOf,
} from './characters.ts'
import { LATIN_LOOKALIKE_CAPITALS } from './confusables.ts'

/**
 * Code points of one cluster, after which the next mark begins a cluster of its own, or is left out where it belongs to no
 * script. UAX #15 §13 (Stream-Safe Text Format) finds no use for more than 30; this bounds what a stream has to keep.
 */
const MAX_CLUSTER_POINTS = 32

/** Where normalised characters go. */
export interface CharacterSink {
  /**
   * @param plain the folded code point
   * @param folded the ASCII letter it looks like, or `plain`
   * @param start UTF-16 offset in the text where the cluster it came from begins
   * @param end UTF-16 offset after that cluster
   */
  take(plain: number, folded: number, start: number, end: number): void
}

const NONE = -1

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** A stream of clusters: a character and what joins it (UAX #15), each folded as soon as the next one begins. */
export class Normaliser {
  readonly #sink: CharacterSink
  /** UTF-16 units taken in, without a high surrogate that still waits for its second half. */
  offset = 0
  #high = NONE
  #base = NONE
  #marks = ''
  #points = 0
  #start = 0
  #end = 0
  /** The cluster before had all the marks it may have, and nothing else has come since. */
  #full = false
  /** The cluster before is an ASCII letter, or one that looks like it in a word that began with one. */
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

  /** The end of the text: folds the last cluster. Nothing may be pushed afterwards. */
  finish(): void {
    if (this.#high !== NONE) this.#take(this.#high, 1)
    this.#high = NONE
    this.#flush(NONE)
  }

  /** Where the text that was taken in but not folded yet begins; `offset` when there is none. */
  get pendingStart(): number {
    return this.#base === NONE ? this.offset : this.#start
  }

  /** The pending character if it is an ASCII one without marks so far, else -1. */
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
    } else if (role === EXTENDS && this.#base !== NONE && this.#points < MAX_CLUSTER_POINTS) {
      this.#marks += String.fromCodePoint(codePoint)
      this.#points++
      this.offset += units
      this.#end = this.offset
    } else if (role === EXTENDS && (this.#full || this.#base !== NONE) && isStroke(codePoint)) {
      this.#flush(codePoint)
      this.#full = true
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

  /** @param next what stands behind the cluster */
  #flush(next: number): void {
    const base = this.#base
    this.#full = false
    if (base === NONE) return
    const marks = this.#marks
    const capital = LATIN_LOOKALIKE_CAPITALS.get(base)
    const mixed = capital !== undefined && (this.#afterAscii || isAsciiLetter(next))
    const alone = marks === '' ? foldCharacter(base) : NONE
    let resembling = false
    if (alone !== NONE) {
      const folded = mixed ? capital : latinLookalike(alone)
      resembling = folded !== alone
      this.#sink.take(alone, folded, this.#start, this.#end)
    } else {
      for (const plain of foldCluster(String.fromCodePoint(base) + marks)) {
        this.#sink.take(plain, latinLookalike(plain), this.#start, this.#end)
      }
    }
    this.#afterAscii = isAsciiLetter(base) || (this.#afterAscii && resembling)
    this.#base = NONE
    this.#marks = ''
  }
}

/** A short text, such as a keyword, as a list of folded characters. */
export function foldText(text: string): number[] {
  const characters: number[] = []
  const normaliser = new Normaliser({ take: (_plain, folded) => characters.push(folded) })
  normaliser.push(text)
  normaliser.finish()
  return characters
}
