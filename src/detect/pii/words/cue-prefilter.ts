// Rules out that patterns match, by the first three characters of their matches. Reads only the
// pattern syntax in use here: no references, and ranges only in classes.

import { ASCII_END } from '../../../core/ascii.ts'

const LENGTH = 3
/**
 * Character classes: letters by their position in the alphabet, 0 for white space and joints, OTHER
 * for the rest.
 */
const CLASS_BITS = 5
const OTHER = 31

const CLASSES = Uint8Array.from({ length: ASCII_END }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/i.test(character)) return code & OTHER
  return /[\s_-]/.test(character) ? 0 : OTHER
})

/**
 * What a part of a pattern may start with, at most LENGTH characters; '' if it may match nothing.
 */
type Beginnings = ReadonlySet<string>

const EMPTY: Beginnings = new Set([''])

function joined(first: Beginnings, second: Beginnings): Beginnings {
  const all = new Set<string>()
  if ([...first].every(({ length }) => length === LENGTH)) return first
  for (const one of first)
    for (const two of one.length < LENGTH ? second : EMPTY) all.add((one + two).slice(0, LENGTH))
  return all
}

/** Reads a pattern from start to end. */
class PatternReader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  alternatives(): Beginnings {
    const all = new Set<string>()
    let sequence = EMPTY
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        for (const beginning of sequence) all.add(beginning)
        sequence = EMPTY
        this.#at++
      } else sequence = joined(sequence, this.#repeated(this.#piece()))
    }
    for (const beginning of sequence) all.add(beginning)
    return all
  }

  #piece(): Beginnings {
    const character = this.#source[this.#at++] ?? ''
    if (character === '\\') return escaped(this.#source[this.#at++] ?? '')
    if (character === '[') return this.#oneOf()
    if (character !== '(') return new Set([character])
    const isGroup = this.#source.startsWith('?:', this.#at)
    this.#at = this.#source.startsWith('?', this.#at) ? this.#at + 2 : this.#at
    const inside = this.alternatives()
    this.#at++
    // Lookarounds consume nothing.
    return isGroup ? inside : EMPTY
  }

  #oneOf(): Beginnings {
    const end = this.#source.indexOf(']', this.#at)
    const characters = this.#source
      .slice(this.#at, end)
      .replace('a-z', 'abcdefghijklmnopqrstuvwxyz')
      .replaceAll('\\', '')
    this.#at = end + 1
    return new Set(characters)
  }

  #repeated(piece: Beginnings): Beginnings {
    const [quantifier = ''] = /^(?:[?*+]|\{\d+,\d+\})/.exec(this.#source.slice(this.#at)) ?? []
    this.#at += quantifier.length
    if (quantifier === '') return piece
    const maybe = new Set([...piece, ''])
    if (quantifier === '?') return maybe
    return joined(joined(quantifier === '+' ? piece : maybe, maybe), maybe)
  }
}

const escaped = (character: string): Beginnings =>
  character === 'b' ? EMPTY : new Set([character === 's' ? ' ' : character])

/** Set of the beginnings of all matches of some patterns. */
export class CuePrefilter {
  readonly #table = new Uint8Array(1 << (LENGTH * CLASS_BITS))

  /** @param patterns sources, matched in any case */
  constructor(patterns: readonly string[]) {
    for (const source of patterns) {
      for (const beginning of new PatternReader(source).alternatives()) this.#add(beginning)
    }
  }

  #add(beginning: string): void {
    let prefix = 0
    for (const character of beginning) {
      const code = character.charCodeAt(0)
      // In a text, such a character alone counts as a cue.
      if (code >= ASCII_END) return
      prefix = (prefix << CLASS_BITS) | (CLASSES[code] ?? OTHER)
    }
    const open = CLASS_BITS * (LENGTH - beginning.length)
    this.#table.fill(1, prefix << open, (prefix + 1) << open)
  }

  /** @returns false only if no pattern matches in [start, end) */
  mayMatch(text: string, start: number, end: number): boolean {
    let last = (OTHER << CLASS_BITS) | OTHER
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code >= ASCII_END) return true
      last = ((last << CLASS_BITS) | (CLASSES[code] ?? OTHER)) & (this.#table.length - 1)
      if (this.#table[last] === 1) return true
    }
    // A word of two letters at the end.
    last = ((last << CLASS_BITS) | OTHER) & (this.#table.length - 1)
    return this.#table[last] === 1
  }
}
