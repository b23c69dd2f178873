// What a hub sends of its policy: after any changes a sidecar has what a snapshot would give it,
// and no rule of other namespaces or that it does not know.

import fc from 'fast-check'
import t from 'tap'
import { FeedSession } from '../../src/fleet/feed-session.ts'
import { Freshness } from '../../src/fleet/freshness.ts'
import { KeySet } from '../../src/fleet/key-set.ts'
import { PolicySet } from '../../src/fleet/policy-set.ts'
import type { FeedEvent } from '../../src/fleet/protocol.ts'
import { FleetState } from '../../src/hub/fleet-state.ts'
import { NO_FLEET_STATE } from '../../src/keys/fleet-state.ts'
import type { FleetReading } from '../../src/ledger/fleet-reading.ts'
import type { LedgerPolicy, LedgerRule } from '../../src/ledger/policy-ledger.ts'
import { NO_FLEET_PRICES } from '../../src/policy/fleet-policy.ts'
import { RULE_FEATURES } from '../../src/policy/rule-features.ts'

const EPOCH = '0b0e7a4e-5a0c-4f6a-9d55-3d1f7c9f4a10'

const rule = (name: string, more: Partial<LedgerRule> & { per?: string } = {}): LedgerRule => {
  const { per, ...columns } = more
  return {
    id: `id of ${name}`,
    source: 'file',
    declaration: {
      ...{ name, type: 'rate_limit', pattern: '5 requests/1m', action: 'block', enabled: true },
      ...(per !== undefined && { per }),
    },
    ...{ namespaces: null, path: 'a.yaml', line: 1, createdAtMs: 1, updatedAtMs: 2 },
    ...columns,
  }
}
const policyOf = (more: Partial<LedgerPolicy> = {}): LedgerPolicy => ({
  ...{ rules: [], overrides: [], prices: NO_FLEET_PRICES },
  ...more,
})
const reading = (rev: number, policy?: LedgerPolicy): FleetReading => ({
  ...{ atMs: 0, epoch: EPOCH, rev, changed: [], orders: null, ordersMark: '', feeds: new Set() },
  ...(policy !== undefined && { policy }),
})
const override = (name: string, rev: number) => ({
  ...{ ruleId: `id of ${name}`, ruleName: name, enabled: false, reason: '', expiresAtMs: null },
  ...{ declaredHash: 'h', createdAtMs: 1, rev },
})

/** A sidecar, by the events that it gets. */
class Sidecar {
  readonly policy = new PolicySet()
  names: string[] = []
  constructor() {
    this.policy.connect({
      rules: ({ rules }) => {
        this.names = rules.map(({ declaration }) => declaration.name)
        return null
      },
    })
  }
  apply(events: readonly FeedEvent[]): this {
    for (const event of events) {
      if (event.event === 'snapshot') this.policy.replace(event.policy, event.rev)
      else if (event.event === 'rules' || event.event === 'prices' || event.event === 'override')
        this.policy.change(event)
    }
    return this
  }
}

const someRule = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    namespaces: fc.constantFrom(null, ['shop'], ['s*', 'web'], ['other']),
    per: fc.constantFrom(undefined, 'all'),
    line: fc.nat({ max: 2 }),
  })
  .map(({ name, per, ...more }) => rule(name, { ...more, ...(per !== undefined && { per }) }))
const somePolicy = fc.record({
  rules: fc.uniqueArray(someRule, { selector: ({ id }) => id, maxLength: 4 }),
  overrides: fc.uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 3 })).map(([name, rev]) => override(name, rev)),
    { selector: ({ ruleId }) => ruleId },
  ),
  prices: fc.constantFrom(
    NO_FLEET_PRICES,
    { revision: 'p', prices: 'x', unknown_price: 'block' as const },
    { revision: 'p', prices: 'x', unknown_price: 'ignore' as const },
  ),
})

t.test('events and snapshots lead to the same policy, and the hash is theirs', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.option(somePolicy, { nil: undefined }), { maxLength: 12 }), (policies) => {
      const state = new FleetState()
      state.load(reading(0, policyOf()))
      const groups = [
        state.group('shop', RULE_FEATURES),
        state.group(
          'web',
          RULE_FEATURES.filter((name) => name !== 'rule_per'),
        ),
        state.group('shop', []),
      ]
      const sidecars = groups.map((group) => new Sidecar().apply([group.snapshot(0, [])]))
      policies.forEach((policy, index) => {
        const events = state.apply(reading(index + 1, policy))
        for (const [at, group] of groups.entries()) sidecars[at]!.apply(events.get(group)!)
      })
      groups.forEach((group, at) => {
        const fresh = new Sidecar().apply([group.snapshot(state.rev, [])])
        t.equal(String(sidecars[at]!.policy.stateHash), group.stateHash)
        t.equal(String(fresh.policy.stateHash), group.stateHash)
        t.same(sidecars[at]!.names, fresh.names)
      })
    }),
    { numRuns: 100 },
  )
})

t.test('a sidecar gets the rules of its namespace that it can enforce', async (t) => {
  const state = new FleetState()
  state.load(reading(1, policyOf({ rules: [rule('all'), rule('shops', { namespaces: ['shop-*'] })] })))
  const shop = state.group('shop-1', RULE_FEATURES)
  const old = state.group(
    'web',
    RULE_FEATURES.filter((name) => name !== 'rule_per'),
  )
  const without = state.group('web', ['models'])
  t.match(shop.snapshot(1, []), { policy: { rules: { rules: [{}, { id: 'id of shops' }] } } })
  t.match(old.snapshot(1, []), { policy: { rules: { rules: [{ id: 'id of all' }] } } })
  t.notOk('policy' in without.snapshot(1, []))
  const next = policyOf({
    rules: [rule('all'), rule('shared', { per: 'all' })],
    overrides: [override('shared', 2)],
  })
  const events = state.apply(reading(2, next))
  t.match(events.get(shop), [
    { event: 'rules', rev: 2, rules: [{}, { id: 'id of shared' }] },
    { event: 'override', rev: 2, id: 'id of shared', op: 'put' },
  ])
  t.same(events.get(old), [], 'nothing of it concerns an older release')
  t.same(events.get(without), [])
  t.equal(state.missed(shop, 1), null, 'who missed a change of the policy gets a snapshot')
  t.same(state.missed(shop, 2), [])
})

t.test('an order of erasure and rules that one reading brings both count at a sidecar', async (t) => {
  const state = new FleetState()
  state.load(reading(1, policyOf()))
  const group = state.group('shop', RULE_FEATURES)
  const sidecar = new Sidecar().apply([group.snapshot(1, [])])
  const order = { rev: 2, id: 'o', selection: { key_id: 'k' }, atMs: 0 }
  const read = { ...reading(2, policyOf({ rules: [rule('one')] })), orders: [order], ordersMark: '1/2' }
  const sent = state.apply(read).get(group)!
  t.match(sent, [{ event: 'erase' }, { event: 'rules', rev: 2 }])
  const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: EPOCH, rev: 1 }, keys: [], tombstones: [] })
  const taken: number[] = []
  const session = new FeedSession({
    ...{ keys, policy: sidecar.policy, asksForAll: false, unknown: [] },
    freshness: new Freshness({ now: () => 0, monotonic: () => 0 }, 60, NO_FLEET_STATE),
    orders: { takeOrder: ({ rev }) => taken.push(rev), takeOrders() {} },
  })
  const beat: FeedEvent = { event: 'beat', t: 1, rev: 2, state_hash: group.stateHash }
  const hello: FeedEvent = { event: 'hello', epoch: EPOCH, rev: 2, sidecar: 's', name: 'n', fleet_key: 'k' }
  for (const event of [hello, ...sent, beat])
    t.equal(session.take(event, { nowMs: 0, receivedMs: 2, openedMs: 1 }).end, null)
  t.same([taken, sidecar.names, session.isFresh], [[2], ['one'], true])
  t.match(group.snapshot(2, state.orders), { orders: [{ id: 'o' }], policy: { rules: { rules: [{}] } } })
})
