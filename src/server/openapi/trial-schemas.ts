// Schemas of trials of rules: of a candidate set on live calls, and of one rule on past calls.

import type { JsonObject } from '../../core/json.ts'
import { RULE_ACTIONS } from '../../core/rule-action.ts'
import { choice, flag, list, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'

const EFFECTS = ['none', ...RULE_ACTIONS]
const EFFECT = {
  direction: choice('The prompt (request) or the answer (response).', 'request', 'response'),
  live: choice('Effect of the rule in force; `none` when it does not fire or does not exist.', ...EFFECTS),
  candidate: choice('Effect of the candidate rule.', ...EFFECTS),
}
const DIFFERENCE = { rule: text("The rule's name."), ...EFFECT }

export const TRIAL_SCHEMAS: Record<string, JsonObject> = {
  RuleTrial: object({
    calls: whole('Calls that were judged.'),
    skipped: whole('Calls whose text was not kept, or is longer than 1 MiB.'),
    fired: whole('Calls on which the rule fires.'),
    stopped: whole('Calls that the rule would stop and that nothing stopped.'),
    since: orNull(time('When the oldest of these calls arrived; null without calls.')),
    truncated: flag('True when the time was over before all calls were judged.'),
    differences: {
      ...list(object({ ...EFFECT, calls: whole('Calls with this difference.', 1) })),
      description: 'Differences to what a rule of this name did.',
    },
    samples: {
      ...list(
        object({
          log_id: text('Id of the usage entry.'),
          created_at: time('When the call arrived.'),
          key_id: text('Id of the API key.'),
          key_name: text('Name of the API key.'),
          model: text('Model of the call.'),
          ...EFFECT,
        }),
      ),
      description: 'The newest 100 differences.',
    },
  }),
  Trial: object({
    path: text('File or folder of the candidate rules.'),
    revision: orNull(text('Revision of the candidate rules; null before any are loaded.')),
    rules: whole('Number of candidate rules.'),
    errors: list(ref('RuleProblem')),
    since: time('When either rule set last changed; counting starts there.'),
    calls: whole('Calls evaluated with both rule sets.'),
    changed: whole('Calls with at least one difference.'),
    skipped: whole('Calls not evaluated because too many were waiting.'),
    differences: list(object({ ...DIFFERENCE, calls: whole('Calls with this difference.', 1) })),
    samples: list(
      object({
        log_id: text('Id of the usage entry.'),
        created_at: time('When the call arrived.'),
        ...DIFFERENCE,
      }),
    ),
  }),
}
