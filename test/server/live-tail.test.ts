// The live tail: what each reader gets, in which order, and when its stream ends.

import fc from 'fast-check'
import t from 'tap'
import type { UsageView } from '../../src/audit/entry-fields.ts'
import {
  type LiveReaderOptions,
  LiveTail,
  MAXIMUM_LAG_CALLS,
  MAXIMUM_LIVE_READERS,
  MAXIMUM_RESUMED_CALLS,
} from '../../src/server/live-tail.ts'
import { ManualTimers } from '../rules/fixture.ts'

/** A log in memory. Call n has the sequence number 2n + 1. */
function openTail() {
  let first = 0
  let end = 0
  let nowMs = 0
  const timers = new ManualTimers()
  const tail = new LiveTail({
    calls: {
      stored: () => ({ first, end, headSeq: 2 * end }),
      positionAfter: (seq) => Math.min(end, Math.max(first, Math.ceil(seq / 2))),
      call: (position) =>
        position >= first && position < end ? ({ seq: 2 * position + 1 } as UsageView) : null,
    },
    clock: { monotonic: () => nowMs },
    timers,
  })
  return {
    tail,
    seal: (calls: number) => {
      end += calls
      tail.committed()
    },
    prune: (calls: number) => {
      first += calls
    },
    advance: (ms: number) => {
      nowMs += ms
      timers.advance(ms)
    },
  }
}

const iterate = (tail: LiveTail, options: Partial<LiveReaderOptions> = {}) =>
  tail
    .read({ afterSeq: null, isAllowed: async () => true, disconnect: () => {}, ...options })
    [Symbol.asyncIterator]()

/** The events of a chunk: sequence numbers, gaps and the rest. */
const eventsOf = (chunk: string): (number | { missed: number } | string)[] =>
  chunk
    .split('\n\n')
    .slice(0, -1)
    .map((block) => {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data === undefined) return block
      return block.startsWith('event: gap') ? JSON.parse(data) : JSON.parse(data).seq
    })

const seqs = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, n) => 2 * (first + n) + 1)

/** Lets a reader ask whether its session is open. */
const turn = () => new Promise(setImmediate)

/** Reads chunks until they hold this many events. */
async function take(reader: ReturnType<typeof iterate>, count: number) {
  const events: ReturnType<typeof eventsOf> = []
  while (events.length < count) {
    const { done, value } = await reader.next()
    if (done) throw new Error('the stream ended')
    events.push(...eventsOf(value))
  }
  return events
}

t.test('a reader gets the calls from now on, in order, each as one event', async (t) => {
  const { tail, seal, advance } = openTail()
  seal(3)
  const reader = iterate(tail)
  t.strictSame(await take(reader, 1), [': live\nid: 6'])
  const next = reader.next()
  seal(2)
  seal(1)
  advance(50)
  t.equal(
    (await next).value,
    [7, 9, 11].map((seq) => `id: ${seq}\nevent: entry\ndata: {"seq":${seq}}\n\n`).join(''),
    'those of one moment together',
  )
})

t.test('a reader that resumes gets what it missed, the newest thousand at most', async (t) => {
  const { tail, seal } = openTail()
  seal(40)
  t.strictSame(await take(iterate(tail, { afterSeq: 21 }), 30), [': live\nid: 21', ...seqs(11, 40)])
  t.strictSame(await take(iterate(tail, { afterSeq: 1000 }), 1), [': live\nid: 1000'], 'of another log')
  seal(MAXIMUM_RESUMED_CALLS)
  const reader = iterate(tail, { afterSeq: 1 })
  seal(5)
  t.strictSame(await take(reader, 2 + MAXIMUM_RESUMED_CALLS + 5), [
    ': live\nid: 1',
    { missed: 39 },
    ...seqs(40, 40 + MAXIMUM_RESUMED_CALLS + 5),
  ])
})

t.test('a slow reader loses the oldest calls, and a gap event says how many', async (t) => {
  const { tail, seal, prune } = openTail()
  const reader = iterate(tail)
  await reader.next()
  seal(MAXIMUM_LAG_CALLS)
  t.strictSame(await take(reader, 32), seqs(0, 32))
  seal(50)
  t.strictSame(await take(reader, 1 + MAXIMUM_LAG_CALLS), [
    { missed: 18 },
    ...seqs(50, MAXIMUM_LAG_CALLS + 50),
  ])
  seal(20)
  prune(MAXIMUM_LAG_CALLS + 60)
  t.strictSame(await take(reader, 11), [
    { missed: 10 },
    ...seqs(MAXIMUM_LAG_CALLS + 60, MAXIMUM_LAG_CALLS + 70),
  ])
})

t.test('every call is sent once or counted as missed, at any speed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1500),
      fc.option(fc.nat(3000)),
      fc.array(
        fc.oneof(
          fc.nat(400).map((calls) => ({ calls })),
          fc.nat(15).map((reads) => ({ reads })),
        ),
        {
          maxLength: 20,
        },
      ),
      async (before, afterSeq, steps) => {
        const { tail, seal } = openTail()
        seal(before)
        const reader = iterate(tail, { afterSeq })
        let position = afterSeq === null ? before : Math.min(before, Math.ceil(afterSeq / 2))
        let end = before
        const check = async () => {
          for (const event of eventsOf((await reader.next()).value ?? '')) {
            if (typeof event === 'object') position += event.missed
            else if (typeof event === 'number' && event !== 2 * position++ + 1)
              throw new Error(`${event} was sent for call ${position - 1}`)
          }
        }
        await check()
        for (const step of steps) {
          if ('calls' in step) {
            seal(step.calls)
            end += step.calls
          } else for (let read = 0; read < step.reads && position < end; read++) await check()
        }
        while (position < end) await check()
        if (position > end) throw new Error(`${position} of ${end} calls were sent`)
        await reader.return?.()
      },
    ),
    { numRuns: 100 },
  )
})

t.test('readers are limited, and one that leaves makes room at once', async (t) => {
  const { tail } = openTail()
  const readers = Array.from({ length: MAXIMUM_LIVE_READERS }, () => iterate(tail))
  t.throws(() => iterate(tail), { code: 'overloaded', status: 503, message: /16 readers/ })
  const [one] = readers
  await one?.next()
  const waiting = one?.next()
  await one?.return?.()
  await one?.return?.()
  t.match(await waiting, { done: true })
  iterate(tail)
  t.throws(() => iterate(tail), { code: 'overloaded' })
})

t.test('a stream ends with its session, before the next call is sent', async (t) => {
  const { tail, seal, advance } = openTail()
  let allowed = true
  const idle = iterate(tail, { isAllowed: async () => allowed })
  await idle.next()
  const waiting = idle.next()
  await turn()
  allowed = false
  advance(1000)
  t.match(await waiting, { done: true })
  const busy = iterate(tail, { isAllowed: async () => allowed })
  seal(1)
  t.match(await busy.next(), { done: true })
  for (let reader = 0; reader < MAXIMUM_LIVE_READERS; reader++) iterate(tail)
})

t.test('an idle stream has a heartbeat every 15 seconds', async (t) => {
  const { tail, advance } = openTail()
  const reader = iterate(tail)
  await reader.next()
  let settled = false
  const waiting = reader.next().finally(() => {
    settled = true
  })
  for (let second = 1; second <= 15; second++) {
    await turn()
    t.notOk(settled, `after ${second - 1} s`)
    advance(1000)
  }
  t.equal((await waiting).value, ': heartbeat\n\n')
})

t.test('closing ends every stream and refuses new ones', async (t) => {
  const { tail, seal } = openTail()
  const cut: string[] = []
  const reader = iterate(tail, { disconnect: () => cut.push('reader') })
  const slow = iterate(tail, { disconnect: () => cut.push('slow') })
  await Promise.all([reader.next(), slow.next()])
  const waiting = reader.next()
  await turn()
  tail.close()
  t.strictSame(cut, ['slow'], 'what a slow reader has not read is not waited for')
  t.match(await waiting, { done: true })
  t.match(await reader.next(), { done: true })
  t.throws(() => iterate(tail), { code: 'draining' })
  t.doesNotThrow(() => seal(1))
})

t.test('a stream whose session is being checked ends without a cut', async (t) => {
  const { tail } = openTail()
  const cut: string[] = []
  const check = Promise.withResolvers<boolean>()
  const reader = iterate(tail, { isAllowed: () => check.promise, disconnect: () => cut.push('reader') })
  const first = reader.next()
  tail.close()
  check.resolve(true)
  t.match(await first, { done: true })
  t.strictSame(cut, [])
})
