// What /readyz reports, and the values of the metrics page before the parts exist.

import t from 'tap'
import { healthOf, StateReader } from '../../src/gateway/health.ts'
import { PriceBook } from '../../src/prices/price-book.ts'

const PROBLEM = { file: 'rules/a.yaml', line: 4, column: 12, path: 'rules[0].action', message: 'is unknown' }

const rules = (problems: (typeof PROBLEM)[] = []) => ({
  revision: '0123456789abcdef',
  hidden: [],
  errors: () => problems,
})

/** Of a file that is in force. */
const liveConfig = { state: { changed: false, needsReload: [], needsRestart: [], errors: [] } }

t.test('a gateway is ready while its log can be written and it is not draining', async (t) => {
  const full = 'the usage log cannot be written: it is full'
  for (const [auditHindrance, draining, ready] of [
    [null, false, true],
    [full, false, false],
    [null, true, false],
  ] as const) {
    const health = healthOf({
      admission: { auditHindrance, draining },
      rules: rules(),
      prices: null,
      fleet: null,
      liveConfig,
      quarantines: 0,
      certificates: [],
    })
    t.match(health, { ready, detail: { draining, rules: 'ok', rule_errors: [], quarantines: 0 } })
    t.equal(health.detail['store'], auditHindrance ?? 'ok')
  }
})

t.test('errors in rule files are listed and do not make the gateway unready', async (t) => {
  const admission = { auditHindrance: null, draining: false }
  t.match(
    healthOf({
      admission,
      rules: rules([PROBLEM]),
      prices: null,
      fleet: null,
      liveConfig,
      quarantines: 2,
      certificates: [],
    }),
    {
      ready: true,
      detail: {
        rules: 'the last good rules are in force',
        rule_errors: [/a\.yaml:4:12 rules\[0\]\.action: is unknown/],
        revision: '0123456789abcdef',
        quarantines: 2,
      },
    },
  )
})

t.test('errors in the price file are listed and do not make the gateway unready', async (t) => {
  const admission = { auditHindrance: null, draining: false }
  const parts = { admission, rules: rules(), fleet: null, liveConfig, quarantines: 0, certificates: [] }
  const current = () => new PriceBook([], 'abc')
  const healthWith = (problems: (typeof PROBLEM)[]) =>
    healthOf({ ...parts, prices: { current, hidden: [], problems: () => problems } })
  t.match(healthWith([]), { ready: true, detail: { prices: 'ok', price_errors: [], price_revision: 'abc' } })
  t.match(healthWith([PROBLEM]), {
    ready: true,
    detail: {
      prices: 'the last good prices are in force',
      price_errors: [/a\.yaml:4:12/],
      price_revision: 'abc',
    },
  })
  t.notOk('prices' in healthOf({ ...parts, prices: null }).detail, 'without prices there is nothing to say')
})

t.test(
  'a configuration file that is not in force is shown and does not make the gateway unready',
  async (t) => {
    const admission = { auditHindrance: null, draining: false }
    const parts = { admission, rules: rules(), prices: null, fleet: null, quarantines: 0, certificates: [] }
    t.match(healthOf({ ...parts, liveConfig }).detail['configuration'], { changed: false, needs_restart: [] })
    const state = { changed: true, needsReload: ['keys'], needsRestart: ['listen.gateway'], errors: [] }
    t.match(healthOf({ ...parts, liveConfig: { state } }), {
      ready: true,
      detail: {
        configuration: {
          changed: true,
          needs_reload: ['keys'],
          needs_restart: ['listen.gateway'],
          errors: [],
        },
      },
    })
  },
)

t.test('a gateway that waits for its hub is not ready, and says what is wrong', async (t) => {
  const admission = { auditHindrance: null, draining: false }
  const parts = { admission, rules: rules(), prices: null, liveConfig, quarantines: 0, certificates: [] }
  for (const isReady of [true, false]) {
    const fleet = { isReady, health: () => ({ fleet: 'no hub was reached yet' }) }
    t.match(healthOf({ ...parts, fleet }), { ready: isReady, detail: { fleet: 'no hub was reached yet' } })
    const hidden = [{ name: 'mine' }] as never
    t.match(healthOf({ ...parts, rules: { ...rules(), hidden }, fleet }).detail, { hidden_rules: ['mine'] })
  }
})

t.test('the state cannot be read before the parts are connected', async (t) => {
  t.throws(() => new StateReader().read(), { message: /not connected/ })
})
