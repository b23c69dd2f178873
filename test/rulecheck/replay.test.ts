// Recorded exchanges, from request lines and from exports of the usage log.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { genesis, seal } from '../../src/audit/chain.ts'
import { entryLine, exchangeLine } from '../../src/audit/dump.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { type Recording, readRecording } from '../../src/rulecheck/replay.ts'
import { requestDraft } from '../audit/drafts.ts'
import { anyEdits, edited } from '../audit/edits.ts'
import { keyOf } from '../policy/keys.ts'

const LOG = '01980000-0000-7000-8000-0000000000ff'
const REQUEST = { model: 'm', messages: [{ role: 'user', content: 'a word of a client' }] }
const ANSWER = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
}

async function record(t: Test, lines: readonly (string | Buffer)[]): Promise<Recording & { file: string }> {
  const file = join(t.testdir(), 'calls.jsonl')
  writeFileSync(file, Buffer.concat(lines.map((line) => Buffer.from(line))))
  return { ...(await readRecording(file)), file }
}

/** Lines of an export; each step is a draft and its captured exchange, or null. */
function exported(steps: readonly (readonly [EntryDraft, unknown])[]): string[] {
  let { hash, bytes } = genesis(
    LOG,
    { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' },
    0,
  )
  const lines = [entryLine({ hash, bytes })]
  for (const [index, [draft, captured]] of steps.entries()) {
    ;({ hash, bytes } = seal({ log: LOG, seq: index, hash }, draft, 0, null))
    lines.push(entryLine({ hash, bytes }))
    if (captured !== null) lines.push(captureLine(index + 1, captured))
  }
  return lines
}

const captureLine = (seq: number, captured: unknown): string => {
  const content = Buffer.from(typeof captured === 'string' ? captured : JSON.stringify(captured))
  return String(Buffer.concat(exchangeLine({ seq, salt: Buffer.alloc(32), content }) ?? []))
}

const request = (id: string, keyName = 'web') => requestDraft({ id, key_name: keyName })

t.test('request bodies and objects with a request are read', async (t) => {
  const { exchanges, problems, withoutExchange, file } = await record(t, [
    `${JSON.stringify(REQUEST)}\r\n`,
    '\n',
    ' \t\r\n',
    JSON.stringify({ request: REQUEST, key_name: 'web', response: ANSWER }),
  ])
  t.strictSame(problems, [])
  t.equal(withoutExchange, 0)
  t.strictSame(exchanges, [
    { where: `${file}:1`, api: 'chat', request: REQUEST, key: keyOf('replay'), answer: null },
    { where: `${file}:4`, api: 'chat', request: REQUEST, key: keyOf('web'), answer: ANSWER },
  ])
})

t.test('an export gives keys from entries and content from exchanges', async (t) => {
  const { exchanges, problems, withoutExchange, file } = await record(t, [
    ...exported([
      [{ type: 'key_created', key_id: 'k', key_name: 'web', source: 'api', actor: 'vera' }, null],
      [request('call-1'), { request: REQUEST, response: ANSWER }],
      [request('call-2'), null],
      [request('call-3', 'batch'), { request: REQUEST, response: null }],
      [request('call-4'), { request: REQUEST, response: { error: { message: 'no' } } }],
      [request('call-5'), null],
      [{ type: 'stop', version: '1', actor: 'gateway' }, null],
      [request('call-6'), null],
    ]),
    '{"checkpoint":"sidegate/x\\n1\\n"}\n',
  ])
  t.strictSame(problems, [])
  t.equal(withoutExchange, 3)
  t.strictSame(exchanges, [
    { where: `${file}:4 call-1`, api: 'chat', request: REQUEST, key: keyOf('web'), answer: ANSWER },
    { where: `${file}:7 call-3`, api: 'chat', request: REQUEST, key: keyOf('batch'), answer: null },
    { where: `${file}:9 call-4`, api: 'chat', request: REQUEST, key: keyOf('web'), answer: null },
  ])
})

t.test('an answer is taken even if a request of its form would be refused', async (t) => {
  const answer = `{"created":12345678901234567890,"choices":[{}],"text":"\\ud800"}`
  const { exchanges, problems } = await record(
    t,
    exported([[request('call'), `{"request":${JSON.stringify(REQUEST)},"response":${answer}}`]]),
  )
  t.strictSame(problems, [])
  t.strictSame(exchanges[0]?.answer, JSON.parse(answer))
})

t.test('a request as deep as the gateway accepts is read', async (t) => {
  const nested = (levels: number) =>
    `{"model":"m","messages":[],"deep":${'['.repeat(levels)}${']'.repeat(levels)}}`
  const { exchanges, problems } = await record(
    t,
    exported([
      [request('call-1'), `{"request":${nested(63)},"response":null}`],
      [request('call-2'), `{"request":${nested(64)},"response":null}`],
    ]),
  )
  t.equal(exchanges.length, 1)
  t.match(problems, [{ line: 5, message: 'is not a captured exchange' }])
})

t.test('an invalid id is not printed', async (t) => {
  const { exchanges, file } = await record(
    t,
    exported([[request('\u001b[2Jproject aurora'), { request: REQUEST, response: null }]]),
  )
  t.equal(exchanges[0]?.where, `${file}:3`)
})

t.test('a line that is no exchange is reported by number, without its text', async (t) => {
  const [genesisLine, entry, exchange] = exported([
    [request('call'), { request: REQUEST, response: null }],
  ]) as [string, string, string]
  const neither = /^is neither a chat request body, nor an object with `request`/
  const stray = /^is an exchange that does not follow its entry/
  const notCaptured = 'is not a captured exchange'
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  for (const [name, lines, line, message] of [
    ['an object', ['{"a":"word of a client"}\n'], 1, neither],
    ['no JSON', ['word of a client\n'], 1, neither],
    ['an invalid request', ['{"request":1}\n'], 1, neither],
    ['an invalid key name', [JSON.stringify({ request: REQUEST, key_name: 5 })], 1, neither],
    ['a body that ends like an entry', [`{"a":1,"hash":"sha256:${'0'.repeat(64)}"}\n`], 1, neither],
    ['an exchange alone', [exchange], 1, stray],
    ['an exchange of another entry', [genesisLine, exchange], 2, stray],
    ['an exchange that comes twice', [genesisLine, entry, exchange, exchange], 4, stray],
    ['an exchange after another entry', [entry, genesisLine, exchange], 3, stray],
    ['an exchange cut short', [entry, exchange.slice(0, 60)], 2, neither],
    ['an exchange that is no JSON', [entry, captureLine(1, 'word of a client')], 2, notCaptured],
    ['an exchange without a request', [entry, captureLine(1, { response: ANSWER })], 2, notCaptured],
    ['an exchange of a deep request', [entry, captureLine(1, `{"request":{"a":${deep}}}`)], 2, notCaptured],
    [
      'an exchange of a deep answer',
      [entry, captureLine(1, `{"request":{},"response":${deep}}`)],
      2,
      notCaptured,
    ],
    ['bytes', [Buffer.from([0xff, 0xfe, 0x0a])], 1, neither],
  ] as const) {
    await t.test(name, async (t) => {
      const { problems } = await record(t, lines)
      t.match(problems, [{ line, column: 1, message }])
      t.equal(problems.length, 1)
      t.notMatch(JSON.stringify(problems), 'word of a client')
    })
  }
  const bytes = Buffer.from(captureLine(1, `{"request":${JSON.stringify(REQUEST)},"a":"?"}`))
  bytes[bytes.lastIndexOf('?')] = 0xff
  t.match((await record(t, [entry, bytes])).problems, [{ line: 2, message: notCaptured }])
})

t.test('reading stops at the memory limit', async (t) => {
  const line = `${JSON.stringify(REQUEST)}\n`
  const file = join(t.testdir(), 'calls.jsonl')
  writeFileSync(file, line.repeat(5))
  const heldBytes = 3 * (line.length - 1)
  const held = await readRecording(file, { lineBytes: 1000, heldBytes })
  t.equal(held.exchanges.length, 3)
  const message = `and the lines before it hold more than ${heldBytes} bytes of requests; split the file`
  t.match(held.problems, [{ file, line: 4, message }])
  t.equal(held.problems.length, 1)
  writeFileSync(file, `${line}{"a":"${' '.repeat(2000)}`)
  const long = await readRecording(file, { lineBytes: 1000, heldBytes })
  t.match(long.problems, [{ file, line: 2, message: 'is longer than 1000 bytes' }])
})

t.test('a file of any content is read to its end', async (t) => {
  const file = join(t.testdir(), 'calls.jsonl')
  const lines = exported([
    [request('call-1'), { request: REQUEST, response: ANSWER }],
    [request('call-2'), null],
    [request('call-3'), { request: REQUEST, response: null }],
  ])
  const text = Buffer.from(lines.join(''))
  const pieces = ['\n', '"', '}}', '{"exchange":{"seq":', '[[[', '"request":', ...lines]
  await fc.assert(
    fc.asyncProperty(anyEdits(text.length, pieces), async (edits) => {
      const changed = edited(text, edits)
      writeFileSync(file, changed)
      const { exchanges, problems, withoutExchange } = await readRecording(file)
      const filled = changed
        .toString('latin1')
        .split('\n')
        .filter((line) => /[^\0- ]/.test(line))
      return exchanges.length + problems.length + withoutExchange <= filled.length
    }),
    { numRuns: 300 },
  )
})
