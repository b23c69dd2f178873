// Restores streamed answers, also when events cut a placeholder.

import t from 'tap'
import { ALICE, assertNoValueIsLeft, CARD, deployRestoring, KEY, model, PROMPT, say } from './restoring.ts'
import { chunk, events, finish, stream, streamOf } from './upstream.ts'

const deployment = await deployRestoring(t)
const { upstream, gateway, key, client, newest } = deployment

t.test('a placeholder is restored wherever events cut it', async (t) => {
  const text =
    'To [EMAIL_1], not [EMAIL_9] or [EMAIL_1 but [[CREDIT_CARD_1]] and new bob.restored@example.org.'
  const restored = `To ${ALICE}, not [EMAIL_9] or [EMAIL_1 but [${CARD}] and new [EMAIL_2].`
  const cuttings = [[text], text.split(''), text.split(/(?<=[[_])/), text.match(/.{1,3}/g) ?? []]
  for (const pieces of cuttings) {
    upstream.answer = stream(pieces)
    const runner = client.chat.completions.stream({ model, messages: PROMPT })
    const final = await runner.finalChatCompletion()
    t.equal(final.choices[0]?.message.content, restored)
    t.match(await newest(), {
      stream: true,
      response: {
        choices: [
          { message: { content: restored.replace(ALICE, '[EMAIL_1]').replace(CARD, '[CREDIT_CARD_1]') } },
        ],
      },
    })
  }
})

t.test('interleaved choices, reasoning and arguments are restored apart', async (t) => {
  const tool = (args: string, more: object = {}) =>
    chunk([
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, ...more, function: { arguments: args } }] },
        finish_reason: null,
      },
    ])
  const choice = (index: number, fields: object) => chunk([{ index, delta: fields, finish_reason: null }])
  upstream.answer = events(
    choice(0, { role: 'assistant', reasoning: 'It is [EM' }),
    choice(1, { role: 'assistant', content: 'See [CREDIT_' }),
    choice(0, { reasoning: 'AIL_1].' }),
    choice(0, { content: 'Sending to [EMAIL_1] ' }),
    chunk([
      {
        index: 0,
        delta: {
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } },
          ],
        },
        finish_reason: null,
      },
    ]),
    tool('{"to":"\\u005bEM'),
    choice(1, { content: 'CARD_1] and' }),
    tool('AIL_1]","ke'),
    tool('y":"[SECRET_'),
    tool('1]","n":1}'),
    finish(0, 'tool_calls'),
    finish(1),
    '[DONE]',
  )
  const runner = client.chat.completions.stream({ model, messages: PROMPT, n: 2 })
  const done: string[] = []
  runner.on('tool_calls.function.arguments.done', (props) => done.push(props.arguments))
  let reasoning = ''
  runner.on('chunk', (part) => {
    reasoning += (part.choices[0]?.delta as { reasoning?: string } | undefined)?.reasoning ?? ''
  })
  const { choices } = await runner.finalChatCompletion()
  t.equal(reasoning, `It is ${ALICE}.`)
  t.match(choices, [
    { message: { content: `Sending to ${ALICE} ` } },
    { message: { content: `See ${CARD} and` } },
  ])
  t.same(
    done.map((text) => JSON.parse(text)),
    [{ to: ALICE, key: KEY, n: 1 }],
  )
  t.match((await newest()).response.choices, [
    {
      message: {
        content: 'Sending to [EMAIL_1] ',
        reasoning: 'It is [EMAIL_1].',
        tool_calls: [{ function: { arguments: '{"to":"\\u005bEMAIL_1]","key":"[SECRET_1]","n":1}' } }],
      },
    },
    { message: { content: 'See [CREDIT_CARD_1] and' } },
  ])
})

t.test('annotations and a last chunk with text are restored', async (t) => {
  const note = {
    type: 'url_citation',
    url_citation: { url: 'https://example.com/?q=[EMAIL_1]', title: 'For [EMAIL_1]' },
  }
  upstream.answer = events(
    chunk([{ index: 0, delta: { content: 'To [EMA', annotations: [note] }, finish_reason: null }]),
    chunk([{ index: 0, delta: { content: 'IL_1]' }, finish_reason: 'stop' }]),
    '[DONE]',
  )
  let text = ''
  const notes: unknown[] = []
  const answer = await client.chat.completions.create({ model, messages: PROMPT, stream: true })
  for await (const { choices } of answer) {
    const fields = choices[0]?.delta as { content?: string; annotations?: unknown[] } | undefined
    text += fields?.content ?? ''
    notes.push(...(fields?.annotations ?? []))
  }
  t.equal(text, `To ${ALICE}`)
  t.match(notes, [{ url_citation: { url: `https://example.com/?q=${ALICE}`, title: `For ${ALICE}` } }])
  t.match((await newest()).response.choices[0], { message: { content: 'To [EMAIL_1]', annotations: [note] } })
})

t.test('log probabilities are sent up to the first value and not after it', async (t) => {
  const token = (content: string) =>
    chunk([
      {
        index: 0,
        delta: { content },
        logprobs: { content: [{ token: content, logprob: -1, top_logprobs: [] }] },
        finish_reason: null,
      },
    ])
  upstream.answer = events(...['Dear ', 'reader ', '[EMAIL', '_1]', ' hello'].map(token), finish(), '[DONE]')
  const tokens: string[] = []
  let text = ''
  const answer = await client.chat.completions.create({
    model,
    messages: PROMPT,
    stream: true,
    logprobs: true,
  })
  for await (const { choices } of answer) {
    text += choices[0]?.delta.content ?? ''
    tokens.push(...(choices[0]?.logprobs?.content ?? []).map((one) => one.token))
  }
  t.equal(text, `Dear reader ${ALICE} hello`)
  t.notMatch(tokens.join(''), /EMAIL|_1|hello/)
})

t.test('a stream that its upstream cuts off sends no part of a placeholder', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of streamOf(['To [EMAIL_1] and [EMA'], false).slice(0, 2)) response.write(text)
    response.end()
  }
  const broken = await (await gateway.chat(key, { model, messages: PROMPT, stream: true })).text()
  t.notMatch(broken, '[EMA')
  t.match(await newest(), { outcome: 'upstream_error' })
})

t.test('concurrent calls restore only their own values', async (t) => {
  upstream.answer = stream(['Yours is [EMA', 'IL_1] and not [EMAIL_2].'])
  const restored = async (address: string) => {
    const runner = client.chat.completions.stream({ model, messages: say(`I am ${address}`) })
    return (await runner.finalChatCompletion()).choices[0]?.message.content
  }
  const addresses = Array.from({ length: 8 }, (_, index) => `user${index}.restored@example.com`)
  t.same(
    await Promise.all(addresses.map(restored)),
    addresses.map((address) => `Yours is ${address} and not [EMAIL_2].`),
  )
})

t.test('no restored value is in the store, the logs, the metrics or a request to the upstream', (t) =>
  assertNoValueIsLeft(t, deployment),
)
