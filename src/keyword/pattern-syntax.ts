// A keyword pattern taken apart: its top-level alternatives, each a plain word or a regular expression in RE2 syntax.
// Knows the syntax only as far as it must to find where alternatives end.

import { foldCluster } from './characters.ts'
import { foldText } from './normalise.ts'

/** One alternative: a word as folded characters, or the source of an expression that is still to be compiled. */
export type Alternative =
  | { readonly kind: 'word'; readonly characters: readonly number[] }
  | { readonly kind: 'expression'; readonly source: string }

/** A group of flags alone, such as `(?s)`: it holds for what follows it, later alternatives included. */
const FLAG_GROUP = /^\(\?[a-zA-Z-]+\)/

/** Characters that mean something in RE2 syntax. */
const OPERATORS = /[\\.+*?()[\]{}^$|]/
const ESCAPED_PUNCTUATION = /\\([!-/:-@[-`{-~])/g

/**
 * Splits a pattern at `|`, but not inside groups, classes, `\Q…\E` or behind a backslash. Lenient where the syntax is
 * broken: the compiler of the alternatives names the fault.
 */
export function splitAlternatives(pattern: string): string[] {
  const alternatives: string[] = []
  let flags = ''
  let flagsAfter = ''
  let begin = 0
  let depth = 0
  for (const { text, kind, offset } of tokens(pattern)) {
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

/** Says what an alternative is. Any number of characters may come before a match, so `.*` at the front is dropped. */
export function readAlternative(source: string): Alternative {
  const searched = source.replace(/^(?:\(\?i\))+/, '').replace(/^(?:\.\*\??(?![*+?{]))+/, '')
  const unescaped = searched.replace(ESCAPED_PUNCTUATION, '')
  if (!OPERATORS.test(unescaped)) {
    return { kind: 'word', characters: foldText(searched.replace(ESCAPED_PUNCTUATION, '$1')) }
  }
  return { kind: 'expression', source: normaliseSource(searched) }
}

interface Token {
  readonly text: string
  /** `syntax`: a bar or a group's bracket, or a group of flags; `class`: inside `[…]`; `quote`: inside `\Q…\E`. */
  readonly kind: 'syntax' | 'class' | 'quote' | 'other'
  readonly offset: number
}

/** One pass over the source, a character or an escape at a time. */
function* tokens(pattern: string): Generator<Token> {
  let offset = 0
  while (offset < pattern.length) {
    const character = pattern[offset]!
    let end = offset + 1
    let kind: Token['kind'] = 'other'
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

/** A `]` right after `[` or `[^` is a member; `[:name:]` brackets nest one level. */
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

/** A character outside ASCII with the marks behind it; or an ASCII one that marks compose with and that is no operator. */
const COMPOSED = /[^\0-\x7F\p{M}]\p{M}*|(?<!\\)[0-9A-Za-z=<> #]\p{M}+/gu
const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/g

/**
 * The source with what stands for itself brought into the form the searched text has, so that expressions written with
 * full-width or decomposed letters match. Punctuation that only then appears is escaped.
 */
function normaliseSource(source: string): string {
  let normalised = ''
  let run = ''
  for (const { text, kind } of tokens(source)) {
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

/** What was one character stays one operand, whatever quantifier follows. */
function composeOne(cluster: string): string {
  const composed = compose(cluster)
  return [...composed].length > 1 ? `(?:${composed})` : composed
}
