// Whether a word before a number may say what it is, told without trying the patterns of the kinds on most texts.

import { isDigit, OPEN_BRACKET, OPEN_PAREN } from '../../../core/ascii.ts'
import { BIRTH_LABELS, mayBeBirthLabel } from '../birthdate.ts'
import { codeAt, isLetterBefore } from '../code-unit-classes.ts'
import { DOCUMENT_LABELS, mayBeDocumentLabel } from '../documents.ts'
import { mayBePersonalLabel, PERSONAL_LABELS } from '../nationalid/nationalid.ts'
import { CuePrefilter } from '../words/cue-prefilter.ts'

/** As far before a number as a word for it may stand: no digit is between. */
const WINDOW_CHARACTERS = 60
/** Of the number of digits that a number has. */
const MAX_LENGTH_DIGITS = 2

/** Read when first asked. */
let cuePrefilter: CuePrefilter | null = null

/** The text in which a word for a number may stand; '' if none does. */
function wordsBefore(text: string, at: number): string {
  if (!isLetterBefore(text, at)) return ''
  let start = at
  while (start > 0 && at - start < WINDOW_CHARACTERS) {
    const before = isDigit(text.charCodeAt(start - 1)) ? bracketBefore(text, start) : start - 1
    if (before < 0) break
    start = before
  }
  cuePrefilter ??= new CuePrefilter([BIRTH_LABELS, DOCUMENT_LABELS, PERSONAL_LABELS])
  return cuePrefilter.mayMatch(text, start, at) ? text.slice(start, at) : ''
}

/** Where the bracket is that a length begins with, as in `CPF (11 digits)`; -1 if the digits there are none. */
function bracketBefore(text: string, end: number): number {
  let at = end - 1
  while (end - at < MAX_LENGTH_DIGITS && isDigit(codeAt(text, at - 1))) at--
  const before = codeAt(text, at - 1)
  return before === OPEN_PAREN || before === OPEN_BRACKET ? at - 1 : -1
}

/** For a date of birth. */
export function mayHaveBirthLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeBirthLabel(words)
}

/** For the number of a document. */
export function mayHaveDocumentLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeDocumentLabel(words)
}

/** For a date of birth, a document or a person. */
export function mayHaveLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && (mayBeBirthLabel(words) || mayBeDocumentLabel(words) || mayBePersonalLabel(words))
}
