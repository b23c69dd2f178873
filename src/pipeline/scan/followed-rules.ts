// Chooses the rules for a text of an answer that a machine reads: rules may refuse a URL that it
// follows, and nothing alters it; recognisers do not read what it compares.

import type { Text } from '../../chat/text.ts'
import { isReplacing } from '../../policy/rule.ts'
import type { ScanRules } from './text-scanner.ts'

/** Returns the rules for a text of an answer. */
export function rulesFor(text: Pick<Text, 'isFollowed' | 'isExact'>, every: ScanRules): ScanRules {
  const rules = every.outside !== undefined && text.isExact ? withoutOutside(every) : every
  if (!text.isFollowed) return rules
  const decide: ScanRules['decide'] = (kind, value) => {
    const decision = rules.decide(kind, value)
    return isReplacing(decision.action) ? { ...decision, action: 'allow' } : decision
  }
  return { ...rules, decide, replacedKeywords: null, restoration: null }
}

function withoutOutside({ outside: _outside, ...rules }: ScanRules): ScanRules {
  return rules
}
