// Splits a keyword pattern into its top-level alternatives, each a literal or a regular expression
// in RE2 syntax. Knows only as much of the syntax as finding the ends of alternatives needs.

import { foldCluster } from './characters.ts'
import { foldText } from './normalise.ts'

/**
 * One alternative: the folded characters of a literal, or the source of an expression to compile.
 */
export type Alternative =
  | { readonly kind: 'literal'; readonly characters: readonly number[] }
  | { readonly kind: 'expression'; readonly source: string }

/**
 * A group of flags alone, such as `(?s)`. It applies to everything after it, later alternatives
 * included.
 */
const FLAG_GROUP = /^\(\?[a-zA-Z-]+\)/

/** Characters with a meaning in RE2 syntax. */
const OPERATORS = /[\\.+*?()[\]{}^$|]/
const ESCAPED_PUNCTUATION = /\\([!-/:-@[-`{-~])/g

/**
 * Splits a pattern at `|`, except inside groups, classes and `\Q…\E` and after a backslash. Accepts
 * broken syntax: the compiler reports the error.
 */
export function splitAlternatives(pattern: string): string[] {
  const alternatives: string[] = []
  let flags = ''
  let flagsAfter = ''
  let begin = 0
  let depth = 0
  for (const { text, kind, offset } of patternTokens(pattern)) {
    if (kind !== 'syntax') continue
    if (text === '(') depth++
    else if (text === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0 && text !== '|') flagsAfter += text
    else if (depth === 0) {
      alternatives.push(flags + pattern.slice(begin, offset))
      flags = flagsAfter
      begin = offset + 1
    }
  }
  alternatives.push(flags + pattern.slice(begin))
  return alternatives
}

/** Classifies an alternative. A leading `.*` is dropped, because a search may begin anywhere. */
export function readAlternative(source: string): Alternative {
  const trimmed = source.replace(/^(?:\(\?i\))+/, '').replace(/^(?:\.\*\??(?![*+?{]))+/, '')
  const unescaped = trimmed.replace(ESCAPED_PUNCTUATION, '')
  if (!OPERATORS.test(unescaped)) {
    return { kind: 'literal', characters: foldText(trimmed.replace(ESCAPED_PUNCTUATION, '$1')) }
  }
  return { kind: 'expression', source: normaliseSource(trimmed) }
}

interface PatternToken {
  readonly text: string
  /** `syntax`: a bar, a parenthesis or a group of flags; `class`: `[…]`; `quote`: `\Q…\E`. */
  readonly kind: 'syntax' | 'class' | 'quote' | 'other'
  readonly offset: number
}

/** Yields the source one character, escape, class or quote at a time. */
export function* patternTokens(pattern: string): Generator<PatternToken> {
  let offset = 0
  while (offset < pattern.length) {
    const character = pattern[offset]!
    let end = offset + 1
    let kind: PatternToken['kind'] = 'other'
    if (pattern.startsWith('\\Q', offset)) {
      end = endOf(pattern, '\\E', offset + 2)
      kind = 'quote'
    } else if (character === '\\') {
      end = Math.min(pattern.length, offset + 2)
    } else if (character === '[') {
      end = endOfClass(pattern, offset)
      kind = 'class'
    } else if (character === '(') {
      end = offset + (FLAG_GROUP.exec(pattern.slice(offset, offset + 16))?.[0].length ?? 1)
      kind = 'syntax'
    } else if (character === ')' || character === '|') {
      kind = 'syntax'
    }
    yield { text: pattern.slice(offset, end), kind, offset }
    offset = end
  }
}

const endOf = (text: string, mark: string, from: number): number => {
  const at = text.indexOf(mark, from)
  return at < 0 ? text.length : at + mark.length
}

/** A `]` directly after `[` or `[^` is a member; `[:name:]` nests one level. */
function endOfClass(pattern: string, start: number): number {
  let at = start + 1
  if (pattern[at] === '^') at++
  if (pattern[at] === ']') at++
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern[at] === '\\') at += 2
    else if (pattern.startsWith('[:', at)) at = endOf(pattern, ':]', at + 2)
    else at++
  }
  return Math.min(pattern.length, at + 1)
}

/**
 * A character outside ASCII with its marks, or an ASCII character with marks that is no operator.
 */
const COMPOSED = /[^\0-\x7F\p{M}]\p{M}*|(?<!\\)[0-9A-Za-z=<> #]\p{M}+/gu
const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/g

/**
 * Normalises the literal characters of an expression like the searched text, so that one written
 * with full-width or decomposed letters matches. Escapes punctuation that appears only then.
 */
function normaliseSource(source: string): string {
  let normalised = ''
  let run = ''
  for (const { text, kind } of patternTokens(source)) {
    if (kind === 'syntax' || kind === 'other') {
      run += text
      continue
    }
    const inner = text.replace(COMPOSED, kind === 'quote' ? fold : compose)
    normalised += run.replace(COMPOSED, composeOne) + inner
    run = ''
  }
  return normalised + run.replace(COMPOSED, composeOne)
}

const fold = (cluster: string): string => String.fromCodePoint(...foldCluster(cluster))

const compose = (cluster: string): string => fold(cluster).replace(ASCII_PUNCTUATION, '\\$&')

/** Keeps one character one operand of any quantifier after it. */
function composeOne(cluster: string): string {
  const composed = compose(cluster)
  return [...composed].length > 1 ? `(?:${composed})` : composed
}
