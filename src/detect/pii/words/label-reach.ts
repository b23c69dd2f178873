// Decides which text before a value may be its label: not another field, another line or another
// cell, nor part of the name of a file or a class.

import {
  APOSTROPHE,
  CLOSE_BRACE,
  CLOSE_PAREN,
  COLON,
  COMMA,
  EQUALS,
  GREATER_THAN,
  isAlphanumeric,
  isAsciiLower,
  isAsciiUpper,
  isDigit,
  LESS_THAN,
  LINE_FEED,
  OPEN_PAREN,
  QUOTE,
  SEMICOLON,
  SLASH,
  SPACE,
  TAB,
  VERTICAL_BAR,
} from '../../../core/ascii.ts'
import { codeAt, codesOf, endOfDigits, isLetter } from '../code-unit-classes.ts'

/** What may be between a label, with its sign, and the first character of the value. */
const OPENINGS = codesOf(' "\'`([{*_#+\u00a0\t')
const isOpening = (code: number): boolean => OPENINGS.has(code)

/** Signs that end a label. */
const LABEL_SIGNS = codesOf(':=：＝')
/** Before `=` they make a comparison or an assignment of code. */
const OPERATORS = codesOf('=!<>&|+*/%^~-')
/** Operators directly before a number in code. */
const CODE_BEFORE = /(?:[=!<>]=|<<|>>|&&|\|\||&-?|[\w)\]] ?[%^])[ "'(]*$/
/** Between fields. */
const FIELD_ENDS = codesOf(',;|}&\t，；')
/** Before an inner field: `"phone": {"value": …`. */
const INNER = codesOf('{[(:=')
/** A name that leaves the value to the field before. */
const NUMBER_NAME = /^[\s"'`*_-]*(?:(?:numbers?|num|nr|no|n[º°o]|#|value|text)[\s"'`*_.-]*)?$/i
/** Words of a name; more are a sentence. */
const MAXIMUM_NAME_WORDS = 3
/** Digits of a number that is the argument of a call in code. */
const MIN_ARGUMENT_DIGITS = 7
/** Longest line that is nothing but a label. */
const MAXIMUM_LABEL_LINE = 44
/** Only words, without the signs of code, and not the subject of a commit. */
const LABEL_LINE =
  /^[\s*_#>|-]*(?!(?:add|adds|fix|fixes|remove|update|merge|revert|drop|use|test|bump|refactor|move|rename|handle|support|make|set|get|allow|improve|implement|change|delete|clean|tell|parse|cover|build|feat|chore|docs|style|perf|wip)\s)[^\d\s.,;:(){}[\]/\\=$<>@|]+(?:\.?[ \t]+[^\d\s.,;:(){}[\]/\\=$<>@|]+){0,2}\.?[ \t]*(?:\([^\d()\n]{1,20}\))?[ \t*_|]*\r?$/iu
/** Markup around a label or between it and the value. */
const TAGS = /<[^<>\n]{1,24}>/g

/**
 * Where the text starts that may hold the label of a value.
 * @param at start of the value
 * @param least of what is read
 * @param mayBeInLabel whether a word may be in a label that is a line of its own
 */
export function labelStart(
  text: string,
  at: number,
  least: number,
  mayBeInLabel: (part: string) => boolean = () => true,
): number {
  const first = Math.max(0, least)
  if (isArgument(text, at)) return at
  let end = at
  while (end > first && isOpening(codeAt(text, end - 1))) end--
  const sign = codeAt(text, end - 1)
  if (CODE_BEFORE.test(text.slice(Math.max(first, at - 6), at))) return at
  if (sign === EQUALS && OPERATORS.has(codeAt(text, end - 2))) return at
  const isNamed = LABEL_SIGNS.has(sign) || (sign === GREATER_THAN && codeAt(text, end - 2) === EQUALS)
  if (sign === EQUALS) return startOfVariable(text, end - 1, first)
  return isNamed ? startOfName(text, end - 1, first) : startOfCell(text, at, first, mayBeInLabel)
}

/** `phone(5551234`, but not `phone (555) 1234`. */
function isArgument(text: string, at: number): boolean {
  let end = at
  while (at - end < MAXIMUM_BRACKETS && codeAt(text, end - 1) === SPACE) end--
  let open = end
  while (end - open < MAXIMUM_BRACKETS && codeAt(text, open - 1) === OPEN_PAREN) open--
  return (
    open < end && isAlphanumeric(codeAt(text, open - 1)) && endOfDigits(text, at) - at >= MIN_ARGUMENT_DIGITS
  )
}
const MAXIMUM_BRACKETS = 4
const LOWER_T = 0x74

/**
 * Where the name starts that a `=` follows. Only a word for a number leaves the value to what
 * precedes it.
 */
function startOfVariable(text: string, sign: number, first: number): number {
  let end = sign
  while (end > first && (codeAt(text, end - 1) === SPACE || VARIABLE_SIGNS.has(codeAt(text, end - 1)))) end--
  let at = end
  while (at > first && (isWord(codeAt(text, at - 1)) || VARIABLE_SIGNS.has(codeAt(text, at - 1)))) at--
  if (at === end || at === first || codeAt(text, at - 1) !== SPACE) return at
  return NUMBER_NAME.test(text.slice(at, end)) ? startOfName(text, at, first) : at
}
const VARIABLE_SIGNS = codesOf('_$.-[]"\'`')
const isWord = (code: number): boolean => isAlphanumeric(code) || isLetter(code)

/** Where the name of a field starts whose sign is at `sign`. */
function startOfName(text: string, sign: number, first: number): number {
  for (let at = sign; at > first; at--) {
    const code = codeAt(text, at - 1)
    if (code === CLOSE_PAREN) {
      at = openingBefore(text, at, first)
      continue
    }
    if (code === LINE_FEED) {
      const before = lastOfLine(text, at - 1, first)
      if (!INNER.has(before)) return at
    } else if (FIELD_ENDS.has(code)) {
      const name = text.slice(at, sign)
      if (NUMBER_NAME.test(name)) continue
      if (isSentence(name) && code === COMMA) continue
      return at
    }
  }
  return first
}

/** The offset after the bracket that opens before `at`; `at` without one. */
function openingBefore(text: string, at: number, first: number): number {
  for (let open = at - 1; open > first; open--) if (codeAt(text, open - 1) === OPEN_PAREN) return open
  return at
}

const isSentence = (name: string): boolean => name.trim().split(/\s+/).length > MAXIMUM_NAME_WORDS

/** The last character of the line that ends at `end`, apart from white space; 0 if it is empty. */
function lastOfLine(text: string, end: number, first: number): number {
  let at = end
  while (at > first && codeAt(text, at - 1) <= SPACE && codeAt(text, at - 1) !== LINE_FEED) at--
  return at > first ? codeAt(text, at - 1) : 0
}

/** Where the label starts of a value without a sign before it: in its cell or the one before. */
function startOfCell(
  text: string,
  value: number,
  first: number,
  mayBeInLabel: (part: string) => boolean,
): number {
  let cells = 0
  let commas = 0
  let isApart = false
  for (let at = value; at > first; at--) {
    const code = codeAt(text, at - 1)
    if (code === LINE_FEED) return startOfLineBefore(text, at - 1, value, first, mayBeInLabel)
    if (code === VERTICAL_BAR || code === TAB) {
      if (++cells > 1) return at
    } else if ((code === COMMA || code === SEMICOLON) && isBetweenCells(text, at - 1)) {
      if (++commas > 1) return at
      isApart = true
    } else if (code === CLOSE_BRACE || (isEndOfCell(text, at - 1) && ++cells > 1)) return at
    if (code === TAB || (code === SPACE && codeAt(text, at - 2) === SPACE)) isApart = true
    else if (isApart && isDigit(code)) {
      // The first groups of the same number: `Tel: +27 83  2797047`.
      const groups = startOfGroups(text, at, first)
      if (LABEL_SIGNS.has(codeAt(text, groups - 1))) return startOfName(text, groups - 1, first)
      const word = startOfWord(text, at, first)
      // A number in a cell between, which is no other phone number.
      if (at - word < MIN_ARGUMENT_DIGITS || !isNumber(text, word, at)) return at
      at = word + 1
    }
  }
  return first
}

function startOfGroups(text: string, end: number, first: number): number {
  let at = end
  while (at > first && (isDigit(codeAt(text, at - 1)) || GROUPING.has(codeAt(text, at - 1)))) at--
  return at
}
const GROUPING = codesOf('-.()+ ')

/** `</td>`, `</th>` */
const isEndOfCell = (text: string, at: number): boolean =>
  codeAt(text, at) === LESS_THAN && codeAt(text, at + 1) === SLASH && codeAt(text, at + 2) === LOWER_T

/** Reports whether a comma is between cells, not between the parts of a sentence. */
function isBetweenCells(text: string, comma: number): boolean {
  const before = codeAt(text, comma - 1)
  if (codeAt(text, comma + 1) !== SPACE || isQuote(before) || isAsciiUpper(before)) return true
  for (let at = comma - 1; isAlphanumeric(codeAt(text, at)); at--) if (isDigit(codeAt(text, at))) return true
  return false
}
const isQuote = (code: number): boolean => code === QUOTE || code === APOSTROPHE

function startOfWord(text: string, end: number, first: number): number {
  let at = end
  while (at > first && (isAlphanumeric(codeAt(text, at - 1)) || GROUP_SIGNS.has(codeAt(text, at - 1)))) at--
  return at
}
const GROUP_SIGNS = codesOf('-.()')

function isNumber(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    if (!isDigit(codeAt(text, at)) && !GROUP_SIGNS.has(codeAt(text, at))) return false
  return true
}

/** Where the label on the line before starts; the start of the value's line without one. */
function startOfLineBefore(
  text: string,
  lineFeed: number,
  value: number,
  first: number,
  mayBeInLabel: (part: string) => boolean,
): number {
  // Only what opens the value precedes it on its line.
  for (const character of text.slice(lineFeed + 1, value).replace(TAGS, ''))
    if (!isOpening(character.charCodeAt(0)) && !'>|-–•.\r'.includes(character)) return lineFeed + 1
  let end = lineFeed
  while (end > first && (codeAt(text, end - 1) <= SPACE || '*_"\''.includes(text[end - 1]!))) end--
  if (end === first && first > 0) return lineFeed + 1
  let lineStart = end
  while (lineStart >= first && lineStart > 0 && codeAt(text, lineStart - 1) !== LINE_FEED) lineStart--
  const sign = codeAt(text, end - 1)
  if (LABEL_SIGNS.has(sign)) return Math.max(first, startOfName(text, end - 1, first))
  if (lineStart < first || end - lineStart > MAXIMUM_LABEL_LINE) return lineFeed + 1
  const line = text.slice(lineStart, end).replace(TAGS, ' ')
  return LABEL_LINE.test(line) && partsOf(line).every(mayBeInLabel) ? lineStart : lineFeed + 1
}

/** Characters of one name: of a field, a file, a class, a metric. */
const isNameCharacter = (text: string, at: number): boolean => {
  const code = codeAt(text, at)
  if (isAlphanumeric(code) || isLetter(code) || NAME_SIGNS.has(code)) return true
  return code === COLON && isLetter(codeAt(text, at + 1))
}
const NAME_SIGNS = codesOf('_$.-/\\')
const MAXIMUM_NAME = 40
/** First folders of paths. */
const PATH =
  /^(?:[.~]{0,2}[/\\]|(?:src|lib|app|apps|test|tests|pkg|cmd|internal|docs?|include|usr|etc|packages|components|modules|api|bin|var|tmp|static|assets|dist|build)[/\\])|[/\\].*[/\\]|^(?:com|org|net|io|android|java|javax)\.\w+\./

/** The parts of a name in lower case: `StatusBar.java` are `status`, `bar` and `java`. */
const partsOf = (name: string): string[] =>
  name
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .split(/[^\p{L}\p{M}]+/u)
    .filter((part) => part !== '')
    .map((part) => part.toLowerCase())

/**
 * Reports whether a word is part of a name that is no label: of a file, a class, a count.
 * @param at how far the text is read
 * @param least of what is read
 * @param mayFollow whether a part may follow the word in a label, `Number` in `phoneNumber`
 */
export function isInOtherName(
  text: string,
  start: number,
  end: number,
  at: number,
  least: number,
  mayFollow: (part: string) => boolean,
): boolean {
  let nameEnd = end
  while (nameEnd < at && nameEnd - end < MAXIMUM_NAME && isNameCharacter(text, nameEnd)) nameEnd++
  if (nameEnd > end && !partsOf(text.slice(end, nameEnd)).every(mayFollow)) return true
  let nameStart = start
  while (
    nameStart > Math.max(0, least) &&
    (isAlphanumeric(codeAt(text, nameStart - 1)) || NAME_SIGNS.has(codeAt(text, nameStart - 1)))
  )
    nameStart--
  return nameStart < start && PATH.test(text.slice(nameStart, start))
}

/** Reports whether a word is part of a token with digits, as in `00CC7`, or of a longer word. */
export const isInsideToken = (text: string, start: number, end: number): boolean =>
  isDigit(codeAt(text, start - 1)) ||
  isDigit(codeAt(text, end)) ||
  (isAsciiUpper(codeAt(text, end - 1)) && isAsciiLower(codeAt(text, end)))
