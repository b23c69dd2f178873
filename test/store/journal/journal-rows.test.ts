// Rows that are in the journal and not in the database yet: reads of every table equal those of a
// plain map, inside a transaction, before and after the database has the rows, and after a restart.

import fc from 'fast-check'
import t from 'tap'
import { type Environment, openEnvironment } from '../../../src/store/environment/journaled.ts'
import { encodeRows, sealFrame } from '../../../src/store/journal/frame.ts'
import { JournalRows } from '../../../src/store/journal/journal-rows.ts'
import type { Range, Table } from '../../../src/store/tables/table.ts'
import { applied, until } from '../fixture.ts'

/**
 * Keys share beginnings and have bytes at both ends of the order. Not the one byte 00: reverse
 * ranges of the database end before it.
 */
const KEYS = ['0000', '00ff', '01', '0161', '7f', '7fff', '80', '80c3', 'c3a4', 'fe', 'ff', 'ffff'].map(
  (hex) => Buffer.from(hex, 'hex'),
)
const TABLES = ['meta', 'content', 'storedtimes'] as const
type TableName = (typeof TABLES)[number]

interface Write {
  readonly table: TableName
  readonly key: Buffer
  /** Null removes the row. */
  readonly value: Buffer | null
}

interface AnyTransaction {
  readonly writes: readonly Write[]
  readonly isFailing: boolean
}

const anyKey = fc.constantFrom(...KEYS)
const anyValue = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes))
const anyWrite: fc.Arbitrary<Write> = fc.record({
  table: fc.constantFrom(...TABLES),
  key: anyKey,
  value: fc.option(anyValue, { freq: 3 }),
})
const anyTransaction: fc.Arbitrary<AnyTransaction> = fc.record({
  writes: fc.array(anyWrite, { maxLength: 10 }),
  isFailing: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
})
/** Transactions that begin in one turn, as one frame, and whether the database gets them. */
const anyBatch = fc.record({
  transactions: fc.array(anyTransaction, { minLength: 1, maxLength: 4 }),
  isApplied: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
})
const anyRange: fc.Arbitrary<Range> = fc.record(
  { start: anyKey, end: anyKey, reverse: fc.boolean(), limit: fc.integer({ min: 1, max: 15 }) },
  { requiredKeys: [] },
)

/** Rows by key in hexadecimal digits, which sort like the bytes. */
type Model = Record<TableName, Map<string, Buffer>>

const newModel = (): Model => ({ meta: new Map(), content: new Map(), storedtimes: new Map() })
const copyOf = (model: Model): Model => ({
  meta: new Map(model.meta),
  content: new Map(model.content),
  storedtimes: new Map(model.storedtimes),
})

function rowsOf(model: Map<string, Buffer>, { start, end, reverse = false, limit }: Range): string[] {
  const [first, last] = [start?.toString('hex'), end?.toString('hex')]
  const rows = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
  const within = rows.filter(([key]) =>
    reverse
      ? (first === undefined || key <= first) && (last === undefined || key > last)
      : (first === undefined || key >= first) && (last === undefined || key < last),
  )
  if (reverse) within.reverse()
  return within.slice(0, limit).map(([key, value]) => `${key}=${value.toString('hex')}`)
}

function requireSame(what: string, seen: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(expected)]
  if (a !== b) throw new Error(`${what}: ${a}, expected ${b}`)
}

/** Layout rows that the store itself keeps are not part of the model. */
const OWN_KEYS = ['layout', 'journal'].map((name) => Buffer.from(name).toString('hex'))

function checkTable(
  name: TableName,
  table: Table,
  model: Map<string, Buffer>,
  ranges: readonly Range[],
): void {
  const withOwn = new Map(model)
  for (const key of name === 'meta' ? OWN_KEYS : []) {
    const value = table.get(Buffer.from(key, 'hex'))
    if (value !== undefined) withOwn.set(key, value)
  }
  requireSame(`${name}.size`, table.size, withOwn.size)
  for (const range of [{}, { reverse: true }, ...ranges]) {
    const what = `${name} ${JSON.stringify(range)}`
    const expected = rowsOf(withOwn, range)
    const rows = table
      .rows({ ...range })
      .map(({ key, value }) => `${key.toString('hex')}=${value.toString('hex')}`)
    requireSame(`${what} rows`, rows, expected)
    const keys = table.keys({ ...range }).map((key) => key.toString('hex'))
    requireSame(
      `${what} keys`,
      keys,
      expected.map((row) => row.split('=')[0]),
    )
    const { start, end } = range as Range
    const bounds = { ...(start && { start }), ...(end && { end }) }
    requireSame(`${what} count`, table.count(bounds), rowsOf(withOwn, bounds).length)
  }
  for (const key of KEYS) {
    const expected = model.get(key.toString('hex'))?.toString('hex')
    requireSame(`${name}.get`, table.get(key)?.toString('hex'), expected)
    requireSame(`${name}.peek`, table.peek(key)?.toString('hex'), expected)
  }
}

function check({ tables }: Environment, model: Model, ranges: readonly Range[]): void {
  for (const name of TABLES) checkTable(name, tables[name], model[name], ranges)
}

/** Runs one transaction on both. The model of a transaction that throws is dropped. */
function begin(
  environment: Environment,
  model: Model,
  { writes, isFailing }: AnyTransaction,
  ranges: readonly Range[],
): Promise<void> {
  const planned = new Error('planned')
  const done = environment.transaction(() => {
    const next = copyOf(model)
    for (const { table, key, value } of writes) {
      if (value === null) environment.tables[table].remove(key)
      else environment.tables[table].put(key, value)
      if (value === null) next[table].delete(key.toString('hex'))
      else next[table].set(key.toString('hex'), value)
    }
    check(environment, next, ranges)
    if (isFailing) throw planned
    Object.assign(model, next)
  })
  return done.catch((error) => {
    if (error !== planned) throw error
  })
}

t.test(
  'rows of the journal and of the database read like one sorted map',
  { timeout: 240_000 },
  async (t) => {
    const property = fc.asyncProperty(
      fc.array(anyBatch, { minLength: 1, maxLength: 8 }),
      fc.array(anyRange, { minLength: 1, maxLength: 8 }),
      async (batches, ranges) => {
        const path = t.testdir()
        const model = newModel()
        let environment = openEnvironment(path)
        try {
          for (const { transactions, isApplied } of batches) {
            await Promise.all(transactions.map((one) => begin(environment, model, one, ranges)))
            check(environment, model, ranges)
            if (!isApplied || environment.journal() === null) continue
            await applied(environment)
            check(environment, model, ranges)
          }
          if (environment.journal() !== null) await applied(environment)
          check(environment, model, ranges)
          await environment.close()
          environment = openEnvironment(path)
          check(environment, model, ranges)
        } finally {
          await environment.close()
        }
      },
    )
    await t.resolves(fc.assert(property, { numRuns: 10 }))
  },
)

t.test('reading keys does not change the range that the caller passes', async (t) => {
  const environment = openEnvironment(t.testdir())
  const { content } = environment.tables
  await environment.transaction(() => content.put(Buffer.from('key'), Buffer.from('value')))
  await applied(environment)
  const range: Range = { start: Buffer.from('a') }
  t.equal(content.keys(range).length, 1)
  t.strictSame(Object.keys(range), ['start'])
  t.equal(content.rows(range)[0]?.value?.toString(), 'value', 'the same range gives rows')
  await environment.close()
})

t.test('a row whose bytes the caller changes after the commit keeps its value', async (t) => {
  const environment = openEnvironment(t.testdir())
  const { content } = environment.tables
  const [key, value] = [Buffer.from('key'), Buffer.from('value')]
  await environment.transaction(() => content.put(key, value))
  key.fill(0)
  value.fill(0)
  t.equal(content.get(Buffer.from('key'))?.toString(), 'value')
  await applied(environment)
  t.equal(content.get(Buffer.from('key'))?.toString(), 'value')
  await environment.close()
})

t.test('a row stays visible while a newer frame replaces an older one in the database', async (t) => {
  const environment = openEnvironment(t.testdir())
  const { content } = environment.tables
  const key = Buffer.from('key')
  let failures = 0
  for (let n = 1; n <= 60; n++) {
    await environment.transaction(() => content.put(key, Buffer.from([n])))
    await until(
      () => n % 20 !== 0 || environment.journal()?.lagFrames === 0,
      () => {
        if (content.get(key)?.[0] !== n) failures++
      },
    )
    if (content.get(key)?.[0] !== n || content.size !== 1) failures++
  }
  t.equal(failures, 0)
  await environment.close()
})

t.test('rows of a frame leave the memory with the newest frame that has them', async (t) => {
  const rows = new JournalRows(2)
  const none = {
    get: () => stored,
    peek: () => stored,
    rows: () => [],
    keys: () => [],
    size: 0,
    count: () => 0,
  }
  const stored = Buffer.from('stored')
  const [first, second] = [rows.table(0, none), rows.table(1, none)]
  const [key, other] = [Buffer.from('key'), Buffer.from('other')]
  const add = (number: number, changes: Parameters<typeof encodeRows>[0]) =>
    rows.add(sealFrame(encodeRows(changes), number))
  add(1, [
    { table: 0, key, value: Buffer.from('1') },
    { table: 1, key: other, value: Buffer.from('1') },
  ])
  add(2, [{ table: 0, key, value: null }])
  t.equal(rows.frames, 2)
  rows.drop(1)
  t.equal(first.get(key), undefined, 'the removal stays')
  t.equal(second.get(other), stored)
  rows.drop(1)
  t.equal(rows.frames, 1)
  rows.drop(2)
  t.same([rows.frames, rows.bytes, first.get(key)], [0, 0, stored])
  t.throws(() => add(3, [{ table: 2, key, value: null }]), { name: 'RangeError' })
})

t.test('the rows of a batch are seen by its transactions and gone when it is taken', async (t) => {
  const rows = new JournalRows(1)
  const none = {
    get: () => undefined,
    peek: () => undefined,
    rows: () => [],
    keys: () => [],
    size: 0,
    count: () => 0,
  }
  const table = rows.table(0, none)
  const [key, other] = [Buffer.from('key'), Buffer.from('other')]
  rows.add(sealFrame(encodeRows([{ table: 0, key, value: Buffer.from('0') }]), 1))
  rows.run(() => table.put(key, Buffer.from('1')))
  t.throws(() =>
    rows.run(() => {
      table.remove(key)
      table.put(other, key)
      throw new Error('planned')
    }),
  )
  rows.run(() => table.put(key, Buffer.concat([table.get(key) as Buffer, Buffer.from('2')])))
  t.equal(table.get(key)?.toString(), '12')
  t.same(rows.take(), [{ table: 0, key, value: Buffer.from('12') }])
  t.equal(table.get(key)?.toString(), '0')
  t.same(rows.take(), [])
  t.throws(() => table.put(key, key), { message: 'writes belong inside a transaction' })
})
