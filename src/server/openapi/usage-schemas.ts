// Schemas of the usage log, its evidence, security events and dry runs, by their names in the
// description of the API.

import { PII_KINDS } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import { RULE_ACTIONS, RULE_TYPES } from '../../policy/rule.ts'
import { choice, flag, list, number, object, orNull, ref, text, time, whole } from './schema-builders.ts'

const USAGE_ENTRY = {
  id: text('UUIDv7, the `x-request-id` of the answer.'),
  created_at: time('When the request arrived.'),
  model: text('As the client asked for it; empty when the body could not be read.'),
  prompt_tokens: whole('Tokens of the prompt.'),
  completion_tokens: whole('Tokens of the answer.'),
  total_tokens: whole('Both together.'),
  latency_ms: whole('From the request to its answer.'),
  blocked: flag('A rule refused the request or the answer.'),
  pii_detected: flag('Personal data were found.'),
  pii_types: list(choice('A kind.', ...PII_KINDS)),
  hash: text('`sha256:` and the hash of the sealed entry.'),
  seq: whole('Place in the chain.'),
  prev_hash: orNull(text('Hash of the entry before.')),
  key_id: text('The API key.'),
  key_name: text("The API key's name."),
  status: whole('HTTP status the client got; 499 when it had left.'),
  outcome: choice(
    'How it ended.',
    'ok',
    'blocked',
    'rate_limited',
    'upstream_error',
    'client_aborted',
    'interrupted',
    'invalid_request',
    'overloaded',
  ),
  stream: flag('The client asked for a stream.'),
  finish_reason: orNull(text('Of the first choice.')),
  usage_source: choice('Who counted the tokens.', 'upstream', 'estimated'),
  cost: orNull({ type: 'number', minimum: 0, description: "In the upstream's currency unit." }),
  ttft_ms: orNull(whole('To the first piece of a stream.')),
  overhead_ms: whole("The gateway's own share of the latency."),
  rules: list(
    object({ id: text('Rule.'), name: text('Its name.'), action: choice('Its action.', ...RULE_ACTIONS) }),
  ),
  policy_revision: text('Revision of the rule set that judged the call.'),
  content_hash: orNull(text('Salted commitment to the captured exchange.')),
} satisfies Record<string, JsonObject>

/** What an injection rule fires on, or would. */
const INJECTION = {
  score: number('A rank from 0 to 1, not a probability.'),
  threshold: number('The score from which the rule fires.'),
  path: text(
    'The scored text, in the body as it is forwarded and kept. Where several are read as one, the first of them, and no span.',
  ),
  span: orNull(object({ start: whole('UTF-16 offset in that text.'), end: whole('Offset, exclusive.') })),
  reasons: list(text('Known patterns seen.')),
  model: text('Version of the model that scored.'),
} satisfies Record<string, JsonObject>

export const USAGE_SCHEMAS: Record<string, JsonObject> = {
  UsageEntry: object(USAGE_ENTRY),
  UsageEntryDetail: object({
    ...USAGE_ENTRY,
    request: {},
    response: {},
    erased: flag('The exchange was captured and has been erased since.'),
  }),
  Erasure: object({
    erased: whole('Exchanges that were there and are gone.'),
    entries: whole('`erase` entries sealed, one for each 1,000 exchanges.'),
  }),
  Checkpoint: object({
    checkpoint: text(
      'The signed note (C2SP tlog-checkpoint): what to keep where the holder of the log cannot reach it.',
    ),
    log: text('Id of the log.'),
    size: whole('Entries that it is over.'),
    root: text('Root of the Merkle tree over them, base64.'),
    head: text('Hash of the newest of them.'),
    created_at: time('When it was signed.'),
    public_key: text('Whose signature it is: a signed-note verifier key.'),
  }),
  Proof: {
    oneOf: [
      object({
        seq: whole('The entry.'),
        size: whole('Entries in the log that it is shown to be in.'),
        leaf_hash: text("SHA-256 of a zero byte and the 32 bytes of the entry's hash, base64."),
        root: text('Root of the tree of that size, base64.'),
        proof: list(text('A node, base64: RFC 6962 §2.1.1, leaf upwards.')),
      }),
      object({
        from: whole('Entries in the log of then.'),
        size: whole('Entries in the log that begins with it.'),
        from_root: text('Root of then, base64.'),
        root: text('Root of the tree of that size, base64.'),
        proof: list(text('A node, base64: RFC 6962 §2.1.2.')),
      }),
    ],
  },
  LogCheck: object({
    running: flag('Whether a check is running.'),
    progress: { type: 'number', minimum: 0, maximum: 1, description: 'How far it is.' },
    ok: orNull(flag('Whether the log is intact; null without a verdict.')),
    started_at: orNull(time('When it began.')),
    finished_at: orNull(time('When it ended.')),
    result: orNull({
      type: 'object',
      description: 'The verdict, as `sidegate audit verify` gives it; null while it runs.',
    }),
    error: orNull(text('Why there is no verdict.')),
  }),
  UsageLogs: object(
    {
      logs: list(ref('UsageEntry')),
      total: whole('Entries that match.'),
      total_is_lower_bound: flag('True where only the newest 100,000 calls were looked at; else left out.'),
      next_cursor: text('For the page after this one; left out on the last.'),
    },
    ['total_is_lower_bound', 'next_cursor'],
  ),
  SecurityReport: object({
    days: whole('Days covered, today included.', 1),
    since: time('Their beginning, midnight UTC.'),
    totals: ref('SecurityTotals'),
    by_day: list({
      allOf: [
        object({ date: { type: 'string', format: 'date', description: 'UTC day.' } }),
        ref('SecurityTotals'),
      ],
    }),
    events: list(ref('SecurityEvent')),
    total: whole('Events in all.'),
  }),
  SecurityTotals: object({
    blocked_requests: whole('Calls a rule refused.'),
    pii_detections: whole('Requests and answers in which personal data were found.'),
    rule_triggers: whole('Times a rule fired.'),
  }),
  SecurityEvent: object({
    id: text('Identity.'),
    created_at: time('When.'),
    type: choice('What.', 'blocked_request', 'pii_detection', 'rule_trigger'),
    direction: choice('Which way.', 'request', 'response'),
    rule_id: orNull(text('Rule.')),
    rule_name: orNull(text('Its name.')),
    rule_type: orNull(text('Its type.')),
    action: orNull(text('What was done.')),
    pii_types: list(text('Kinds.')),
    injection: orNull(object(INJECTION)),
    key_id: text('API key.'),
    key_name: text('Its name.'),
    model: text('Model.'),
    log_id: text('The usage entry.'),
  }),
  Evaluation: object({
    decision: choice('What would happen.', 'allow', 'block'),
    rules: list(
      object({
        id: text('Rule.'),
        name: text('Name.'),
        type: choice('What it looks at.', ...RULE_TYPES),
        action: choice('What it does.', ...RULE_ACTIONS),
        direction: choice('Which way.', 'request', 'response'),
      }),
    ),
    findings: list(
      object({
        kind: choice('Kind.', ...PII_KINDS),
        path: text(
          'The string in the body as it was sent; a datum split over several is listed at its first.',
        ),
        start: whole('UTF-16 offset in that string.'),
        end: whole('UTF-16 offset, exclusive.'),
        direction: text('Way.'),
      }),
    ),
    injection: object({
      ...INJECTION,
      threshold: number("The lowest of the rules that concern the call; the model's own without any."),
    }),
    redacted: { type: 'object', description: 'The body as it would be forwarded.' },
  }),
}
