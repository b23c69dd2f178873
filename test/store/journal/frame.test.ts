// Frames of the journal: what is written is read, and nothing else is.

import fc from 'fast-check'
import t from 'tap'
import {
  eachRow,
  encodeRows,
  openFrame,
  type RowChange,
  requireRows,
  sealFrame,
} from '../../../src/store/journal/frame.ts'

const anyBytes = (least: number, most: number) =>
  fc.uint8Array({ minLength: least, maxLength: most }).map((bytes) => Buffer.from(bytes))
const anyRow: fc.Arbitrary<RowChange> = fc.record({
  table: fc.nat(19),
  key: anyBytes(1, 40),
  value: fc.option(anyBytes(0, 200)),
})
const anyRows = fc.array(anyRow, { minLength: 1, maxLength: 20 })

function rowsOf(body: Buffer): RowChange[] {
  const rows: RowChange[] = []
  eachRow(body, (table, key, value) => rows.push({ table, key: Buffer.from(key), value }))
  return rows
}

t.test('a frame gives back its rows and its number', async (t) => {
  fc.assert(
    fc.property(anyRows, fc.integer({ min: 1, max: 2 ** 50 }), (rows, number) => {
      const frame = encodeRows(rows)
      sealFrame(frame, number)
      const opened = openFrame(Buffer.concat([frame, Buffer.from('what follows')]))
      return (
        opened?.number === number &&
        opened.bytes === frame.length &&
        rowsOf(opened.body).every(
          ({ table, key, value }, at) =>
            table === rows[at]?.table &&
            key.equals(rows[at].key) &&
            (value?.compare(rows[at].value ?? key) ?? 0) === 0,
        )
      )
    }),
  )
  t.pass()
})

t.test('a frame with one flipped bit, or without its end, is none', async (t) => {
  fc.assert(
    fc.property(anyRows, fc.nat(), fc.nat(), (rows, bit, cut) => {
      const frame = encodeRows(rows)
      sealFrame(frame, 7)
      const flipped = Buffer.from(frame)
      const at = bit % (frame.length * 8)
      flipped[at >> 3] = (flipped[at >> 3] as number) ^ (1 << (at & 7))
      return openFrame(flipped) === null && openFrame(frame.subarray(0, cut % frame.length)) === null
    }),
  )
  t.pass()
})

t.test('a body that is not a list of rows of the tables is refused', async (t) => {
  const frame = encodeRows([{ table: 3, key: Buffer.from('key'), value: Buffer.from('value') }])
  t.doesNotThrow(() => requireRows(frame, 4))
  t.throws(() => requireRows(frame, 3), { name: 'RangeError', message: /no table 3/ })
  for (const end of [0, 19, frame.length - 1, frame.length - 6])
    t.throws(() => requireRows(frame.subarray(0, end), 4), { name: 'RangeError', message: /cut/ }, `${end}`)
  const keyless = encodeRows([{ table: 0, key: Buffer.alloc(0), value: null }])
  t.throws(() => requireRows(keyless, 4), { message: /a key has 1 to 1978 bytes/ })
})
