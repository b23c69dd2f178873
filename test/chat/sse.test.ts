import fc from 'fast-check'
import t from 'tap'
import { encodeComment, encodeData, encodeEvent, type SseEvent, SseParser } from '../../src/chat/sse.ts'
import { decodeAsClients, decodeStream } from './sse-clients.ts'

const LIMIT = 10_000

function parse(bytes: Buffer, cuts: readonly number[] = []): SseEvent[] {
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

const dataOf = (events: readonly SseEvent[]) => events.map(({ data }) => data)
const rawOf = (events: readonly SseEvent[]) => events.map(({ raw }) => raw).join('')
const everywhere = (bytes: Buffer) => Array.from(bytes.keys())

t.test('parses events as the specification defines them', async (t) => {
  const cases: [string, (string | null)[]][] = [
    ['', []],
    ['\n\n', []],
    ['data: a\n\n', ['a']],
    ['data:a\n\n', ['a']],
    ['data:  a\n\n', [' a']],
    ['data: a\ndata: b\n\n', ['a\nb']],
    ['data: a\r\ndata: b\r\n\r\n', ['a\nb']],
    ['data\n\n', [null]],
    ['data:\n\n', [null]],
    ['data: \n\n', [null]],
    ['data:\ndata\n\n', ['\n']],
    [': comment\n\n', [null]],
    [':\n\n', [null]],
    ['event: x\nid: 1\ndata: a\nretry: 5\n\n', ['a']],
    ['data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['\n\n\ndata: a\n\n\n', ['a']],
    ['data: a\n\r\ndata: b\r\n\n', ['a', 'b']],
    ['dat: a\n\n', [null]],
    ['datax\n\n', [null]],
    ['\ufeffdata: a\n\ndata: b\n\n', ['a', 'b']],
    ['data: a\n\n\ufeffdata: b\n\n', ['a', null]],
    ['data: {"x":"ü😀"}\n\n', ['{"x":"ü😀"}']],
    ['data: a:b\n\n', ['a:b']],
  ]
  for (const [text, expected] of cases) {
    const bytes = Buffer.from(text)
    t.same(dataOf(parse(bytes)), expected, JSON.stringify(text))
    t.same(dataOf(parse(bytes, everywhere(bytes))), expected, `${JSON.stringify(text)}, byte by byte`)
  }
})

t.test('events do not depend on cuts, also inside characters and line ends', async () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
    fc.constantFrom(': ping', 'event: x', 'id: 7', 'retry: 5', ':', '\ufeff', 'x', '', 'data'),
  )
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (lines, cuts) => {
      const text = `${lines.map(([line, end]) => line + end).join('')}data: end\n\n`
      const bytes = Buffer.from(text)
      const whole = parse(bytes)
      for (const pieces of [cuts, everywhere(bytes)]) {
        const cut = parse(bytes, pieces)
        if (dataOf(cut).join('|') !== dataOf(whole).join('|') || rawOf(cut) !== rawOf(whole)) return false
      }
      const sent = rawOf(whole)
      return sent.includes('\r') === false &&
        decodeStream(sent, { all: true }).every(({ data }) => data !== '')
        ? JSON.stringify(decodeStream(sent)) ===
            JSON.stringify(decodeStream(text).filter(({ data }) => data !== ''))
        : false
    }),
  )
})

t.test('an event ends with its blank line, not with the next event', async (t) => {
  const parser = new SseParser(LIMIT)
  t.same(dataOf(parser.push(Buffer.from('data: a\r\r'))), ['a'])
  t.same(parser.push(Buffer.from('\n')), [])
  t.same(dataOf(parser.push(Buffer.from('data: b\n'))), [])
  t.same(dataOf(parser.push(Buffer.from('\n'))), ['b'])
  t.same(parser.push(Buffer.alloc(0)), [])
  t.same(parser.finish(), [])
})

t.test('the last event may lack its blank line', async (t) => {
  const done = { raw: 'data: [DONE]\n\n', data: '[DONE]', otherLines: '' }
  t.same(parse(Buffer.from('data: a\n\ndata: [DONE]')).at(-1), done)
  t.same(parse(Buffer.from('data: [DONE]\n')), [done])
  const returned = parse(Buffer.from('data: a\r\n\r\ndata: b\r'))
  t.same(
    dataOf(parse(Buffer.from(`${rawOf(returned)}data: c\n\n`))),
    ['a', 'b', 'c'],
    'what follows is apart',
  )
  t.same(dataOf(parse(Buffer.from(': half a com'))), [null])
})

t.test('lines without data are separate and can be encoded again', async (t) => {
  const [event] = parse(Buffer.from('event: x\r\n: ping\r\ndata: {\r\ndata: }\r\nerror: {"a":1}\r\n\r\n'))
  t.same([event?.data, event?.otherLines], ['{\n}', 'event: x\n: ping\nerror: {"a":1}'])
  t.equal(event?.raw, 'event: x\n: ping\ndata: {\ndata: }\nerror: {"a":1}\n\n')
  const again = parse(Buffer.from(encodeEvent(event?.otherLines ?? '', event?.data ?? null)))
  t.match(again, [{ data: event?.data, otherLines: event?.otherLines }])
  t.equal(encodeEvent(': ping', null), ': ping\n', 'a line of the event that follows')
  t.equal(encodeEvent('event: x\nevent\nid: 7\nevents: y', null), 'id: 7\nevents: y\n')
})

t.test('a comment is returned as soon as its line ends', async (t) => {
  for (const end of ['\n', '\r', '\r\n']) {
    for (const start of ['', '\ufeff', end, `data: a${end}${end}`]) {
      const parser = new SseParser(LIMIT)
      const bytes = Buffer.from(`${start}: ping${end}`)
      const events = Array.from(bytes, (byte) => parser.push(Buffer.of(byte))).flat()
      t.match(events.at(-1), { raw: ': ping\n', data: null, otherLines: ': ping' })
      t.same(dataOf(parser.push(Buffer.from(`data: b${end}${end}`))), ['b'])
    }
  }
})

t.test('no block without data is encoded, for any client', async (t) => {
  for (const block of [': ping', ':', 'event: x', 'id: 7', 'retry: 5', 'data', 'data:\nid: 7', 'x: y', '']) {
    for (const end of ['\n', '\r', '\r\n']) {
      const stream = [`data: a`, block, 'data: b', block, block, 'data: c'].join(`\n\n`).replaceAll('\n', end)
      const sent = rawOf(parse(Buffer.from(stream + end + end)))
      for (const events of decodeAsClients(sent))
        t.same(
          events.map(({ data, name }) => data + name),
          ['a', 'b', 'c'],
          JSON.stringify(stream),
        )
    }
  }
})

t.test('bytes that are not UTF-8 become replacement characters', async (t) => {
  t.same(dataOf(parse(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0xff, 0x0a, 0x0a]))), ['\ufffd'])
})

t.test('an event that is too long is refused', async (t) => {
  const refused = (piece: string, count: number) => {
    const parser = new SseParser(LIMIT)
    for (let i = 0; i < count; i++) parser.push(Buffer.from(piece))
  }
  const error = { code: 'upstream_unavailable', message: /more than \d+ bytes/ }
  t.throws(() => refused('x', LIMIT + 1), error)
  t.throws(() => refused('data: x\n', LIMIT), error)
  t.doesNotThrow(() => refused('\n', LIMIT + 1), 'blank lines are skipped')
  t.doesNotThrow(() => refused(': x\n', LIMIT), 'comments are not kept')
  t.throws(() => refused('id: 7\n: x\n', LIMIT), error)
  t.throws(() => refused(`data: ${'x'.repeat(LIMIT)}\n\n`, 1), error)
  t.doesNotThrow(() => refused(`data: ${'x'.repeat(LIMIT - 8)}\n\n`, 10))
})

t.test('encoded events can be parsed', async (t) => {
  t.same(dataOf(parse(Buffer.from(encodeData('{"a":1}')))), ['{"a":1}'])
  t.equal(encodeComment('sidegate-audit x') + encodeData('b'), ': sidegate-audit x\ndata: b\n\n')
})

t.test('the end of an event does not depend on cuts', async (t) => {
  const text = Buffer.from('data: a\r\n\r\n: x\r\ndata: b\r\n\r\ndata: c\n\ndata: d\r\rdata: [DONE]\r\n\r\n')
  const raws = (pieces: readonly Buffer[]) => {
    const parser = new SseParser(1000)
    return pieces.flatMap((piece) => parser.push(piece)).map(({ raw }) => raw)
  }
  const whole = raws([text])
  t.same(whole.slice(0, 4), ['data: a\n\n', ': x\n', 'data: b\n\n', 'data: c\n\n'])
  for (let cut = 1; cut < text.length; cut++)
    t.same(raws([text.subarray(0, cut), text.subarray(cut)]), whole, `${cut}`)
  t.same(raws(Array.from(text, (byte) => Buffer.of(byte))), whole)
})
