// Whether a word before a number may say what it is, told without trying the patterns of the kinds on most texts.

import { BIRTH_WORDS, mayBeBirth } from './birthdate.ts'
import { isDigit, isLetterBefore } from './characters.ts'
import { Cues } from './cues.ts'
import { DOCUMENT_WORDS, mayBeDocument } from './documents.ts'
import { mayBePersonal, PERSONAL_WORDS } from './nationalid.ts'

/** As far before a number as a word for it may stand: no digit is between. */
const WINDOW_CHARACTERS = 60

/** Read when first asked. */
let cues: Cues | null = null

/** The text in which a word for a number may stand; '' if none does. */
function wordsBefore(text: string, at: number): string {
  if (!isLetterBefore(text, at)) return ''
  let start = at
  while (start > 0 && at - start < WINDOW_CHARACTERS && !isDigit(text.charCodeAt(start - 1))) start--
  cues ??= new Cues([BIRTH_WORDS, DOCUMENT_WORDS, PERSONAL_WORDS])
  return cues.mayStand(text, start, at) ? text.slice(start, at) : ''
}

/** For a date of birth. */
export function mayNameBirth(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeBirth(words)
}

/** For the number of a document. */
export function mayNameDocument(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && mayBeDocument(words)
}

/** For a date of birth, a document or a person. */
export function mayNameAny(text: string, at: number): boolean {
  const words = wordsBefore(text, at)
  return words !== '' && (mayBeBirth(words) || mayBeDocument(words) || mayBePersonal(words))
}
