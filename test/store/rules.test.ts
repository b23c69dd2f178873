import t from 'tap'
import { openTestStore, START_MS } from './fixture.ts'

const rule = (id: string) => ({
  id,
  name: `rule ${id}`,
  type: 'keyword_block' as const,
  pattern: 'project aurora',
  action: 'block' as const,
  enabled: true,
  createdAtMs: START_MS,
  updatedAtMs: START_MS,
})
const override = (ruleId: string) => ({
  ruleId,
  enabled: false,
  reason: 'incident 12',
  expiresAtMs: null,
  declaredHash: 'abc',
  createdAtMs: START_MS,
})

t.test('rules and overrides are kept as they were put, also over a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  await store.rules.putRule(rule('b'))
  await store.rules.putRule(rule('a'))
  await store.rules.putOverride(override('x'))
  t.strictSame(store.rules.apiRules(), [rule('a'), rule('b')])
  const { store: again } = await reopen()
  t.strictSame(again.rules.apiRules(), [rule('a'), rule('b')])
  t.strictSame(again.rules.overrides(), [override('x')])
})

t.test('putting again replaces, deleting removes, and neither touches the other kind', async (t) => {
  const { store } = openTestStore(t)
  await store.rules.putRule(rule('a'))
  await store.rules.putOverride(override('a'))
  await store.rules.putRule({ ...rule('a'), enabled: false })
  t.strictSame(store.rules.apiRules(), [{ ...rule('a'), enabled: false }])
  await store.rules.deleteRule('a')
  await store.rules.deleteRule('a')
  t.strictSame([store.rules.apiRules(), store.rules.overrides()], [[], [override('a')]])
  await store.rules.deleteOverride('a')
  t.strictSame(store.rules.overrides(), [])
})
