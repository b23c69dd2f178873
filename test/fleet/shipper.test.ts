// The shipper: a real store, and a small hub over real sockets that loses, refuses and doubts.

import t, { type Test } from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { systemClock } from '../../src/core/clock.ts'
import { systemTimers } from '../../src/core/timers.ts'
import { type ShippedNote, Shipper } from '../../src/fleet/shipper.ts'
import { requestDraft } from '../audit/drafts.ts'
import { until } from '../process/until.ts'
import { id, openTestStore, type TestStore } from '../store/fixture.ts'
import { conflict, startHub, type TestHub } from './fixture.ts'

t.setTimeout(60_000)

const AUTHORIZATION = { authorization: 'Bearer a-token' }
const NEVER = new Promise<void>(() => {})
const LONG_MS = 10_000
const TERMS = { sendsContent: true, sendsClear: false, onUnshippable: 'block' as const }
const MIB = 1024 ** 2
/** Waits are shorter by this factor. */
const FASTER = 10
const fasterTimers: typeof systemTimers = {
  set: (callback, delayMs) => systemTimers.set(callback, delayMs / FASTER),
  clear: (timer) => systemTimers.clear(timer),
}

interface Options {
  readonly opened?: TestStore
  readonly terms?: Partial<typeof TERMS>
  readonly authorize?: () => Promise<Record<string, string> | null>
}

function ship(t: Test, hub: Pick<TestHub, 'url'>, options: Options = {}) {
  const opened = options.opened ?? openTestStore(t, { shipping: { ...TERMS, ...options.terms } })
  const { store } = opened
  const log = store.shipping!
  const seen = { problems: [] as string[], ends: [] as string[], leftOut: [] as number[] }
  const cosigned: ShippedNote[] = []
  let shipped = 0
  const shipper = new Shipper({
    log,
    ca: null,
    isReadable: () => store.log.writable,
    hub: () => hub.url,
    authorize: options.authorize ?? (async () => AUTHORIZATION),
    clock: systemClock,
    timers: fasterTimers,
    random: () => 0.5,
    events: {
      shipped: (entries) => {
        shipped += entries
      },
      troubled: (_, problem) => seen.problems.push(problem),
      ended: (problem) => seen.ends.push(problem),
      leftOut: (seq) => seen.leftOut.push(seq),
      cosigned: async (checkpoint) => {
        cosigned.push(checkpoint)
      },
    },
  })
  shipper.start()
  t.teardown(() => shipper.stop(0, NEVER))
  const allShipped = () => until('all entries are shipped', () => log.unshipped === 0)
  const ended = () => until('the log ends', () => shipper.end !== null)
  const call = async (n: number, content?: string) => {
    await store.log.append(requestDraft({ id: id(n) }), content === undefined ? {} : { content })
    shipper.sealed()
  }
  return { ...seen, opened, store, log, shipper, cosigned, allShipped, ended, call, shipped: () => shipped }
}

t.test('entries arrive in order with exchange and end user, and count as shipped once', async (t) => {
  const hub = await startHub(t)
  const { store, log, shipper, allShipped, shipped } = ship(t, hub)
  const user = { hash: hashUser(Buffer.alloc(32), 'ada'), clear: 'ada' }
  const content = JSON.stringify({ request: 'hello', response: null })
  await store.log.append(requestDraft({ id: id(1), has_user: true }), { content, user })
  await store.log.append(requestDraft({ id: id(2) }))
  shipper.sealed()
  await allShipped()
  t.same(hub.logs.seqs, [0, 1, 2])
  const [, first, second] = hub.logs.entries
  t.same(first!.user, { hash: user.hash, clear: null })
  t.equal(first!.content!.subarray(32).toString(), content)
  t.same([second!.user, second!.content, second!.before], [null, null, null])
  t.equal(first!.hash, log.hashOf(1))
  t.equal(log.next, 3)
  t.equal(shipped(), 3)
  t.ok(hub.logs.authorizations.every((one) => one === AUTHORIZATION.authorization))
})

t.test('`ship: entries` sends no exchange, and clear text goes only where it is kept', async (t) => {
  const hub = await startHub(t)
  const { store, shipper, allShipped } = ship(t, hub, { terms: { sendsContent: false, sendsClear: true } })
  const user = { hash: hashUser(Buffer.alloc(32), 'ada'), clear: 'ada' }
  await store.log.append(requestDraft({ id: id(1), has_user: true }), { content: '{}', user })
  shipper.sealed()
  await allShipped()
  t.same(hub.logs.entries[1]!.user, user)
  t.equal(hub.logs.entries[1]!.content, null)
})

t.test('entries gather for one request, and a long log goes in full ones', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = () => ({ status: 503 })
  const { call, allShipped } = ship(t, hub)
  await Promise.all(Array.from({ length: 450 }, (_, n) => call(n + 1)))
  hub.logs.before = () => null
  await allShipped()
  t.equal(hub.logs.entries.length, 451)
  t.ok(hub.logs.requests.length <= 6, `${hub.logs.requests}`)
  t.ok(Math.max(...hub.logs.requests) <= 200)
})

t.test('an answer that is lost is asked for again, and nothing arrives twice', async (t) => {
  const hub = await startHub(t)
  let losses = 2
  hub.logs.after = () => (losses-- > 0 ? 'lost' : null)
  const { call, allShipped, log, shipped } = ship(t, hub)
  await call(1)
  await allShipped()
  t.same(hub.logs.seqs, [0, 1])
  t.ok(hub.logs.duplicates >= 2)
  t.same([log.next, shipped()], [2, 2])
})

t.test('a hub that refuses is asked again after the time that it says', async (t) => {
  const hub = await startHub(t)
  const askedMs: number[] = []
  hub.logs.before = () => {
    askedMs.push(performance.now())
    return askedMs.length === 1 ? { status: 429, headers: { 'retry-after': '1' } } : null
  }
  const { allShipped, problems } = ship(t, hub)
  await allShipped()
  t.ok(askedMs[1]! - askedMs[0]! >= 990 / FASTER)
  t.same(problems, [], 'once is no problem')
})

t.test('a refused credential is a problem until it is taken', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = () => ({ status: 401, body: '{"error":{"message":"expired"}}' })
  const { shipper, problems, allShipped } = ship(t, hub)
  await until('the problem is said', () => problems.length > 0)
  t.match(problems, [/401.*expired/])
  t.match(shipper.problem, /expired/)
  hub.logs.before = () => null
  await allShipped()
  t.equal(shipper.problem, null)
  t.equal(problems.length, 1)
})

t.test('nothing is sent before a hub knows the sidecar', async (t) => {
  const hub = await startHub(t)
  let isKnown = false
  const authorize = async () => (isKnown ? AUTHORIZATION : null)
  const { allShipped, problems } = ship(t, hub, { authorize })
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(hub.logs.authorizations.length, 0)
  isKnown = true
  await allShipped()
  t.same(problems, [])
})

t.test('a hub that hangs delays no entry', async (t) => {
  const hub = await startHub(t)
  hub.isFrozen = true
  const { call, log, shipper } = ship(t, hub)
  const beganMs = performance.now()
  for (let n = 1; n <= 20; n++) await call(n)
  t.ok(performance.now() - beganMs < 2000)
  t.equal(log.unshipped, 21)
  await shipper.stop(50, NEVER)
})

for (const [name, answer, expected] of [
  ['another entry', conflict({ code: 'fork', seq: 1 }), /another entry 1/],
  [
    'an entry that is not sealed here',
    conflict({ want: 9 }),
    /up to 8, and here it ends at 0: an older copy/,
  ],
  ['another hash', { status: 200, body: JSON.stringify({ seq: 0, hash: 'sha256:0' }) }, /another hash/],
  ['more than there is here', { status: 200, body: '{"seq":7,"hash":""}' }, /an older copy/],
] as const)
  t.test(`a hub that has ${name} ends the log, loudly and for good`, async (t) => {
    const hub = await startHub(t)
    hub.logs.before = () => answer
    const { call, ended, ends, log, shipper } = ship(t, hub)
    await ended()
    t.match(ends, [expected])
    t.equal(ends.length, 1)
    t.equal(shipper.problem, ends[0])
    hub.logs.before = () => null
    await call(1)
    await shipper.stop(LONG_MS, NEVER)
    t.equal(log.next, 0)
    t.equal(hub.logs.entries.length, 0)
  })

t.test('a hub that lost entries gets them again', async (t) => {
  const hub = await startHub(t)
  const { call, allShipped, log, ends } = ship(t, hub)
  await call(1)
  await call(2)
  await allShipped()
  hub.logs.entries.splice(1)
  await call(3)
  await until('the hub has all', () => hub.logs.entries.length === 4)
  await allShipped()
  hub.logs.entries.splice(0)
  await call(4)
  await until('the hub has all again', () => hub.logs.entries.length === 5)
  t.same(hub.logs.seqs, [0, 1, 2, 3, 4])
  await allShipped()
  t.same([log.next, ends.length], [5, 0])
})

t.test('a restart continues where the hub is, also when that was not written', async (t) => {
  const hub = await startHub(t)
  const first = ship(t, hub)
  await first.call(1)
  await first.allShipped()
  await first.shipper.stop(LONG_MS, NEVER)
  const opened = await first.opened.reopen()
  t.equal(opened.store.shipping!.next, 2)
  await opened.store.log.append(requestDraft({ id: id(2) }))
  const second = ship(t, hub, { opened })
  await second.allShipped()
  t.same(hub.logs.seqs, [0, 1, 2])
  t.equal(hub.logs.duplicates, 0)
  opened.store.shipping!.moveTo(0)
  await second.call(3)
  await second.allShipped()
  t.same(hub.logs.seqs, [0, 1, 2, 3])
  t.equal(hub.logs.duplicates, 3)
})

t.test('a stop sends the rest with the last checkpoint', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = () => ({ status: 503 })
  const { call, shipper, log, cosigned } = ship(t, hub)
  await Promise.all(Array.from({ length: 300 }, (_, n) => call(n + 1)))
  shipper.signed({ size: 301, note: noteOver(301) })
  hub.logs.before = () => null
  await shipper.stop(LONG_MS, NEVER)
  t.equal(log.unshipped, 0)
  t.equal(hub.logs.entries.length, 301)
  t.same(cosigned, [{ size: 301, note: hub.logs.cosign(noteOver(301)) }])
})

t.test('a stop waits for a hub that is away until its time is over, or somebody hurries', async (t) => {
  const away = { url: 'http://127.0.0.1:1' }
  const { shipper } = ship(t, away)
  const beganMs = performance.now()
  await shipper.stop(200, NEVER)
  const tookMs = performance.now() - beganMs
  t.ok(tookMs >= 190 && tookMs < 2000)
  const hurried = ship(t, away)
  await hurried.shipper.stop(60_000, Promise.resolve())
  t.ok(performance.now() - beganMs < 4000)
  t.equal(hurried.log.unshipped, 1)
})

t.test('a stop does not wait for a hub that refuses', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = () => ({ status: 403 })
  const { shipper, problems } = ship(t, hub)
  await until('the hub refused', () => problems.length > 0)
  await shipper.stop(60_000, NEVER)
  t.pass('long before the time')
})

t.test('a long exchange travels alone, and one that is too long stays', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = () => ({ status: 503 })
  const { call, allShipped, leftOut } = ship(t, hub)
  const content = (bytes: number) => JSON.stringify({ request: 'x'.repeat(bytes), response: null })
  await call(1, content(10))
  await call(2, content(2 * MIB))
  await call(3, content(18 * MIB))
  await call(4, content(10))
  hub.logs.before = () => null
  await allShipped()
  t.same(hub.logs.seqs, [0, 1, 2, 3, 4])
  t.equal(hub.logs.entries[2]!.content!.length, 32 + content(2 * MIB).length)
  t.equal(hub.logs.entries[3]!.content, null)
  t.same(leftOut, [3])
  t.same(hub.logs.requests, [2, 1, 2])
})

const noteOver = (size: number, root = 'AAAA') =>
  `sidegate/a-log\n${size}\n${root}\n\n\u2014 sidegate/a-log AAAA\n`

t.test('a checkpoint goes after its entries, and comes back cosigned', async (t) => {
  const hub = await startHub(t)
  const { call, shipper, cosigned } = ship(t, hub)
  shipper.signed({ size: 3, note: noteOver(3) })
  await call(1)
  await until('two entries arrived', () => hub.logs.entries.length === 2)
  t.equal(hub.logs.notes.length, 0)
  await call(2)
  await until('it is cosigned', () => cosigned.length > 0)
  t.same(cosigned, [{ size: 3, note: hub.logs.cosign(noteOver(3)) }])
  t.same(hub.logs.notes, [noteOver(3)])
})

t.test('a checkpoint that comes back as another one is refused, and the next is sent', async (t) => {
  const hub = await startHub(t)
  const { shipper, cosigned } = ship(t, hub)
  const { cosign } = hub.logs
  for (const wrong of [noteOver(1, 'BBBB'), 'no note', noteOver(1).replace(' AAAA\n', ' BBBB\n')]) {
    hub.logs.cosign = () => wrong
    const asked = hub.logs.notes.length
    shipper.signed({ size: 1, note: noteOver(1) })
    await until('it was sent', () => hub.logs.notes.length > asked)
  }
  hub.logs.cosign = cosign
  shipper.signed({ size: 1, note: noteOver(1) })
  await until('it is cosigned', () => cosigned.length > 0)
  t.equal(cosigned.length, 1)
})

t.test('entries do not wait for a checkpoint that the hub refuses', async (t) => {
  const hub = await startHub(t)
  hub.logs.before = (path) => (path.endsWith('/checkpoint') ? { status: 404 } : null)
  const { call, shipper, problems, allShipped, log } = ship(t, hub)
  shipper.signed({ size: 1, note: noteOver(1) })
  await until('the refusal is said', () => problems.length > 0)
  for (let n = 1; n <= 3; n++) {
    await call(n)
    await allShipped()
  }
  t.match(shipper.problem, /404/)
  t.equal(problems.length, 1)
  await shipper.stop(60_000, NEVER)
  t.equal(log.unshipped, 0)
})

t.test('a checkpoint that does not fit the log of the hub ends the log', async (t) => {
  const hub = await startHub(t)
  const { shipper, ended, ends, allShipped } = ship(t, hub)
  await allShipped()
  hub.logs.before = () => conflict({ code: 'fork', seq: 0 })
  shipper.signed({ size: 1, note: noteOver(1) })
  await ended()
  t.match(ends, [/another entry 0/])
})
