// The operations of the API. A test compares them with the routes of the running gateway.

import { OUTCOMES } from '../../audit/entry.ts'
import { AUDIT_OPERATIONS } from './audit-operations.ts'
import { DATA_OPERATIONS } from './data-operations.ts'
import { type DescribedOperation, operation } from './operation-builders.ts'
import { bounded, choice, text, time, whole } from './schema-builders.ts'

const PAGE = { limit: bounded(1, 1000, 50), offset: { ...bounded(0), default: 0 } }

const LIST_OF_TEXTS = { type: 'array', items: { type: 'string' } }

/** A call about a stored response. */
const STORED = { security: 'key', passesOn: true, errors: [400, 403, 404, 500] } as const

export const OPERATIONS: readonly DescribedOperation[] = [
  ...DATA_OPERATIONS,
  operation('GET /v1/models', 'Lists the models of the upstreams.', { security: 'key', passesOn: true }),
  operation(
    'GET /v1/responses/{id}',
    'Returns a stored response of the same API key, whole or streamed, for 30 days after its call.',
    {
      security: 'key',
      query: { stream: { type: 'boolean', default: false }, 'include[]': LIST_OF_TEXTS },
      passesOn: true,
      errors: [400, 403, 404, 500],
    },
  ),
  operation('DELETE /v1/responses/{id}', 'Deletes a stored response of the same API key.', STORED),
  operation('POST /v1/responses/{id}/cancel', 'Cancels a background response of the same API key.', STORED),
  operation(
    'GET /v1/responses/{id}/input_items',
    'Lists the input of a stored response of the same API key.',
    {
      ...STORED,
      query: {
        limit: bounded(1, 100, 20),
        order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
        after: { type: 'string' },
        before: { type: 'string' },
        'include[]': LIST_OF_TEXTS,
      },
    },
  ),
  operation(
    'GET /v1/models/{model}',
    'Returns one model of the list. Slashes in its name need not be encoded.',
    { security: 'key', passesOn: true, errors: [404] },
  ),
  operation(
    'GET /v1/audit/receipts/{id}',
    'Proves that a call of the same API key is in the usage log. `id` is the `x-request-id` of its answer.',
    { security: 'key', answer: 'SignedReceipt', errors: [404] },
  ),
  operation('GET /openapi.json', 'Returns this description.', { security: 'none' }),

  operation('POST /api/v1/session', 'Signs in.', {
    security: 'none',
    statuses: [201],
    answer: 'Session',
    body: 'SignIn',
    errors: [401, 429, 503],
  }),
  operation('GET /api/v1/session', 'Reports who is signed in.', { answer: 'Session' }),
  operation('DELETE /api/v1/session', 'Signs out.', { answer: 'SignedOut' }),
  operation('GET /api/v1/session/methods', 'Reports how administrators can sign in.', {
    security: 'none',
    answer: 'SignInMethods',
  }),
  operation(
    'GET /api/v1/session/oidc',
    'Begins single sign-on: leads a browser to the identity provider, and from there to the callback.',
    {
      security: 'none',
      query: { return: text('Path of the page of the console to open at the end, below /console/.') },
      statuses: [302],
      pages: [404, 502],
    },
  ),
  operation(
    'GET /api/v1/session/oidc/callback',
    'Ends single sign-on: redeems the code of the identity provider, opens a session and shows a page that leads to the console.',
    {
      security: 'none',
      query: {
        code: text('Code of the identity provider.'),
        state: text('State of the sign-in that was begun.'),
        error: text('Why the identity provider signs nobody in.'),
      },
      pages: [200, 400, 403, 404, 429, 502, 503],
    },
  ),
  operation('GET /api/v1/sessions', 'Lists the sessions of all administrators, newest first.', {
    answer: 'Sessions',
  }),
  operation('DELETE /api/v1/sessions/{id}', 'Ends a session.', {
    answer: 'EndedSession',
    errors: [404, 503],
  }),

  operation('POST /api/v1/keys', 'Creates an API key.', {
    statuses: [201],
    answer: 'NewKey',
    body: 'KeyFields',
    errors: [409, 503],
  }),
  operation(
    'PATCH /api/v1/keys/{id}',
    'Changes terms of a key at once. Keys of the configuration are changed there.',
    { answer: 'Key', body: 'KeyTerms', errors: [404, 409, 503] },
  ),
  operation(
    'POST /api/v1/keys/{id}/rotate',
    'Makes a successor with the same name and terms. The key itself works until the grace ends; both share limits and stored responses.',
    { statuses: [201], answer: 'NewKey', body: 'KeyRotation', errors: [404, 409, 503] },
  ),
  operation('GET /api/v1/keys', 'Lists all keys.', { answer: 'Keys', errors: [400] }),
  operation(
    'DELETE /api/v1/keys/{id}',
    'Revokes a key at once and permanently, also one that the configuration declares.',
    { answer: 'Key', errors: [404, 503] },
  ),

  operation('GET /api/v1/rules', 'Lists the rules. With format=yaml, returns a rule file ready to commit.', {
    answer: 'Rules',
    textType: 'application/yaml',
    query: {
      format: { type: 'string', enum: ['json', 'yaml'], default: 'json' },
      drift: {
        type: 'boolean',
        default: false,
        description: 'Only rules that differ from the files: overridden ones and those made through the API.',
      },
    },
    errors: [400],
  }),
  operation('POST /api/v1/rules', 'Creates a rule owned by the API.', {
    statuses: [201],
    answer: 'Rule',
    body: 'RuleDeclaration',
    errors: [409, 503],
  }),
  operation(
    'GET /api/v1/rules/candidate',
    'Reports how the candidate rules (rules.candidatePath) differ from the rules in force on recent calls.',
    { answer: 'Trial', errors: [404] },
  ),
  operation(
    'GET /api/v1/rules/revisions/{revision}',
    'Returns the rules of a revision that is or was in force, as declared.',
    { answer: 'RuleRevision', errors: [404] },
  ),
  operation(
    'POST /api/v1/rules/evaluate',
    'Evaluates a request without forwarding it. `api` (chat by default) and `key_name` may be given with its fields.',
    { answer: 'Evaluation', body: 'EvaluatedRequest', errors: [503] },
  ),
  operation('PATCH /api/v1/rules/{id}', 'Switches a rule on or off. A file rule gets an override.', {
    answer: 'Rule',
    body: 'RuleChange',
    errors: [404, 409, 503],
  }),
  operation('DELETE /api/v1/rules/{id}', 'Deletes a rule owned by the API.', {
    answer: 'Rule',
    errors: [404, 409, 503],
  }),

  operation('GET /api/v1/prices', 'Lists the prices of models in force, in the order of the price file.', {
    answer: 'Prices',
  }),

  operation('GET /api/v1/usage/logs', 'Lists the usage log, newest first.', {
    answer: 'UsageLogs',
    query: {
      ...PAGE,
      key_id: { type: 'string' },
      user: text('End user, as the client names the user, or the hash in `user` of an entry.'),
      model: { type: 'string' },
      outcome: choice('How a call ended.', ...OUTCOMES),
      blocked: { type: 'boolean' },
      pii_detected: { type: 'boolean' },
      since: { type: 'string', format: 'date-time' },
      until: time('Latest arrival of a call. A date includes its whole day, in UTC.'),
      cursor: text(
        '`next_cursor` of an answer with the same filters, instead of `offset`. Pages do not overlap, even while calls that arrived before `until` end.',
      ),
    },
    errors: [400],
  }),
  operation(
    'GET /api/v1/usage/logs/live',
    'Streams the calls sealed from now on as server-sent events: `entry` with the entry as in the list and its `seq` as id, and `gap` with `{"missed": n}` where calls were left out. A reader that sends `Last-Event-ID` gets up to 1,000 missed calls first. The stream ends with the session.',
    {
      textType: 'text/event-stream',
      query: { after: whole('Works like the header `Last-Event-ID`, which has precedence.') },
      errors: [400, 503],
    },
  ),
  operation(
    'GET /api/v1/usage/logs/{id}',
    'Returns one entry with the captured exchange, whose texts are null for a viewer.',
    {
      answer: 'UsageEntryDetail',
      errors: [404],
    },
  ),
  operation(
    'GET /api/v1/usage/report',
    'Sums the usage of a period by fields. With format=csv, returns a table for spreadsheets.',
    {
      answer: 'UsageReport',
      textType: 'text/csv',
      query: {
        group_by: {
          type: 'string',
          default: 'key',
          description:
            'Fields separated by commas: key, model, api, upstream, day, month, user, and label:NAME for a label of the key.',
        },
        since: time('Start, rounded down to the hour. By default that of the month, in UTC.'),
        until: time('End, rounded up to the hour; now by default. A date includes its whole day, in UTC.'),
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
      errors: [400],
    },
  ),
  operation(
    'GET /api/v1/usage/limits',
    'Lists how much of each limit of tokens, requests or money is used now, highest share first. A limit that nothing counts against is left out.',
    {
      answer: 'UsageLimits',
      query: {
        key_id: text('Id of a key: lists every limit that counts its calls, also those not used yet.'),
      },
      errors: [400],
    },
  ),
  operation(
    'GET /api/v1/usage/series',
    'Returns usage over time: the last hours minute by minute, as this process saw them, or the last days hour by hour (up to 7) or day by day.',
    {
      answer: 'UsageSeries',
      query: { hours: bounded(1, 24, 1), days: bounded(1, 365) },
      errors: [400],
    },
  ),
  operation('GET /api/v1/status', 'Reports the state of the gateway.', { answer: 'Status', errors: [400] }),
  operation('GET /api/v1/usage/security', 'Reports the security events of the last days.', {
    answer: 'SecurityReport',
    query: { ...PAGE, days: bounded(1, 365, 7) },
    errors: [400],
  }),

  ...AUDIT_OPERATIONS,
]
