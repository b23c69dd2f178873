// The bytes of a frame: every row comes back as it was, and a changed or cut frame is never read.

import fc from 'fast-check'
import t from 'tap'
import {
  eachRow,
  encodeRows,
  FRAME_HEADER_BYTES,
  findMagic,
  frameBytes,
  openFrame,
  type RowChange,
  type RowParts,
  requireKey,
  sealFrame,
} from '../../../src/store/journal/frame.ts'

const ROW_HEADER_BYTES = 7
const MAXIMUM_KEY_BYTES = 1978

const anyBytes = (minLength: number, maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => Buffer.from(bytes))
const anyKey = fc.oneof(
  { weight: 9, arbitrary: anyBytes(1, 40) },
  anyBytes(MAXIMUM_KEY_BYTES, MAXIMUM_KEY_BYTES),
)
const anyRow: fc.Arbitrary<RowChange> = fc.record({
  table: fc.nat(255),
  key: anyKey,
  value: fc.option(
    fc.oneof(
      { weight: 20, arbitrary: anyBytes(0, 300) },
      fc.constantFrom(65_535, 65_536).map((bytes) => Buffer.alloc(bytes, 1)),
    ),
  ),
})
const anyRows = fc.array(anyRow, { maxLength: 12 })
const anyNumber = fc.maxSafeNat().map((n) => Math.max(1, n))

function rowsOf(body: RowParts): RowChange[] {
  const rows: RowChange[] = []
  eachRow(body, (table, key, value) =>
    rows.push({ table, key: Buffer.from(key), value: value && Buffer.from(value) }),
  )
  return rows
}

/** The bytes of a sealed frame. */
function sealed(rows: readonly RowChange[], number: number): Buffer {
  const parts = encodeRows(rows)
  sealFrame(parts, number)
  return Buffer.concat(parts)
}

const shown = (rows: readonly RowChange[]): string[] =>
  rows.map(
    ({ table, key, value }) => `${table} ${key.toString('hex')} ${value?.toString('hex') ?? 'removed'}`,
  )

t.test('a sealed frame opens with its number, its size and exactly its rows', async (t) => {
  const property = fc.property(anyRows, anyNumber, anyBytes(0, 30), (rows, number, behind) => {
    const parts = encodeRows(rows)
    const written = sealFrame(parts, number)
    const bytes = Buffer.concat(parts)
    const opened = openFrame(Buffer.concat([bytes, behind]))
    if (opened === null) throw new Error('the frame does not open')
    for (const frame of [written, opened]) {
      if (frame.number !== number || frame.bytes !== bytes.length) throw new Error(`number ${frame.number}`)
      if (shown(rowsOf(frame.body)).join() !== shown(rows).join()) throw new Error('the rows differ')
    }
    return frameBytes(bytes) === bytes.length && findMagic(Buffer.concat([behind, bytes]), 0) >= 0
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('an empty value and a removal are different rows', async (t) => {
  const key = Buffer.from('key')
  const frame = encodeRows([
    { table: 1, key, value: Buffer.alloc(0) },
    { table: 1, key, value: null },
  ])
  t.strictSame(
    rowsOf([Buffer.concat(frame).subarray(FRAME_HEADER_BYTES)]).map(({ value }) => value?.length ?? null),
    [0, null],
  )
})

t.test('no single flipped bit of a frame is read', async (t) => {
  const rows = [
    { table: 0, key: Buffer.from('key'), value: Buffer.from('value') },
    { table: 19, key: Buffer.from([0, 255]), value: null },
  ]
  const frame = sealed(rows, 3)
  const read: number[] = []
  for (let bit = 0; bit < frame.length * 8; bit++) {
    const flipped = Buffer.concat([frame, frame])
    const at = bit >> 3
    flipped[at] = (flipped[at] as number) ^ (1 << (bit & 7))
    if (openFrame(flipped) !== null) read.push(bit)
  }
  t.strictSame(read, [])
  const property = fc.property(anyRows, anyNumber, fc.nat(), (any, number, place) => {
    const random = sealed(any, number)
    const at = (place >> 3) % random.length
    random[at] = (random[at] as number) ^ (1 << (place & 7))
    return openFrame(random) === null
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('no beginning of a frame is read, alone or before zeros', async (t) => {
  const frame = sealed([{ table: 2, key: Buffer.from('key'), value: Buffer.alloc(40, 1) }], 1)
  const read: number[] = []
  for (let end = 0; end < frame.length; end++) {
    const cut = frame.subarray(0, end)
    const padded = Buffer.concat([cut, Buffer.alloc(frame.length)])
    if (openFrame(cut) !== null || openFrame(padded) !== null) read.push(end)
  }
  t.strictSame(read, [])
  t.equal(openFrame(Buffer.alloc(1000)), null, 'zeros are no frame')
})

t.test('a body that is not a list of rows is an error, and no row reaches outside the body', async (t) => {
  const body = encodeRows([{ table: 3, key: Buffer.from('key'), value: Buffer.from('value') }])
  const whole = Buffer.concat(body).subarray(FRAME_HEADER_BYTES)
  for (let end = 1; end < whole.length; end++)
    t.throws(() => rowsOf([whole.subarray(0, end)]), { name: 'RangeError', message: /cut/ }, `${end} bytes`)
  t.strictSame(rowsOf([Buffer.alloc(0)]), [])
  const property = fc.property(anyBytes(0, 60), (bytes) => {
    let taken = 0
    try {
      eachRow([bytes], (_, key, value) => {
        taken += ROW_HEADER_BYTES + key.length + (value?.length ?? 0)
      })
    } catch (error) {
      return error instanceof RangeError && taken < bytes.length
    }
    return taken === bytes.length
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('a key that the database cannot store is refused', async (t) => {
  for (const length of [1, MAXIMUM_KEY_BYTES]) t.doesNotThrow(() => requireKey(Buffer.alloc(length)))
  for (const length of [0, MAXIMUM_KEY_BYTES + 1])
    t.throws(() => requireKey(Buffer.alloc(length)), { name: 'RangeError' }, `${length} bytes`)
})
