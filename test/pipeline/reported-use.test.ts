// What an answer that is not scanned says of its use, however it is cut into pieces.

import t from 'tap'
import { ReportedUse } from '../../src/pipeline/answer/reported-use.ts'

/** @param cut characters of each piece */
function useIn(text: string, type = 'application/json; charset=utf-8', cut = 7) {
  const use = new ReportedUse(type)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut) use.add(bytes.subarray(at, at + cut))
  return use
}

t.test('usage at the top of an answer counts, wherever it stands', async (t) => {
  const usage =
    '"usage": {"prompt_tokens": 3, "completion_tokens": 4, "details": {"a": "}\\"{"}, "cost": 0.5}'
  const found = { promptTokens: 3, completionTokens: 4, cost: 500_000_000 }
  const other = '{"usage":{"prompt_tokens":9,"completion_tokens":9,"cost":9}}'
  for (const text of [
    `{${usage}}`,
    `{"data":[${'1,'.repeat(50_000)}2],${usage}}`,
    `{${usage},"data":"${'x'.repeat(100_000)}"}`,
    `{${usage},"metadata":${other}}`,
    `{"data":[${other}],${usage},"input":${other}}`,
    `{${usage},"echo":${JSON.stringify(other)}}`,
    `{"response":{"id":"a",${usage}}}`,
  ])
    t.match(useIn(text).usage, found, text.slice(0, 40))
  const events = `data: {"usage":null}\n\ndata: {"model":"m",${usage}}\n\ndata: [DONE]\n\n`
  t.match(useIn(events, 'text/event-stream'), { usage: found, model: 'm' })
})

t.test('a cost counts without tokens, and a total without its parts', async (t) => {
  t.match(useIn('{"usage":{"cost":0.6}}').usage, { promptTokens: 0, totalTokens: 0, cost: 600_000_000 })
  t.match(useIn('{"usage":{"type":"duration","seconds":9,"cost":0.6}}').usage, { cost: 600_000_000 })
  t.match(useIn('{"usage":{"total_tokens":35}}').usage, {
    promptTokens: 35,
    completionTokens: 0,
    totalTokens: 35,
    cost: null,
  })
})

t.test('what a tool of the answer used counts', async (t) => {
  const usage = '"usage":{"input_tokens":1,"output_tokens":2}'
  const tools = '"tool_usage":{"image_gen":{"input_tokens":50,"output_tokens":5000}}'
  for (const text of [`{${usage},${tools}}`, `{${tools},${usage}}`, `{"response":{${tools},${usage}}}`])
    t.match(useIn(text).usage, { promptTokens: 51, completionTokens: 5002, totalTokens: 5053 }, text)
})

t.test('what is no usage counts nothing', async (t) => {
  for (const text of [
    '',
    '{}',
    '{"usage":null}',
    '{"usage":{}}',
    '{"usage":{"type":"duration","seconds":9}}',
    '{"usage":{"prompt_tokens":"3"}}',
    '{"usage":{"prompt_tokens":3',
    '{"usage":{bad}}',
    '{"text":"\\"usage\\":{\\"prompt_tokens\\":3}"}',
    '{"a":{"usage":{"prompt_tokens":3}}}',
    '[{"usage":1}]',
  ])
    t.equal(useIn(text).usage, null, text)
  for (const type of ['audio/mpeg', 'image/png', 'video/mp4'])
    t.match(useIn('{"usage":{"cost":1}}', type), { usage: null, isReadable: false }, type)
  for (const text of ['data: {"usage":{"cost":1}}', 'She said {"usage":{"cost":1}}', '"{"'])
    t.match(useIn(text, 'text/plain'), { usage: null, isReadable: false }, text)
})

t.test('an object counts under any type of answer', async (t) => {
  for (const type of ['text/plain', 'text/html', 'application/octet-stream', '', 'application/jsonp'])
    for (const before of ['', ' \r\n\t', '\ufeff'])
      t.match(useIn(`${before}{"usage":{"cost":1}}`, type, 1).usage, { cost: 1_000_000_000 }, type)
  t.match(useIn(' ', 'text/plain'), { isReadable: true }, 'it may still say what it used')
})
