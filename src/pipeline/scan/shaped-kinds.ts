// Says which kinds of personal data have shaped placeholders in a place.

import type { PiiKind } from '../../core/finding.ts'
import type { PlaceholderStyle } from '../../core/placeholder-style.ts'
import type { TextPlace } from '../../core/text-part.ts'
import type { Selection } from '../../policy/compile.ts'

/** Kinds whose placeholders are shaped. */
export interface ShapedKinds {
  has(kind: PiiKind): boolean
}

/**
 * Returns the kinds for a place; null when no place of the call has any.
 * @param style where no rule says another
 */
export const shapedKinds = (
  selection: Selection,
  style: PlaceholderStyle,
  place: TextPlace,
): ShapedKinds | null =>
  style === 'brackets' && !selection.asksForShapes
    ? null
    : { has: (kind) => (selection.pii(kind, place).placeholders ?? style) === 'shaped' }
