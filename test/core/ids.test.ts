import fc from 'fast-check'
import t from 'tap'
import { uuidv5, uuidv7, uuidv7Source } from '../../src/core/ids.ts'

const random16 = fc.uint8Array({ minLength: 16, maxLength: 16 })
const FIRST_DAYS_MS = { min: 0, max: 2 ** 48 - 1 }

t.test('a version 5 id depends on the name alone', async (t) => {
  t.equal(uuidv5('pii-default'), uuidv5('pii-default'))
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      fc.pre(a !== b)
      return (
        /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuidv5(a)) &&
        uuidv5(a) !== uuidv5(b)
      )
    }),
  )
})

t.test('version 7 ids have the format of RFC 9562 and sort by time', async () => {
  fc.assert(
    fc.property(
      fc.integer(FIRST_DAYS_MS),
      fc.integer(FIRST_DAYS_MS),
      random16,
      random16,
      (a, b, one, two) => {
        fc.pre(a < b)
        const [first, second] = [uuidv7(a, one), uuidv7(b, two)]
        const format = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
        return (
          format.test(first) &&
          first < second &&
          Number.parseInt(first.replaceAll('-', '').slice(0, 12), 16) === a
        )
      },
    ),
  )
})

t.test('the example of RFC 9562 §A.6 is reproduced', async (t) => {
  const random = Buffer.from('0000000000000cc318c4dc0c0c07398f', 'hex')
  t.equal(uuidv7(0x017f22e279b0, random), '017f22e2-79b0-7cc3-98c4-dc0c0c07398f')
})

t.test('a source draws randomness for many ids at once and uses no byte twice', async (t) => {
  let drawn = 0
  const next = uuidv7Source(
    () => 1_790_000_000_000,
    (length) => {
      drawn++
      return Buffer.from(Array.from({ length }, (_, index) => drawn * 31 + (index >> 4) * 3))
    },
  )
  const ids = Array.from({ length: 200 }, next)
  t.equal(new Set(ids).size, 200)
  t.equal(drawn, 2)
})
