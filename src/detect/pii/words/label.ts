// Turns the text before a number into plain words; names from programs and tables are split into
// theirs.

import { labelStart } from './label-reach.ts'

/** Humps in `nhsNumber` and `NHSNumber`, but not before the plural of an abbreviation. */
const HUMP = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})/g
/** `tax_file_number`, `tax-file-number` */
const JOINT = /_|(?<=\p{L})-(?=\p{L})/gu
/** A stated length: `(11 digits)`. */
const LENGTH = /[([]\d{1,2}[ -]?\p{L}[^()[\]\d\n]{0,16}[)\]]/gu

/** Prefilter for HUMP, faster for the many texts without one. */
const ANY_HUMP = /[a-z][A-Z]|[A-Z]{3}[a-z]/

/** The words of the text before a number, in lower case, separated by spaces. */
export function toWords(before: string): string {
  let words = ANY_HUMP.test(before) ? before.replace(HUMP, ' ') : before
  if (words.includes('_') || words.includes('-')) words = words.replace(JOINT, ' ')
  if (words.includes('(') || words.includes('[')) words = words.replace(LENGTH, '')
  return words.toLowerCase()
}

/** The words of the last `characters` characters before an offset, also those of other fields. */
export const wordsBefore = (text: string, at: number, characters: number): string =>
  toWords(text.slice(Math.max(0, at - characters), at))

/** Names of files and of counts, sizes and the like are no labels of persons. */
const FILE =
  /[\w./-]*\w{2}\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|cc?|cpp|hh?|hpp|cs|rb|php|sh|sql|ya?ml|json|toml|md|txt|s?css|html?|vue|svelte|swift|mk|lock|xml|csv|log|scala|proto|tf|lua|pl|dart|ini|cfg|conf|gradle|svg|png)(?![\w@])|passport-(?:local|jwt|http|oauth\w*|google|github|saml|custom|facebook|ldap\w*)/gi
const QUANTITY =
  /(?<![a-z])(?:counts?|size|bytes|limit|total|sum|seconds|ms|ns|offset|mask|length|max|min|index|flags|width|height|color|hash|port|stamp|created|updated|rate|bucket|seq|version|revision|line|column|timeout|interval|duration)["'\])>]{0,2}\s?(?:[:=,(]|=>)?[\s"'(]{0,3}$/
/** A part of a program, named after what it works on: `passportServer =`, `"tax_event": `. */
const PART_OF_PROGRAM =
  /(?:[a-z]_|[a-z](?=[A-Z]))(?:server|client|handler|request|response|record|event|widget|panel|service|factory|manager|module|token|session|buffer|entry|node|cache|queue|worker|parser|stream|table|config|model|router|proxy|page|batch|filter|plugin|window|vector|matrix|kernel|socket|thread|source|target|layout|render|schema|report|item|deploy|status|state|type|level|user|build|order|invoice|driver)s?["'\])>]{0,2}\s?(?:[:=]|=>)[\s"'(]{0,3}$/i
/** Base64, which humps would take apart into words. */
const ENCODED = /(?<!\S)(?=\S*[+])[A-Za-z0-9+/]{12,}={0,2}(?!\S)|\S+==(?!\S)/g

/** No label reaches across a digit, so one is left of a name with digits. */
const blank = (name: string): string => (/\d/.test(name) ? '0' : ' ')

/**
 * The words of the last `characters` characters before an offset that may be the label of what is
 * there: not those of another field, line or cell, nor of the name of a file.
 */
export function labelBefore(text: string, at: number, characters: number): string {
  const own = text.slice(labelStart(text, at, at - characters), at)
  if (PART_OF_PROGRAM.test(own)) return ''
  const words = toWords(own.replace(FILE, blank).replace(ENCODED, blank))
  return QUANTITY.test(words) ? '' : words
}

/**
 * Pattern for an abbreviation, with or without dots, perhaps joined to a word for number: `sin`,
 * `S.I.N.`, `sinnumber`.
 */
export const abbreviation = (letters: string): string =>
  `\\b${[...letters].join('\\.?')}(?:\\b|(?=num|n[or]\\b))`
