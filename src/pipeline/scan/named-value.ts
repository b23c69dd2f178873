// Detects personal data in a value whose name says what it is: `{"phone": 4155552671}`, where the
// value is a text of its own.

import type { Text } from '../../chat/texts.ts'
import type { Finding } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'

/** Longest text that its name counts for, UTF-16 units; a longer one has words of its own. */
const MAXIMUM_NAMED_CHARACTERS = 512

/** Returns what the detector reads before a text; '' for a text without a name. */
export const labelOf = ({ label, text }: Pick<Text, 'label' | 'text'>): string =>
  text.length > MAXIMUM_NAMED_CHARACTERS ? '' : label

/**
 * Finds values in `view`, and if there are none, those that are found after `label`: a name adds
 * values, and rules out none. Offsets count in `view`.
 */
export function* detectNamed(label: string, view: string, kinds: KindSet): Steps<Finding[]> {
  const alone = yield* detectSteps(view, kinds)
  return label === '' || alone.length > 0 ? alone : yield* detectAfter(label, view, kinds)
}

/** Finds values in `view` that are found after `label`. Offsets count in `view`. */
export function* detectAfter(label: string, view: string, kinds: KindSet): Steps<Finding[]> {
  const from = label.length
  const found = yield* detectSteps(label + view, kinds)
  return found
    .filter(({ end }) => end > from)
    .map(({ kind, start, end }) => ({ kind, start: Math.max(0, start - from), end: end - from }))
}
