// What a number may be by the lengths of its groups alone: bits. Most shapes are none of these.

import { GROUPINGS, LENGTHS } from '../card.ts'
import { ALONE_SHAPES, SHAPES } from '../nationalid/shapes.ts'
import { shapeOf } from '../number/shape.ts'
import { FORMS, TRUNK_FORMS } from '../phone/forms.ts'

export const CARD = 1
/** Of the United States. */
export const SOCIAL_SECURITY = 2
export const NATIONAL = 4
/** Of a phone, see FORMS. */
export const FORM = 8
/** The same, if it begins with one 0. */
export const TRUNK_FORM = 16
/** Something without a word before it, FORM among it. */
export const ALONE = 32

/** As it is printed on the card. */
export const DASHED = shapeOf('3-2-4')
const SOCIAL_SECURITY_SHAPES = [DASHED, ...['9', '3-3-3', '5-4'].map(shapeOf)]

/** By shape, see `shapeOf`. */
export const MARKS: ReadonlyMap<number, number> = marksOf([
  [CARD, [...GROUPINGS, ...LENGTHS]],
  [SOCIAL_SECURITY, SOCIAL_SECURITY_SHAPES],
  [NATIONAL, SHAPES],
  [FORM, FORMS],
  [TRUNK_FORM, TRUNK_FORMS],
  [ALONE, [...GROUPINGS, ...LENGTHS, ...FORMS, ...ALONE_SHAPES, DASHED]],
])

function marksOf(lists: readonly (readonly [mark: number, shapes: Iterable<number>])[]): Map<number, number> {
  const marks = new Map<number, number>()
  for (const [mark, shapes] of lists)
    for (const shape of shapes) marks.set(shape, (marks.get(shape) ?? 0) | mark)
  return marks
}
