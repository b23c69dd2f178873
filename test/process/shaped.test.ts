// Shaped placeholders with OpenAI's official client against the running process: structured outputs
// keep to their schema, and the client gets its values back.

import t from 'tap'
import { openAi } from './client.ts'
import { deploy } from './gateway.ts'
import { completion, json, stream } from './upstream.ts'

const RULES = `
rules:
  - { name: back, type: pii, pattern: "*", action: restore }
`
const { upstream, gateway, key } = await deploy(t, undefined, {
  rules: RULES,
  config: { pii: { placeholders: 'shaped' } },
})
const client = openAi(gateway, key)

const schema = {
  type: 'object',
  properties: { email: { type: 'string', format: 'email' }, card: { type: 'integer' } },
}
const content = 'Return {"email":"ann@example.com","card":4111111111111111} as JSON.'
const request = {
  model: 'm',
  messages: [{ role: 'user' as const, content }],
  response_format: { type: 'json_schema' as const, json_schema: { name: 'person', schema } },
}
/** What a model makes of the prompt: the JSON in it. */
const answerTo = (body: string) => /\{.*\}/.exec(JSON.parse(body).messages[0].content)![0]

t.test('a whole answer', async (t) => {
  upstream.answer = (response, received) => json(completion(answerTo(received.body)))(response, received)
  const answer = await client.chat.completions.create(request)
  t.equal(answer.choices[0]!.message.content, '{"email":"ann@example.com","card":4111111111111111}')
  t.match(
    upstream.received.at(-1)!.body,
    '{\\"email\\":\\"email-1@redacted.invalid\\",\\"card\\":4000000000000010}',
  )
})

t.test('a stream, cut anywhere', async (t) => {
  upstream.answer = (response, received) =>
    stream(answerTo(received.body).match(/.{1,3}/g)!)(response, received)
  let text = ''
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true }))
    text += chunk.choices[0]?.delta.content ?? ''
  t.equal(text, '{"email":"ann@example.com","card":4111111111111111}')
  t.same((await gateway.newestEntry()).pii_types, ['credit_card', 'email'])
})
