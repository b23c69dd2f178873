// Schemas of the usage log, security events and dry runs, by their names in the description of the
// API.

import { OUTCOMES } from '../../audit/entry.ts'
import { PII_KINDS } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import { RULE_ACTIONS, RULE_TYPES } from '../../policy/rule.ts'
import { choice, flag, list, number, object, orNull, ref, text, time, whole } from './schema-builders.ts'

const USAGE_ENTRY = {
  id: text('UUIDv7; `x-request-id` of the answer.'),
  created_at: time('When the request arrived.'),
  model: text('Model that the client named; empty when the body was refused.'),
  prompt_tokens: whole('Tokens of the prompt.'),
  completion_tokens: whole('Tokens of the answer.'),
  total_tokens: whole('Tokens of prompt and answer.'),
  latency_ms: whole('Milliseconds from the request to the end of its answer.'),
  blocked: flag('A rule blocked the request or the answer.'),
  pii_detected: flag('Personal data was found in the request or the answer.'),
  pii_types: list(choice('Kind of personal data.', ...PII_KINDS)),
  hash: text('`sha256:` and the hash of the sealed entry.'),
  seq: whole('Sequence number in the chain.'),
  prev_hash: orNull(text('Hash of the previous entry; null for the first.')),
  key_id: text('Id of the API key.'),
  key_name: text('Name of the API key.'),
  labels: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Labels of the key at the time of the call.',
  },
  user: orNull(
    text(
      'End user that the client named: a keyed hash, or clear text with `audit.user: clear`. Null without one, and once it is erased.',
    ),
  ),
  status: whole('HTTP status of the answer; 499 when the client disconnected first.'),
  outcome: choice('How the call ended.', ...OUTCOMES),
  stream: flag('The client asked for a stream.'),
  finish_reason: orNull(text('`finish_reason` of the first choice.')),
  usage_source: choice('Who counted the tokens.', 'upstream', 'estimated'),
  cost: orNull({
    type: 'number',
    minimum: 0,
    description:
      'Cost in USD, as the upstream or the price book says; null when it is not known. Before entry version 2: as the upstream reported it, in its own currency.',
  }),
  cost_source: orNull(choice('Who says what the call cost.', 'upstream', 'book')),
  ttft_ms: orNull(whole('Milliseconds to the first chunk of a stream.')),
  overhead_ms: whole('Milliseconds that the gateway itself added.'),
  rules: list(
    object({
      id: text('Id of the rule.'),
      name: text('Name of the rule.'),
      action: choice('Action of the rule.', ...RULE_ACTIONS),
    }),
  ),
  policy_revision: text('Revision of the rule set that decided on the call.'),
  content_hash: orNull(text('Salted commitment to the captured exchange; null when nothing was captured.')),
  captured: flag(
    'False for a call whose text was not to be stored (`audit.capture`, a rule or the key); left out for any other.',
  ),
  api: text(
    'Name of the API: chat, responses, completions, embeddings, moderations, messages or count_tokens.',
  ),
  attempts: whole('Requests sent upstream, retries included; left out when it was not counted.'),
  upstream: text('Name of the upstream that answered, or was asked last; left out when none was.'),
  unscanned: flag('The call was forwarded without a scan (passThrough); left out for any other.'),
  method: text('Method of a call without a scan.'),
  path: text('Path of a call without a scan, without its query.'),
  request_bytes: whole('Size of the body of a call without a scan.'),
  response_bytes: whole('Size of the answer to a call without a scan.'),
  upstream_request_id: text('`x-request-id` of the upstream; left out when it sent none.'),
} satisfies Record<string, JsonObject>

/** Members that only some entries have. */
const OPTIONAL: readonly string[] = [
  'captured',
  'attempts',
  'upstream',
  'unscanned',
  'method',
  'path',
  'request_bytes',
  'response_bytes',
  'upstream_request_id',
]

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

/** Sums of a usage report. */
const USAGE_SUMS = {
  requests: whole('Number of calls.'),
  blocked: whole('Calls that a rule blocked.'),
  prompt_tokens: whole('Tokens of the prompts.'),
  completion_tokens: whole('Tokens of the answers.'),
  total_tokens: whole('Tokens of prompts and answers.'),
  cost: orNull(number('Known costs in USD; null when calls used tokens and the cost of no call is known.')),
  unpriced_requests: whole('Calls that used tokens and whose cost is not known.'),
} satisfies Record<string, JsonObject>

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
  UsageReport: object({
    rows: list({
      ...object(USAGE_SUMS),
      description:
        'The grouping fields, and their sums. A value is null where a call has none, such as a user. `key` is an id and comes with `key_name`.',
      additionalProperties: orNull({ type: 'string' }),
    }),
    total: object(USAGE_SUMS),
    since: time('Start of the period, a whole hour in UTC.'),
    until: time('End of the period, exclusive.'),
    complete: flag('False when a part of the period is older than what is counted.'),
  }),
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
    blocked_requests: whole('Calls that a rule blocked.'),
    pii_detections: whole('Requests and answers in which personal data was found.'),
    rule_triggers: whole('Number of times a rule fired.'),
  }),
  SecurityEvent: object({
    id: text('Id of the event.'),
    created_at: time('When the call arrived.'),
    type: choice('Type of the event.', 'blocked_request', 'pii_detection', 'rule_trigger'),
    direction: choice('Prompt or answer.', 'request', 'response'),
    rule_id: orNull(text('Id of the rule.')),
    rule_name: orNull(text('Name of the rule.')),
    rule_type: orNull(text('Type of the rule.')),
    action: orNull(text('Action taken.')),
    pii_types: list(text('Kind of personal data.')),
    injection: orNull(object(INJECTION)),
    key_id: text('Id of the API key.'),
    key_name: text('Name of the API key.'),
    model: text('Model of the call.'),
    log_id: text('Id of the usage entry.'),
  }),
  Evaluation: object({
    decision: choice('Decision on the request.', 'allow', 'block'),
    rules: list(
      object({
        id: text('Id of the rule.'),
        name: text('Name of the rule.'),
        type: choice('What the rule checks.', ...RULE_TYPES),
        action: choice('What the rule does when it fires.', ...RULE_ACTIONS),
        direction: choice('Prompt or answer.', 'request', 'response'),
      }),
    ),
    findings: list(
      object({
        kind: choice('Kind of personal data.', ...PII_KINDS),
        path: text(
          'Path of the string in the body as sent. A finding that spans several strings is listed at its first.',
        ),
        start: whole('UTF-16 offset in that string.'),
        end: whole('UTF-16 offset of the end, exclusive.'),
        direction: text('Prompt or answer.'),
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
