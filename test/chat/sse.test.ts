import fc from 'fast-check'
import t from 'tap'
import { encodeComment, encodeData, type SseEvent, SseParser } from '../../src/chat/sse.ts'

const LIMIT = 10_000

function parse(bytes: Uint8Array, cuts: readonly number[] = []): SseEvent[] {
  const parser = new SseParser(LIMIT)
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const events: SseEvent[] = []
  let from = 0
  for (const place of [...places, bytes.length]) {
    events.push(...parser.push(bytes.subarray(from, place)))
    from = place
  }
  return [...events, ...parser.finish()]
}

const data = (text: string) => parse(Buffer.from(text)).map((event) => event.data)

t.test('events as the specification has them', async (t) => {
  const cases: [string, (string | null)[]][] = [
    ['data: a\n\n', ['a']],
    ['data:a\n\n', ['a']],
    ['data:  a\n\n', [' a']],
    ['data: a\ndata: b\n\n', ['a\nb']],
    ['data\n\n', ['']],
    [': comment\n\n', [null]],
    ['event: x\nid: 1\ndata: a\nretry: 5\n\n', ['a']],
    ['data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['\n\n\ndata: a\n\n\n', ['a']],
    ['data: never ended', []],
    ['dat: a\n\n', [null]],
    ['data: {"x":"ü😀"}\n\n', ['{"x":"ü😀"}']],
  ]
  for (const [text, expected] of cases) t.same(data(text), expected, JSON.stringify(text))
})

t.test('the pieces do not matter, nor where a character or a line end is cut', async (t) => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
    fc.constantFrom(': ping', 'event: x', '', 'data'),
  )
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (lines, cuts) => {
      const bytes = Buffer.from(`${lines.map(([text, end]) => text + end).join('')}\n\n`)
      t.same(parse(bytes, cuts), parse(bytes))
      t.same(parse(bytes, Array.from(bytes.keys())), parse(bytes))
    }),
  )
})

t.test('raw text of all events is the stream, blank lines between events left out', async (t) => {
  const text = ': hi\n\ndata: a\r\n\r\ndata: b\n\n'
  t.equal(
    parse(Buffer.from(text))
      .map(({ raw }) => raw)
      .join(''),
    text,
  )
})

t.test('an event without end is refused, linearly', async (t) => {
  const parser = new SseParser(LIMIT)
  t.throws(
    () => {
      for (let i = 0; i < LIMIT + 10; i++) parser.push(Buffer.from('x'))
    },
    { code: 'upstream_unavailable' },
  )
  const lines = new SseParser(LIMIT)
  t.throws(() => {
    for (let i = 0; i < LIMIT; i++) lines.push(Buffer.from('data: x\n'))
  }, /too long/)
})

t.test('what is encoded can be parsed', async (t) => {
  t.same(data(encodeData('{"a":1}')), ['{"a":1}'])
  t.same(data(encodeComment('sidegate-audit x')), [null])
})
