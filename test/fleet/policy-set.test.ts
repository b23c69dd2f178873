// Rules and prices of a hub at a sidecar: taken whole or not at all, kept over restarts, and the
// same state hash as the hub has.

import t from 'tap'
import { FeedSession } from '../../src/fleet/feed-session.ts'
import { Freshness } from '../../src/fleet/freshness.ts'
import { KeySet } from '../../src/fleet/key-set.ts'
import type { SentPolicy } from '../../src/fleet/policy-events.ts'
import { PolicySet, togglePolicy } from '../../src/fleet/policy-set.ts'
import type { FeedEvent } from '../../src/fleet/protocol.ts'
import { printEvent, readEvent } from '../../src/fleet/protocol.ts'
import { StateHash } from '../../src/fleet/state-hash.ts'
import { NO_FLEET_STATE } from '../../src/keys/fleet-state.ts'
import {
  type FleetOverride,
  type FleetPrices,
  type FleetRules,
  fleetRulesOf,
  type KeptPolicy,
  MAXIMUM_FLEET_RULES,
  NO_FLEET_PRICES,
} from '../../src/policy/fleet-policy.ts'

const EPOCH = '00000000-0000-4000-8000-00000000000a'
const clock = { now: () => 1_000_000, monotonic: () => 5000 }

/** A set of rules; those named `bad` cannot be in force here. */
const rules = (...names: string[]): FleetRules =>
  fleetRulesOf(
    names.map((name) => ({
      id: `id of ${name}`,
      declaration: { name, type: 'keyword_block', pattern: name, action: 'block', enabled: true } as const,
      ...{ path: null, line: null, created_at: 'a', updated_at: 'b' },
    })),
  )
const prices = (text: string): FleetPrices => ({
  revision: `of ${text}`,
  prices: text,
  unknown_price: 'block',
})
const override = (name: string, rev: number): FleetOverride => ({
  ...{ rule_id: `id of ${name}`, rule_name: name, enabled: false, reason: 'r', expires_at: null },
  ...{ declared_hash: 'h', created_at: 'c', rev },
})
const sent = (more: Partial<SentPolicy> = {}): SentPolicy => ({
  rules: rules('one'),
  overrides: [],
  prices: prices('p1'),
  ...more,
})
const hashOf = (policy: SentPolicy): string => {
  const hash = new StateHash()
  togglePolicy(hash, policy)
  return hash.toString()
}

/** What is in force: names of rules, overridden ones with a mark, and the prices. */
class InForce {
  rules = ''
  prices = ''
  readonly enforcer = {
    rules: ({ rules }: FleetRules, overrides: readonly FleetOverride[]) => {
      const names = rules.map(({ declaration }) => declaration.name)
      if (names.includes('bad')) return { rule: 'bad', path: 'pattern', message: 'is bad' }
      const off = new Set(overrides.map(({ rule_name }) => rule_name))
      this.rules = names.map((name) => (off.has(name) ? `${name}!` : name)).join()
      return null
    },
    prices: ({ prices: text }: FleetPrices) => {
      if (text === 'bad') return { rule: null, path: '', message: 'line 1 is bad' }
      this.prices = text
      return null
    },
  }
}

const rulesEvent = (rev: number, ...names: string[]): FeedEvent & { event: 'rules' } => ({
  event: 'rules',
  rev,
  ...rules(...names),
})

t.test('a set that cannot be in force leaves the one before, also over a restart', async (t) => {
  const here = new InForce()
  const set = new PolicySet()
  set.connect(here.enforcer)
  set.replace(sent(), 3)
  t.same([here.rules, here.prices, set.refusals()], ['one', 'p1', []])
  let disk: KeptPolicy = set.takeChanges()
  t.equal(set.hasChanges, false)
  set.change(rulesEvent(4, 'one', 'bad'))
  set.change({ event: 'prices', rev: 5, ...prices('bad') })
  set.change({ event: 'override', rev: 6, id: 'id of one', op: 'put', body: override('one', 6) })
  t.same([here.rules, here.prices], ['one!', 'p1'], 'an override counts for the set in force')
  const refused = [
    { rev: 6, reason: 'rule bad, pattern: is bad', rule: 'bad', path: 'pattern' },
    { rev: 6, reason: 'prices: line 1 is bad' },
  ]
  t.strictSame(set.refusals(), refused)
  const has = sent({ rules: rules('one', 'bad'), prices: prices('bad'), overrides: [override('one', 6)] })
  t.equal(String(set.stateHash), hashOf(has), 'the hash is of what the hub has')
  disk = { ...disk, ...set.takeChanges() }
  const again = new InForce()
  const restarted = new PolicySet(JSON.parse(JSON.stringify(disk)))
  restarted.connect({ rules: again.enforcer.rules })
  restarted.connect({ prices: again.enforcer.prices })
  t.same([again.rules, again.prices], ['one!', 'p1'])
  t.equal(String(restarted.stateHash), hashOf(has))
  restarted.change(rulesEvent(7, 'two'))
  t.same([again.rules, restarted.refusals().length], ['two', 1])
  t.match(restarted.takeChanges(), { rules: rules('two'), goodRules: null })
})

t.test('a hub without rules has none, and nothing is written twice', async (t) => {
  const here = new InForce()
  const set = new PolicySet()
  set.connect(here.enforcer)
  t.equal(String(set.stateHash), String(new StateHash()))
  set.replace(sent({ overrides: [override('one', 1)] }), 1)
  const rows = set.takeChanges()
  set.giveBack(rows)
  t.strictSame(set.takeChanges(), rows, 'what failed is written again')
  set.change({ event: 'override', rev: 2, id: 'id of one', op: 'del', body: null })
  t.strictSame(Object.keys(set.takeChanges()), ['overrides'])
  set.replace(undefined, 3)
  t.same([here.rules, here.prices], ['', ''])
  t.equal(String(set.stateHash), String(new StateHash()))
})

t.test('a heartbeat counts when keys and policy are those of the hub', async (t) => {
  const here = new InForce()
  const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: EPOCH, rev: 7 }, keys: [], tombstones: [] })
  const policy = new PolicySet(sent())
  policy.connect(here.enforcer)
  const freshness = new Freshness(clock, 60, NO_FLEET_STATE)
  const orders = { takeOrder() {}, takeOrders() {} }
  const session = new FeedSession({ keys, policy, freshness, orders, asksForAll: false, unknown: [] })
  const take = (event: FeedEvent) => session.take(event, { nowMs: 0, receivedMs: 5000, openedMs: 4990 })
  const beat = (rev: number, has: SentPolicy): FeedEvent => ({
    event: 'beat',
    t: 1,
    rev,
    state_hash: hashOf(has),
  })
  take({ event: 'hello', epoch: EPOCH, rev: 9, sidecar: 's', name: 'n', fleet_key: 'k' })
  t.same(take(rulesEvent(6, 'old')), { isNews: false, end: null }, 'an earlier change is ignored')
  t.same(take(rulesEvent(9, 'two')), { isNews: true, end: null })
  t.same(
    take({ event: 'prices', rev: 9, ...prices('p2') }),
    { isNews: true, end: null },
    'of the same change',
  )
  t.same([here.rules, here.prices, keys.position?.rev], ['two', 'p2', 9])
  t.match(take(beat(9, sent({ rules: rules('two'), prices: prices('p2') }))), { end: null })
  t.equal(session.isFresh, true)
  t.match(take(beat(9, sent())), { end: { needsSnapshot: true } })
  take({
    event: 'snapshot',
    rev: 10,
    keys: [],
    revoked: [],
    orders: [],
    policy: sent({ rules: rules('three') }),
  })
  t.equal(here.rules, 'three')
})

t.test('events of the policy are read as they are printed, within their limits', async (t) => {
  const read = (event: FeedEvent) => {
    const [id, name, data] = printEvent(event, EPOCH).split('\n')
    return readEvent({ data: data!.slice('data: '.length), otherLines: `${id}\n${name}` } as never)
  }
  const events: FeedEvent[] = [
    rulesEvent(4, 'one'),
    { event: 'prices', rev: 5, ...NO_FLEET_PRICES },
    { event: 'override', rev: 6, id: 'x', op: 'put', body: override('one', 6) },
    { event: 'override', rev: 6, id: 'x', op: 'del', body: null },
    { event: 'snapshot', rev: 6, keys: [], revoked: [], orders: [], policy: sent() },
  ]
  for (const event of events) t.strictSame(read(event), event)
  const many = rulesEvent(4, ...Array.from({ length: MAXIMUM_FLEET_RULES + 1 }, (_, n) => `${n}`))
  t.match(read(many), { event: 'unknown', name: 'rules' })
})
