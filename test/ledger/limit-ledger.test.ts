// What sidecars have of limits, over two hubs on one database.

import t, { type Test } from 'tap'
import { type LimitItem, LimitLedger, type LimitRequest } from '../../src/ledger/limit-ledger.ts'
import { CALENDAR_MONTH } from '../../src/policy/limit.ts'
import { testClock } from '../store/fixture.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(120_000)

const LIMIT = { count: 'rule', subject: 'line', windowMs: 60_000, limit: 1000 }
const item = (more: Partial<LimitItem>): LimitItem => ({
  ...LIMIT,
  settles: [],
  share: 0,
  usual: 0,
  ask: null,
  slots: null,
  ...more,
})
const ask = (need: number, more: Partial<LimitItem> = {}) => item({ ask: { need, want: need }, ...more })

async function twoHubs(t: Test, options: { guaranteedShare?: number; slotTimeoutSeconds?: number } = {}) {
  const { hub, owner } = await fleetDatabase()
  const databases = [openDatabase(t, hub), openDatabase(t, hub)]
  const clock = testClock()
  const terms = { clock, guaranteedShare: 0, slotTimeoutSeconds: 600, ...options }
  const hubs = databases.map((database) => new LimitLedger({ ...terms, database }))
  let request = 0
  const send = async (hubNumber: number, sidecar: string, ...items: LimitItem[]) => {
    const answers = await hubs[hubNumber]!.exchange([{ sidecar, request: ++request, isFirst: false, items }])
    return answers.get(sidecar)!
  }
  /** The first request of a new process of a sidecar. */
  const begin = async (hubNumber: number, sidecar: string, ...items: LimitItem[]) => {
    request += 1000
    const first = { sidecar, request, isFirst: true, items }
    return (await hubs[hubNumber]!.exchange([first])).get(sidecar)!
  }
  return { hubs, send, begin, database: databases[0]!, clock, owner }
}

t.test('what one hub lends is not lent by another', async (t) => {
  const { send } = await twoHubs(t)
  const [first] = (await send(0, 'a', ask(700))).lent
  t.match(first, { size: 700, left: 300 })
  const { timeMs, lent } = await send(1, 'b', ask(400))
  t.match(lent, [{ size: 300, left: 0 }], 'what is left, of which some calls fit')
  t.ok(lent[0]!.expiresAtMs - timeMs === 1000, 'a lease lives for a sixtieth of the window')
  t.equal(lent[0]!.bucket, Math.floor(lent[0]!.expiresAtMs / 1000))
  const [refused] = (await send(0, 'c', ask(1))).lent
  t.match(refused, { size: 0 })
  t.equal(refused!.resetAtMs, (first!.bucket + 61) * 1000, 'when the first bucket leaves the window')
})

t.test('a settled bucket replaces what was lent in it', async (t) => {
  const { send } = await twoHubs(t)
  const [lease] = (await send(0, 'a', ask(1000))).lent
  const { bucket } = lease!
  t.match((await send(1, 'b', ask(10))).lent, [{ size: 0 }])
  await send(1, 'a', item({ settles: [{ bucket, amount: 100 }] }))
  t.match((await send(0, 'b', ask(900))).lent, [{ size: 900 }])
  await send(0, 'a', item({ settles: [{ bucket, amount: 400 }] }))
  t.match((await send(0, 'b', ask(1))).lent, [{ size: 0, left: 0 }], 'more than was reserved is carried')
})

t.test('a request that comes late or twice changes nothing', async (t) => {
  const { hubs, send } = await twoHubs(t)
  const [lease] = (await send(0, 'a', ask(500))).lent
  const late: LimitRequest = {
    sidecar: 'a',
    request: 2,
    isFirst: false,
    items: [item({ settles: [{ bucket: lease!.bucket, amount: 0 }] })],
  }
  await send(1, 'x')
  await send(1, 'a', item({ settles: [{ bucket: lease!.bucket, amount: 500 }] }))
  t.equal((await hubs[0]!.exchange([late])).size, 0)
  t.match((await send(1, 'b', ask(501))).lent, [{ size: 500 }])
})

t.test('a share is set aside for each holder, and comes back from one that ends', async (t) => {
  const { send } = await twoHubs(t, { guaranteedShare: 0.2 })
  t.match((await send(0, 'a', ask(1))).lent, [{ share: 100, left: 999 }])
  t.match((await send(1, 'b', ask(1000))).lent, [{ share: 50, size: 900 }])
  await send(0, 'a', item({ share: 0 }))
  t.match((await send(1, 'b', ask(1000))).lent, [{ size: 99 }])
})

t.test('a refusal says when the need fits beside the shares of the others', async (t) => {
  const { hubs, send } = await twoHubs(t, { guaranteedShare: 0.2 })
  await send(0, 'a', ask(1))
  const [lease] = (await send(1, 'b', ask(1000))).lent
  const gone = (lease!.bucket + 61) * 1000
  t.match((await send(1, 'b', ask(1))).lent, [{ size: 0, resetAtMs: gone }], 'not the share of a')
  t.match((await send(0, 'b', ask(950))).lent, [{ resetAtMs: gone }], 'never, until shares change')
  const both = ['a', 'c'].map((sidecar) => ({
    ...{ sidecar, request: 100, isFirst: false },
    items: [ask(sidecar === 'a' ? 200 : 10), ask(1, { subject: 'other' })],
  }))
  const answers = await hubs[0]!.exchange(both)
  t.match(answers.get('a')!.lent, [{ size: 99, resetAtMs: gone }, { size: 1 }])
  t.match(answers.get('c')!.lent, [{ size: 0, resetAtMs: gone }, { size: 1 }])
})

t.test('slots come back when calls end, and from a silent sidecar after a time', async (t) => {
  const { send, database } = await twoHubs(t)
  const calls = (need: number, held: number) =>
    item({ count: 'key:parallel', windowMs: 0, limit: 5, slots: { need, held, most: 5 } })
  t.match((await send(0, 'a', calls(3, 0))).lent, [{ size: 3 }])
  t.match((await send(1, 'b', calls(3, 0))).lent, [{ size: 2 }])
  t.match((await send(0, 'a', calls(0, 1))).lent, [{ size: 1 }])
  t.match((await send(1, 'b', calls(3, 2))).lent, [{ size: 4 }])
  await database.rows("update limit_slot set seen_at = now() - interval '601 seconds' where sidecar = 'b'")
  t.match((await send(0, 'a', calls(9, 1))).lent, [{ size: 5 }])
  t.match((await send(1, 'b', calls(1, 4))).lent, [{ size: 0 }], 'running calls go on, and none begins')
})

t.test('a new process of a sidecar gives back the places and shares of the last one', async (t) => {
  const { hubs, send, begin } = await twoHubs(t, { guaranteedShare: 0.5 })
  const calls = (need: number, held: number, subject = 'line') =>
    item({
      count: 'key:parallel',
      subject,
      windowMs: 0,
      limit: 5,
      share: null,
      usual: 0,
      slots: { need, held, most: 5 },
    })
  t.match((await send(0, 'a', calls(5, 0), calls(2, 0, 'other'))).lent, [{ size: 5 }, { size: 2 }])
  t.match((await send(1, 'b', calls(5, 0))).lent, [{ size: 0 }])
  await send(0, 'a', ask(1, { share: null }))
  t.match((await begin(1, 'a', calls(1, 0))).lent, [{ size: 1 }])
  const late = { sidecar: 'a', request: 900, isFirst: false, items: [calls(0, 5)] }
  t.equal((await hubs[0]!.exchange([late])).size, 0, 'the last process is not heard any more')
  t.match((await send(1, 'b', calls(5, 0))).lent, [{ size: 4 }], 'but for the new call')
  t.match((await send(1, 'b', calls(5, 0, 'other'))).lent, [{ size: 5 }])
  t.match((await send(1, 'b', ask(999, { share: null }))).lent, [{ size: 999 }], 'what was used counts')
})

t.test('after a limit of calls at a time is lowered, places come back as calls end', async (t) => {
  const { send } = await twoHubs(t)
  const calls = (limit: number, need: number, held: number) =>
    item({ count: 'key:parallel', windowMs: 0, limit, slots: { need, held, most: limit } })
  await send(0, 'a', calls(10, 6, 0))
  await send(1, 'b', calls(10, 4, 0))
  t.match((await send(0, 'a', calls(5, 1, 6))).lent, [{ size: 1, left: 0 }], 'four run elsewhere')
  t.match((await send(1, 'b', calls(5, 1, 4))).lent, [{ size: 0, left: 0 }])
  t.match((await send(1, 'b', calls(5, 1, 1))).lent, [{ size: 0 }], 'six run elsewhere')
  t.match((await send(0, 'a', calls(5, 1, 3))).lent, [{ size: 4, left: 0 }])
})

t.test('more calls than a sidecar can have been lent places for are refused', async (t) => {
  const { send } = await twoHubs(t)
  const calls = (limit: number, need: number, held: number) =>
    item({ count: 'key:parallel', windowMs: 0, limit, slots: { need, held, most: limit } })
  await send(0, 'a', calls(10, 8, 0))
  const refused = [calls(10, 0, 1e9), calls(10, 1, 11)]
  for (const one of refused) t.match(await send(1, 'b', one), { lent: [], refused: [one] })
  t.match((await send(0, 'a', calls(5, 0, 8))).lent, [{ size: 5 }], 'of a limit that was lowered')
  t.match((await send(0, 'a', calls(5, 0, 9))).refused, [{}])
  t.match((await send(0, 'a', calls(5, 0, 1))).lent, [{ size: 1 }])
  t.match((await send(1, 'b', calls(5, 9, 0))).lent, [{ size: 4 }], 'what was refused does not count')
})

t.test('a share of places is set aside, too', async (t) => {
  const { send } = await twoHubs(t, { guaranteedShare: 0.5 })
  const calls = (need: number, held: number) =>
    item({ count: 'key:parallel', windowMs: 0, limit: 10, slots: { need, held, most: 10 } })
  t.match((await send(0, 'a', calls(1, 0))).lent, [{ size: 1, share: 2 }])
  t.match((await send(1, 'b', calls(10, 0))).lent, [{ size: 8, share: 1 }])
  t.match((await send(0, 'a', calls(10, 1))).lent, [{ size: 2 }])
  t.match((await send(0, 'a', calls(0, 0))).lent, [{ size: 0, share: 0 }])
  t.match((await send(1, 'b', calls(10, 8))).lent, [{ size: 10 }], 'its end sets nothing aside')
})

t.test('requests of many sidecars on two hubs keep each limit', async (t) => {
  const { hubs } = await twoHubs(t, { guaranteedShare: 0.2 })
  const limits = Array.from({ length: 20 }, (_, n) => ({ subject: `line ${n}` }))
  const lent = new Map<string, number>()
  for (let round = 1; round <= 5; round++) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const subjects = [...limits].sort((a, b) => (a.subject + n < b.subject + n ? 1 : -1))
        const items = subjects.slice(0, 5).map((subject) => ask(60, subject))
        return hubs[n % 2]!.exchange([{ sidecar: `s${n}`, request: round, isFirst: false, items }])
      }),
    )
    for (const answer of answers)
      for (const { item: one, size } of [...answer.values()].flatMap((each) => each.lent))
        lent.set(one.subject, (lent.get(one.subject) ?? 0) + size)
  }
  t.ok(
    [...lent.values()].every((sum) => sum <= 1000),
    JSON.stringify([...lent.values()]),
  )
  t.ok([...lent.values()].every((sum) => sum >= 800))
})

t.test('buckets that no window reaches are removed by the next grant, and by a sweep', async (t) => {
  const { send, hubs, database, clock } = await twoHubs(t)
  const { lent } = await send(0, 'a', ask(1), ask(1, { windowMs: CALENDAR_MONTH }))
  await database.rows('update limit_bucket set bucket = bucket - 5000')
  clock.advance(250)
  await send(0, 'b', ask(1))
  const count = async () =>
    (await database.rows<{ n: number }>('select count(*) as n from limit_bucket'))[0]!.n
  t.equal(await count(), 2, 'that of the month, and the new one')
  t.equal(lent.length, 2)
  await database.rows("update limit_bucket set bucket = bucket - 5000 where sidecar = 'b'")
  await hubs[1]!.sweep()
  t.equal(await count(), 0)
})
