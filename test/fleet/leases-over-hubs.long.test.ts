// Limits over two hubs on one PostgreSQL that crashes, with answers that are lost and a sidecar that
// dies: in real time, no window holds more than its limit.

import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { systemTimers as timers } from '../../src/core/timers.ts'
import { LeaseClient, REQUESTS_OF_A_PROCESS } from '../../src/fleet/lease-client.ts'
import { LeaseDesk } from '../../src/hub/lease-desk.ts'
import { Database } from '../../src/ledger/database.ts'
import { LimitLedger } from '../../src/ledger/limit-ledger.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { HUB_ROLE } from '../../src/ledger/schema.ts'
import { PostgresServer, run } from '../ledger/postgres-server.ts'
import { freePort } from './running-fleet.ts'

t.setTimeout(120_000)

const LIMIT = 2000
const WINDOW_MS = 1000
const RUN_MS = 4000
/** Part of the limit that is used. Leases of this window live 50 ms, and a busy machine is slower. */
const USED = 0.05
const LIMIT_TERMS = { unit: 'tokens', amount: LIMIT, windowMs: WINDOW_MS } as const
const RULE = { count: 'rule', subject: 'line' }
const random = seededRandom(57)
function hubOn(url: string) {
  const database = new Database({ url, connections: 4, onError: () => {} })
  const ledger = new LimitLedger({
    ...{ database, clock: systemClock, guaranteedShare: 0.2, slotTimeoutSeconds: 600 },
  })
  const desk = new LeaseDesk({
    ...{ ledger, timers, monotonic: () => systemClock.monotonic(), maxParallelOf: () => null },
    rules: { declared: () => ({ rule: { enabled: true }, limit: LIMIT_TERMS }) },
    ...{ answered: () => {}, refused: () => {}, log: () => {} },
  })
  return { desk, database }
}

/** A sidecar that asks one of the hubs, and loses some answers. */
function sidecarOf(hubs: readonly LeaseDesk[], name: string, firstRequest = 1): LeaseClient {
  return new LeaseClient({
    async post(request) {
      const hub = hubs[Math.floor(random() * hubs.length)]!
      const answer = await hub.answer({ id: name, namespace: 'default' }, request)
      if (random() < 0.1) throw new Error('lost')
      return JSON.stringify(answer)
    },
    isConnected: () => true,
    ...{ clock: systemClock, timers, firstRequest },
    ...{ onHubLoss: 'share', waitMs: 250, asked: () => {}, alone: () => {} },
  })
}

/** Ends a process and begins the next one, which knows what calls used and neither lease nor share. */
function restarted(before: LeaseClient, after: LeaseClient): LeaseClient {
  const { leased } = before.limit(RULE, WINDOW_MS)!
  leased.giveBack()
  leased.forgetReports([])
  leased.share = 0
  const state = after.limit(RULE, WINDOW_MS)!
  for (const { bucket, amount } of leased.report(systemClock.monotonic()))
    state.restore(LIMIT, bucket, amount)
  after.touched(state)
  return after
}

/** A call within the limit, which decided at some time between these two. */
interface TimedUse {
  readonly fromMs: number
  readonly untilMs: number
  readonly amount: number
}

/** The most that was certainly used within a window, wherever it begins. */
const mostInWindow = (uses: readonly TimedUse[]): number =>
  uses.reduce((most, { fromMs: start }) => {
    const within = uses.filter(({ fromMs, untilMs }) => fromMs >= start && untilMs < start + WINDOW_MS)
    return Math.max(
      most,
      within.reduce((sum, { amount }) => sum + amount, 0),
    )
  }, 0)

t.test('no window holds more than its limit, and some of it is used', async (t) => {
  // The timers of the parts do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const server = new PostgresServer({ isDurable: true, port: await freePort() })
  await server.start()
  t.teardown(() => server.stop())
  await run(server.urlOf('postgres', server.owner), 'create database fleet')
  await migrate(server.urlOf('fleet', server.owner))
  await server.admit(HUB_ROLE)
  const hubs = [1, 2].map(() => hubOn(server.urlOf('fleet', HUB_ROLE)))
  t.teardown(() => Promise.all(hubs.map(({ database }) => database.close())))
  const desks = hubs.map(({ desk }) => desk)
  const sidecars = Array.from({ length: 6 }, (_, n) => sidecarOf(desks, `sidecar ${n}`))
  const uses: TimedUse[] = []
  const sources = new Map<string, number>()
  const call = async (sidecar: LeaseClient) => {
    const need = 1 + Math.floor(random() * 20)
    const state = sidecar.limit(RULE, WINDOW_MS)!
    const fromMs = systemClock.monotonic()
    const { isWithin, source } = await sidecar.cover(state, { limit: LIMIT, need, expected: 0 })
    sources.set(source, (sources.get(source) ?? 0) + 1)
    if (isWithin) uses.push({ fromMs, untilMs: systemClock.monotonic(), amount: need })
  }
  const startedMs = systemClock.monotonic()
  let crash: Promise<void> | null = null
  while (systemClock.monotonic() - startedMs < RUN_MS) {
    for (const sidecar of sidecars) for (let n = 0; n < 3; n++) void call(sidecar)
    if (crash === null && systemClock.monotonic() - startedMs > RUN_MS / 2) {
      sidecars[0] = restarted(sidecars[0]!, sidecarOf(desks, 'sidecar 0', REQUESTS_OF_A_PROCESS))
      crash = server.kill().then(() => server.start())
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await crash
  const most = mostInWindow(uses)
  const perSecond = uses.reduce((sum, { amount }) => sum + amount, 0) / (RUN_MS / 1000)
  t.comment(`most ${most}, used ${Math.round(perSecond)} a second, ${JSON.stringify([...sources])}`)
  t.ok(most <= LIMIT, `${most} in a window`)
  t.ok(perSecond >= LIMIT * USED, `${Math.round(perSecond)} a second`)
  await Promise.all(sidecars.map((sidecar) => sidecar.stop()))
})
