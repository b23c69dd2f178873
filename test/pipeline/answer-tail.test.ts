// What an answer that is not scanned says of its use, however it is cut into pieces.

import fc from 'fast-check'
import t from 'tap'
import { AnswerTail } from '../../src/pipeline/answer/answer-tail.ts'

/** @param cut characters of each piece */
function usageIn(text: string, cut = 7) {
  const tail = new AnswerTail()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut) tail.add(bytes.subarray(at, at + cut))
  return tail.usage()
}

t.test('the last usage at the end of an answer counts', async (t) => {
  const usage =
    '"usage": {"prompt_tokens": 3, "completion_tokens": 4, "details": {"a": "}\\"{"}, "cost": 0.5}'
  const found = { promptTokens: 3, completionTokens: 4, cost: 500_000_000 }
  for (const text of [
    `{${usage}}`,
    `{"data":[${'1,'.repeat(50_000)}2],${usage}}`,
    `data: {"usage":null}\n\ndata: {${usage}}\n\ndata: [DONE]\n\n`,
    `{"usage":{"prompt_tokens":1},${usage}}`,
  ])
    t.match(usageIn(text), found, text.slice(0, 40))
  t.equal(usageIn(`{${usage},"data":"${'x'.repeat(20_000)}"}`), null, 'before the tail')
})

t.test('what is no usage counts nothing', async (t) => {
  for (const text of [
    '',
    '{}',
    '{"usage":null}',
    '{"usage":{}}',
    '{"usage":{"prompt_tokens":"3"}}',
    '{"usage":{"prompt_tokens":3',
    '{"usage":{bad}}',
    '{"text":"\\"usage\\":{\\"prompt_tokens\\":3}"}',
  ])
    t.equal(usageIn(text), null, text)
})

t.test('pieces of any size give the same, and any bytes are read', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (noise, cut) => {
      const text = `${Buffer.from(noise).toString('latin1')}{"usage":{"prompt_tokens":3}}`
      return usageIn(text, cut)?.promptTokens === 3 || text.includes('"usage"') === false
    }),
  )
})
