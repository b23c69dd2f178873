// Stored rules and overrides.

import t from 'tap'
import type { ChangeDraft } from '../../src/audit/change-draft.ts'
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
  ruleName: 'name',
  ruleId,
  enabled: false,
  reason: 'incident 12',
  expiresAtMs: null,
  declaredHash: 'abc',
  createdAtMs: START_MS,
})

/** The entry sealed with a change. */
const sealed = (name: string): ChangeDraft => ({
  type: 'rule_changed',
  rule_id: name,
  rule_name: name,
  enabled: true,
  actor: 'vera',
})
const names = (records: readonly { readonly bytes: Uint8Array }[]) =>
  records.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()).rule_name).filter(Boolean)

t.test('rules and overrides are stored unchanged, also over a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  await store.rules.putRule(rule('b'), sealed('1'))
  await store.rules.putRule(rule('a'), sealed('2'))
  await store.rules.putOverride(override('x'), sealed('3'))
  t.strictSame(store.rules.apiRules(), [rule('a'), rule('b')])
  const { store: again } = await reopen()
  t.strictSame(again.rules.apiRules(), [rule('a'), rule('b')])
  t.strictSame(again.rules.overrides(), [override('x')])
})

t.test('put replaces, delete removes, and neither affects the other kind', async (t) => {
  const { store } = openTestStore(t)
  await store.rules.putRule(rule('a'), sealed('4'))
  await store.rules.putOverride(override('a'), sealed('5'))
  await store.rules.putRule({ ...rule('a'), enabled: false }, sealed('6'))
  t.strictSame(store.rules.apiRules(), [{ ...rule('a'), enabled: false }])
  await store.rules.deleteRule('a', sealed('7'))
  await store.rules.deleteRule('a', sealed('8'))
  t.strictSame([store.rules.apiRules(), store.rules.overrides()], [[], [override('a')]])
  await store.rules.deleteOverride({ ruleId: 'a', createdAtMs: START_MS }, sealed('9'))
  t.strictSame(store.rules.overrides(), [])
})

t.test('every change is sealed in its own transaction', async (t) => {
  const { store } = openTestStore(t)
  await store.rules.putRule(rule('a'), sealed('put'))
  await store.rules.putOverride({ ...override('a'), createdAtMs: START_MS + 1 }, sealed('override'))
  await store.rules.deleteOverride(override('a'), sealed('end of one before'))
  t.equal(store.rules.overrides().length, 1, 'the replacement stays')
  await store.rules.deleteRule('a', sealed('delete'))
  const expected = ['put', 'override', 'end of one before', 'delete']
  t.same(names(store.log.records(0, 100)), expected)
  store.log.writability.begin('failed')
  await t.rejects(store.rules.putRule(rule('b'), sealed('late')), { code: 'audit_unavailable' })
  t.same([store.rules.apiRules(), names(store.log.records(0, 100))], [[], expected])
})
