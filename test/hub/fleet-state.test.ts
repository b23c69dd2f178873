// What a hub sends of its keys: after any changes a sidecar has what a snapshot would give it, and
// never a key of others.

import fc from 'fast-check'
import t from 'tap'
import type { FeedEvent } from '../../src/fleet/protocol.ts'
import { StateHash } from '../../src/fleet/state-hash.ts'
import { FleetState } from '../../src/hub/fleet-state.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import type { FleetReading, LedgerKey } from '../../src/ledger/fleet-reading.ts'

const EPOCH = '0b0e7a4e-5a0c-4f6a-9d55-3d1f7c9f4a10'

const ledgerKey = (
  id: number,
  rev: number,
  more: Partial<LedgerKey> & { terms?: FleetKey['terms'] } = {},
): LedgerKey => {
  const { terms = {}, namespaces = null, revokedAt = null } = more
  const own = { id: `key ${id}`, sha256: String(id).padStart(64, '0'), name: `key ${id}`, prefix: null }
  const key = { ...own, line: own.id, replaces: null, terms, created_at: '2026-11-01T00:00:00.000Z', rev }
  return { key, namespaces, revokedAt }
}
const reading = (rev: number, changed: LedgerKey[], epoch = EPOCH): FleetReading => ({
  atMs: 0,
  epoch,
  rev,
  changed,
  orders: null,
  ordersMark: '',
  feeds: new Set(),
})

/** The keys of a sidecar, by the events that it gets. */
class Applied {
  readonly keys = new Map<string, FleetKey>()
  apply(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.event === 'snapshot') {
        this.keys.clear()
        for (const key of event.keys) this.keys.set(key.id, key)
      } else if (event.event === 'key' && event.op === 'put') this.keys.set(event.id, event.body)
      else if (event.event === 'key') this.keys.delete(event.id)
    }
  }
  get hash(): string {
    const hash = new StateHash()
    for (const key of this.keys.values()) hash.toggle(key)
    return hash.toString()
  }
}

const change = fc.record({
  id: fc.nat({ max: 5 }),
  namespaces: fc.constantFrom(null, ['shop'], ['s*'], ['web'], []),
  terms: fc.constantFrom<FleetKey['terms']>({}, { models: ['a'] }, { max_parallel: 1 }),
  revokedAt: fc.constantFrom(null, null, '2026-11-02T00:00:00.000Z'),
})

t.test('events and snapshots lead to the same keys, and the hash is theirs', async (t) => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), fc.nat({ max: 30 }), (changes, joinsAt) => {
      const state = new FleetState()
      state.load(reading(0, []))
      const groups = [
        state.group('shop', ['models', 'max_parallel']),
        state.group('web', ['models']),
        state.group('other', []),
      ]
      const sidecars = groups.map(() => new Applied())
      const late = new Applied()
      const revoked = new Set<number>()
      changes.forEach(({ id, ...more }, index) => {
        if (revoked.has(id)) {
          if (index === joinsAt) late.apply([groups[0]!.snapshot(state.rev, [])])
          return
        }
        if (more.revokedAt !== null) revoked.add(id)
        const events = state.apply(reading(index + 1, [ledgerKey(id, index + 1, more)]))
        groups.forEach((group, at) => {
          sidecars[at]!.apply(events.get(group)!)
        })
        if (index === joinsAt) late.apply([groups[0]!.snapshot(state.rev, [])])
        else if (index > joinsAt) late.apply(events.get(groups[0]!)!)
      })
      groups.forEach((group, at) => {
        const fresh = new Applied()
        fresh.apply([group.snapshot(state.rev, [])])
        t.same([...sidecars[at]!.keys].sort(), [...fresh.keys].sort())
        t.equal(sidecars[at]!.hash, group.stateHash)
        const resumed = new Applied()
        resumed.apply(state.missed(group, 0)!)
        t.equal(resumed.hash, group.stateHash, 'a sidecar that resumes')
      })
      if (joinsAt < changes.length && late.keys.size > 0) t.equal(late.hash, groups[0]!.stateHash)
    }),
    { numRuns: 100 },
  )
})

t.test(
  'a sidecar gets keys of its namespace whose terms it enforces, and learns nothing of others',
  async (t) => {
    const state = new FleetState()
    state.load(reading(1, [ledgerKey(1, 1, { namespaces: ['shop'] })]))
    const shop = state.group('shop', ['models'])
    const web = state.group('web', ['models'])
    t.match(shop.snapshot(1, []), { keys: [{ id: 'key 1' }], revoked: [] })
    t.match(web.snapshot(1, []), { keys: { length: 0 }, revoked: { length: 0 } })
    const moved = state.apply(reading(2, [ledgerKey(1, 2, { namespaces: ['web'] })]))
    t.same(moved.get(shop), [{ event: 'key', rev: 2, id: 'key 1', op: 'del', body: null }])
    t.match(moved.get(web), [{ op: 'put', body: { id: 'key 1' } }])
    t.match(state.apply(reading(3, [ledgerKey(2, 3, { terms: { capture: 'full' } })])).get(web), {
      length: 0,
    })
    const over = state.apply(
      reading(4, [ledgerKey(1, 4, { namespaces: ['web'], revokedAt: '2026-11-02T00:00:00.000Z' })]),
    )
    t.match(over.get(web), [{ op: 'del', body: { revoked_at: '2026-11-02T00:00:00.000Z' } }])
    t.match(over.get(shop), { length: 0 })
    t.match(web.snapshot(4, []), { keys: { length: 0 }, revoked: ['key 1'] })
    t.match(shop.snapshot(4, []), { keys: { length: 0 }, revoked: { length: 0 } })
  },
)

t.test('whoever missed too much, or has another history, gets a snapshot', async (t) => {
  const state = new FleetState()
  state.load(reading(10, []))
  const group = state.group('shop', [])
  t.equal(state.missed(group, 9), null, 'before the start of this hub')
  t.same(state.missed(group, 10), [])
  t.equal(state.missed(group, 11), null, 'ahead')
  for (let rev = 11; rev <= 5011; rev++) state.apply(reading(rev, [ledgerKey(rev % 7, rev)]))
  t.equal(state.missed(group, 10), null)
  t.equal(state.missed(group, 11)?.length, 5000)
  t.ok(state.isOther(reading(5010, [])))
  t.ok(state.isOther(reading(6000, [], 'another')))
  t.notOk(state.isOther(reading(5011, [])))
})
