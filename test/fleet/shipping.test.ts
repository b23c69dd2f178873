// How entries travel to a hub.

import fc from 'fast-check'
import t from 'tap'
import { atOnce } from '../../src/core/steps.ts'
import { nextShipment, type ShippableLog } from '../../src/fleet/next-shipment.ts'
import {
  MAXIMUM_SHIPPED_BYTES,
  printShipment,
  readShippedLine,
  readShippedLineSteps,
  type ShippedEntry,
} from '../../src/fleet/shipping.ts'

const HASH = `sha256:${'0a'.repeat(32)}`

const bytes = (length: { minLength?: number; maxLength: number }) =>
  fc.uint8Array(length).map((array) => Buffer.from(array))

const entries = fc.record<ShippedEntry>({
  bytes: fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  hash: fc.constant(HASH),
  content: fc.option(bytes({ maxLength: 200 })),
  user: fc.option(
    fc.record({
      hash: bytes({ minLength: 16, maxLength: 16 }),
      clear: fc.option(fc.string({ unit: 'binary' })),
    }),
  ),
  before: fc.option(
    fc.record({
      hash: fc.constant(HASH),
      frontier: fc.array(
        bytes({ minLength: 32, maxLength: 32 }).map((node) => node.toString('base64')),
        { maxLength: 5 },
      ),
    }),
  ),
})

t.test('entries arrive as they were sent, one a line', async (t) => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 5 }), (sent) => {
      const body = printShipment(sent)
      const lines = body.toString().split('\n')
      t.equal(lines.pop(), '')
      t.same(
        lines.map((line) => readShippedLine(Buffer.from(line))),
        sent,
      )
    }),
    { numRuns: 200 },
  )
})

t.test('a long exchange arrives byte for byte', async (t) => {
  for (const length of [49_151, 49_152, 49_153, 98_304, 100_001]) {
    const content = Buffer.from(Array.from({ length }, (_, index) => index % 251))
    const sent = { bytes: Buffer.from('{"é":"\u2028"}'), hash: HASH, content, user: null, before: null }
    t.same(readShippedLine(printShipment([sent]).subarray(0, -1)), sent)
  }
})

t.test('changes of stored answers arrive with their entry, and malformed ones not at all', async (t) => {
  const answer = {
    ...{ keyId: 'k', upstream: 'ü', createdAtMs: 1.5, isItem: false, models: ['m'], asksForJson: false },
    ...{ isCounted: false, promptTokens: 3, reserved: { tokens: 9, cost: 1 }, numbers: {}, readNumbers: {} },
  }
  const hashes = ['a'.repeat(43)]
  const changes = [
    { type: 'keep', hashes, answer },
    { type: 'update', hashes, isCounted: true, readNumbers: { EMAIL: 2 } },
    { type: 'remove', hashes },
  ] as const
  const entry = { bytes: Buffer.from('{}'), hash: HASH, content: null, user: null, before: null }
  const read = (stored: unknown) =>
    readShippedLine(printShipment([{ ...entry, stored } as ShippedEntry]).subarray(0, -1))
  t.strictSame(read(changes).stored, changes)
  for (const wrong of [
    {},
    [{ type: 'other', hashes }],
    [{ type: 'remove', hashes: ['resp_1'] }],
    [{ type: 'remove', hashes: Array.from({ length: 1025 }, () => hashes[0]) }],
    [{ type: 'keep', hashes, answer: { ...answer, text: 'Hello.' } }],
    [{ type: 'keep', hashes, answer: { ...answer, upstream: 'a\0' } }],
  ])
    t.notOk('stored' in read(wrong), JSON.stringify(wrong).slice(0, 80))
})

t.test('an entry that would be too long with its changes travels without them', async (t) => {
  const stored: ShippedEntry['stored'] = [{ type: 'remove', hashes: ['a'.repeat(43)] }]
  const sent = (bytes: number) => {
    const entry = { bytes: Buffer.alloc(bytes, 'a'), hash: HASH, content: null, user: null, before: null }
    const log = { first: 1, read: (seq: number) => (seq === 1 ? { ...entry, stored } : null) }
    return nextShipment(log as unknown as ShippableLog, () => t.fail('nothing is left out')).subarray(0, -1)
  }
  t.strictSame(readShippedLine(sent(1000)).stored, stored)
  const long = sent(MAXIMUM_SHIPPED_BYTES - 150)
  t.ok(long.length <= MAXIMUM_SHIPPED_BYTES)
  t.notOk('stored' in readShippedLine(long))
})

for (const [line, message] of [
  ['', /is not JSON/],
  ['[]', /the line must be an object/],
  [`{"entry":"{}","hash":"${HASH}","content":null}`, /user/],
  [`{"entry":"{}","hash":"sha256:00","content":null,"user":null}`, /hash/],
  [`{"entry":"{}","hash":"${HASH}","content":"AA=A","user":null}`, /content is not base64/],
  [`{"entry":"{}","hash":"${HASH}","content":null,"user":{"hash":"00","clear":null}}`, /user\.hash/],
] as const) {
  t.test(`a line is refused with the reason: ${line.slice(0, 60)}`, async (t) => {
    t.throws(() => readShippedLine(Buffer.from(line)), { message })
  })
}

t.test('a long exchange is read in steps, as it was sent', async (t) => {
  const sent = { bytes: Buffer.from('{",\\"content\\":\\"":1}'), hash: HASH, user: null, before: null }
  for (const length of [1, 786_432, 786_433, 2_000_000]) {
    const content = Buffer.alloc(length, 'exchange')
    const line = printShipment([{ ...sent, content }]).subarray(0, -1)
    let pauses = 0
    const steps = readShippedLineSteps(line)
    let step = steps.next()
    for (; step.done !== true; pauses++) step = steps.next()
    t.ok(step.value?.content?.equals(content))
    t.strictSame({ ...step.value, content: null }, { ...sent, content: null })
    t.equal(pauses > 1, length > 786_432, `${length} bytes`)
  }
})

t.test('a long line is refused unless its exchange alone is long', async (t) => {
  const text = 'AAAA'.repeat(600_000)
  const line = (entry: string, content: string) =>
    Buffer.from(`{"entry":"${entry}","hash":"${HASH}","content":${content},"user":null}`)
  for (const [long, message] of [
    [line(text, 'null'), /too long/],
    [line(text, '"AAAA"'), /too long/],
    [line('{}', `"${text}`), /too long|is not JSON/],
    [line('{}', `"${text}AA=A"`), /content is not base64/],
    [line('{}', `"AA==${text}"`), /content is not base64/],
    [line('{}', `"${text.slice(0, 1_048_572)}AA==${text}"`), /content is not base64/],
  ] as const)
    t.throws(() => atOnce(readShippedLineSteps(long)), { message })
})
