// Schemas of the limits in use, by their names in the description of the API.

import type { JsonObject } from '../../core/json.ts'
import { choice, flag, list, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'

const amount = (description: string): JsonObject => ({ type: 'number', minimum: 0, description })

export const LIMIT_SCHEMAS: Record<string, JsonObject> = {
  UsageLimits: object({
    limits: list(ref('UsageLimit')),
    truncated: flag('True when more than 1,000 limits are in use: those with the highest share are listed.'),
  }),
  UsageLimit: object({
    rule_id: text('Id of the rule.'),
    rule_name: text('Name of the rule.'),
    source: choice(
      'Who counts: the hub over all its gateways, as it last said, or this gateway alone, which counts every limit of its own rules and all those by run or by end user.',
      'hub',
      'gateway',
    ),
    unit: choice('What the limit counts.', 'tokens', 'requests', 'tool_calls', 'usd'),
    scope: choice(
      'What shares the count: a key and those that replace it, keys with the same label, or all keys.',
      'key',
      'label',
      'all',
    ),
    subject: text(
      'For a key its id, the newest active one of those that share the count; for a label its value, empty for keys without the label; empty for all keys.',
    ),
    key_name: orNull(text('Name of the key; null unless the scope is `key`.')),
    used: amount('Tokens, requests or USD that count now, what running calls reserve included.'),
    allowed: amount('The most that the rule allows in a window, in the same unit.'),
    window_seconds: whole('Length of the window; of a calendar month, that of the current one.', 1),
    resets_at: orNull(
      time('When nothing used now counts any more, in whole seconds; null when nothing is used.'),
    ),
  }),
}
