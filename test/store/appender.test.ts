// Batches of jobs: order, limits, failed and stuck commits.

import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import {
  Appender,
  type Commits,
  type Job,
  MAXIMUM_QUEUED_BYTES,
  MAXIMUM_QUEUED_JOBS,
  STALL_MS,
  type Transaction,
} from '../../src/store/log/appender.ts'
import { Writability } from '../../src/store/log/writability.ts'
import { testClock } from './fixture.ts'

interface Context extends Transaction {
  torn: boolean
  readonly written: string[]
}

/** A database that commits on command. */
class ManualCommits implements Commits<Context> {
  readonly durable: string[] = []
  readonly batches: number[] = []
  probes = 0
  #waiting: {
    work: ((context: Context) => void) | null
    resolve: () => void
    reject: (error: Error) => void
  }[] = []

  commit(work: (context: Context) => void): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ work, resolve, reject }))
  }

  probe(): Promise<void> {
    this.probes++
    return new Promise((resolve, reject) => this.#waiting.push({ work: null, resolve, reject }))
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async succeed(): Promise<void> {
    const commit = this.#waiting.shift()
    const context: Context = { torn: false, written: [] }
    try {
      commit?.work?.(context)
      this.durable.push(...context.written)
      if (commit?.work !== null) this.batches.push(context.written.length)
      commit?.resolve()
    } catch (error) {
      commit?.reject(error as Error)
    }
    await settled()
  }

  async fail(message = 'disk full'): Promise<void> {
    const commit = this.#waiting.shift()
    commit?.work?.({ torn: false, written: [] })
    commit?.reject(new Error(message))
    await settled()
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const commits = new ManualCommits()
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
  const appender = new Appender(commits, clock, writability, {
    onStalled: () => events.push('stalled'),
    onCommit: (jobs, bytes) => events.push(`commit ${jobs} ${bytes}`),
  })
  return { commits, clock, events, appender, writability, whenAvailable }
}

const job = (name: string, bytes = 1): Job<Context, string> => ({
  bytes,
  run: (context) => {
    context.written.push(name)
    return name.toUpperCase()
  },
})

/** Submits a job whose promise is inspected later. */
function submit(appender: Appender<Context>, submitted: Job<Context, string>): Promise<string> {
  const promise = appender.submit(submitted)
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

t.test('a job is acknowledged when it is durable, not before', async (t) => {
  const { commits, appender } = setUp()
  const written = submit(appender, job('a'))
  t.equal(await stateOf(written), 'pending')
  await commits.succeed()
  t.equal(await stateOf(written), 'resolved A')
  t.strictSame(commits.durable, ['a'])
})

t.test('one commit runs at a time; later jobs go into the next, in order', async (t) => {
  const { commits, appender, events } = setUp()
  const first = submit(appender, job('a', 10))
  await commits.succeed()
  await first
  const rest = ['b', 'c', 'd'].map((name) => submit(appender, job(name, 5)))
  t.equal(commits.waiting, 1)
  await commits.succeed()
  t.strictSame(await Promise.all(rest), ['B', 'C', 'D'])
  t.strictSame(commits.durable, ['a', 'b', 'c', 'd'])
  t.strictSame(events, ['commit 1 10', 'commit 3 15'])
})

t.test('a job submitted by a waiter never starts a second parallel commit', async (t) => {
  const { commits, appender } = setUp()
  const chained = submit(appender, job('a')).then(() => submit(appender, job('c')))
  const other = submit(appender, job('b'))
  await commits.succeed()
  await other
  t.equal(commits.waiting, 1)
  await commits.succeed()
  t.equal(await chained, 'C')
})

t.test('a batch is limited in jobs and bytes', async (t) => {
  const { commits, appender } = setUp()
  const small = Array.from({ length: 600 }, (_, index) => submit(appender, job(String(index))))
  await commits.succeed()
  await commits.succeed()
  await Promise.all(small)
  const large = [1, 2, 3].map((index) => submit(appender, job(`large ${index}`, 10 * 1024 ** 2)))
  for (let left = 3; left > 0; left--) await commits.succeed()
  await Promise.all(large)
  t.strictSame(commits.batches, [512, 88, 1, 1, 1])
})

t.test('a full queue refuses at once with retry-after', async (t) => {
  const { commits, appender } = setUp()
  const taken = Array.from({ length: MAXIMUM_QUEUED_JOBS }, (_, index) =>
    submit(appender, job(String(index))),
  )
  const refused = submit(appender, job('late'))
  t.equal(await stateOf(refused), 'rejected audit_unavailable')
  t.match(await refused.catch((error: unknown) => error), { status: 503, headers: { 'retry-after': '1' } })
  t.equal(appender.pending, MAXIMUM_QUEUED_JOBS)
  while (commits.waiting > 0) await commits.succeed()
  await Promise.all(taken)
  t.equal(appender.pending, 0)
})

t.test('a queue with too many bytes refuses, but an empty one accepts any job', async (t) => {
  const { commits, appender } = setUp()
  const huge = submit(appender, job('huge', MAXIMUM_QUEUED_BYTES + 1))
  t.equal(await stateOf(submit(appender, job('more'))), 'rejected audit_unavailable')
  await commits.succeed()
  t.equal(await huge, 'HUGE')
})

t.test('a job that throws before its first write fails alone', async (t) => {
  const { commits, appender, events } = setUp()
  const good = submit(appender, job('a'))
  const bad = submit(appender, {
    bytes: 1,
    run: () => {
      throw new Error('not like this')
    },
  })
  const also = submit(appender, job('b'))
  await commits.succeed()
  t.strictSame(
    [await stateOf(good), await stateOf(bad), await stateOf(also)],
    ['resolved A', 'rejected not like this', 'resolved B'],
  )
  t.strictSame(commits.durable, ['a', 'b'])
  t.strictSame(events, ['commit 3 3'])
})

t.test('a job that throws between its writes fails the whole batch', async (t) => {
  const { commits, appender, writability } = setUp()
  const good = submit(appender, job('a'))
  const bad = submit(appender, {
    bytes: 1,
    run: (context) => {
      context.torn = true
      throw new Error('page lost')
    },
  })
  await commits.succeed()
  t.strictSame(
    [await stateOf(good), await stateOf(bad)],
    ['rejected audit_unavailable', 'rejected audit_unavailable'],
  )
  t.strictSame(commits.durable, [])
  t.equal(writability.takesChanges, false)
})

t.test('after a failed commit jobs are refused until a probe succeeds', async (t) => {
  const { commits, appender, events, writability } = setUp()
  const inBatch = submit(appender, job('a'))
  await commits.fail()
  t.equal(await stateOf(inBatch), 'rejected audit_unavailable')
  t.equal(writability.takesChanges, false)
  t.equal(await stateOf(submit(appender, job('b'))), 'rejected audit_unavailable')
  appender.tick(0)
  appender.tick(0)
  t.equal(commits.probes, 1, 'one probe at a time')
  await commits.fail()
  t.equal(writability.takesChanges, false)
  appender.tick(0)
  t.equal(commits.probes, 2)
  await commits.succeed()
  t.equal(writability.takesChanges, true)
  const after = submit(appender, job('c'))
  await commits.succeed()
  t.equal(await after, 'C')
  t.strictSame(commits.durable, ['c'])
  t.strictSame(events, ['unavailable: disk full', 'available', 'commit 1 1'])
})

t.test('a job submitted on recovery is committed without further jobs', async (t) => {
  const { commits, appender, whenAvailable } = setUp()
  const late: Promise<string>[] = []
  whenAvailable(() => late.push(submit(appender, job('b'))))
  const lost = submit(appender, job('a'))
  await commits.fail()
  await t.rejects(lost)
  appender.tick(0)
  await commits.succeed()
  t.equal(late.length, 1)
  t.equal(commits.waiting, 1)
  const closed = appender.close()
  t.equal(await stateOf(closed), 'pending')
  await commits.succeed()
  t.equal(await stateOf(late[0] as Promise<string>), 'resolved B')
  t.equal(await stateOf(closed), 'resolved undefined')
})

t.test('jobs queued after a failed batch are rejected too', async (t) => {
  const { commits, appender } = setUp()
  const taken = Array.from({ length: 513 }, (_, index) => submit(appender, job(String(index))))
  await commits.fail()
  t.equal(await stateOf(taken[512] as Promise<string>), 'rejected audit_unavailable')
  t.equal(appender.pending, 0)
  for (const promise of taken) await t.rejects(promise, GatewayError)
})

t.test('a stuck commit is reported once, and its waiters are rejected', async (t) => {
  const { appender, events, writability } = setUp()
  const hanging = submit(appender, job('a'))
  appender.tick(STALL_MS - 1)
  t.equal(await stateOf(hanging), 'pending')
  appender.tick(STALL_MS)
  appender.tick(STALL_MS + 1000)
  t.equal(await stateOf(hanging), 'rejected audit_unavailable')
  t.equal(writability.takesChanges, false)
  t.equal(writability.has('stalled'), true)
  t.strictSame(events, ['stalled'])
  await appender.close()
})

t.test('a late commit makes the log available again', async (t) => {
  const { commits, appender, events, writability } = setUp()
  const slow = submit(appender, job('a'))
  appender.tick(STALL_MS)
  t.equal(await stateOf(slow), 'rejected audit_unavailable')
  appender.tick(0)
  t.equal(writability.takesChanges, false, 'until the commit settles')
  await commits.succeed()
  t.equal(writability.takesChanges, true)
  t.strictSame(events, ['stalled', 'available', 'commit 0 0'])
})

t.test('a stuck probe is a stall', async (t) => {
  const { commits, appender, events } = setUp()
  const lost = submit(appender, job('a'))
  await commits.fail()
  await t.rejects(lost)
  appender.tick(0)
  appender.tick(STALL_MS)
  t.equal(events.at(-1), 'stalled')
})

t.test('a stuck write of another part stops the log until it ends', async (t) => {
  const { commits, appender, events, writability } = setUp()
  appender.tick(STALL_MS)
  t.equal(writability.takesChanges, false)
  t.equal(await stateOf(submit(appender, job('a'))), 'rejected audit_unavailable')
  appender.tick(1)
  t.equal(writability.takesChanges, true)
  const after = submit(appender, job('b'))
  await commits.succeed()
  t.equal(await after, 'B')
  t.strictSame(events, ['stalled', 'available', 'commit 1 1'])
})

t.test('closing waits for accepted jobs and refuses others', async (t) => {
  const { commits, appender } = setUp()
  const taken = submit(appender, job('a'))
  const closed = appender.close()
  t.equal(await stateOf(submit(appender, job('b'))), 'rejected audit_unavailable')
  t.equal(await stateOf(closed), 'pending')
  await commits.succeed()
  t.equal(await stateOf(closed), 'resolved undefined')
  t.equal(await taken, 'A')
})
