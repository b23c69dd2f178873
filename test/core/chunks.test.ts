import fc from 'fast-check'
import t from 'tap'
import { joinSteps, Pieces } from '../../src/core/chunks.ts'
import { atOnce } from '../../src/core/steps.ts'

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

t.test('bytes are joined in steps of a mebibyte, also those of one long chunk', async (t) => {
  const MIB = 1024 * 1024
  for (const sizes of [[0], [5 * MIB, 1], [1, 5 * MIB], Array.from({ length: 80 }, () => 65_536)]) {
    const pieces = new Pieces()
    const chunks = sizes.map((size, index) => Buffer.alloc(size, index + 1))
    for (const chunk of chunks) pieces.add(chunk)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    t.equal(pieces.bytes, bytes)
    t.ok(atOnce(pieces.takeSteps()).equals(Buffer.concat(chunks)))
    t.equal(pieces.bytes, 0)
    if (chunks.length > 1) t.equal([...joinSteps(chunks)].length, Math.floor(bytes / MIB))
  }
})
