// Rules of a hub beside those of a sidecar: who counts, when overrides end, and which sets are
// refused.

import t from 'tap'
import {
  type FleetRule,
  fleetRulesOf,
  MAXIMUM_FLEET_RULE_BYTES,
  MAXIMUM_FLEET_RULES,
} from '../../src/policy/fleet-policy.ts'
import type { RuleDeclaration, RuleOverride } from '../../src/policy/rule.ts'
import { featuresOf, MATCH_FIELDS, OPTIONAL_FIELDS, RULE_FEATURES } from '../../src/policy/rule-features.ts'
import { declarationHash } from '../../src/rules/declaration.ts'
import { DeclaredRules } from '../../src/rules/declared-rules.ts'
import type { EffectiveRules } from '../../src/rules/effective.ts'
import { RULE_SCHEMA } from '../../src/rules/schema.ts'
import { HUB_AHEAD_MS, rulesText, setting, snapshot } from './fixture.ts'

const declaration = (name: string, more: object = {}): RuleDeclaration =>
  ({ name, type: 'keyword_block', pattern: name, action: 'block', enabled: true, ...more }) as RuleDeclaration
const rule = (name: string, more: object = {}): FleetRule => ({
  id: `id of ${name}`,
  declaration: declaration(name, more),
  ...{ path: 'hub.yaml', line: 3, created_at: '2026-11-01T00:00:00.000Z' },
  updated_at: '2026-11-02T00:00:00.000Z',
})

/** Puts rules of a hub in force, as far as they can be. */
function send(rules: EffectiveRules, sent: readonly FleetRule[], overrides: RuleOverride[] = []) {
  const reading = new DeclaredRules().read(fleetRulesOf(sent))
  return 'refusal' in reading ? reading.refusal : rules.replaceHub({ rules: reading.rules, overrides })
}
/** Sixty words of a thousand characters. */
const words = (name: string): string =>
  Array.from({ length: 60 }, (_, n) => `${name}${n}${'x'.repeat(995)}`).join('|')
const shown = (rules: EffectiveRules): string[] =>
  rules.list().map(({ name, pattern, source }) => `${source.kind} ${name} ${String(pattern)}`)

t.test('the rule of the hub counts where a name is declared on both sides', async (t) => {
  const { rules, editor, storage } = setting(t)
  rules.replaceFiles(snapshot(rulesText('one', 'two')))
  await editor.create({ ...declaration('three') } as never, 'vera')
  const own = rules.revision
  t.equal(send(rules, [rule('zero'), rule('TWO', { pattern: 'hub' }), rule('three')]), null)
  t.same(shown(rules), ['hub zero zero', 'hub TWO hub', 'hub three three', 'file one one'])
  t.match(rules.list()[0], { source: { kind: 'hub', path: 'hub.yaml', line: 3 }, declaredEnabled: true })
  t.same(
    rules.hidden.map(({ name, source }) => `${source.kind} ${name}`),
    ['file two', 'api three'],
  )
  t.equal(rules.declaredRevision, rules.revision, 'the hub is no drift')
  t.equal(storage.rules.size, 1, 'the own rule is kept')
  rules.replaceFiles(snapshot(rulesText('two')))
  t.same(shown(rules), ['hub zero zero', 'hub TWO hub', 'hub three three'])
  t.equal(send(rules, []), null)
  rules.replaceFiles(snapshot(rulesText('one', 'two')))
  t.equal(rules.revision, own)
  t.same(rules.hidden, [])
})

t.test('overrides of each side are for its own rules', async (t) => {
  const { rules, editor, clock, settled, changes } = setting(t)
  rules.replaceFiles(snapshot(rulesText('two')))
  const id = rules.list()[0]!.id
  await editor.setEnabled(id, false, { reason: 'own', ttlSeconds: null }, 'vera')
  // The hub's rule has the id of the sidecar's, and the same declaration.
  const sent = { ...rule('two'), id }
  t.equal(send(rules, [sent]), null)
  t.match(rules.list(), [{ enabled: true, override: null }])
  await settled()
  t.equal(changes.length, 1, 'the own override has not ended')
  const override: RuleOverride = {
    ...{
      ruleId: id,
      ruleName: 'two',
      enabled: false,
      reason: 'hub',
      declaredHash: declarationHash(sent.declaration),
    },
    ...{ expiresAtMs: clock.nowMs + HUB_AHEAD_MS + 1000, createdAtMs: 1 },
  }
  t.equal(send(rules, [sent], [override]), null)
  t.match(rules.list(), [{ enabled: false, override: { reason: 'hub' } }])
  t.equal(send(rules, [sent], [{ ...override, declaredHash: 'another declaration' }]), null)
  t.match(rules.list(), [{ enabled: true, override: null }])
  t.equal(send(rules, []), null)
  t.match(rules.list(), [{ enabled: false, override: { reason: 'own' } }])
})

t.test('an override of the hub ends by its time, with and without a call', async (t) => {
  const { rules, clock, timers } = setting(t)
  const sent = rule('two')
  const override = (spanMs: number): RuleOverride => ({
    ...{ ruleId: sent.id, ruleName: 'two', enabled: false, reason: 'x' },
    declaredHash: declarationHash(sent.declaration),
    ...{ expiresAtMs: clock.nowMs + HUB_AHEAD_MS + spanMs, createdAtMs: 1 },
  })
  send(rules, [sent], [override(1000)])
  clock.nowMs += 999
  rules.expire(clock.nowMs)
  t.match(rules.list(), [{ enabled: false }])
  clock.nowMs += 1
  rules.expire(clock.nowMs)
  t.match(rules.list(), [{ enabled: true, override: null }])
  send(rules, [sent], [override(2000)])
  clock.nowMs += 2000
  timers.advance(2000)
  t.match(rules.list(), [{ enabled: true }], 'the timer ends it')
})

t.test('a set with an error is refused with its rule, its path and the reason', async (t) => {
  const cases: [FleetRule[], object][] = [
    [[rule('good'), rule('bad', { pattern: '(' })], { rule: 'bad', path: 'pattern' }],
    [[rule('bad', { type: 'later' })], { rule: 'bad', path: 'type' }],
    [[rule('bad', { later: 1 })], { rule: 'bad', path: 'later' }],
    [[rule('bad', { match: { tools: [] } })], { rule: 'bad', path: 'match.tools' }],
    [[rule('bad', { action: 'restore' })], { rule: 'bad', path: 'action' }],
    [[rule('One'), rule('one')], { rule: 'one', path: 'name' }],
    [[{ ...rule('x'), declaration: null as never }], { rule: 'id of x', path: '' }],
    [Array.from({ length: MAXIMUM_FLEET_RULES + 1 }, (_, n) => rule(`${n}`)), { rule: null, path: '' }],
    [
      Array.from({ length: 20 }, (_, n) =>
        rule(`r${n}`, { description: 'x'.repeat(MAXIMUM_FLEET_RULE_BYTES / 20) }),
      ),
      { rule: 'r0', path: 'description' },
    ],
    [
      [1, 2, 3, 4, 5].map((n) => rule(`b${n}`, { pattern: words(`b${n}`) })),
      { rule: null, message: /at most \d+ are allowed/ },
    ],
  ]
  const { rules } = setting(t)
  send(rules, [rule('before')])
  for (const [sent, refusal] of cases) t.match(send(rules, sent), { message: /./, ...refusal })
  t.same(shown(rules), ['hub before before'])
})

t.test('what two sides exceed together is not put in force', async (t) => {
  const { rules } = setting(t)
  const long = (name: string) => declaration(name, { pattern: words(name) })
  const file = (...names: string[]) => snapshot(JSON.stringify({ rules: names.map(long) }))
  rules.replaceFiles(file('a', 'b'))
  const sent = ['c', 'd', 'e'].map((name) => rule(name, long(name)))
  t.match(send(rules, sent), /all keywords together/)
  t.equal(send(rules, sent.slice(1)), null)
  t.match(rules.replaceFiles(file('a', 'b', 'c')).problems, [{ message: /all keywords together/ }])
  t.match(
    rules.replaceFiles(file('a', 'b', 'd')).problems,
    [],
    'a rule of the same name does not count twice',
  )
})

t.test('a gateway with a hub takes no changes', async (t) => {
  const { rules, editor } = setting(t, { hub: 'https://hub.example' })
  rules.replaceFiles(snapshot(rulesText('one')))
  const id = rules.list()[0]!.id
  const refused = { code: 'managed_by_hub', status: 409, message: /hub\.example/ }
  await t.rejects(editor.create({}, 'vera'), refused)
  await t.rejects(editor.setEnabled(id, false, { reason: '', ttlSeconds: 1 }, 'vera'), refused)
  await t.rejects(editor.delete(id, 'vera'), refused)
})

t.test('features name every field of a rule that a release may lack', async (t) => {
  const { match, name, type, pattern, action, enabled, description, ...optional } = RULE_SCHEMA.properties
  t.same(Object.keys(optional), OPTIONAL_FIELDS)
  t.same(Object.keys(match.properties).sort(), [...MATCH_FIELDS].sort())
  const rich = declaration('x', { per: 'all', match: { models: ['a'], labels: { a: 'b' } } })
  t.ok(featuresOf(rich).every((feature) => RULE_FEATURES.includes(feature)))
  t.same(featuresOf(rich), [
    'policy',
    'rule_type_keyword_block',
    'rule_action_block',
    'rule_per',
    'rule_match_models',
    'rule_match_labels',
  ])
  t.ok(RULE_FEATURES.every((feature) => /^[a-z0-9_]{1,64}$/.test(feature)))
})
