// Chooses the rules for a URL that a machine follows: they may refuse it, and nothing alters it.

import type { Text } from '../../chat/text.ts'
import { isReplacing } from '../../policy/rule.ts'
import type { ScanRules } from './text-scanner.ts'

/** Returns the rules for a text of an answer. */
export function rulesFor({ isFollowed }: Pick<Text, 'isFollowed'>, rules: ScanRules): ScanRules {
  if (!isFollowed) return rules
  const piiAction: ScanRules['piiAction'] = (kind, value) => {
    const action = rules.piiAction(kind, value)
    return isReplacing(action) ? 'allow' : action
  }
  return { ...rules, piiAction, replacedKeywords: null, restoration: null }
}
