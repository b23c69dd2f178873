// What /readyz says of the hubs and of earlier logs.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { FleetConfig } from '../../src/core/fleet-config.ts'
import { SidecarMemory } from '../../src/fleet/sidecar-memory.ts'
import { HubLink } from '../../src/gateway/hub-link.ts'
import type { ShippingTerms } from '../../src/store/log/shipping.ts'
import { succeedStore } from '../../src/store/opening/quarantine.ts'
import { until } from '../process/until.ts'
import { openTestStore, START_MS } from '../store/fixture.ts'

const SHIPPING: ShippingTerms = { sendsContent: true, sendsClear: false, onUnshippable: 'block' }
const CONFIG: FleetConfig = {
  // Nothing listens on port 1.
  hubs: ['http://127.0.0.1:1'],
  ca: null,
  token: { current: () => 'token' } as FleetConfig['token'],
  joinToken: null,
  maxStaleSeconds: 60,
  startWithoutHub: 'serve-file-keys',
  ship: 'entries+content',
  onUnshippable: 'block',
}

/** A link that a hub has known, over a store of its own. */
async function linkOn(t: Test, path: string) {
  const { store } = openTestStore(t, { path, shipping: SHIPPING })
  const memory = new SidecarMemory(store.fleet, systemClock, CONFIG.maxStaleSeconds)
  memory.update({ sidecar: 'one' })
  await memory.save()
  const logger = { info: () => {}, warn: () => {}, error: () => {} } as never
  const count = { inc: () => {} }
  const metrics = {
    ...{ fleetReconnects: count, fleetShipped: count, fleetContentKept: count, fleetLimits: count },
  } as never
  const limits = { onHubLoss: 'share', waitMs: 250 } as const
  return {
    link: new HubLink({ clock: systemClock, config: CONFIG, path, store, logger, metrics, limits }),
    store,
  }
}

t.test('a hub that neither the feed nor the log reaches is said once', async (t) => {
  const { link } = await linkOn(t, t.testdir())
  const reason = 'the hub cannot be reached: ECONNREFUSED'
  link.start()
  await until('both have it', () => {
    const { problem, log } = link.status()
    return problem === reason && (log as { problem: unknown }).problem === reason
  })
  const { fleet } = link.health()
  await link.finish(0, Promise.resolve())
  await link.stop()
  t.equal(String(fleet).split(reason).length - 1, 1)
})

t.test('an earlier log that no hub has comes with the next step', async (t) => {
  const path = t.testdir()
  const { store } = await linkOn(t, path)
  const ended = { log: store.shipping!.log, seq: 0, reason: 'copied', actor: 'vera' }
  await store.close()
  await succeedStore(path, ended, START_MS, randomBytes)
  const { link } = await linkOn(t, path)
  const { fleet } = link.health()
  t.match(
    fleet,
    `up to 1 entries of the earlier log ${ended.log} of this data folder were never sent to a hub`,
  )
  t.match(fleet, /audit verify.* whose data\.path is that folder/)
  t.match(fleet, /move it out of the data folder or delete it; the next start/)
})
