// Tells where a word ends in an identifier: `employee_id`, `employeeId`. Reads the code points of
// normalised characters, which have no case.

import { isBoundary, wordKindOf } from './word-kind.ts'

const codePointsOf = (text: string): readonly number[] =>
  Array.from(text, (character) => character.codePointAt(0)!)

/** What programs add to the name of a thing. */
const ENDINGS = ['id', 'ids', 'no', 'nr', 'num', 'number', 'code', 'key', 'ref'].map(codePointsOf)

/** Unicode's connectors (general category Pc). */
const CONNECTORS: ReadonlySet<number> = new Set(codePointsOf('_‿⁀⁔︳︴﹍﹎﹏＿'))

/**
 * Reports whether a word may begin or end between two characters of an identifier: at a word
 * boundary, or next to a connector such as `_`.
 */
export const isPartBoundary = (before: number, next: number): boolean =>
  CONNECTORS.has(before) || CONNECTORS.has(next) || isBoundary(wordKindOf(before), wordKindOf(next))

/**
 * Reports whether nothing but the ending of an identifier follows at an offset, as `Id` does.
 * @param characterAt returns a character; undefined after the end of the text
 */
export const endsIdentifier = (characterAt: (at: number) => number | undefined, at: number): boolean =>
  ENDINGS.some((ending) => {
    if (!ending.every((character, index) => characterAt(at + index) === character)) return false
    const next = characterAt(at + ending.length)
    return next === undefined || isPartBoundary(ending.at(-1)!, next)
  })
