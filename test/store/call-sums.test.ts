// Sums of calls: exact for any whole numbers, and the same in their packed form.

import fc from 'fast-check'
import t from 'tap'
import { CallSums, type CallValues } from '../../src/store/rollup/call-sums.ts'

const FIELDS = [
  'requests',
  'blocked',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cost',
  'priced_requests',
  'unpriced_requests',
] as const

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
  const none = Object.fromEntries(FIELDS.map((field) => [field, 0])) as CallValues
  const sums = new CallSums()
  t.equal(sums.isZero, true)
  t.equal(sums.packed().length, 4)
  sums.addCall({ ...none, requests: 1, total_tokens: 300 })
  t.equal(sums.isZero, false)
  t.equal(sums.packed().length, 7)
  const huge = new CallSums()
  for (let n = 0; n < 3000; n++) huge.addCall({ ...none, cost: Number.MAX_SAFE_INTEGER })
  t.equal(huge.values().cost, 2n ** 64n - 1n)
})
