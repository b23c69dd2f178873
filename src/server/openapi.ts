// The description of everything on the gateway listener, OpenAPI 3.1. A test checks it against the running service:
// every route is here, every answer matches its schema.

import { ERRORS } from '../core/errors.ts'
import { PII_KINDS } from '../core/finding.ts'
import type { JsonObject } from '../core/json.ts'
import { VERSION } from '../core/version.ts'
import { RULE_ACTIONS, RULE_TYPES } from '../policy/rule.ts'

const text = (description: string): JsonObject => ({ type: 'string', description })
const time = (description: string): JsonObject => ({ type: 'string', format: 'date-time', description })
const whole = (description: string, minimum = 0): JsonObject => ({ type: 'integer', minimum, description })
const flag = (description: string): JsonObject => ({ type: 'boolean', description })
const choice = (description: string, ...values: readonly string[]): JsonObject => ({
  type: 'string',
  enum: [...values],
  description,
})
const list = (items: JsonObject): JsonObject => ({ type: 'array', items })
const orNull = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** An object whose properties are all there, but for those named. */
const object = (properties: Record<string, JsonObject>, optional: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

const EFFECTS = ['none', ...RULE_ACTIONS]
const DIFFERENCE = {
  rule: text("The rule's name."),
  direction: choice('Prompt or answer.', 'request', 'response'),
  live: choice('What the rule does in force; none where it does not fire or is not there.', ...EFFECTS),
  candidate: choice('What it does on trial.', ...EFFECTS),
}

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

const RULE_DECLARATION = {
  name: text('Unique among all rules.'),
  type: choice('What it looks at.', ...RULE_TYPES),
  pattern: text('Depends on the type: alternatives, kinds, a threshold or a limit.'),
  action: choice('What it does.', ...RULE_ACTIONS),
  enabled: flag('Whether it is in force.'),
  description: text('For people.'),
  match: {
    type: 'object',
    description: 'Which calls it concerns.',
    properties: {
      models: list(text('Glob over model names.')),
      keys: list(text('Glob over key names.')),
      direction: choice('Which way.', 'request', 'response', 'both'),
    },
  },
} satisfies Record<string, JsonObject>

/** What an injection rule fires on, or would. */
const INJECTION = {
  score: { type: 'number', description: 'A rank from 0 to 1, not a probability.' },
  threshold: { type: 'number', description: 'The score from which the rule fires.' },
  path: text(
    'The scored text, in the body as it is forwarded and kept. Where several are read as one, the first of them, and no span.',
  ),
  span: orNull(object({ start: whole('UTF-16 offset in that text.'), end: whole('Offset, exclusive.') })),
  reasons: list(text('Known patterns seen.')),
  model: text('Version of the model that scored.'),
} satisfies Record<string, JsonObject>

const SCHEMAS: Record<string, JsonObject> = {
  UpstreamError: {
    description: "The upstream's own answer, scanned: any JSON, most often an object with `error`.",
  },
  Error: object({
    error: object(
      {
        message: text('For people; says what to do next.'),
        type: choice('Class.', ...new Set(Object.values(ERRORS).map(({ type }) => type))),
        param: orNull(text('Path of the field at fault.')),
        code: choice('Stable.', ...Object.keys(ERRORS)),
        rule_id: text('The rule that refused.'),
        rule_name: text('Its name.'),
      },
      ['rule_id', 'rule_name'],
    ),
  }),
  Session: object({ user: text('Who is signed in.'), expires_at: time('When it ends.') }, ['user']),
  SignedOut: object({ signed_out: flag('Always true.') }),
  NewKey: object({
    id: text('UUIDv7.'),
    key: {
      type: 'string',
      pattern: '^sgate_live_[0-9A-Za-z]{49}$',
      description: 'The secret, shown this once.',
    },
    name: text('Name.'),
    created_at: time('When it was made.'),
  }),
  Key: object({
    id: text('Identity.'),
    name: text('Name.'),
    prefix: orNull(text('The part of the key that may be shown; null for keys of the configuration.')),
    created_at: orNull(time('When it was made; null for keys of the configuration.')),
    last_used_at: orNull(time('Last accepted, within a minute.')),
    revoked_at: orNull(time('When it was revoked.')),
    state: choice('Whether it is accepted.', 'active', 'revoked'),
    source: choice('Where it is declared.', 'api', 'file'),
  }),
  Keys: object({ keys: list(ref('Key')), total: whole('How many.') }),
  RuleDeclaration: object(
    {
      ...RULE_DECLARATION,
      pattern: { ...RULE_DECLARATION.pattern, default: '' },
      enabled: { ...RULE_DECLARATION.enabled, default: true },
    },
    ['pattern', 'enabled', 'description', 'match'],
  ),
  Rule: object(
    {
      id: text('UUIDv5 of the name for file rules, UUIDv7 for others.'),
      ...RULE_DECLARATION,
      source: object(
        { kind: choice('Owner.', 'file', 'api'), path: text('File.'), line: whole('Line.', 1) },
        ['path', 'line'],
      ),
      declared_enabled: flag('As the file says.'),
      override: orNull(object({ reason: text('Why.'), expires_at: orNull(time('When it ends by itself.')) })),
      created_at: time('When it was first seen.'),
      updated_at: time('When it last changed.'),
    },
    ['description', 'match'],
  ),
  Rules: object({
    rules: list(ref('Rule')),
    total: whole('How many.'),
    revision: text('Of the set in force.'),
    declared_revision: text('Of the files alone: another one exactly when the API has changed something.'),
    errors: list(ref('RuleProblem')),
  }),
  RuleRevision: object({
    revision: text('As the entries of calls name it, `policy_revision`.'),
    first_seen_at: time('When it was first in force.'),
    rules: list(object({ id: text('The id of the rule.'), ...RULE_DECLARATION }, ['description', 'match'])),
  }),
  RuleProblem: object({
    file: text('File.'),
    line: whole('Line.'),
    column: whole('Column.'),
    path: text('JSON path.'),
    message: text('What is wrong.'),
    text: text('All of it in one line.'),
  }),
  Trial: object({
    path: text('Where the rules on trial are declared.'),
    revision: orNull(text('Of the set on trial; null before one could be read.')),
    rules: whole('Rules in it.'),
    errors: list(ref('RuleProblem')),
    since: time('When either set last changed: what follows counts from there.'),
    calls: whole('Calls judged by both sets.'),
    changed: whole('Calls with at least one difference.'),
    skipped: whole('Calls not judged, because too many waited.'),
    differences: list(object({ ...DIFFERENCE, calls: whole('Calls with this difference.', 1) })),
    samples: list(
      object({
        log_id: text("The usage entry's id."),
        created_at: time('When the call arrived.'),
        ...DIFFERENCE,
      }),
    ),
  }),
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
      threshold: {
        type: 'number',
        description: "The lowest of the rules that concern the call; the model's own without any.",
      },
    }),
    redacted: { type: 'object', description: 'The body as it would be forwarded.' },
  }),
}

interface Operation {
  readonly summary: string
  readonly success: readonly [status: string, schema: string | null]
  /** Another status with the same body. */
  readonly also?: string
  readonly security: 'key' | 'session' | 'none'
  readonly body?: string
  readonly query?: Readonly<Record<string, JsonObject>>
  /** What a success looks like in another media type. */
  readonly otherwise?: string
  /** Refusals of the upstream (4xx) are passed on as they are. */
  readonly passesOn?: true
  /** But for those of a body, which whatever takes one answers. */
  readonly errors: readonly string[]
}

const BODY_ERRORS = ['400', '413', '415']

const PAGE = {
  limit: { type: 'integer', minimum: 1, maximum: 1000, default: 50 },
  offset: { type: 'integer', minimum: 0, default: 0 },
} satisfies Record<string, JsonObject>

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/chat/completions': {
    summary: 'A chat completion, whole or streamed, as OpenAI describes it.',
    success: ['200', null],
    security: 'key',
    body: 'ChatRequest',
    passesOn: true,
    errors: ['401', '403', '429', '500', '502', '503', '504'],
  },
  'GET /v1/models': {
    summary: "The upstream's models.",
    success: ['200', null],
    security: 'key',
    passesOn: true,
    errors: ['401', '502', '503', '504'],
  },
  'GET /v1/models/{model}': {
    summary: 'One of them, from the list; slashes in its name need not be encoded.',
    success: ['200', null],
    security: 'key',
    passesOn: true,
    errors: ['401', '404', '502', '503', '504'],
  },
  'GET /openapi.json': {
    summary: 'This description.',
    success: ['200', null],
    security: 'none',
    errors: ['421'],
  },
  'POST /api/v1/session': {
    summary: 'Signs in.',
    success: ['201', 'Session'],
    security: 'none',
    body: 'SignIn',
    errors: ['401', '403', '421', '429'],
  },
  'GET /api/v1/session': {
    summary: 'Who is signed in.',
    success: ['200', 'Session'],
    security: 'session',
    errors: ['401', '421'],
  },
  'DELETE /api/v1/session': {
    summary: 'Signs out.',
    success: ['200', 'SignedOut'],
    security: 'session',
    errors: ['401', '403', '421'],
  },
  'POST /api/v1/keys': {
    summary: 'Makes an API key.',
    success: ['201', 'NewKey'],
    security: 'session',
    body: 'KeyName',
    errors: ['401', '403', '421', '503'],
  },
  'GET /api/v1/keys': {
    summary: 'All keys.',
    success: ['200', 'Keys'],
    security: 'session',
    errors: ['400', '401', '421'],
  },
  'DELETE /api/v1/keys/{id}': {
    summary: 'Revokes a key, at once and for good, also one that the configuration declares.',
    success: ['200', 'Key'],
    security: 'session',
    errors: ['401', '403', '404', '421', '503'],
  },
  'GET /api/v1/rules': {
    summary: 'The rules in force; with format=yaml as a file ready to commit.',
    success: ['200', 'Rules'],
    otherwise: 'application/yaml',
    security: 'session',
    query: {
      format: { type: 'string', enum: ['json', 'yaml'], default: 'json' },
      drift: {
        type: 'boolean',
        default: false,
        description: 'Only rules that are not as the files have them: overridden, or made through the API.',
      },
    },
    errors: ['400', '401', '421'],
  },
  'POST /api/v1/rules': {
    summary: 'Makes a rule owned by the API.',
    success: ['201', 'Rule'],
    security: 'session',
    body: 'RuleDeclaration',
    errors: ['401', '403', '409', '421', '503'],
  },
  'GET /api/v1/rules/candidate': {
    summary: 'What the rules on trial (rules.candidatePath) would have done with the calls so far.',
    success: ['200', 'Trial'],
    security: 'session',
    errors: ['401', '404', '421'],
  },
  'GET /api/v1/rules/revisions/{revision}': {
    summary: 'The rules of a revision that is or was in force, as they were declared.',
    success: ['200', 'RuleRevision'],
    security: 'session',
    errors: ['401', '404', '421'],
  },
  'POST /api/v1/rules/evaluate': {
    summary: 'A dry run: what would happen to a chat request (with `key_name` beside its fields).',
    success: ['200', 'Evaluation'],
    security: 'session',
    body: 'ChatRequest',
    errors: ['401', '403', '421'],
  },
  'PATCH /api/v1/rules/{id}': {
    summary: 'Switches a rule on or off; on a file rule as an override.',
    success: ['200', 'Rule'],
    security: 'session',
    body: 'RuleChange',
    errors: ['401', '403', '404', '409', '421', '503'],
  },
  'DELETE /api/v1/rules/{id}': {
    summary: 'Deletes a rule owned by the API.',
    success: ['200', 'Rule'],
    security: 'session',
    errors: ['401', '403', '404', '409', '421', '503'],
  },
  'GET /api/v1/usage/logs': {
    summary: 'The usage log, newest first.',
    success: ['200', 'UsageLogs'],
    security: 'session',
    query: {
      ...PAGE,
      key_id: { type: 'string' },
      model: { type: 'string' },
      blocked: { type: 'boolean' },
      pii_detected: { type: 'boolean' },
      since: { type: 'string', format: 'date-time' },
      until: {
        type: 'string',
        format: 'date-time',
        description: 'When a call came, at the latest. Also a date: that day is in it, UTC.',
      },
      cursor: {
        type: 'string',
        description:
          '`next_cursor` of an answer to the same filters, in place of `offset`: pages stay apart, too, while calls end that had come before `until`.',
      },
    },
    errors: ['400', '401', '421'],
  },
  'GET /api/v1/usage/logs/{id}': {
    summary: 'One entry with the captured exchange.',
    success: ['200', 'UsageEntryDetail'],
    security: 'session',
    errors: ['401', '404', '421'],
  },
  'GET /api/v1/usage/security': {
    summary: 'Security events of the last days.',
    success: ['200', 'SecurityReport'],
    security: 'session',
    query: { ...PAGE, days: { type: 'integer', minimum: 1, maximum: 365, default: 7 } },
    errors: ['400', '401', '421'],
  },
  'POST /api/v1/audit/erase': {
    summary: 'Erases captured exchanges; their entries stay, and that they were erased is sealed.',
    success: ['200', 'Erasure'],
    security: 'session',
    body: 'EraseSelection',
    errors: ['401', '403', '404', '421', '503'],
  },
  'GET /api/v1/audit/checkpoint': {
    summary: 'The newest signed checkpoint of the usage log.',
    success: ['200', 'Checkpoint'],
    security: 'session',
    errors: ['401', '421', '503'],
  },
  'GET /api/v1/audit/proof': {
    summary: 'That an entry is in the log (`seq`), or what the log began with (`from`): RFC 6962.',
    success: ['200', 'Proof'],
    security: 'session',
    query: {
      seq: { type: 'integer', minimum: 0 },
      from: { type: 'integer', minimum: 1 },
      size: { type: 'integer', minimum: 1, description: "The newest checkpoint's, if left out." },
    },
    errors: ['400', '401', '404', '421', '503'],
  },
  'GET /api/v1/audit/verify': {
    summary: 'How the full check of the log stands, or how the last one came out.',
    success: ['200', 'LogCheck'],
    security: 'session',
    errors: ['401', '421'],
  },
  'POST /api/v1/audit/verify': {
    summary:
      'Checks the whole log, or joins the check that runs. 202 where it takes longer than five seconds.',
    success: ['200', 'LogCheck'],
    also: '202',
    security: 'session',
    errors: ['401', '403', '421'],
  },
}

const BODIES: Record<string, JsonObject> = {
  SignIn: object({ token: text('The admin token.') }),
  KeyName: object({ name: { type: 'string', minLength: 1, maxLength: 128 } }),
  RuleChange: object(
    {
      enabled: flag('The state wanted.'),
      reason: { type: 'string', maxLength: 500 },
      ttl_seconds: { type: 'integer', minimum: 1, maximum: 31_536_000 },
    },
    ['reason', 'ttl_seconds'],
  ),
  EraseSelection: {
    description: 'Exactly one of them.',
    oneOf: [
      object({ request_id: text('One call, by the id of its usage entry.') }),
      object({ key_id: text('All calls of an API key.') }),
      object({ before: time('All calls that arrived before it.') }),
    ],
  },
  ChatRequest: object({ model: { type: 'string', minLength: 1 }, messages: { type: 'array', minItems: 1 } }),
}

const json = (schema: JsonObject): JsonObject => ({ content: { 'application/json': { schema } } })

const answered = (schema: string, { otherwise }: Operation): JsonObject => ({
  content: {
    'application/json': { schema: ref(schema) },
    ...(otherwise === undefined ? {} : { [otherwise]: { schema: { type: 'string' } } }),
  },
})

/** A status that is named goes before `4XX`, so that what is passed on may stand beside the gateway's own. */
function refusals({ errors, body, passesOn }: Operation): JsonObject {
  const own = { description: 'Refused.', ...json(ref('Error')) }
  const upstreams = { description: 'Refused by the upstream.', ...json(ref('UpstreamError')) }
  const either = {
    description: 'Refused, here or by the upstream.',
    ...json({ anyOf: [ref('Error'), ref('UpstreamError')] }),
  }
  const statuses = [...(body === undefined ? [] : BODY_ERRORS), ...errors]
  return {
    ...Object.fromEntries(
      statuses.map((status) => [status, passesOn === true && status.startsWith('4') ? either : own]),
    ),
    ...(passesOn === true ? { '4XX': upstreams } : {}),
  }
}

function describeOperation(path: string, operation: Operation): JsonObject {
  const { summary, success, also, security, body, query = {} } = operation
  const [status, schema] = success
  const answer = { description: summary, ...(schema === null ? {} : answered(schema, operation)) }
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(query).map(([name, parameter]) => ({ name, in: 'query', schema: parameter })),
  ]
  return {
    summary,
    parameters,
    ...(body === undefined ? {} : { requestBody: { required: true, ...json(ref(body)) } }),
    security: security === 'none' ? [] : [{ [security]: [] }],
    responses: {
      [status]: answer,
      ...(also === undefined ? {} : { [also]: answer }),
      ...refusals(operation),
    },
  }
}

/** The whole document. */
export function openApiDocument(): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = name.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(path, operation) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sidegate', version: VERSION, description: 'An LLM gateway sidecar.' },
    paths,
    components: {
      schemas: { ...SCHEMAS, ...BODIES },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A Sidegate API key.' },
        session: { type: 'apiKey', in: 'cookie', name: 'sidegate_session' },
      },
    },
  }
}
