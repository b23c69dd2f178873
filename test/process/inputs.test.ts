// Embeddings, moderations and completions with OpenAI's official client against the running process.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Pseudonyms } from '../../src/pipeline/scan/pseudonyms.ts'
import { openAi } from './client.ts'
import { BLOCK_AURORA, deploy } from './gateway.ts'
import { events, json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t, undefined, { rules: BLOCK_AURORA })
const client = openAi(gateway, key)

const model = 'test/model'
const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? '{}')
/** The pseudonym of an address, from the key that the gateway made. */
const nameOf = (address: string): string => {
  const key = readFileSync(join(gateway.folder, 'data/pseudonym-key'), 'latin1').trim()
  return new Pseudonyms(() => key).for('email', address)
}
const usage = { prompt_tokens: 8, total_tokens: 8 }

t.test('inputs of embeddings are redacted, and vectors pass', async (t) => {
  const vectors = [
    [0.25, -0.5, 4111111111111111],
    [1, 2, 3],
  ]
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  upstream.answer = json({ object: 'list', data, model, usage })
  const answer = await client.embeddings.create({
    model,
    input: ['I am ann@example.com.', 'Harmless.'],
    encoding_format: 'float',
  })
  t.same(
    answer.data.map(({ embedding }) => embedding),
    vectors,
  )
  t.match(upstream.received.at(-1), { url: '/v1/embeddings' })
  t.same(sent().input, [`I am ${nameOf('ann@example.com')}.`, 'Harmless.'])
  t.match(await gateway.newestEntry(), {
    api: 'embeddings',
    prompt_tokens: 8,
    completion_tokens: 0,
    total_tokens: 8,
  })
})

t.test('what is sent of an input depends on no other input of the batch', async (t) => {
  upstream.answer = json({ object: 'list', data: [], model, usage })
  const texts = [
    'Ask ann@example.com or bob@example.org.',
    'Ask bob@example.org; [EMAIL_1] is a form.',
    'Ask bob@example.org.',
  ]
  const [ann, bob] = [nameOf('ann@example.com'), nameOf('bob@example.org')]
  const redacted = [`Ask ${ann} or ${bob}.`, `Ask ${bob}; [EMAIL_1] is a form.`, `Ask ${bob}.`]
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
  ]) {
    await client.embeddings.create({
      model,
      input: order.map((at) => texts[at]!),
      encoding_format: 'float',
    })
    t.same(
      sent().input,
      order.map((at) => redacted[at]),
    )
  }
  await client.embeddings.create({ model, input: texts[2]!, encoding_format: 'float' })
  t.equal(sent().input, redacted[2], 'alone too')
})

t.test('vectors as base64 pass, which the client decodes', async (t) => {
  const vector = new Float32Array([0.25, -0.5, 3])
  const embedding = Buffer.from(vector.buffer).toString('base64')
  upstream.answer = json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding }],
    model,
    usage,
  })
  const answer = await client.embeddings.create({ model, input: 'one' })
  t.same(answer.data[0]?.embedding, [0.25, -0.5, 3])
})

t.test('token ids cannot be scanned, so that they count as payloads', async (t) => {
  upstream.answer = json({ object: 'list', data: [], model, usage })
  for (const input of [
    [1, 2, 3],
    [[1, 2], [3]],
  ]) {
    await client.embeddings.create({ model, input, encoding_format: 'float' })
    t.same(sent().input, input)
  }
  t.match(await gateway.metrics(), /sidegate_binary_parts_total\{decision="pass"\} 3/)
  const mixed = client.embeddings.create({ model, input: ['one', 2] as never })
  await t.rejects(mixed, { code: 'invalid_body' })
})

t.test('a moderation uses no tokens and may name no model', async (t) => {
  const results = [{ flagged: false, categories: { hate: false }, category_scores: { hate: 0.000001 } }]
  upstream.answer = json({ id: 'modr-1', model: 'omni-moderation-latest', results })
  const answer = await client.moderations.create({ input: 'I hate ann@example.com' })
  t.same(answer.results, results)
  t.same(sent(), { input: 'I hate [EMAIL_1]' })
  t.match(await gateway.newestEntry(), {
    api: 'moderations',
    model: 'omni-moderation-latest',
    total_tokens: 0,
  })
})

t.test('a completion is redacted whole and streamed', async (t) => {
  const choice = (text: string, finish_reason: string | null) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason,
  })
  const body = { id: 'cmpl-1', object: 'text_completion', created: 1_700_000_000, model }
  const counts = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 }
  upstream.answer = json({ ...body, choices: [choice('Ask bob@example.org', 'stop')], usage: counts })
  const whole = await client.completions.create({ model, prompt: 'I am ann@example.com' })
  t.equal(whole.choices[0]?.text, 'Ask [EMAIL_2]')
  t.same(sent().prompt, 'I am [EMAIL_1]')
  const pieces = ['Ask bo', 'b@exam', 'ple.org no', 'w']
  upstream.answer = events(
    ...pieces.map((text) => ({ ...body, choices: [choice(text, null)] })),
    { ...body, choices: [choice('', 'stop')] },
    { ...body, choices: [], usage: counts },
    '[DONE]',
  )
  let text = ''
  const stream = await client.completions.create({ model, prompt: 'hi', stream: true })
  for await (const { choices } of stream) text += choices[0]?.text ?? ''
  t.equal(text, 'Ask [EMAIL_1] now')
  const entry = await gateway.newestEntry()
  t.match(entry, { api: 'completions', stream: true, finish_reason: 'stop', total_tokens: 10 })
  const { body: detail } = await gateway.api('GET', `/usage/logs/${entry.id}`)
  t.match(detail.response, { object: 'text_completion', choices: [{ text, finish_reason: 'stop' }] })
  await t.rejects(client.completions.create({ model, prompt: 'Project Aurora' }), {
    code: 'blocked_by_policy',
  })
})
