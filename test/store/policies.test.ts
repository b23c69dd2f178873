// Rule sets by revision: sealed once, and stored after their entries are pruned.

import t, { type Test } from 'tap'
import { canonicalize } from '../../src/audit/canonical.ts'
import { verifyChain } from '../../src/audit/verify.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { declaredRule } from '../../src/policy/declared-rule.ts'
import { parseRule } from '../../src/policy/parse-rule.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { sealedRule } from '../../src/policy/sealed-rules.ts'
import { RULE_SCHEMA } from '../../src/rules/schema.ts'
import type { Store } from '../../src/store/store.ts'
import { openTestStore } from './fixture.ts'

const rule = (name: string, pattern = 'aurora'): Rule => ({
  id: `id-${name}`,
  name,
  type: 'keyword_block',
  pattern,
  action: 'block',
  enabled: true,
  match: { models: ['m*'] },
})

function sealed(t: Test, { log }: Store): any[] {
  const records = log.records(0, 1000)
  t.match(verifyChain(records), { ok: true })
  const entries = records.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
  return entries.filter(({ type }) => type === 'rules_loaded')
}

t.test('a rule set is sealed in full once, then by revision, also after a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  await store.policies.seal('r1', [{ ...rule('a'), source: 'file' } as Rule])
  await store.policies.seal('r2', [])
  await store.policies.seal('r1', [rule('a')])
  const again = (await reopen()).store
  await again.policies.seal('r1', [rule('a')])
  t.strictSame(
    sealed(t, again).map(({ revision, declarations }) => [revision, declarations]),
    [
      ['r1', [rule('a')]],
      ['r2', []],
      ['r1', null],
      ['r1', null],
    ],
  )
  t.match(again.policies.find('r1'), { revision: 'r1', firstSeenAt: '2026-03-01T12:00:00.000Z' })
  t.strictSame(again.policies.find('r1')?.rules, [rule('a')])
  t.strictSame(again.policies.find('r2')?.rules, [])
  for (const unknown of ['', 'r3', 'x'.repeat(10_000)]) t.equal(again.policies.find(unknown), null)
})

/** A value of a schema, with every member, and with a fraction where numbers are allowed. */
function exampleOf(schema: any): JsonValue {
  const type = [schema.type].flat()[0]
  if (schema.enum !== undefined) return schema.enum[0]
  if (type === 'array') return [exampleOf(schema.items)]
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? { x: schema.additionalProperties ?? { type: 'string' } }).map(
        ([name, member]) => [name, exampleOf(member)],
      ),
    )
  return { number: 0.7, integer: 1, boolean: true }[type as string] ?? 'x'
}

t.test('a rule with every field of the schema is shown and sealed in full', async (t) => {
  const example = { id: 'i', ...(exampleOf(RULE_SCHEMA) as JsonObject) }
  t.match(example, { afterInjection: 0.7 })
  t.strictSame(declaredRule(example as unknown as Rule), example)
  const sealedForm = sealedRule(example as unknown as Rule)
  t.doesNotThrow(() => canonicalize(sealedForm))
  t.strictSame(sealedForm, { ...example, afterInjection: '0.7' })
  const { store } = openTestStore(t)
  await store.policies.seal('r', [example as unknown as Rule])
  t.strictSame(store.policies.find('r')?.rules, [sealedForm])
})

t.test('the versions of a rule are where it changed, newest first', async (t) => {
  const { store, clock } = openTestStore(t)
  const sets: readonly (readonly Rule[])[] = [
    [rule('b')],
    [rule('b'), rule('a')],
    [rule('a'), rule('b', 'other')],
    [rule('a', 'borealis')],
    [],
    [{ ...rule('a'), enabled: false }],
  ]
  for (const [index, rules] of sets.entries()) {
    await store.policies.seal(`r${index}`, rules)
    clock.advance(1000)
  }
  t.strictSame(await store.policies.versionsOf('id-a'), [
    { revision: 'r5', firstSeenAt: '2026-03-01T12:00:05.000Z', rule: { ...rule('a'), enabled: false } },
    { revision: 'r4', firstSeenAt: '2026-03-01T12:00:04.000Z', rule: null },
    { revision: 'r3', firstSeenAt: '2026-03-01T12:00:03.000Z', rule: rule('a', 'borealis') },
    { revision: 'r1', firstSeenAt: '2026-03-01T12:00:01.000Z', rule: rule('a') },
  ])
  t.strictSame(await store.policies.versionsOf('id-c'), [])
})

t.test('a large set takes several entries', async (t) => {
  const { store } = openTestStore(t)
  const rules = Array.from({ length: 20 }, (_, n) => rule(`r${n}`, 'é'.repeat(30_000)))
  await store.policies.seal('large', rules)
  const parts = sealed(t, store)
  t.ok(parts.length > 1)
  t.strictSame(
    parts.map(({ part, parts, rules }) => [part, parts, rules]),
    parts.map((_, index) => [index + 1, parts.length, rules.length]),
  )
  t.strictSame(
    parts.flatMap(({ declarations }) => declarations),
    rules,
  )
  t.strictSame(store.policies.find('large')?.rules, rules)
})

t.test('stored rule sets are limited; the newest stay, and an evicted one is sealed again', async (t) => {
  const maxBytes = 16 * 1024 ** 2
  const { store, reopen } = openTestStore(t, { maxBytes })
  const large = (n: number) => [rule('a', `${n} ${'x'.repeat(60_000)}`), rule('b', 'y'.repeat(60_000))]
  for (let n = 0; n < 20; n++) await store.policies.seal(`r${n}`, large(n))
  const kept = (of: Store) => Array.from({ length: 20 }, (_, n) => n).filter((n) => of.policies.find(`r${n}`))
  t.same(kept(store), [12, 13, 14, 15, 16, 17, 18, 19], 'a sixteenth of 16 MiB')
  const again = (await reopen()).store
  await again.policies.seal('r3', large(3))
  t.same(kept(again), [3, 13, 14, 15, 16, 17, 18, 19])
  t.strictSame(again.policies.find('r3')?.rules, large(3))
  await again.policies.seal(
    'huge',
    Array.from({ length: 30 }, (_, n) => rule(`r${n}`, 'z'.repeat(60_000))),
  )
  t.same(kept(again), [])
  t.ok(again.policies.find('huge'), 'the one in force always stays')
})

t.test('a set whose entry was pruned is still stored, and sealed again', async (t) => {
  const { store } = openTestStore(t)
  await store.policies.seal('r1', [rule('a')])
  await store.policies.seal('r2', [rule('b')])
  await store.log.dropOldest(store.log.head.seq)
  t.strictSame(store.policies.find('r1')?.rules, [rule('a')])
  const from = store.log.head.seq + 1
  await store.policies.seal('r1', [rule('a')])
  const [record] = store.log.records(from, 1)
  t.match(JSON.parse(Buffer.from(record?.bytes ?? '').toString()), { declarations: [{ name: 'a' }] })
})

t.test('a set whose entries were partly pruned is sealed again', async (t) => {
  const { store } = openTestStore(t)
  const rules = Array.from({ length: 20 }, (_, n) => rule(`r${n}`, 'é'.repeat(30_000)))
  await store.policies.seal('large', rules)
  const last = store.log.head.seq
  await store.log.dropOldest(last)
  await store.policies.seal('large', rules)
  const parts = store.log
    .records(last + 1, 100)
    .map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()).declarations)
  t.strictSame(parts.flat(), rules)
  const { seq } = store.log.head
  await store.policies.seal('large', rules)
  t.equal(store.log.head.seq, seq + 1, 'by revision from then on')
})

t.test('any valid rule can be sealed', async (t) => {
  const { store } = openTestStore(t)
  const declared = (pattern: string) => rule('r', `a|${pattern}`)
  for (const filler of ['\t', '\u6f22|', '\\.x|', 'é|']) {
    const fits = (count: number) => !('problems' in parseRule(declared(`${filler.repeat(count)}z`)))
    let [most, less] = [0, 65_536]
    while (most < less) {
      const middle = Math.ceil((most + less) / 2)
      if (fits(middle)) most = middle
      else less = middle - 1
    }
    t.ok(most > 30, 'a long one')
    const largest = declared(`${filler.repeat(most)}z`)
    await store.policies.seal(`r${filler}`, [largest])
    t.strictSame(store.policies.find(`r${filler}`)?.rules, [largest])
  }
})
