// What the answer to a change says of the sidecars: never more than they acknowledged.

import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { Confirmation, type OpenFeed } from '../../src/hub/confirmation.ts'
import type { SidecarRow } from '../../src/ledger/sidecar-ledger.ts'

const NOW = 1_800_000_000_000

const row = (id: string, more: Partial<SidecarRow> = {}): SidecarRow => ({
  ...{
    id,
    cluster: null,
    namespace: 'shop',
    name: `shop/${id}`,
    version: '1',
    features: [],
    state: 'connected',
  },
  ...{ max_stale_seconds: 60, acked_rev: 0, contact_at: NOW - 1000, is_open: true, hub: 'other' },
  ...{ is_registered: true, nack: [], conflicts: [], ...more },
})

interface World {
  rows: SidecarRow[]
  feeds: Map<string, OpenFeed>
  isDown?: boolean
}

/** A hub in a world that a test changes. */
function hubIn(world: World) {
  let nowMs = 0
  const read = async <T>(value: T): Promise<T> => {
    if (world.isDown === true) throw new GatewayError('fleet_unavailable', 'away')
    return value
  }
  const confirmation = new Confirmation({
    catchUp: () => read(undefined),
    rev: () => 5,
    rows: () => read([...world.rows]),
    feed: (id) => world.feeds.get(id),
    // Each look at the clock takes a tenth of the time to wait.
    timers: {
      set: (callback) => setImmediate(callback),
      clear: (timer) => clearImmediate(timer as NodeJS.Immediate),
    },
    clock: { now: () => NOW, monotonic: () => (nowMs += 100) },
  })
  return confirmation
}

t.test('sidecars that have the change are counted, and the others named', async (t) => {
  const world: World = {
    rows: [
      row('has it', { acked_rev: 5 }),
      row('silent', { state: 'silent', is_open: false, hub: null, max_stale_seconds: 3600 }),
      row('at a dead hub', { is_open: false }),
      row('over', { is_registered: false }),
      row('here'),
    ],
    feeds: new Map([['here', { ackedRev: 6, isSilent: false }]]),
  }
  t.match(await hubIn(world).confirm(), {
    registered: 4,
    acked: 2,
    unconfirmed: 2,
    unconfirmed_names: ['shop/silent', 'shop/at a dead hub'],
    in_force_everywhere_by: new Date(NOW - 1000 + 3_600_000).toISOString(),
  })
})

t.test('without sidecars a change is in force at once', async (t) => {
  t.same(await hubIn({ rows: [], feeds: new Map() }).confirm(), {
    ...{ registered: 0, acked: 0, unconfirmed: 0, unconfirmed_names: [] },
    in_force_everywhere_by: new Date(NOW).toISOString(),
  })
})

t.test('an acknowledgement here, or at another hub, ends the wait', async (t) => {
  const feed = { ackedRev: 4, isSilent: false }
  const world: World = { rows: [row('here'), row('there')], feeds: new Map([['here', feed]]) }
  const confirmation = hubIn(world)
  const answer = confirmation.confirm()
  setImmediate(() => {
    feed.ackedRev = 5
    confirmation.acknowledged()
    world.rows = [row('here'), row('there', { acked_rev: 5 })]
    confirmation.remoteAcknowledged()
  })
  t.match(await answer, { registered: 2, acked: 2, unconfirmed: 0 })
})

t.test('when the database goes away, nothing is claimed', async (t) => {
  const world: World = { rows: [], feeds: new Map(), isDown: true }
  const confirmation = hubIn(world)
  const unknown = { code: 'fleet_unavailable', message: /^The change is made/ }
  await t.rejects(confirmation.confirm(), unknown, 'a hub that has just started knows no sidecar')
  world.isDown = false
  t.match(await confirmation.confirm(), { registered: 0, unconfirmed: 0 })
  world.rows = [row('one')]
  world.isDown = true
  await t.rejects(confirmation.confirm(), unknown, 'one may have connected since')
})

t.test('at most twenty names are given', async (t) => {
  const rows = Array.from({ length: 30 }, (_, n) => row(`${n}`, { state: 'silent', is_open: false }))
  const { unconfirmed, unconfirmed_names } = await hubIn({ rows, feeds: new Map() }).confirm()
  t.same([unconfirmed, (unconfirmed_names as string[]).length], [30, 20])
})

t.test('for any rows and feeds, no sidecar counts that did not acknowledge', async (t) => {
  const sidecar = fc.record({
    acked: fc.nat({ max: 8 }),
    here: fc.option(fc.record({ ackedRev: fc.nat({ max: 8 }), isSilent: fc.boolean() })),
    is_open: fc.boolean(),
    is_registered: fc.boolean(),
    state: fc.constantFrom('connected' as const, 'silent' as const),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(sidecar, { maxLength: 6 }), async (sidecars) => {
      const rows = sidecars.map(({ acked, here: _, ...more }, n) =>
        row(`${n}`, { acked_rev: acked, ...more }),
      )
      const feeds = new Map(
        sidecars.flatMap(({ here }, n) => (here === null ? [] : [[`${n}`, here] as const])),
      )
      const answer = await hubIn({ rows, feeds }).confirm()
      const counted = sidecars.filter(({ is_registered }) => is_registered)
      const have = counted.filter(({ acked, here }) => (here?.ackedRev ?? acked) >= 5)
      t.same([answer['registered'], answer['acked']], [counted.length, have.length])
      t.equal(answer['unconfirmed'], counted.length - have.length)
    }),
    { numRuns: 60 },
  )
})
