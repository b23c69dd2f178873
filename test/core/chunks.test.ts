import fc from 'fast-check'
import t from 'tap'
import { Pieces } from '../../src/core/chunks.ts'

t.test('what was added comes out in one, and then nothing', async (t) => {
  const bytes = fc.array(fc.uint8Array({ maxLength: 4 }), { maxLength: 50 })
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 120 }), (few, times) => {
      const pieces = new Pieces()
      const many = Array.from({ length: times }, () => few)
        .flat()
        .map((one) => Buffer.from(one))
      for (const piece of many) pieces.add(piece)
      t.ok(pieces.take().equals(Buffer.concat(many)))
      t.equal(pieces.take().length, 0)
      pieces.add(Buffer.from('again'))
      t.equal(String(pieces.take()), 'again')
    }),
    { numRuns: 60 },
  )
})

t.test('a single piece comes out as it came', async (t) => {
  const pieces = new Pieces()
  const piece = Buffer.from('one')
  pieces.add(piece)
  t.equal(pieces.take(), piece)
})
