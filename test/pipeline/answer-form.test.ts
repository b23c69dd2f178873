// The form of an answer, read from its first bytes.

import t from 'tap'
import { readForm } from '../../src/pipeline/answer/answer-form.ts'
import { readAll } from '../../src/pipeline/answer/whole-answer.ts'
import type { UpstreamResponse } from '../../src/upstream/response.ts'
import { responseOf } from './fixture.ts'

const bytewise = (text: string): Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.of(byte))

const FORMS: Record<string, readonly string[]> = {
  stream: [
    'data: {"a":1}\n\n',
    'data:[DONE]\n\n',
    ': ping\n\ndata: 1\n\n',
    'event: error\ndata: {}\n\n',
    'id: 7\ndata: 1\n\n',
    'id\ndata: 1\n\n',
    'retry: 9\r\ndata: 1\r\n\r\n',
    '\r\n\r\ndata: 1\n\n',
    '\ufeffdata: 1\n\n',
    '\ufeff \t data: 1\n\n',
  ],
  whole: ['{"a":1}', '[{"a":1}]', '\ufeff{"a":1}', '\n\n \t{"a":1}\n', '{', '['],
  empty: ['', ' ', '\r\n\r\n', '\ufeff', '\ufeff\n'],
  unknown: [
    '<html></html>',
    'busy',
    '"busy"',
    'dat',
    'dat{"a":1}',
    'database: gone',
    'event',
    'null',
    '-1',
    '\ufeff\ufeffdata: 1\n\n',
    'Data: 1\n\n',
    'd\u0000ata: 1',
  ],
}

t.test('the form is the same with any cut, and no byte is lost', async (t) => {
  for (const [expected, texts] of Object.entries(FORMS)) {
    for (const text of texts) {
      const all = Buffer.from(text)
      const cuts = all.map((_, at) => at)
      const ways = [[all], bytewise(text), ...[...cuts].map((at) => [all.subarray(0, at), all.subarray(at)])]
      for (const pieces of ways) {
        const { form, response } = await readForm(responseOf(pieces))
        t.equal(form, expected, JSON.stringify(text))
        const rest = (await readAll(response)).toString()
        t.equal(rest, text.replace(/^\ufeff?[\t\n\r ]*/, ''), JSON.stringify(text))
      }
    }
  }
})

t.test('no more is read than the form needs, and blank lines have a limit', async (t) => {
  const counted = (pieces: readonly string[]) => {
    const inner = responseOf(pieces)
    let reads = 0
    const read = () => {
      reads++
      return inner.read()
    }
    const response = { ...inner, read }
    return { response, reads: () => reads }
  }
  const begun = counted(['\n', 'da', 'ta:', ' {}\n\n'])
  t.equal((await readForm(begun.response)).form, 'stream')
  t.equal(begun.reads(), 3)
  const endless = counted(Array<string>(10_000).fill('\n\n'))
  t.equal((await readForm(endless.response)).form, 'empty')
  t.equal(endless.reads(), 2048)
  t.equal((await readForm(responseOf([`${'\n'.repeat(4000)}{}`]))).form, 'whole')
})

t.test('an abort or a discard reaches the response, and drops what was read', async (t) => {
  for (const name of ['abort', 'discard'] as const) {
    const seen: string[] = []
    const inner: UpstreamResponse = { ...responseOf(['{"a":1}', 'x']), [name]: () => seen.push(name) }
    const { response } = await readForm(inner)
    response[name]()
    t.same(seen, [name])
    t.equal(String(await response.read()), 'x')
  }
  const broken = { ...responseOf([]), read: () => Promise.reject(new Error('gone')) }
  await t.rejects(readForm(broken), { message: 'gone' })
})
