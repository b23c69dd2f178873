// Rules out that a number has a label, without trying the label patterns of the kinds on most
// texts.

import { isDigit, OPEN_BRACKET, OPEN_PAREN } from '../../../core/ascii.ts'
import { BIRTH_LABELS, mayBeBirthLabel } from '../birthdate.ts'
import { codeAt, isLetterBefore } from '../code-unit-classes.ts'
import { DOCUMENT_LABELS, mayBeDocumentLabel } from '../documents.ts'
import { mayBePersonalLabel, PERSONAL_LABELS } from '../nationalid/nationalid.ts'
import { CuePrefilter } from '../words/cue-prefilter.ts'

/** How far before a number its label may start. No digit lies between. */
const WINDOW_CHARACTERS = 60
/** Digits of a stated length, as in `CPF (11 digits)`. */
const MAXIMUM_LENGTH_DIGITS = 2

/** Built on first use. */
let cuePrefilter: CuePrefilter | null = null

/** The text that may hold a label; '' if there is none. */
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

/**
 * Where the bracket of a stated length opens, as in `CPF (11 digits)`; -1 if the digits are
 * something else.
 */
function bracketBefore(text: string, end: number): number {
  let at = end - 1
  while (end - at < MAXIMUM_LENGTH_DIGITS && isDigit(codeAt(text, at - 1))) at--
  const before = codeAt(text, at - 1)
  return before === OPEN_PAREN || before === OPEN_BRACKET ? at - 1 : -1
}

/** Reports whether the label of a date of birth may precede. */
export function mayHaveBirthLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeBirthLabel(words)
}

/** Reports whether the label of a document number may precede. */
export function mayHaveDocumentLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeDocumentLabel(words)
}

/** Reports whether the label of a date of birth, a document or a personal number may precede. */
export function mayHaveLabel(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && (mayBeBirthLabel(words) || mayBeDocumentLabel(words) || mayBePersonalLabel(words))
}
