// Sums of usage over a fleet: a report of the hub is the sum of the reports of its sidecars, also of
// entries that were shipped late, sent again, packed, erased or counted again.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { checkArrival } from '../../src/audit/arrival.ts'
import type { RequestDraft } from '../../src/audit/entry.ts'
import { hashUser } from '../../src/audit/user-hash.ts'
import { atOnce } from '../../src/core/steps.ts'
import { admitCombinations, forgetRuns, KnownCombinations } from '../../src/ledger/combination-rows.ts'
import { Database } from '../../src/ledger/database.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import { Erasures } from '../../src/ledger/erasures.ts'
import { type Shipment, ShippedLogs } from '../../src/ledger/shipped-logs.ts'
import { countCalls } from '../../src/ledger/usage-counting.ts'
import { rebuildSums } from '../../src/ledger/usage-rebuild.ts'
import { FleetUsage } from '../../src/ledger/usage-sums.ts'
import { packHours, UsageUpkeep } from '../../src/ledger/usage-upkeep.ts'
import { type Combination, combinationHash } from '../../src/usage/combination.ts'
import { hourOf } from '../../src/usage/periods.ts'
import type { GroupField } from '../../src/usage/report-query.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { DAY_MS, id, openTestStore, START_MS, type TestClock, testClock } from '../store/fixture.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(240_000)

const KEY = Buffer.alloc(32, 7)
const HOUR_MS = 3_600_000
const SIDECARS = ['shop/web-1', 'shop/web-2', 'shop/web-3']

/** A hub with its tables. */
async function openHub(t: Test, clock: TestClock) {
  const { hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const parts = partsOn(database, clock)
  await parts.log.open()
  return {
    database,
    logs: new ShippedLogs(database, 'clear'),
    sums: new FleetUsage(database, clock),
    erasures: new Erasures({ ...parts, random: (length) => randomBytes(length) }),
    async rebuild() {
      const own = new Database({ url: hub, connections: 1, onError: () => {} })
      try {
        return await rebuildSums(own, 'clear', () => {})
      } finally {
        await own.close()
      }
    },
  }
}
type Hub = Awaited<ReturnType<typeof openHub>>

let calls = 0

/** A gateway that ships what it seals. */
class Sidecar {
  readonly #hub: Hub
  readonly #name: string
  readonly #test: ReturnType<typeof openTestStore>
  readonly #users = new Map<number, { hash: Buffer; clear: string }>()
  #shipped = 0

  constructor(t: Test, hub: Hub, clock: TestClock, { name, path }: { name: string; path: string }) {
    this.#hub = hub
    this.#name = name
    this.#test = openTestStore(t, {
      ...{ path, testClock: clock, seed: `${name}${calls}`, userKey: KEY },
    })
  }

  get rollups() {
    return this.#test.store.rollups
  }

  async seal({ user, ...call }: AnyCall): Promise<void> {
    const { log } = this.#test.store
    const named = user === null ? null : { hash: hashUser(KEY, user), clear: user }
    const { seq } = await log.append(
      requestDraft({
        ...{ id: id(++calls), key_id: call.key, key_name: `name of ${call.key}`, model: call.model },
        ...{ blocked: call.blocked, cost: call.cost, total_tokens: call.tokens, prompt_tokens: call.tokens },
        ...(user !== null && { has_user: true as const }),
        ...(call.team !== null && { labels: { team: call.team } }),
        ...(call.upstream !== null && { upstream: call.upstream }),
        ...(call.run !== null && { run: call.run }),
        ...(call.tool !== null && {
          tools: [{ called: call.called, defined: true, name: call.tool, refused: 0 }],
        }),
      }),
      { content: '{}', user: named },
    )
    if (named !== null) this.#users.set(seq, named)
  }

  /** Sends what the hub does not have, and something again. */
  async ship(): Promise<void> {
    const from = Math.max(0, this.#shipped - 2)
    const records = this.#test.store.log.records(from, 100_000)
    const entries = records.map(({ hash, bytes }, index) => ({
      ...{ bytes: Buffer.from(bytes), hash, content: null, before: null },
      user: this.#users.get(from + index) ?? null,
    }))
    const { log } = this.#test.store.log.head
    const checked = atOnce(checkArrival(log, entries, COLUMN_READER))
    if ('reason' in checked) throw new Error(checked.reason)
    const shipment = {
      log,
      sidecar: `id of ${this.#name}`,
      name: this.#name,
      entries: checked,
      beginning: null,
    }
    const [result] = await this.#hub.logs.store([shipment])
    if (!('head' in result!)) throw new Error(JSON.stringify(result))
    this.#shipped = result.head.seq + 1
  }

  async erase(user: string, order: number): Promise<void> {
    await this.#test.store.log.erase({ user }, 'vera', order)
    const hash = hashUser(KEY, user)
    for (const [seq, one] of this.#users) if (one.hash.equals(hash)) this.#users.delete(seq)
  }

  close(): Promise<void> {
    return this.#test.store.close()
  }
}

const orNull = <Value>(one: fc.Arbitrary<Value>) => fc.option(one, { nil: null })
const anyCall = fc.record({
  key: fc.constantFrom('k1', 'k2'),
  model: fc.constantFrom('m1', 'm2\0', ''),
  upstream: orNull(fc.constant('u1')),
  team: orNull(fc.constantFrom('search', 'shop')),
  user: fc.constantFrom('ann', 'ben', null),
  blocked: fc.boolean(),
  tokens: fc.nat(1_000_000),
  cost: orNull(fc.nat(1e9)),
  tool: fc.constantFrom('bash', 'web_search', null),
  called: fc.nat(2),
  run: fc.constantFrom('r1', 'r2', null),
})
type AnyCall = typeof anyCall extends fc.Arbitrary<infer One> ? One : never

const sidecarNumber = fc.nat(SIDECARS.length - 1)
const anyStep = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(sidecarNumber, anyCall).map(([at, call]) => ({ kind: 'call' as const, at, call })),
  },
  { weight: 3, arbitrary: sidecarNumber.map((at) => ({ kind: 'ship' as const, at })) },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 40 }).map((hours) => ({ kind: 'wait' as const, hours })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'pack' as const }) },
  { weight: 1, arbitrary: fc.constantFrom('ann', 'ben').map((user) => ({ kind: 'erase' as const, user })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'rebuild' as const }) },
)

const GROUPINGS: readonly (readonly GroupField[])[] = [
  ['key'],
  ['model', 'user'],
  ['day', 'key', 'label:team'],
  ['month'],
  ['upstream', 'user', 'day'],
  ['model', 'tool', 'day'],
  ['key', 'month', 'run'],
]

type Row = Readonly<Record<string, unknown>>
const NANO = 1e9

/** Adds rows by their grouping fields. PostgreSQL stores no NUL. */
function merged(rows: readonly Row[], groupBy: readonly GroupField[]): Map<string, Record<string, number>> {
  const sums = new Map<string, Record<string, number>>()
  for (const row of rows) {
    const name = JSON.stringify(groupBy.map((field) => row[field])).replaceAll('\\u0000', '\ufffd')
    const sum = sums.get(name) ?? {}
    sums.set(name, sum)
    for (const [field, value] of Object.entries(row)) {
      if (['key_name', 'cost_per_request'].includes(field) || groupBy.includes(field as GroupField)) continue
      const number = field === 'cost' ? Math.round(Number(value ?? 0) * NANO) : Number(value)
      sum[field] = (sum[field] ?? 0) + number
    }
  }
  return sums
}

t.test('a report of the hub is the sum of the reports of its sidecars', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { maxLength: 40 }),
      fc.nat(60),
      fc.nat(60),
      async (steps, from, length) => {
        const clock = testClock()
        const hub = await openHub(t, clock)
        const folder = t.testdir({ shop: {} })
        const sidecars = SIDECARS.map(
          (name) => new Sidecar(t, hub, clock, { name, path: join(folder, name) }),
        )
        const shipAll = async () => {
          for (const sidecar of sidecars) await sidecar.ship()
        }
        const perform = async (step: typeof anyStep extends fc.Arbitrary<infer One> ? One : never) => {
          if (step.kind === 'call') await sidecars[step.at]!.seal(step.call)
          else if (step.kind === 'ship') await sidecars[step.at]!.ship()
          else if (step.kind === 'wait') clock.advance(step.hours * HOUR_MS)
          else if (step.kind === 'pack')
            await hub.database.transaction((queries) => packHours(queries, hourOf(clock.now())))
          else if (step.kind === 'rebuild') await hub.rebuild()
          else {
            const { order } = await hub.erasures.order(
              { user: hashUser(KEY, step.user).toString('hex') },
              'vera',
            )
            for (const sidecar of sidecars) await sidecar.erase(step.user, order)
            await shipAll()
          }
        }
        for (const step of steps) await perform(step)
        await shipAll()
        const since = START_MS + from * HOUR_MS
        const periods = [
          { sinceMs: 0, untilMs: clock.now() + 3 * DAY_MS },
          { sinceMs: since, untilMs: since + (length + 1) * HOUR_MS },
        ]
        const compare = async (when: string) => {
          for (const period of periods) {
            for (const [index, groupBy] of GROUPINGS.entries()) {
              const query = { groupBy, keyId: index % 2 === 0 ? null : 'k1', ...period }
              const own = await Promise.all(sidecars.map(({ rollups }) => rollups.report(query)))
              const { rows, total, ...rest } = await hub.sums.report(query)
              const expected = merged(
                own.flatMap((one) => one.rows),
                groupBy,
              )
              t.strictSame(merged(rows, groupBy), expected, `${groupBy.join()} ${when}`)
              t.strictSame(
                merged([total], []),
                merged(
                  own.map((one) => one.total),
                  [],
                ),
                `total ${when}`,
              )
              t.match(rest, { since: own[0]!.since, until: own[0]!.until, complete: own[0]!.complete })
            }
            const bySidecar = await hub.sums.report({ groupBy: ['sidecar'], ...period })
            const totals = await Promise.all(
              sidecars.map(async ({ rollups }, index) => ({
                sidecar: SIDECARS[index],
                ...(await rollups.report({ groupBy: ['key'], ...period })).total,
              })),
            )
            t.strictSame(
              bySidecar.rows.toSorted((a, b) => (String(a['sidecar']) < String(b['sidecar']) ? -1 : 1)),
              totals.filter((one) => (one as Row)['requests'] !== 0),
              `each sidecar ${when}`,
            )
          }
          for (const days of [2, 30]) {
            const own = await Promise.all(sidecars.map(({ rollups }) => rollups.series(days)))
            const { requests, tokens, times } = await hub.sums.series(days)
            const sum = (of: (one: (typeof own)[0]) => (number | null)[]) =>
              times.map((_, at) => own.reduce((all, one) => all + of(one)[at]!, 0))
            t.strictSame([requests, tokens], [sum((one) => one.requests), sum((one) => one.tokens)], when)
          }
        }
        await compare('as counted')
        await new UsageUpkeep(hub.database, clock).run()
        await compare('packed')
        await hub.rebuild()
        await compare('counted again')
        const [named] = await hub.database.rows<{ rows: number }>(
          'select count(*) as rows from usage_hour where generation <> all ((select visible from rollup_state)::integer[])',
        )
        t.equal(named?.rows, 0, 'former sums are removed')
        for (const sidecar of sidecars) await sidecar.close()
        if (!t.passing()) throw new Error('differs')
      },
    ),
    { numRuns: 4 },
  )
})

/** A shipment of calls that are sealed a millisecond apart. */
function shipmentOf(n: number, drafts: readonly RequestDraft[], startMs = START_MS): Shipment {
  const log = new SidecarLog(id(n), startMs)
  for (const draft of drafts) log.add(draft)
  const entries = atOnce(checkArrival(log.log, log.entries, COLUMN_READER))
  if ('reason' in entries) throw new Error(entries.reason)
  return { log: log.log, sidecar: `s${n}`, name: `shop/${n}`, entries, beginning: null }
}

t.test('transactions at a time count in rows of their own, and neither waits', async (t) => {
  const { database, logs, sums } = await openHub(t, testClock())
  // A day knows all three sidecars: what is new on it is admitted by one transaction at a time.
  await logs.store([1, 2, 3].map((n) => shipmentOf(n, [requestDraft()])))
  const arrived = Promise.withResolvers<void>()
  const proceed = Promise.withResolvers<void>()
  const slow = database.transaction(async (queries) => {
    const { call } = shipmentOf(2, [requestDraft()]).entries[1]!.kept
    await countCalls(
      queries,
      [{ call: call!, sealedMs: START_MS, user: null, sidecar: 'shop/2' }],
      new KnownCombinations(),
    )
    arrived.resolve()
    await proceed.promise
  })
  await arrived.promise
  await logs.store([shipmentOf(3, [requestDraft(), requestDraft()])])
  const { total } = await sums.report({ groupBy: ['key'], sinceMs: START_MS, untilMs: START_MS + 1 })
  t.equal(total['requests'], 4, 'that of the other is not committed')
  proceed.resolve()
  await slow
  const later = await sums.report({ groupBy: ['sidecar'], sinceMs: START_MS, untilMs: START_MS + 1 })
  t.equal(later.total['requests'], 5)
  t.strictSame(later.rows.map(({ sidecar, requests }) => [sidecar, requests]).toSorted(), [
    ['shop/1', 1],
    ['shop/2', 2],
    ['shop/3', 2],
  ])
})

t.test('a series of the last hours has the minutes in which calls were sealed', async (t) => {
  const nowMs = Date.now()
  const { logs, sums } = await openHub(t, testClock(nowMs))
  const minute = Math.floor(nowMs / 60_000)
  const draft = requestDraft({ total_tokens: 5, blocked: true })
  await logs.store([shipmentOf(1, [draft, draft], (minute - 3) * 60_000)])
  await logs.store([
    shipmentOf(2, [draft], (minute - 1) * 60_000),
    shipmentOf(3, [draft], nowMs - 2 * DAY_MS),
  ])
  const series = await sums.read(nowMs, 60)
  const last = (column: readonly (number | null)[]) => column.slice(-4)
  t.strictSame(last(series.requests), [2, 0, 1, 0])
  t.strictSame(last(series.tokens), [10, 0, 5, 0])
  t.strictSame(last(series.blocked), [2, 0, 1, 0])
  t.strictSame([series.step_seconds, series.times.at(-1)], [60, minute * 60])
})

t.test('beyond the bounds of a day, values and then models count together', async (t) => {
  const { database } = await openHub(t, testClock())
  const known = new KnownCombinations()
  const bounds = { users: 2, tools: 1, combinations: { call: 4, tool: 4, run: 1, sidecar: 2 }, runs: 2 }
  const plain: Combination = {
    ...{ api: 'chat', key: 'k', key_name: 'n', labels: {}, model: 'm', upstream: null },
    ...{ user: null, user_hash: null },
  }
  const named = (user: string) => ({ user, user_hash: hashUser(KEY, user).toString('hex') })
  const admit = async (...changes: readonly Partial<Combination>[]) => {
    const wanted = changes.map((change) => {
      const combination = { ...plain, ...change }
      const hash = combinationHash(combination)
      return {
        ...{ day: 20_000, name: hash.toString('hex'), hash, hasUser: combination.user !== null },
        combination: () => combination,
      }
    })
    const ids = await database.transaction((queries) => admitCombinations(queries, wanted, known, bounds))
    const rows = await database.rows<{ id: number; values: (string | null)[] }>(
      'select id, array[model, "user", tool, run, sidecar] as values from combination',
    )
    return ids.map((id) => rows.find((row) => row.id === id)!.values.filter((value) => value !== null))
  }
  t.strictSame(await admit(named('ann'), named('ben'), named('eve')), [
    ['m', 'ann'],
    ['m', 'ben'],
    ['m', 'other'],
  ])
  t.strictSame(await admit({ model: 'm2' }, { model: 'm3' }, { model: 'm4', ...named('ann') }), [
    ['m2'],
    ['other'],
    ['other', 'other'],
  ])
  t.strictSame(await admit({ tool: 'bash' }, { tool: 'web' }, { run: 'r1' }, { run: 'r2' }), [
    ['m', 'bash'],
    ['m', 'other'],
    ['m', 'r1'],
    ['other', 'other'],
  ])
  t.strictSame(await admit({ sidecar: 'a' }, { sidecar: 'b' }, { sidecar: 'c' }, { sidecar: 'a' }), [
    ['m', 'a'],
    ['m', 'b'],
    ['other', 'other'],
    ['m', 'a'],
  ])
  t.strictSame(await admit({ model: 'm2' }, named('ann'), named('eve')), [
    ['m2'],
    ['m', 'ann'],
    ['m', 'other'],
  ])
  await database.rows(
    "insert into combination (hash, last_day, part, key_id, key_name, model, api, labels, run)     select null, n, 'run', 'k', 'n', 'm', 'chat', '{}', 'r' || n from generate_series(10, 13) n",
  )
  await database.transaction((queries) => forgetRuns(queries, 100, 2))
  const kept = await database.rows<{ run: string }>(
    "select run from combination where run <> 'other' order by run",
  )
  t.strictSame(
    kept.map(({ run }) => run),
    ['r1', 'r13'],
  )
})

t.test('an erased user is named in no table of sums', async (t) => {
  const { database, logs, sums, erasures } = await openHub(t, testClock())
  const log = new SidecarLog(id(1)).add(requestDraft(), null, 'ann')
  const entries = atOnce(checkArrival(log.log, log.entries, COLUMN_READER))
  if ('reason' in entries) throw new Error(entries.reason)
  await logs.store([{ log: log.log, sidecar: 's', name: 'shop/1', entries, beginning: null }])
  const hash = Buffer.alloc(16, 1)
  t.ok(await erasures.knowsUser(hash))
  await erasures.order({ user: hash.toString('hex') }, 'vera')
  t.notOk(await erasures.knowsUser(hash))
  const found = await database.rows(
    `select from combination where "user" = 'ann' or user_hash = $1
     union all select from rollup_member where position($1::bytea in name) > 0`,
    [hash],
  )
  t.equal(found.length, 0)
  const { rows } = await sums.report({ groupBy: ['user'], sinceMs: START_MS - DAY_MS, untilMs: START_MS })
  t.strictSame(
    rows.map(({ user }) => user),
    ['erased'],
  )
})
