// Checks comments and messages: the columns of comment lines, and the phrases of phrases.ts. Data tables
// are exempt.

import { PHRASES } from './phrases.ts'
import type { Prose } from './source-text.ts'
import { type Breach, lineCounter, type SourceFile } from './sources.ts'

const MAXIMUM_COLUMNS = 100
/** A line with a single word, such as an address, cannot be split. */
const SPLITTABLE = /\S\s+\S/
/** Instructions to tools, which end with their line. */
const INSTRUCTION = /^\s*(?:\/\/|\/?\*)\s*(?:biome-ignore|@ts-)/
const MARKER = /^\s*(?:\/\/|\/\*\*?|\*)\s*/

/** A word of a sentence, with punctuation. */
const SENTENCE_WORD = /^["'“(]*\p{L}[\p{L}'’"”).,;:!?…-]*$/u
const MIN_WORDS = 3
const PATTERN_SYNTAX = /[|[\]\\^]|\(\?/

/** A blank in a pattern matches white space, so a phrase may continue on the next line. */
const SEARCHES = PHRASES.map(({ pattern, write }) => ({
  search: new RegExp(pattern.source.replaceAll(' ', '\\s+'), `${pattern.flags}g`),
  write,
}))

export function findProseBreaches(file: SourceFile): Breach[] {
  if (file.isDataTable) return []
  return [
    ...findLongLines(file),
    ...file.comments.flatMap((comment) => findPhrases(file.path, withoutCode(comment))),
    ...file.strings.filter(({ text }) => isMessage(text)).flatMap((text) => findPhrases(file.path, text)),
  ]
}

function findLongLines({ path, text, commentLines }: SourceFile): Breach[] {
  const lines = text.split('\n')
  return commentLines.flatMap((line) => {
    const content = lines[line - 1]!
    const columns = [...content.trimEnd()].length
    if (columns <= MAXIMUM_COLUMNS || INSTRUCTION.test(content)) return []
    if (!SPLITTABLE.test(content.replace(MARKER, ''))) return []
    const message = `has a comment line of ${columns} columns; end it at column ${MAXIMUM_COLUMNS}`
    return [{ rule: 'comment columns', path, line, message }]
  })
}

function findPhrases(path: string, { line, text }: Prose): Breach[] {
  return SEARCHES.flatMap(({ search, write }) => {
    const lineOf = lineCounter(text)
    return [...text.matchAll(search)].map((match) => {
      const found = match[0].replace(/\s+/g, ' ').trim()
      const message = `says "${found}"; ${write}`
      return { rule: 'phrase', path, line: line + lineOf(match.index) - 1, message }
    })
  })
}

/**
 * Whether a string is a message: at least three words with blanks between them, and no syntax of
 * regular expressions. Words and patterns that the detectors search for are no sentences.
 */
export function isMessage(text: string): boolean {
  if (PATTERN_SYNTAX.test(text)) return false
  return text.split(/\s+/).filter((word) => SENTENCE_WORD.test(word)).length >= MIN_WORDS
}

/** Replaces what a comment quotes as code. */
const withoutCode = ({ line, text }: Prose): Prose => ({
  line,
  text: text.replace(/`[^`]*`/g, (code) => `…${code.replace(/[^\n]+/g, '')}`),
})
