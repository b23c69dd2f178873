// Schemas of the limits in use, by their names in the description of the API.

import type { JsonObject } from '../../core/json.ts'
import { choice, flag, list, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'

const amount = (description: string): JsonObject => ({ type: 'number', minimum: 0, description })

const RESET =
  'When nothing used now counts any more, in whole seconds; null when nothing is used. For a calendar month it is the end of the month.'

export const LIMIT_SCHEMAS: Record<string, JsonObject> = {
  EffectiveTerms: object({
    models: {
      ...list(
        object({
          pattern: text('Glob of allowed models, or after `!` of refused ones.'),
          rule: orNull(text('Name of the rule that says so; null for the key itself, and without any.')),
          only_for: orNull(list(text('Glob of the models that the rule concerns.'))),
        }),
      ),
      description:
        'Models that calls may name: a model must pass the list of the key, and that of each rule that concerns it. `*` without a rule when nothing limits them; `!*` for a list that allows none.',
    },
    limits: {
      ...list(
        object({
          rule: orNull(text('Name of the rule; null for the limit of the key itself.')),
          action: choice('What the limit does to a call that exceeds it.', 'block', 'monitor'),
          unit: choice('What the limit counts.', 'tokens', 'requests', 'tool_calls', 'usd', 'parallel'),
          limit: amount('The most that is allowed in a window; of `parallel` at a time.'),
          used: orNull(amount('What counts now, in the same unit; null for a limit by run or end user.')),
          left: orNull(amount('What is left now, in the same unit; null for a limit by run or end user.')),
          window: orNull(text('Window as the rule writes it: `1h`, `1mo`, `run`; null for `parallel`.')),
          subject: text(
            'What shares the count: `key = app`, `team = batch`, `no team`, `all keys`, `each run`, `each end user`.',
          ),
          only_for: orNull(list(text('Glob of the models whose calls count.'))),
          reset_at: orNull(time(RESET)),
        }),
      ),
      description: 'Limits that decide on calls with the key, in the order of the rules.',
    },
    capture: object({
      value: choice('Whether the text of calls is kept.', 'full', 'metadata'),
      rule: orNull(text('Name of the rule that says so; null for the key or the configuration.')),
      only_for: orNull(list(text('Glob of the models that the rule concerns.'))),
    }),
  }),
  UsageLimits: object({
    limits: list(ref('UsageLimit')),
    truncated: flag('True when more than 1,000 limits are in use: those with the highest share are listed.'),
  }),
  UsageLimit: object({
    rule_id: text('Id of the rule.'),
    rule_name: text('Name of the rule.'),
    source: choice(
      'Who counts: `hub`, the hub over all its gateways, as it last said; `local`, this gateway alone, while no hub answers, by `onHubLoss: local`; `gateway`, this gateway, every limit of its own rules and all those by run or by end user.',
      'hub',
      'local',
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
    subject_name: text(
      'What shares the count in a few words: `key = app`, `team = batch`, `no team`, `all keys`.',
    ),
    used: amount(
      'Tokens, requests or USD that count now, what running calls reserve included. For a limit of the hub, a gateway says what the hub last answered to it, with what is lent to other gateways or set aside for them; ask the hub for the sum. With `local`, what this gateway alone used.',
    ),
    allowed: amount('The most that the rule allows in a window, in the same unit.'),
    left: amount('What is left of it now, in the same unit.'),
    window: text('Window as the rule writes it: `1h`, or `1mo` for the calendar month in UTC.'),
    window_seconds: whole('Length of the window; of a calendar month, that of the current one.', 1),
    resets_at: orNull(time(RESET)),
  }),
}
