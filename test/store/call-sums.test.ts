// Sums of calls: exact for any whole numbers, and the same in their packed form.

import fc from 'fast-check'
import t from 'tap'
import { CALL_COUNTS, SUMMED_FIELDS } from '../../src/audit/entry-fields.ts'
import { CallSums, type CallValues, namesByPosition } from '../../src/usage/call-sums.ts'

const NO_VALUES = new CallSums().values() as CallValues
const FIELDS = Object.keys(NO_VALUES) as (keyof CallValues)[]
const MAXIMUM_TESTED_SUMS = 40

const anyNumber = fc.oneof(fc.nat(300), fc.maxSafeNat(), fc.constant(2 ** 32), fc.constant(2 ** 32 - 1))
const anyValues: fc.Arbitrary<CallValues> = fc
  .array(anyNumber, { minLength: FIELDS.length, maxLength: FIELDS.length })
  .map((numbers) => Object.fromEntries(FIELDS.map((field, n) => [field, numbers[n]!])) as CallValues)

t.test('sums are exact, added in any way', async () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyValues), { maxLength: 6 }), (parts) => {
      const whole = new CallSums()
      const joined = new CallSums()
      for (const part of parts) {
        const sums = new CallSums()
        for (const values of part) {
          sums.addCall(values)
          whole.addCall(values)
        }
        const packed = Buffer.concat([Buffer.from('before'), sums.packed()])
        if (joined.addPacked(packed, 6) !== packed.length) return false
        joined.add(new CallSums())
      }
      return FIELDS.every((field) => {
        const expected = parts.flat().reduce((sum, values) => sum + BigInt(values[field]), 0n)
        const isSafe = expected <= BigInt(Number.MAX_SAFE_INTEGER)
        const exact = isSafe ? Number(expected) : expected
        return whole.values()[field] === exact && joined.values()[field] === exact
      })
    }),
  )
})

t.test('small sums are short, zero is the shortest, and the largest number is the end', async (t) => {
  const sums = new CallSums()
  t.equal(sums.isZero, true)
  t.equal(sums.packed().length, 4)
  sums.addCall({ ...NO_VALUES, requests: 1, total_tokens: 300 })
  t.equal(sums.isZero, false)
  t.equal(sums.packed().length, 7)
  const huge = new CallSums()
  for (let n = 0; n < 3000; n++) huge.addCall({ ...NO_VALUES, cost: Number.MAX_SAFE_INTEGER })
  t.equal(huge.values().cost, 2n ** 64n - 1n)
})

/** What the first release wrote of eight sums. */
const FIRST_RELEASE: readonly { readonly packed: string; readonly sums: readonly (number | bigint)[] }[] = [
  { packed: '00000000', sums: [0, 0, 0, 0, 0, 0, 0, 0] },
  {
    packed: '1176520101012c01000000010100000000071fffffffffffff0102',
    sums: [1, 0, 300, 2 ** 32 + 1, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER, 1, 2],
  },
  {
    packed: `888888220bb80bb8${'ff'.repeat(48)}`,
    sums: [3000, 3000, ...Array.from({ length: 6 }, () => 2n ** 64n - 1n)],
  },
]
const FIRST_FIELDS = [
  ...['requests', 'blocked', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'cost'],
  ...['priced_requests', 'unpriced_requests'],
]

t.test('rows of the first release are read, and eight sums are written as it wrote them', async (t) => {
  for (const { packed, sums } of FIRST_RELEASE) {
    const stored = Buffer.from(packed, 'hex')
    const read = new CallSums()
    t.equal(read.addPacked(stored, 0), stored.length)
    const values = read.values() as Record<string, number | bigint>
    t.strictSame(
      FIRST_FIELDS.map((field) => values[field]),
      sums,
    )
    t.equal(read.packed().toString('hex'), packed)
  }
})

/** High and low half of each of some sums. */
const anyHalves = fc
  .array(fc.oneof(fc.constant(0), fc.nat(300), fc.nat(2 ** 32 - 1), fc.constant(2 ** 32 - 1)), {
    minLength: 2,
    maxLength: 2 * MAXIMUM_TESTED_SUMS,
  })
  .map((halves) => halves.slice(0, 2 * Math.floor(halves.length / 2)))

t.test('any number of sums is packed and read again, by a program that knows more or fewer', async () => {
  fc.assert(
    fc.property(anyHalves, fc.integer({ min: 1, max: MAXIMUM_TESTED_SUMS }), (halves, known) => {
      const packed = new CallSums(Float64Array.from(halves)).packed()
      const read = new Float64Array(2 * known)
      const end = new CallSums(read).addPacked(Buffer.concat([packed, packed]), 0)
      return end === packed.length && read.every((half, index) => half === (halves[index] ?? 0))
    }),
  )
})

t.test('each sum has a position of its own, without a gap', async (t) => {
  const sums = [...CALL_COUNTS, ...SUMMED_FIELDS]
  t.strictSame(namesByPosition(sums).slice(0, FIRST_FIELDS.length), FIRST_FIELDS)
  const added = (position: number) => namesByPosition([...sums, { name: 'cached_tokens', position }])
  t.equal(added(sums.length).at(-1), 'cached_tokens')
  for (const position of [6, sums.length + 1])
    t.throws(() => added(position), {
      message: `src/audit/entry-fields.ts: cached_tokens has position ${position} of packed sums; use each of 0 to ${sums.length} once`,
    })
})
