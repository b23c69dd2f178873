// Detects postal addresses by cues: a house number next to a word for a street, then town and code.
// Opt-in: covers common notations of a few countries, not addresses in general.

import { COMMA, DOT } from '../../core/ascii.ts'
import { codeAt, isLetter } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'

const NAME = "\\p{Lu}[\\p{L}\\p{M}'’]{0,24}(?:\\.(?= ))?(?:-\\p{Lu}[\\p{L}\\p{M}'’]{0,24})?"
const STREET =
  'Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Close|' +
  'Crescent|Cres|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Trail|Trl|Alley|Row|Walk|Gardens|Grove|Mews|Hill|Park|Plaza|Loop|' +
  'Pike|Ridge|Run|Path|Bend|Cove|Crossing|Village|Estates|Meadows|Springs|Station|Junction|Shore|Shores|View|Views|' +
  'Skyway|Lakes|Mill|Mills|Landing|Mount|Manor|Lodge|Knoll|Island|Heights|Green|Fields|Falls|Extension|Expressway|' +
  'Corner|Common|Cliff|Canyon|Camp|Bypass|Bridge|Branch|Turnpike|Track|Throughway|Summit|Rue|Straße|Str'
/** Apartment or suite. LOCALITY is the town, and state or code. */
const UNIT = '(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|#)\\.? ?#?\\w{1,6})?'
const LOCALITY = `(?:,? (?:${NAME})(?: ${NAME}){0,2})?(?:,? (?:[A-Z]{2,3} )?(?:\\d{4,6}(?:-\\d{4})?|[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}))?`
/** Endings of street names, and words before them, where the house number follows. */
const STREET_END =
  'straße|strasse|str\\.|weg|platz|gasse|allee|ufer|straat|laan|plein|gatan|vägen|vej|veien|gata|katu|tie'
const STREET_WORD =
  'Via|Viale|Piazza|Corso|Calle|Avenida|Avda\\.|Plaza|Paseo|Carrera|Rua|Travessa|Rue|ul\\.|ulica|al\\.'
const WINDOW_CHARACTERS = 60

interface Expressions {
  /** `221B Baker Street, London NW1 6XE`, `12 rue Lepic, 75018 Paris` */
  readonly numberFirst: RegExp
  /** Matches from the house number on: `Hauptstraße 12, 10115 Berlin`. */
  readonly numberAndLocality: RegExp
  readonly streetBefore: RegExp
}

const readExpressions = (): Expressions => ({
  numberFirst: new RegExp(
    `\\d{1,6}[A-Za-z]?(?: \\d{1,4})?,? (?:(?:${NAME}|\\d{1,3}(?:st|nd|rd|th)) ){1,4}(?:${STREET})(?![\\p{L}\\d])\\.?${UNIT}${LOCALITY}|` +
      `\\d{1,5}(?: bis| ter)?,? (?:rue|avenue|boulevard|chemin|allée|place|quai|impasse) (?:(?:de|du|des|la|le|les|d['’])[ ]?){0,2}${NAME}(?: ${NAME}){0,3}(?:,? \\d{5} ${NAME})?`,
    'uy',
  ),
  numberAndLocality: new RegExp(
    `\\d{1,5}[a-zA-Z]?(?![\\p{L}\\d])${UNIT}(?:,? (?:\\d{4,6}|\\d{4} [A-Z]{2})(?: ${NAME}){1,2}|,(?: ${NAME}){1,2})?`,
    'uy',
  ),
  streetBefore: new RegExp(
    `(?:${NAME}(?: ${NAME})? )?(?:\\p{Lu}[\\p{L}]{1,24}(?:${STREET_END})|` +
      `(?:${STREET_WORD})(?: (?:de|del|della|di|la|las|los|da|do|dos|das))?(?: ${NAME}){1,3}),? (?:n\\.? ?º? ?)?$`,
    'u',
  ),
})

/**
 * Built on first use: their letter classes take an eighth of the start-up time, and the kind is
 * rarely enabled.
 */
let expressions: Expressions | null = null

/**
 * @param at of a digit that starts a word
 * @returns end of the address; 0 if there is none
 */
export function scanAddress(segment: Segment, at: number): number {
  expressions ??= readExpressions()
  const { numberFirst, numberAndLocality, streetBefore } = expressions
  const { text } = segment
  numberFirst.lastIndex = at
  const first = numberFirst.exec(text)?.[0]
  if (first !== undefined) return segment.add('address', at, at + first.length) ? at + first.length : 0
  if (text[at - 1] !== ' ' || !isLetterOrMark(codeAt(text, at - 2))) return 0
  const from = Math.max(segment.end, at - WINDOW_CHARACTERS)
  const street = streetBefore.exec(text.slice(from, at))
  numberAndLocality.lastIndex = at
  const rest = numberAndLocality.exec(text)?.[0]
  if (street === null || rest === undefined) return 0
  return segment.add('address', from + street.index, at + rest.length) ? at + rest.length : 0
}

const isLetterOrMark = (code: number): boolean => isLetter(code) || code === DOT || code === COMMA
