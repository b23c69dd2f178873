// Schemas of the usage log, security events and dry runs, by their names in the description of the
// API.

import { CALL_COUNTS, KIND, SHOWN_FIELDS, SUMMED_FIELDS } from '../../audit/entry-fields.ts'
import { SECURITY_EVENT_TYPES } from '../../audit/security.ts'
import type { JsonObject } from '../../core/json.ts'
import { RULE_ACTIONS } from '../../core/rule-action.ts'
import {
  choice,
  flag,
  list,
  number,
  object,
  orNull,
  ref,
  text,
  time,
  whole,
} from '../../core/schema-builders.ts'
import { TEXT_PARTS } from '../../core/text-part.ts'
import { RULE_TYPE_NAMES } from '../../policy/rule-types.ts'

const USAGE_ENTRY: Record<string, JsonObject> = Object.fromEntries(
  SHOWN_FIELDS.map(([name, { schema }]) => [name, schema]),
)
/** Members that only some entries have. */
const OPTIONAL = SHOWN_FIELDS.filter(([, { isOptional, shown }]) => isOptional && shown === 'as sealed').map(
  ([name]) => name,
)

/** Evidence of a prompt injection, whether or not a rule fires. */
const INJECTION = {
  score: number('Score from 0 to 1. It ranks texts and is not a probability.'),
  threshold: number('Score from which the rule fires.'),
  path: text(
    'Path of the scored text in the forwarded body. For adjacent texts scored together, the first of them, without a span.',
  ),
  span: orNull(
    object({
      start: whole('UTF-16 offset in that text.'),
      end: whole('UTF-16 offset of the end, exclusive.'),
    }),
  ),
  reasons: list(text('A known pattern that was found.')),
  model: text('Version of the injection model.'),
} satisfies Record<string, JsonObject>

/** Sums of a usage report, in the order of its rows. */
const USAGE_SUMS: Record<string, JsonObject> = Object.fromEntries(
  [...CALL_COUNTS, ...SUMMED_FIELDS]
    .filter(({ name }) => name !== 'priced_requests')
    .sort((one, other) => one.position - other.position)
    .map(({ name, description }) => [
      name,
      name === 'cost' ? orNull(number(description)) : whole(description),
    ]),
)

const REPORT_ROW: Record<string, JsonObject> = {
  ...USAGE_SUMS,
  cost_per_request: orNull(
    number('USD: `cost` divided by `answered`; null without an answer, or when the cost is not known.'),
  ),
}

export const USAGE_SCHEMAS: Record<string, JsonObject> = {
  UsageEntry: object(USAGE_ENTRY, OPTIONAL),
  UsageEntryDetail: object(
    {
      ...USAGE_ENTRY,
      request: {},
      response: {},
      erased: flag('The exchange was captured and later erased.'),
    },
    OPTIONAL,
  ),
  UsageLogs: object(
    {
      logs: list(ref('UsageEntry')),
      total: whole('Number of matching entries.'),
      total_is_lower_bound: flag(
        'True when only the newest 100,000 calls were searched; otherwise left out.',
      ),
      next_cursor: text('Cursor of the next page; left out on the last page.'),
    },
    ['total_is_lower_bound', 'next_cursor'],
  ),
  UsageReport: object(
    {
      rows: list({
        ...object(REPORT_ROW),
        description:
          'The grouping fields, and their sums. A value is null where a call has none, such as a user. `key` is an id and comes with `key_name`. With `tool`, `requests`, `blocked` and `refused` count the calls that define or call the tool, and `answered`, tokens and cost are those of the calls that call it. A call may have several tools or none, so the rows do not add up to the total. With `run`, calls without a run are in the total only.',
        additionalProperties: orNull({ type: 'string' }),
      }),
      total: object(REPORT_ROW),
      since: time('Start of the period, a whole hour in UTC.'),
      until: time('End of the period, exclusive.'),
      complete: flag('False when a part of the period is older than what is counted.'),
      refused_since: time(
        'Start of the first hour in which `refused` and `answered` are counted, when the period begins earlier: before it both are 0, and `blocked` has the calls refused for their model or a tool, too. `sidegate audit rollup --rebuild` counts again. Otherwise left out.',
      ),
    },
    ['refused_since'],
  ),
  SecurityReport: object({
    days: whole('Number of days covered, today included.', 1),
    since: time('Start of the first day, midnight UTC.'),
    totals: ref('SecurityTotals'),
    by_day: list({
      allOf: [
        object({ date: { type: 'string', format: 'date', description: 'UTC day.' } }),
        ref('SecurityTotals'),
      ],
    }),
    events: list(ref('SecurityEvent')),
    total: whole('Number of events.'),
  }),
  SecurityTotals: object({
    blocked_requests: whole(
      'Calls that a rule blocked for their content. On days of a release that did not count them apart, those refused for their model or a tool, too.',
    ),
    refused_requests: whole('Calls that a limit, a budget, or a rule on models or tools refused.'),
    pii_detections: whole('Requests and answers in which personal data was found.'),
    rule_triggers: whole('Number of times a rule fired.'),
  }),
  SecurityEvent: object(
    {
      id: text('Id of the event.'),
      created_at: time('When the call arrived.'),
      type: choice('Type of the event.', ...SECURITY_EVENT_TYPES),
      direction: choice('Prompt or answer.', 'request', 'response'),
      rule_id: orNull(text('Id of the rule.')),
      rule_name: orNull(text('Name of the rule.')),
      rule_type: orNull(text('Type of the rule.')),
      action: orNull(text('Action taken.')),
      pii_types: list(text('Kind of personal data.')),
      injection: orNull(object(INJECTION)),
      tools: list(text('Tool that a `tool_access` rule refused in the call.')),
      key_id: text('Id of the API key.'),
      key_name: text('Name of the API key.'),
      model: text('Model of the call.'),
      log_id: text('Id of the usage entry.'),
      sidecar: orNull(text('Name of the sidecar, at a hub.')),
    },
    ['sidecar'],
  ),
  Evaluation: object({
    decision: choice('Decision on the request.', 'allow', 'block'),
    rules: list(
      object({
        id: text('Id of the rule.'),
        name: text('Name of the rule.'),
        type: choice('What the rule checks.', ...RULE_TYPE_NAMES),
        action: choice('What the rule does when it fires.', ...RULE_ACTIONS),
        direction: choice('Prompt or answer.', 'request', 'response'),
      }),
    ),
    findings: list(
      object({
        kind: KIND,
        path: text(
          'Path of the string in the body as sent. A finding that spans several strings is listed at its first.',
        ),
        start: whole('UTF-16 offset in that string.'),
        end: whole('UTF-16 offset of the end, exclusive.'),
        part: choice('Part of the call, as in `match.parts` of a rule.', ...TEXT_PARTS),
        direction: text('Prompt or answer.'),
      }),
    ),
    tools: list(
      object({
        name: text('A tool that the request defines.'),
        refused: flag('A rule denies the call because of it, or takes it out.'),
      }),
    ),
    injection: object({
      ...INJECTION,
      threshold: number(
        "Lowest threshold of the rules that apply to the call; the model's own when there is none.",
      ),
    }),
    redacted: { type: 'object', description: 'Body as it would be forwarded.' },
    estimated_cost: orNull({
      type: 'number',
      minimum: 0,
      description:
        'USD for the prompt and the longest answer allowed, else an expected one; null without a price.',
    }),
  }),
}
