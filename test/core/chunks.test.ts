import fc from 'fast-check'
import t from 'tap'
import { Pieces } from '../../src/core/chunks.ts'

t.test('take returns all added bytes once', async (t) => {
  const bytes = fc.array(fc.uint8Array({ maxLength: 4 }), { maxLength: 50 })
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 120 }), (few, times) => {
      const chunks = new Pieces()
      const many = Array.from({ length: times }, () => few)
        .flat()
        .map((one) => Buffer.from(one))
      for (const chunk of many) chunks.add(chunk)
      t.ok(chunks.take().equals(Buffer.concat(many)))
      t.equal(chunks.take().length, 0)
      chunks.add(Buffer.from('again'))
      t.equal(String(chunks.take()), 'again')
    }),
    { numRuns: 60 },
  )
})

t.test('a single chunk is returned without a copy', async (t) => {
  const chunks = new Pieces()
  const chunk = Buffer.from('one')
  chunks.add(chunk)
  t.equal(chunks.take(), chunk)
})
