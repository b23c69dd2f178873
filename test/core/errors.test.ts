import t from 'tap'
import { ERRORS, errorBody, GatewayError, toGatewayError } from '../../src/core/errors.ts'

t.test(
  'a code brings its status and its type, and nothing else is in the body than was meant for it',
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

t.test('whatever is thrown becomes an answer that tells nothing of it', async (t) => {
  const known = new GatewayError('overloaded', 'Busy.')
  t.equal(toGatewayError(known), known)
  for (const thrown of [new TypeError('reading /etc/shadow of alice@example.com'), 'text', null, undefined]) {
    const error = toGatewayError(thrown)
    t.match(error, { code: 'internal_error', status: 500 })
    t.equal(error.cause, thrown, 'kept for the log')
    t.notMatch(errorBody(error), /shadow|alice|text/)
  }
})

// The statuses that clients are promised.
const PROMISED: Partial<Record<keyof typeof ERRORS, [status: number, type: string]>> = {
  invalid_api_key: [401, 'invalid_request_error'],
  invalid_body: [400, 'invalid_request_error'],
  missing_required_parameter: [400, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  body_too_large: [413, 'invalid_request_error'],
  blocked_by_policy: [403, 'policy_violation'],
  response_blocked_by_policy: [403, 'policy_violation'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  upstream_unavailable: [502, 'upstream_error'],
  upstream_timeout: [504, 'upstream_error'],
  audit_unavailable: [503, 'server_error'],
  draining: [503, 'server_error'],
  internal_error: [500, 'server_error'],
}

t.test('statuses and types as promised', async (t) => {
  for (const [code, [status, type]] of Object.entries(PROMISED))
    t.same(ERRORS[code as keyof typeof ERRORS], { status, type }, code)
})
