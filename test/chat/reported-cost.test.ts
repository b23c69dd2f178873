// What a call cost, in the forms of several providers.

import t from 'tap'
import { readCost } from '../../src/chat/reported-cost.ts'
import type { JsonObject } from '../../src/core/json.ts'

t.test('a cost is read where the known providers write it', async (t) => {
  const cases: readonly (readonly [JsonObject, number | null])[] = [
    [{}, null],
    [{ cost: 0.25 }, 250_000_000],
    [{ cost: 0 }, 0],
    [{ cost: { input_tokens_cost: 0.1, total_cost: 0.25 } }, 250_000_000],
    [{ cost_in_usd_ticks: 37_756_000 }, 3_775_600],
    [{ cost_in_usd_ticks: 5 }, 1],
    [{ cost: { total: 1 } }, null],
    [{ cost: -1 }, null],
    [{ cost: '0.25' }, null],
    [{ cost_in_usd_ticks: 1.5 }, null],
    [{ cost_in_usd_ticks: -1 }, null],
    [{ cost: null, cost_in_usd_ticks: 10 }, 1],
  ]
  for (const [usage, cost] of cases) t.equal(readCost(usage), cost, JSON.stringify(usage))
})

t.test('with an own key the fee and the charge of the provider are added', async (t) => {
  const cost_details = { upstream_inference_cost: 0.0360795 }
  t.equal(readCost({ cost: 0, is_byok: true, cost_details }), 36_079_500)
  t.equal(readCost({ cost: 0.001, is_byok: true, cost_details }), 37_079_500)
  t.equal(readCost({ is_byok: true, cost_details }), 36_079_500)
  t.equal(readCost({ cost: 0.02, is_byok: false, cost_details }), 20_000_000, 'the cost has it')
  t.equal(readCost({ cost: 0.02, cost_details }), 20_000_000)
  for (const missing of [null, {}, { upstream_inference_cost: null }])
    t.equal(readCost({ cost: 0, is_byok: true, cost_details: missing }), null, 'the charge is not known')
})
