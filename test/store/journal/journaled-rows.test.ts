// Reads of rows that are in the journal, in the database or in both equal a plain map.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Environment, openEnvironment } from '../../../src/store/journaled.ts'
import type { Range } from '../../../src/store/table.ts'
import { applied } from '../fixture.ts'

/** Writes of one transaction; null removes a row. */
interface Batch {
  readonly writes: readonly (readonly [number, string | null])[]
  readonly fails: boolean
  /** Whether the database has everything before the next one. */
  readonly settles: boolean
}

const anyKey = fc.nat(30)
const anyValue: fc.Arbitrary<string | null> = fc.option(fc.string({ maxLength: 8 }))
const anyBatch: fc.Arbitrary<Batch> = fc.record({
  writes: fc.array(fc.tuple(anyKey, anyValue), { maxLength: 12 }),
  fails: fc.boolean(),
  settles: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})
const anyRange = fc.record(
  { start: anyKey, end: anyKey, reverse: fc.boolean(), limit: fc.integer({ min: 1, max: 10 }) },
  { requiredKeys: [] },
)

/** Keys of one and of two bytes, some above 127. */
const keyOf = (n: number): Buffer => (n % 3 === 0 ? Buffer.from([n * 8 + 1]) : Buffer.from([n * 8 + 1, n]))
const byKey = ([a]: readonly [number, string], [b]: readonly [number, string]) => keyOf(a).compare(keyOf(b))

type Model = Map<number, string>

function expected(
  model: Model,
  { start, end, reverse = false, limit = Infinity }: Partial<RangeOf>,
): string[] {
  const sorted = [...model].sort(byKey)
  const from = start === undefined ? null : keyOf(start)
  const to = end === undefined ? null : keyOf(end)
  const side = reverse ? -1 : 1
  const within = (reverse ? sorted.reverse() : sorted).filter(
    ([n]) =>
      (from === null || keyOf(n).compare(from) * side >= 0) &&
      (to === null || keyOf(n).compare(to) * side < 0),
  )
  return within.slice(0, limit).map(([n, value]) => `${keyOf(n).toString('hex')}=${value}`)
}

interface RangeOf {
  readonly start: number
  readonly end: number
  readonly reverse: boolean
  readonly limit: number
}

function bytesOfRange({ start, end, ...rest }: Partial<RangeOf>): Range {
  return {
    ...rest,
    ...(start !== undefined && { start: keyOf(start) }),
    ...(end !== undefined && { end: keyOf(end) }),
  }
}

function checkReads(
  { tables: { requests } }: Environment,
  model: Model,
  ranges: readonly Partial<RangeOf>[],
): void {
  for (const range of ranges) {
    const rows = requests.rows(bytesOfRange(range))
    const shown = rows.map(({ key, value }) => `${key.toString('hex')}=${value}`)
    const wanted = expected(model, range)
    if (shown.join() !== wanted.join()) throw new Error(`${JSON.stringify(range)}: ${shown} is not ${wanted}`)
    const keys = requests.keys(bytesOfRange(range)).map((key) => key.toString('hex'))
    if (keys.join() !== wanted.map((row) => row.split('=', 1)[0]).join()) throw new Error('keys differ')
    if (range.reverse || range.limit !== undefined) continue
    if (requests.count(bytesOfRange(range)) !== wanted.length) throw new Error('the count differs')
  }
  if (requests.size !== model.size) throw new Error(`size ${requests.size} is not ${model.size}`)
  for (let n = 0; n <= 30; n++) {
    const value = model.get(n)
    for (const read of [requests.get(keyOf(n)), requests.peek(keyOf(n))])
      if (read?.toString() !== value) throw new Error(`row ${n} is ${read}, not ${value}`)
  }
}

async function run(environment: Environment, model: Model, { writes, fails }: Batch): Promise<void> {
  const { requests } = environment.tables
  const next = new Map(model)
  const done = environment.transaction(() => {
    for (const [n, value] of writes) {
      if (value === null) requests.remove(keyOf(n))
      else requests.put(keyOf(n), Buffer.from(value))
      if (value === null) next.delete(n)
      else next.set(n, value)
      if (requests.get(keyOf(n))?.toString() !== (value ?? undefined)) throw new Error('its own reads see it')
    }
    if (fails) throw new Error('as planned')
  })
  if (fails) return done.then(fail, ignorePlanned)
  await done
  model.clear()
  for (const [n, value] of next) model.set(n, value)
}

const fail = () => {
  throw new Error('the transaction did not fail')
}
const ignorePlanned = (error: Error) => {
  if (error.message !== 'as planned') throw error
}

const newFolder = (t: Test) => t.testdir()

t.test('rows read the same from the journal, from the database and after a restart', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBatch, { maxLength: 12 }),
      fc.array(anyRange as fc.Arbitrary<Partial<RangeOf>>, { minLength: 1, maxLength: 6 }),
      async (batches, ranges) => {
        const path = newFolder(t)
        let environment = openEnvironment(path)
        const model: Model = new Map()
        for (const batch of batches) {
          await run(environment, model, batch)
          if (batch.settles) await applied(environment)
          checkReads(environment, model, ranges)
        }
        await environment.close()
        environment = openEnvironment(path)
        checkReads(environment, model, ranges)
        await environment.close()
      },
    ),
    { numRuns: 30 },
  )
  t.pass()
})
