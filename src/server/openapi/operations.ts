// The operations of the API. A test compares them with the routes of the running gateway.

import { type DescribedOperation, operation } from './operation-builders.ts'
import { bounded, text, time, whole } from './schema-builders.ts'

const PAGE = { limit: bounded(1, 1000, 50), offset: { ...bounded(0), default: 0 } }

export const OPERATIONS: readonly DescribedOperation[] = [
  operation('POST /v1/chat/completions', 'A chat completion, whole or streamed, as OpenAI describes it.', {
    security: 'key',
    body: 'ChatRequest',
    passesOn: true,
    errors: [403, 429, 500],
  }),
  operation('GET /v1/models', "The upstream's models.", { security: 'key', passesOn: true }),
  operation(
    'GET /v1/models/{model}',
    'One of them, from the list; slashes in its name need not be encoded.',
    { security: 'key', passesOn: true, errors: [404] },
  ),
  operation('GET /openapi.json', 'This description.', { security: 'none' }),

  operation('POST /api/v1/session', 'Signs in.', {
    security: 'none',
    statuses: [201],
    answer: 'Session',
    body: 'SignIn',
    errors: [401, 429],
  }),
  operation('GET /api/v1/session', 'Who is signed in.', { answer: 'Session' }),
  operation('DELETE /api/v1/session', 'Signs out.', { answer: 'SignedOut' }),

  operation('POST /api/v1/keys', 'Makes an API key.', {
    statuses: [201],
    answer: 'NewKey',
    body: 'KeyName',
    errors: [503],
  }),
  operation('GET /api/v1/keys', 'All keys.', { answer: 'Keys', errors: [400] }),
  operation(
    'DELETE /api/v1/keys/{id}',
    'Revokes a key, at once and for good, also one that the configuration declares.',
    { answer: 'Key', errors: [404, 503] },
  ),

  operation('GET /api/v1/rules', 'The rules in force; with format=yaml as a file ready to commit.', {
    answer: 'Rules',
    textType: 'application/yaml',
    query: {
      format: { type: 'string', enum: ['json', 'yaml'], default: 'json' },
      drift: {
        type: 'boolean',
        default: false,
        description: 'Only rules that are not as the files have them: overridden, or made through the API.',
      },
    },
    errors: [400],
  }),
  operation('POST /api/v1/rules', 'Makes a rule owned by the API.', {
    statuses: [201],
    answer: 'Rule',
    body: 'RuleDeclaration',
    errors: [409, 503],
  }),
  operation(
    'GET /api/v1/rules/candidate',
    'What the rules on trial (rules.candidatePath) would have done with the calls so far.',
    { answer: 'Trial', errors: [404] },
  ),
  operation(
    'GET /api/v1/rules/revisions/{revision}',
    'The rules of a revision that is or was in force, as they were declared.',
    { answer: 'RuleRevision', errors: [404] },
  ),
  operation(
    'POST /api/v1/rules/evaluate',
    'A dry run: what would happen to a chat request (with `key_name` beside its fields).',
    { answer: 'Evaluation', body: 'ChatRequest' },
  ),
  operation('PATCH /api/v1/rules/{id}', 'Switches a rule on or off; on a file rule as an override.', {
    answer: 'Rule',
    body: 'RuleChange',
    errors: [404, 409, 503],
  }),
  operation('DELETE /api/v1/rules/{id}', 'Deletes a rule owned by the API.', {
    answer: 'Rule',
    errors: [404, 409, 503],
  }),

  operation('GET /api/v1/usage/logs', 'The usage log, newest first.', {
    answer: 'UsageLogs',
    query: {
      ...PAGE,
      key_id: { type: 'string' },
      model: { type: 'string' },
      blocked: { type: 'boolean' },
      pii_detected: { type: 'boolean' },
      since: { type: 'string', format: 'date-time' },
      until: time('When a call came, at the latest. Also a date: that day is in it, UTC.'),
      cursor: text(
        '`next_cursor` of an answer to the same filters, in place of `offset`: pages stay apart, too, while calls end that had come before `until`.',
      ),
    },
    errors: [400],
  }),
  operation('GET /api/v1/usage/logs/{id}', 'One entry with the captured exchange.', {
    answer: 'UsageEntryDetail',
    errors: [404],
  }),
  operation('GET /api/v1/usage/security', 'Security events of the last days.', {
    answer: 'SecurityReport',
    query: { ...PAGE, days: bounded(1, 365, 7) },
    errors: [400],
  }),

  operation(
    'POST /api/v1/audit/erase',
    'Erases captured exchanges; their entries stay, and that they were erased is sealed.',
    { answer: 'Erasure', body: 'EraseSelection', errors: [404, 503] },
  ),
  operation('GET /api/v1/audit/checkpoint', 'The newest signed checkpoint of the usage log.', {
    answer: 'Checkpoint',
    errors: [503],
  }),
  operation(
    'GET /api/v1/audit/proof',
    'That an entry is in the log (`seq`), or what the log began with (`from`): RFC 6962.',
    {
      answer: 'Proof',
      query: {
        seq: bounded(0),
        from: bounded(1),
        size: whole("The newest checkpoint's, if left out.", 1),
      },
      errors: [400, 404, 503],
    },
  ),
  operation(
    'GET /api/v1/audit/verify',
    'How the full check of the log stands, or how the last one came out.',
    { answer: 'LogCheck' },
  ),
  operation(
    'POST /api/v1/audit/verify',
    'Checks the whole log, or joins the check that runs. 202 where it takes longer than five seconds.',
    { answer: 'LogCheck', statuses: [200, 202] },
  ),
]
