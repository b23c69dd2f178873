// Indexes the personal numbers that consist of digits by the lengths of their groups, so that few
// are tried for one number.

import { shapeOf } from '../number/shape.ts'
import { AFRICA } from './africa.ts'
import { AMERICAS } from './americas.ts'
import { ASIA } from './asia.ts'
import { type DigitIdentifier, PLAIN } from './digits.ts'
import { EUROPE } from './europe.ts'

export const IDENTIFIERS: readonly DigitIdentifier[] = [...AFRICA, ...AMERICAS, ...ASIA, ...EUROPE]

/** The shapes in the source of a form: lengths of groups before a space. */
const shapesOf = (form: RegExp, digits: number): number[] =>
  form === PLAIN
    ? [digits]
    : [...form.source.matchAll(/(?:\^|\(\?:|\|)(\d[\d-]*) /g)].map(([, groups = '']) => shapeOf(groups))

function byShape(form: (identifier: DigitIdentifier) => RegExp | undefined): Map<number, DigitIdentifier[]> {
  const map = new Map<number, DigitIdentifier[]>()
  for (const identifier of IDENTIFIERS) {
    const named = form(identifier)
    for (const shape of named === undefined ? [] : shapesOf(named, identifier.digits)) {
      const list = map.get(shape)
      if (list === undefined) map.set(shape, [identifier])
      else list.push(identifier)
    }
  }
  return map
}

const BY_SHAPE = byShape(({ form }) => form)
const ALONE_BY_SHAPE = byShape(({ alone }) => alone)

/** Shapes of personal numbers, and of those that need no label. */
export const NATIONAL_ID_SHAPES: Iterable<number> = BY_SHAPE.keys()
export const LONE_NATIONAL_ID_SHAPES: Iterable<number> = ALONE_BY_SHAPE.keys()

/**
 * The personal numbers that a run of a shape may be.
 * @param named whether a label may precede, which most of them need
 */
export const identifiersOf = (shape: number, named: boolean): readonly DigitIdentifier[] =>
  (named ? BY_SHAPE : ALONE_BY_SHAPE).get(shape) ?? []
