// The live tail of a hub over a database in memory: each call once, what this hub stores at once and
// what others store at the next poll, and nothing is read while nobody watches.

import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { FleetTail } from '../../src/hub/fleet-tail.ts'
import { MAXIMUM_KEPT_CALLS } from '../../src/hub/live-calls.ts'
import type { EntryByLog, WatchedCall } from '../../src/ledger/arrived-calls.ts'
import type { Shipment } from '../../src/ledger/shipped-logs.ts'
import type { LiveReaderOptions } from '../../src/server/live-tail.ts'
import { ManualTimers } from '../rules/fixture.ts'

const START_MS = Date.UTC(2026, 2, 1)
const STEP_MS = 50
const TRANSACTION_MS = 60_000

/** Logs as hubs store them; call n of a log is its entry n. */
class MemoryLogs {
  nowMs = START_MS
  isLost = false
  readings = 0
  readonly #logs = new Map<string, number[]>()

  /** @param delayMs how long ago the transaction began that ends now */
  store(log: string, count: number, delayMs = 0): number {
    const times = this.#logs.get(log) ?? []
    this.#logs.set(log, times)
    for (let entry = 0; entry < count; entry++) times.push(this.nowMs - delayMs)
    return times.length - 1
  }

  async grown(sinceMs: number | null) {
    this.#read()
    const afterMs = (sinceMs ?? this.nowMs) - TRANSACTION_MS
    const heads = [...this.#logs].filter(([, times]) => times.at(-1)! > afterMs)
    return { atMs: this.nowMs, heads: new Map(heads.map(([log, times]) => [log, times.length - 1])) }
  }

  async lastBefore(heads: EntryByLog, receivedMs: number): Promise<EntryByLog> {
    this.#read()
    return new Map(
      Array.from(heads, ([log, head]) => [
        log,
        this.#logs.get(log)!.findLastIndex((time, seq) => seq <= head && time <= receivedMs),
      ]),
    )
  }

  async calls(after: EntryByLog, heads: EntryByLog, limit: number) {
    this.#read()
    const all = [...heads].flatMap(([log, head]) =>
      this.#logs
        .get(log)!
        .slice(0, head + 1)
        .map((timeMs, seq) => ({ timeMs, log, seq }))
        .slice(after.get(log)! + 1),
    )
    const sorted = all.toSorted((a, b) => a.timeMs - b.timeMs || (a.log < b.log ? -1 : 1) || a.seq - b.seq)
    const calls = sorted.slice(-limit).map(({ log, seq }) => ({ id: `${log}${seq}` }) as WatchedCall)
    return { calls, missed: Math.max(0, all.length - limit) }
  }

  #read(): void {
    this.readings++
    if (this.isLost) throw new GatewayError('fleet_unavailable', 'lost')
  }
}

type Event = { readonly id: string; readonly event: string; readonly data: any }

/** A hub on the logs, and its readers. */
function openHub(logs: MemoryLogs) {
  const timers = new ManualTimers()
  const warnings: unknown[] = []
  const clock = { now: () => logs.nowMs, monotonic: () => logs.nowMs - START_MS }
  const logger = { warn: (...line: unknown[]) => void warnings.push(line) }
  const tail = new FleetTail({ reading: logs, clock, timers, logger })
  return {
    tail,
    warnings,
    /** Timers of readings and readers. */
    waiting: () => timers.waiting,
    store(log: string, count: number) {
      const seq = logs.store(log, count)
      tail.stored([{ log } as Shipment], [{ head: { seq, hash: '' }, added: count }])
    },
    run: (ms: number) => timers.advance(ms),
    async read(more: Partial<LiveReaderOptions> = {}) {
      const options = { afterSeq: null, isAllowed: async () => true, disconnect: () => {}, ...more }
      const reader = (await tail.read(options))[Symbol.asyncIterator]()
      const events: Event[] = []
      const over = (async () => {
        for (let next = await reader.next(); !next.done; next = await reader.next())
          events.push(...eventsOf(next.value))
      })()
      await turn()
      return { events, over, leave: () => reader.return?.() }
    },
  }
}

const turn = () => new Promise(setImmediate)

function eventsOf(chunk: string): Event[] {
  const field = (block: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
  return chunk
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => field(block, 'data') !== '')
    .map((block) => ({
      ...{ id: field(block, 'id'), event: field(block, 'event') },
      data: JSON.parse(field(block, 'data')),
    }))
}

const idsOf = (events: readonly Event[]): string[] =>
  events.filter(({ event }) => event === 'entry').map(({ data }) => data.id)

/** Lets time pass at some hubs. */
async function pass(logs: MemoryLogs, hubs: readonly ReturnType<typeof openHub>[], ms: number) {
  for (let step = 0; step < ms; step += STEP_MS) {
    logs.nowMs += STEP_MS
    for (const hub of hubs) hub.run(STEP_MS)
    for (let times = 0; times < 4; times++) await turn()
  }
}

t.test(
  'a reader gets what its hub stores at once, what others store within two seconds, each once',
  async (t) => {
    const logs = new MemoryLogs()
    logs.store('a', 3)
    const [hub, other] = [openHub(logs), openHub(logs)]
    const reader = await hub.read()
    const far = await other.read()
    hub.store('a', 2)
    await pass(logs, [hub, other], 200)
    t.strictSame(idsOf(reader.events), ['a3', 'a4'], 'own calls')
    t.strictSame(idsOf(far.events), [])
    other.store('b', 1)
    hub.store('a', 1)
    await pass(logs, [hub, other], 1300)
    t.strictSame(idsOf(reader.events), ['a3', 'a4', 'a5', 'b0'])
    t.strictSame(idsOf(far.events), ['b0', 'a3', 'a4', 'a5'])
    await pass(logs, [hub, other], 5000)
    t.equal(reader.events.length, 4)
    t.equal(far.events.length, 4)
  },
)

t.test('nothing is read while nobody watches, and all watchers share the readings', async (t) => {
  const logs = new MemoryLogs()
  const hub = openHub(logs)
  hub.store('a', 2)
  await pass(logs, [hub], 3000)
  t.equal(logs.readings, 0)
  const readers = [await hub.read(), await hub.read(), await hub.read()]
  t.equal(logs.readings, 1)
  await pass(logs, [hub], 5000)
  const busy = logs.readings
  t.ok(busy <= 20, `${busy} readings`)
  await readers[0]!.leave()
  await readers[1]!.leave()
  await pass(logs, [hub], 1200)
  t.ok(logs.readings > busy, 'one still watches')
  await readers[2]!.leave()
  await pass(logs, [hub], 100)
  const done = logs.readings
  hub.store('a', 2)
  await pass(logs, [hub], 3000)
  t.equal(logs.readings, done)
  t.equal(hub.waiting(), 0)
  const again = await hub.read()
  hub.store('a', 1)
  await pass(logs, [hub], 200)
  t.strictSame(idsOf(again.events), ['a4'], 'the next one begins anew')
})

t.test('a reading has a bounded number of calls, and a gap says how many were left out', async (t) => {
  const logs = new MemoryLogs()
  const hub = openHub(logs)
  const reader = await hub.read()
  hub.store('a', MAXIMUM_KEPT_CALLS + 44)
  await pass(logs, [hub], 400)
  t.strictSame(reader.events[0], { id: '', event: 'gap', data: { missed: 44 } })
  t.equal(idsOf(reader.events).length, MAXIMUM_KEPT_CALLS)
  t.equal(idsOf(reader.events)[0], 'a44')
})

t.test('a lost database is said, and what came meanwhile follows', async (t) => {
  const logs = new MemoryLogs()
  const hub = openHub(logs)
  const reader = await hub.read()
  logs.isLost = true
  await pass(logs, [hub], 2500)
  const since = reader.events[0]!.data.since
  t.strictSame(reader.events, [{ id: '', event: 'database', data: { available: false, since } }])
  t.equal(hub.warnings.length, 1)
  const late = await hub.read()
  await pass(logs, [hub], 1000)
  t.match(late.events, [{ event: 'database', data: { available: false, since } }], 'a reader that comes')
  logs.store('b', 2)
  logs.nowMs += 120_000
  logs.isLost = false
  await pass(logs, [hub], 1500)
  for (const { events } of [reader, late])
    t.match(events.slice(1), [
      { event: 'database', data: { available: true } },
      { data: { id: 'b0' } },
      { data: { id: 'b1' } },
    ])
  for (const one of [reader, late]) await one.leave()
  logs.isLost = true
  await t.rejects(hub.read(), { code: 'fleet_unavailable' }, 'the first reader needs the database')
  logs.isLost = false
  await hub.read()
})

t.test('a reader that resumes at any hub gets what it missed', async (t) => {
  const logs = new MemoryLogs()
  const [hub, other] = [openHub(logs), openHub(logs)]
  logs.store('a', 5)
  await pass(logs, [hub], 20_000)
  const reader = await hub.read()
  hub.store('a', 1)
  await pass(logs, [hub], 1500)
  hub.store('a', 1)
  await pass(logs, [hub], 1500)
  const afterSeq = Number(reader.events.at(-1)!.id)
  await reader.leave()
  logs.store('a', 1)
  logs.store('b', 2)
  logs.nowMs += 10_000
  const resumed = await other.read({ afterSeq })
  logs.store('b', 1)
  await pass(logs, [other], 1500)
  const ids = idsOf(resumed.events)
  t.strictSame(ids.slice(-4), ['a7', 'b0', 'b1', 'b2'])
  t.ok(ids.length <= 6, 'and only calls of a few seconds again')
  t.equal(resumed.events.length, ids.length)
  for (const [title, id] of [
    ['too long ago', START_MS - 60_000],
    ['of another log', 17],
  ] as const) {
    const begun = await openHub(logs).read({ afterSeq: id })
    t.strictSame(begun.events, [{ id: '', event: 'gap', data: { missed: null } }], title)
  }
})

t.test('a session is checked each second, and closing ends all', async (t) => {
  const logs = new MemoryLogs()
  const hub = openHub(logs)
  let allowed = true
  let checks = 0
  const ending = await hub.read({
    isAllowed: async () => {
      checks++
      return allowed
    },
  })
  const reader = await hub.read()
  for (let call = 0; call < 10; call++) {
    hub.store('a', 1)
    await pass(logs, [hub], 200)
  }
  t.equal(ending.events.length, 10)
  t.ok(checks <= 3, `${checks} checks`)
  allowed = false
  await pass(logs, [hub], 2100)
  await ending.over
  hub.tail.close()
  await reader.over
  await t.rejects(hub.read(), { code: 'draining' })
  await pass(logs, [hub], 1000)
  t.equal(hub.waiting(), 0)
})

t.test('each call is sent once or counted as left out, in random runs of hubs', async () => {
  const log = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ log, own: fc.nat(300) }),
    fc.record({ log, others: fc.nat(300), delayMs: fc.nat(4000) }),
    fc.record({ waitMs: fc.nat(3000) }),
    fc.record({ lost: fc.boolean() }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const logs = new MemoryLogs()
      logs.store('a', 2)
      const hub = openHub(logs)
      const reader = await hub.read()
      let stored = 0
      for (const one of steps) {
        if ('own' in one && one.own > 0) hub.store(one.log, one.own)
        if ('others' in one && one.others > 0) logs.store(one.log, one.others, one.delayMs)
        if ('own' in one) stored += one.own
        if ('others' in one) stored += one.others
        if ('waitMs' in one) await pass(logs, [hub], one.waitMs)
        if ('lost' in one) logs.isLost = one.lost
      }
      logs.isLost = false
      await pass(logs, [hub], 2500)
      const ids = idsOf(reader.events)
      const missed = reader.events.reduce((sum, { data }) => sum + (data.missed ?? 0), 0)
      if (new Set(ids).size !== ids.length || ids.length + missed !== stored)
        throw new Error(`${ids.length} sent, ${missed} left out, ${stored} stored: ${ids}`)
      hub.tail.close()
      await reader.over
    }),
    { numRuns: 30 },
  )
})
