// Lines from chunks of any size.

import fc from 'fast-check'
import t from 'tap'
import { LineSplitter, LongLineError } from '../../src/audit/lines.ts'

/** Cuts the text at the given offsets, in order. */
function cut(text: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b)
  return sorted.slice(1).map((end, index) => text.subarray(sorted[index], end))
}

function linesOf(splitter: LineSplitter, chunks: readonly Buffer[]): string[] {
  const lines = chunks.flatMap((chunk) => [...splitter.push(chunk)].map((line) => line.toString('latin1')))
  const rest = splitter.end()
  return rest === null ? lines : [...lines, rest.toString('latin1')]
}

const anyText = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom('\n', 'a', 'bc') }, fc.string({ maxLength: 60 })))
  .map((pieces) => Buffer.from(pieces.join('')))

t.test('lines do not depend on chunk boundaries', async () => {
  fc.assert(
    fc.property(anyText, fc.array(fc.nat(), { maxLength: 20 }), (text, places) => {
      const expected = text.toString('latin1').split('\n')
      if (expected.at(-1) === '') expected.pop()
      const lines = linesOf(new LineSplitter(() => 10_000), cut(text, places))
      return JSON.stringify(lines) === JSON.stringify(expected)
    }),
  )
})

t.test('a line longer than its beginning allows is refused at any chunk size', async (t) => {
  const limitOf = (beginning: Buffer) => (beginning[0] === 0x7b ? 1000 : 100)
  for (const [first, limit] of [
    ['{', 1000],
    ['[', 100],
  ] as const) {
    for (const size of [1, 7, 5000]) {
      const text = Buffer.from(`short\n${first.repeat(limit)}`)
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        text.subarray(index * size, (index + 1) * size),
      )
      const splitter = new LineSplitter(limitOf)
      const before = chunks.flatMap((chunk) => [...splitter.push(chunk)])
      t.strictSame(before.map(String), ['short'])
      t.throws(() => [...splitter.push(Buffer.from('x'))], LongLineError)
    }
  }
})

t.test('the limit is determined once a line, when its beginning is complete', async (t) => {
  const asked: string[] = []
  const splitter = new LineSplitter((beginning) => {
    asked.push(String(beginning))
    return 10_000
  })
  for (let index = 0; index < 3000; index++) t.strictSame([...splitter.push(Buffer.from('ab'))], [])
  t.strictSame(asked, ['ab'.repeat(16)])
  t.equal([...splitter.push(Buffer.from('\ncd'))][0]?.length, 6000)
  t.equal(String(splitter.end()), 'cd')
  t.equal(splitter.end(), null)
})
