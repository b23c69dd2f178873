// Says what the texts of an answer are scanned for.

import type { PlaceholderStyle } from '../../core/placeholder-style.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import { shapedKinds } from './shaped-kinds.ts'
import type { ScanRules } from './text-scanner.ts'

interface AnswerTerms extends Pick<ScanRules, 'credential' | 'restoration' | 'outside'> {
  readonly kinds: KindSet
  readonly placeholderStyle: PlaceholderStyle
}

/** Returns the rules for the answer of a call. */
export const rulesOfAnswer = (
  selection: Selection,
  { placeholderStyle, ...terms }: AnswerTerms,
): ScanRules => ({
  ...terms,
  openKinds: selection.openKinds('response'),
  decide: (kind, value) => selection.piiValue(kind, 'answer', value),
  keywords: selection.keywords('response'),
  replacedKeywords: selection.replacedKeywords('response'),
  shapes: shapedKinds(selection, placeholderStyle, 'answer'),
})
