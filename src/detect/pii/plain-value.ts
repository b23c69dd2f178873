// Reads the escapes in a value, so that its spellings can be compared and it can be written in
// another place.

import { mayHoldEscapes } from './encoded-characters.ts'
import { fold } from './fold.ts'
import { hasHiddenOrPaired, TextView } from './text-view.ts'

/** The value without escapes and invisible characters. */
const viewOfValue = (value: string): string => {
  const view = new TextView()
  return view.push(value) + view.finish()
}

/** A plus sign between the groups of a number is a space of a form; none leads a group. */
const FORM_SPACE = /(?<=[0-9A-Z)])\+(?=[0-9A-Z(])/g

/**
 * Returns a value as it is without the escapes it is written in; the value itself without any.
 * @param inGroups whether it is a number in groups, in which a plus sign is a space
 */
export function unescapedValue(value: string, inGroups: boolean): string {
  const plain = mayHoldEscapes(value) ? viewOfValue(value) : value
  return inGroups ? plain.replace(FORM_SPACE, ' ') : plain
}

/** Returns what the spellings of one value share: no escapes, ASCII digits and letters. */
export const comparableValue = (value: string, inGroups: boolean): string => {
  const plain = unescapedValue(value, inGroups)
  return fold(hasHiddenOrPaired(plain) ? viewOfValue(plain) : plain)
}
