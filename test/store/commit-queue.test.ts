// The queue of writes: frames, groups, limits, failed and stuck writes.

import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import {
  CommitQueue,
  MAXIMUM_QUEUED,
  MAXIMUM_QUEUED_BYTES,
  STALL_MS,
} from '../../src/store/environment/commit-queue.ts'
import type { Group, Shared } from '../../src/store/environment/transactions.ts'
import { Writability } from '../../src/store/environment/writability.ts'
import { eachRow, FRAME_HEADER_BYTES, type RowParts } from '../../src/store/journal/frame.ts'
import { JournalRows } from '../../src/store/journal/journal-rows.ts'
import { type StoreTables, SUB_DATABASES } from '../../src/store/tables/sub-databases.ts'
import { testClock } from './fixture.ts'

const NO_ROWS = {
  get: () => undefined,
  peek: () => undefined,
  rows: () => [],
  keys: () => [],
  size: 0,
  count: () => 0,
}

/** A journal that writes on command. */
class ManualJournal {
  /** The keys of each frame on disk. */
  readonly frames: string[][] = []
  /** Bytes for which room was asked. */
  readonly asked: number[] = []
  #waiting: { readonly keys: string[]; resolve(): void; reject(error: Error): void }[] = []

  makeRoom(bytes: number): Promise<void> {
    this.asked.push(bytes)
    return Promise.resolve()
  }

  append([first, ...rest]: RowParts): Promise<void> {
    const keys: string[] = []
    eachRow([(first as Buffer).subarray(FRAME_HEADER_BYTES), ...rest], (_table, key) =>
      keys.push(key.toString()),
    )
    return new Promise((resolve, reject) => this.#waiting.push({ keys, resolve, reject }))
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async succeed(): Promise<void> {
    await settled()
    const write = this.#waiting.shift()
    if (write !== undefined) this.frames.push(write.keys)
    write?.resolve()
    await settled()
  }

  async fail(message = 'disk full'): Promise<void> {
    await settled()
    this.#waiting.shift()?.reject(new Error(message))
    await settled()
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

interface Common extends Shared {
  torn: boolean
  readonly names: string[]
}

function setUp() {
  const journal = new ManualJournal()
  const clock = testClock()
  const events: string[] = []
  let onAvailable = () => {}
  const whenAvailable = (work: () => void) => {
    onAvailable = work
  }
  const writability = new Writability({
    onUnavailable: (cause) => events.push(`unavailable: ${(cause as Error).message}`),
    onAvailable: () => {
      events.push('available')
      onAvailable()
    },
  })
  const rows = new JournalRows(SUB_DATABASES.length)
  const tables = SUB_DATABASES.map((name, index) => [name, rows.table(index, NO_ROWS)])
  const { meta, entries } = Object.fromEntries(tables) as StoreTables
  const applying = { isApplying: false, appliedFrames: 0 }
  const queue = new CommitQueue({
    path: '',
    clock,
    rows,
    meta,
    writability,
    takeHolder: () => journal,
    journal: () => applying,
    refresh: () => {},
    fault: () => null,
    onStalled: () => events.push('stalled'),
  })
  const group: Group<Common> = {
    begin: () => ({ torn: false, names: [] }),
    finish: ({ names }) => meta.put(Buffer.from('head'), Buffer.from(names.at(-1) ?? '')),
    onDurable: ({ names }, bytes) => events.push(`durable ${names.join(' ')}: ${bytes}`),
  }
  const put = (name: string) => entries.put(Buffer.from(name), Buffer.from(name))
  /** Adds to the group. */
  const add = (name: string, bytes = 1): Promise<string> =>
    quiet(
      queue.submit(
        group,
        ({ names }) => {
          put(name)
          names.push(name)
          return name.toUpperCase()
        },
        bytes,
      ),
    )
  /** Writes outside the group. */
  const write = (name: string): Promise<void> => quiet(queue.submit(null, () => put(name), 0))
  /** Watches every second for a time. */
  const watch = (spentMs: number) => {
    for (let left = spentMs; left > 0; left -= 1000) {
      clock.advance(Math.min(1000, left))
      queue.tick()
    }
  }
  return { journal, events, queue, group, writability, whenAvailable, add, write, watch, put, applying }
}

/** A promise that is inspected later. */
function quiet<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {})
  return promise
}

/** Returns the current state of a promise. */
async function stateOf(promise: Promise<unknown>): Promise<string> {
  const pending = Symbol('pending')
  try {
    const value = await Promise.race([promise, settled().then(() => pending)])
    return value === pending ? 'pending' : `resolved ${String(value)}`
  } catch (error) {
    return `rejected ${(error as GatewayError).code ?? (error as Error).message}`
  }
}

t.test('a transaction is acknowledged when it is durable, not before', async (t) => {
  const { journal, add } = setUp()
  const written = add('a')
  t.equal(await stateOf(written), 'pending')
  await journal.succeed()
  t.equal(await stateOf(written), 'resolved A')
  t.strictSame(journal.frames, [['a', 'head']])
})

t.test('one frame is written at a time; what waits goes into the next, in order', async (t) => {
  const { journal, add, write, events } = setUp()
  const first = add('a', 10)
  await journal.succeed()
  await first
  const rest = [add('b', 5), add('c', 5), write('x'), add('d', 5)]
  await settled()
  t.equal(journal.waiting, 1)
  await journal.succeed()
  t.strictSame(await Promise.all(rest), ['B', 'C', undefined, 'D'])
  t.strictSame(journal.frames, [
    ['a', 'head'],
    ['b', 'c', 'head', 'x', 'd'],
  ])
  t.strictSame(events, ['durable a: 10', 'durable b c: 10', 'durable d: 5'])
})

t.test('a transaction that a settled one begins never starts a second parallel write', async (t) => {
  const { journal, add } = setUp()
  const chained = add('a').then(() => add('c'))
  const other = add('b')
  await journal.succeed()
  await other
  t.equal(journal.waiting, 1)
  await journal.succeed()
  t.equal(await chained, 'C')
})

t.test('a frame is limited in transactions and bytes', async (t) => {
  const { journal, add } = setUp()
  const small = Array.from({ length: 600 }, (_, index) => add(String(index)))
  await journal.succeed()
  await journal.succeed()
  await Promise.all(small)
  const large = [1, 2, 3].map((index) => add(`large ${index}`, 10 * 1024 ** 2))
  for (let left = 3; left > 0; left--) await journal.succeed()
  await Promise.all(large)
  t.strictSame(
    journal.frames.map((keys) => keys.length - 1),
    [512, 88, 1, 1, 1],
  )
  t.ok(Math.max(...journal.asked) <= 16 * 1024 ** 2)
})

t.test('a full queue refuses at once with retry-after', async (t) => {
  const { journal, add } = setUp()
  const taken = Array.from({ length: MAXIMUM_QUEUED }, (_, index) => add(String(index)))
  const refused = add('late')
  t.equal(await stateOf(refused), 'rejected audit_unavailable')
  t.match(await refused.catch((error: unknown) => error), { status: 503, headers: { 'retry-after': '1' } })
  await settled()
  while (journal.waiting > 0) await journal.succeed()
  await Promise.all(taken)
})

t.test('a queue with too many bytes refuses, but an empty one accepts any transaction', async (t) => {
  const { journal, add } = setUp()
  const huge = add('huge', MAXIMUM_QUEUED_BYTES + 1)
  t.equal(await stateOf(add('more')), 'rejected audit_unavailable')
  await journal.succeed()
  t.equal(await huge, 'HUGE')
})

t.test('a transaction that throws before its first write fails alone', async (t) => {
  const { journal, add, queue, group, put } = setUp()
  const good = add('a')
  const refuse = () => {
    throw new Error('not like this')
  }
  const bad = [quiet(queue.submit(group, refuse, 1)), quiet(queue.submit(null, refuse, 0))]
  const undone = quiet(
    queue.submit(
      null,
      () => {
        put('undone')
        throw new Error('not at all')
      },
      0,
    ),
  )
  const also = add('b')
  await journal.succeed()
  t.strictSame(await Promise.all([good, ...bad, undone, also].map(stateOf)), [
    'resolved A',
    'rejected not like this',
    'rejected not like this',
    'rejected not at all',
    'resolved B',
  ])
  t.strictSame(journal.frames, [['a', 'head', 'b']])
})

t.test('a transaction of a group that throws between its writes fails the whole frame', async (t) => {
  const { journal, add, queue, group, put, writability } = setUp()
  const good = add('a')
  const bad = quiet(
    queue.submit(
      group,
      (common) => {
        put('half')
        common.torn = true
        throw new Error('page lost')
      },
      1,
    ),
  )
  await settled()
  t.strictSame(
    [await stateOf(good), await stateOf(bad)],
    ['rejected audit_unavailable', 'rejected audit_unavailable'],
  )
  t.equal(journal.waiting, 0)
  t.strictSame([writability.has('failed'), writability.takesChanges], [true, false])
})

t.test('after a failed write a group is refused until a probe succeeds', async (t) => {
  const { journal, add, write, events, queue, writability } = setUp()
  const inFrame = [add('a'), write('x')]
  await journal.fail()
  t.strictSame(await Promise.all(inFrame.map(stateOf)), ['rejected audit_unavailable', 'rejected disk full'])
  t.equal(writability.takesChanges, false)
  t.equal(await stateOf(add('b')), 'rejected audit_unavailable')
  queue.tick()
  queue.tick()
  await settled()
  t.equal(journal.waiting, 1, 'one probe at a time')
  await journal.fail()
  t.equal(writability.takesChanges, false)
  const other = write('y')
  await journal.succeed()
  await other
  t.equal(writability.takesChanges, false, 'a small write is no probe')
  queue.tick()
  await journal.succeed()
  t.equal(writability.takesChanges, false)
  await journal.succeed()
  t.equal(writability.takesChanges, true)
  const after = add('c')
  await journal.succeed()
  t.equal(await after, 'C')
  t.strictSame(journal.frames, [['y'], ['probe'], ['probe'], ['c', 'head']])
  t.strictSame(events, ['unavailable: disk full', 'available', 'durable c: 1'])
})

t.test('a transaction begun on recovery is written without further ones', async (t) => {
  const { journal, add, queue, whenAvailable } = setUp()
  const late: Promise<string>[] = []
  whenAvailable(() => late.push(add('b')))
  const lost = add('a')
  await journal.fail()
  await t.rejects(lost)
  queue.tick()
  await journal.succeed()
  await journal.succeed()
  t.equal(late.length, 1)
  t.equal(journal.waiting, 1)
  const closed = queue.close()
  t.equal(await stateOf(closed), 'pending')
  await journal.succeed()
  t.equal(await stateOf(late[0] as Promise<string>), 'resolved B')
  t.equal(await stateOf(closed), 'resolved undefined')
})

t.test('transactions behind a failed frame are rejected too', async (t) => {
  const { journal, add } = setUp()
  const taken = Array.from({ length: 513 }, (_, index) => add(String(index)))
  await journal.fail()
  t.equal(await stateOf(taken[512] as Promise<string>), 'rejected audit_unavailable')
  t.equal(journal.waiting, 0)
  for (const promise of taken) await t.rejects(promise, GatewayError)
})

t.test('a stuck write is reported once, and what waits for it is rejected', async (t) => {
  const { add, write, events, queue, writability, watch } = setUp()
  const hanging = add('a')
  await settled()
  const behind = write('x')
  watch(STALL_MS - 1)
  t.equal(await stateOf(hanging), 'pending')
  watch(1)
  watch(1000)
  t.equal(await stateOf(hanging), 'rejected audit_unavailable')
  t.match(await stateOf(behind), /pending for 10000 ms/)
  t.equal(await stateOf(write('y')), 'rejected audit_unavailable')
  t.strictSame([writability.takesChanges, writability.has('stalled')], [false, true])
  t.strictSame(events, ['stalled'])
  await queue.close()
})

t.test('a late write makes the log available again', async (t) => {
  const { journal, add, events, queue, writability, watch } = setUp()
  const slow = add('a')
  await settled()
  watch(STALL_MS)
  t.equal(await stateOf(slow), 'rejected audit_unavailable')
  queue.tick()
  t.equal(writability.takesChanges, false, 'until the write settles')
  await journal.succeed()
  t.equal(writability.takesChanges, true)
  t.strictSame(events, ['stalled', 'available', 'durable a: 1'])
})

t.test('a stuck probe is a stall', async (t) => {
  const { journal, add, events, queue, watch } = setUp()
  const lost = add('a')
  await journal.fail()
  await t.rejects(lost)
  queue.tick()
  await settled()
  watch(STALL_MS)
  t.equal(events.at(-1), 'stalled')
})

t.test('a database that takes no frames for ten seconds is a stall until it does', async (t) => {
  const { journal, add, events, applying, writability, watch } = setUp()
  applying.isApplying = true
  watch(STALL_MS)
  t.equal(writability.takesChanges, false)
  t.equal(await stateOf(add('a')), 'rejected audit_unavailable')
  applying.appliedFrames = 1
  watch(1000)
  t.equal(writability.takesChanges, true)
  const after = add('b')
  await journal.succeed()
  t.equal(await after, 'B')
  t.strictSame(events, ['stalled', 'available', 'durable b: 1'])
})

t.test('closing waits for accepted transactions and refuses others', async (t) => {
  const { journal, add, write, queue } = setUp()
  const taken = add('a')
  const closed = queue.close()
  t.equal(await stateOf(add('b')), 'rejected audit_unavailable')
  t.equal(await stateOf(write('x')), 'rejected audit_unavailable')
  t.equal(await stateOf(closed), 'pending')
  await journal.succeed()
  t.equal(await stateOf(closed), 'resolved undefined')
  t.equal(await taken, 'A')
})
