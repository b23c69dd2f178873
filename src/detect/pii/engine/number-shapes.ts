// Lists what a number may be, judged by the lengths of its groups alone. Most shapes are none of
// these.

import { CARD_GROUPINGS, CARD_LENGTHS } from '../card.ts'
import { LONE_NATIONAL_ID_SHAPES, NATIONAL_ID_SHAPES } from '../nationalid/shapes.ts'
import { shapeOf } from '../number/shape.ts'
import { PHONE_FORMS, PHONE_TRUNK_FORMS } from '../phone/forms.ts'

export const CARD = 1
/** Social security number of the United States. */
export const SOCIAL_SECURITY = 2
export const NATIONAL_ID = 4
/** Phone number, see PHONE_FORMS. */
export const PHONE_FORM = 8
/** Phone number, if it starts with exactly one 0. */
export const PHONE_TRUNK_FORM = 16
/** A value that needs no label; includes PHONE_FORM. */
export const NEEDS_NO_CUE = 32

/** As printed on the card. */
export const DASHED_SSN = shapeOf('3-2-4')
const SOCIAL_SECURITY_SHAPES = [DASHED_SSN, ...['9', '3-3-3', '5-4'].map(shapeOf)]

/** Flags by shape, see `shapeOf`. */
export const SHAPE_FLAGS: ReadonlyMap<number, number> = flagsOf([
  [CARD, [...CARD_GROUPINGS, ...CARD_LENGTHS]],
  [SOCIAL_SECURITY, SOCIAL_SECURITY_SHAPES],
  [NATIONAL_ID, NATIONAL_ID_SHAPES],
  [PHONE_FORM, PHONE_FORMS],
  [PHONE_TRUNK_FORM, PHONE_TRUNK_FORMS],
  [
    NEEDS_NO_CUE,
    [...CARD_GROUPINGS, ...CARD_LENGTHS, ...PHONE_FORMS, ...LONE_NATIONAL_ID_SHAPES, DASHED_SSN],
  ],
])

function flagsOf(lists: readonly (readonly [flag: number, shapes: Iterable<number>])[]): Map<number, number> {
  const flags = new Map<number, number>()
  for (const [flag, shapes] of lists)
    for (const shape of shapes) flags.set(shape, (flags.get(shape) ?? 0) | flag)
  return flags
}
