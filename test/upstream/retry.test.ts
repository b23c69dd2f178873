import t from 'tap'
import { isConnectFailure, isRetried, RetryBudget, retryDelayMs } from '../../src/upstream/retry.ts'

t.test('temporary statuses and connect errors are retried', async (t) => {
  for (const status of [502, 503, 504]) t.ok(isRetried(status, {}), String(status))
  for (const status of [200, 400, 401, 404, 429, 500, 501, 529])
    t.notOk(isRetried(status, {}), String(status))
  t.notOk(isRetried(503, { 'x-should-retry': 'false' }), 'the upstream forbids it')
  t.ok(isRetried(503, { 'x-should-retry': 'true' }))
  t.ok(isConnectFailure('ECONNREFUSED'))
  t.ok(isConnectFailure('UND_ERR_CONNECT_TIMEOUT'))
  t.notOk(isConnectFailure('UND_ERR_SOCKET'), 'the request may have been acted on')
})

t.test('delays double, have jitter and respect retry-after', async (t) => {
  t.equal(retryDelayMs(1, {}, 0), 50)
  t.equal(retryDelayMs(1, {}, 1), 100)
  t.equal(retryDelayMs(2, {}, 1), 200)
  t.equal(retryDelayMs(20, {}, 1), 2000)
  t.equal(retryDelayMs(1, { 'retry-after': '1' }, 0), 1000)
  t.equal(retryDelayMs(1, { 'retry-after': '0' }, 0), 50)
  t.equal(retryDelayMs(1, { 'retry-after': '1', 'retry-after-ms': '300' }, 0), 300)
  t.equal(retryDelayMs(1, { 'retry-after': '1', 'retry-after-ms': 'soon' }, 0), 1000)
  t.equal(retryDelayMs(1, { 'retry-after': '1', 'retry-after-ms': '2001' }, 0), null)
  t.equal(retryDelayMs(1, { 'retry-after': '60' }, 0), null, 'the client waits instead')
  t.equal(retryDelayMs(1, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, 0), null)
})

t.test('the budget ends after ten retries and five calls earn one more', async (t) => {
  const budget = new RetryBudget()
  let spent = 0
  while (budget.spend()) spent++
  t.equal(spent, 10)
  for (let i = 0; i < 4; i++) budget.earn()
  t.notOk(budget.spend())
  budget.earn()
  budget.earn()
  t.ok(budget.spend())
  t.notOk(budget.spend())
})
