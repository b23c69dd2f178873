// The error type and its table.

import t from 'tap'
import { ERRORS, errorBody, GatewayError, toGatewayError } from '../../src/core/errors.ts'

t.test(
  'an error has the status and type of its code, and its body holds only what clients may see',
  async (t) => {
    const error = new GatewayError('blocked_by_policy', 'Blocked.', {
      param: 'messages[0].content',
      headers: { 'x-should-retry': 'false' },
      extra: { rule: 'unreleased', rule_id: '1' },
      cause: new Error('the secret text'),
    })
    t.match(error, { code: 'blocked_by_policy', status: 403, type: 'policy_violation', name: 'GatewayError' })
    t.same(JSON.parse(errorBody(error)), {
      error: {
        message: 'Blocked.',
        type: 'policy_violation',
        param: 'messages[0].content',
        code: 'blocked_by_policy',
        rule: 'unreleased',
        rule_id: '1',
      },
    })
    t.same(JSON.parse(errorBody(new GatewayError('not_found', 'No.'))), {
      error: { message: 'No.', type: 'invalid_request_error', param: null, code: 'not_found' },
    })
  },
)

t.test('any other thrown value becomes internal_error and stays out of the body', async (t) => {
  const known = new GatewayError('overloaded', 'Busy.')
  t.equal(toGatewayError(known), known)
  for (const thrown of [new TypeError('reading /etc/shadow of alice@example.com'), 'text', null, undefined]) {
    const error = toGatewayError(thrown)
    t.match(error, { code: 'internal_error', status: 500 })
    t.equal(error.cause, thrown, 'kept for the log')
    t.notMatch(errorBody(error), /shadow|alice|text/)
  }
})

// Statuses and types that clients rely on, the outcome in the entry, and the codes that end the connection.
const ROWS: [keyof typeof ERRORS, status: number, type: string, outcome: string, closes?: boolean][] = [
  ['invalid_api_key', 401, 'invalid_request_error', 'invalid_request'],
  ['invalid_body', 400, 'invalid_request_error', 'invalid_request'],
  ['missing_required_parameter', 400, 'invalid_request_error', 'invalid_request'],
  ['bad_request', 400, 'invalid_request_error', 'client_aborted'],
  ['unsupported_media_type', 415, 'invalid_request_error', 'invalid_request'],
  ['body_too_large', 413, 'invalid_request_error', 'invalid_request', true],
  ['request_timeout', 408, 'invalid_request_error', 'invalid_request', true],
  ['blocked_by_policy', 403, 'policy_violation', 'blocked'],
  ['response_blocked_by_policy', 403, 'policy_violation', 'blocked'],
  ['rate_limit_exceeded', 429, 'rate_limit_error', 'rate_limited'],
  ['upstream_unavailable', 502, 'upstream_error', 'upstream_error'],
  ['upstream_timeout', 504, 'upstream_error', 'upstream_error'],
  ['audit_unavailable', 503, 'server_error', 'interrupted'],
  ['draining', 503, 'server_error', 'interrupted', true],
  ['overloaded', 503, 'server_error', 'overloaded'],
  ['internal_error', 500, 'server_error', 'interrupted'],
]

t.test('a code has the status, type and outcome that clients and auditors rely on', async (t) => {
  for (const [code, status, type, outcome, closes = false] of ROWS) {
    const { refuses: _, ...error } = ERRORS[code]
    t.same(error, { status, type, outcome, closes }, code)
  }
})
