// Ids that a provider gave pass unchanged in both directions. Ids that a client made up do not.

import t from 'tap'
import { deploy } from './gateway.ts'
import { chunk, completion, events, finish, json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t, undefined, {
  rules: 'rules: [{ name: redact, type: pii, pattern: "*", action: redact }]\n',
})
const { key: other } = await gateway.createKey('other')

/** An id that a detector takes for a phone number. */
const ID = 'call:+1 415-555-2671'
const CALL = { id: ID, type: 'function', function: { name: 'ls', arguments: '{}' } }
const next = {
  model: 'm',
  messages: [
    { role: 'user', content: 'which files?' },
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: ID, content: 'a.txt' },
  ],
}
const idsSent = (): string[] => {
  const { messages } = JSON.parse(upstream.received.at(-1)!.body)
  return [messages[1].tool_calls[0].id, messages[2].tool_call_id]
}

t.test('an id that no answer gave is redacted', async (t) => {
  await (await gateway.chat(key, next)).text()
  t.same(idsSent(), ['call:[PHONE_1]', 'call:[PHONE_1]'])
})

for (const isStream of [false, true])
  t.test(`an id of ${isStream ? 'a streamed' : 'a whole'} answer is forwarded unchanged`, async (t) => {
    const { key: fresh } = await gateway.createKey(`fresh ${isStream}`)
    const [choice] = completion('').choices
    upstream.answer = isStream
      ? events(
          chunk([{ index: 0, delta: { role: 'assistant', tool_calls: [{ index: 0, ...CALL }] } }]),
          finish(0, 'tool_calls'),
          '[DONE]',
        )
      : json({
          ...completion(''),
          choices: [{ ...choice, message: { role: 'assistant', content: null, tool_calls: [CALL] } }],
        })
    const body = { model: 'm', messages: [{ role: 'user', content: 'which files?' }], stream: isStream }
    t.match(await (await gateway.chat(fresh, body)).text(), `"id":"${ID}"`)
    upstream.answer = json(completion('done'))
    await (await gateway.chat(fresh, next)).text()
    t.same(idsSent(), [ID, ID])
    await (await gateway.chat(other, next)).text()
    t.same(idsSent(), ['call:[PHONE_1]', 'call:[PHONE_1]'], 'another key did not get it')
  })
