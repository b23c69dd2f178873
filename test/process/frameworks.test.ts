// Frameworks that apps use around the APIs, against the running process.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import t from 'tap'
import { deploy } from './gateway.ts'
import { message, messageEvents, streamed, streamedText, textBlock } from './messages-upstream.ts'
import { outputText, responseEvents, responseOf, streamedMessage } from './responses-upstream.ts'
import { fetchInTime } from './until.ts'
import { completion, json, stream } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t)

const prompt = 'I am ann@example.com.'
const ANSWER = 'Write to bob@example.org now.'
const REDACTED = 'Write to [EMAIL_2] now.'
const PIECES = ['Write to bo', 'b@example.org', ' now.']

const fetch = fetchInTime as typeof globalThis.fetch
const baseURL = `${gateway.url}/v1`
const openai = createOpenAI({ apiKey: key, baseURL, fetch })
const anthropic = createAnthropic({ apiKey: key, baseURL, fetch })

const MODELS = {
  'openai.chat': {
    model: openai.chat('gpt-5'),
    whole: json(completion(ANSWER)),
    streamed: stream(PIECES),
  },
  'openai.responses': {
    model: openai.responses('gpt-5'),
    whole: json(responseOf(outputText(ANSWER))),
    streamed: streamed(responseEvents([streamedMessage(...PIECES)])),
  },
  anthropic: {
    model: anthropic('claude'),
    whole: json(message(textBlock(ANSWER))),
    streamed: streamed(messageEvents([streamedText(...PIECES)])),
  },
} as const

for (const [name, { model, whole, streamed: pieces }] of Object.entries(MODELS)) {
  t.test(`the AI SDK with ${name} reads answers whole and streamed`, async (t) => {
    upstream.answer = whole
    const { text } = await generateText({ model, prompt, maxRetries: 0 })
    t.equal(text, REDACTED)
    t.match(upstream.received.at(-1)?.body, /I am \[EMAIL_1\]/)
    upstream.answer = pieces
    const result = streamText({ model, prompt, maxRetries: 0 })
    t.equal(await result.text, REDACTED)
    t.match(await gateway.newestEntry(), { outcome: 'ok', stream: true })
  })
}

t.test('LangChain reads answers whole and streamed', async (t) => {
  const chat = new ChatOpenAI({ apiKey: key, model: 'gpt-5', maxRetries: 0, configuration: { baseURL } })
  upstream.answer = json(completion(ANSWER))
  t.equal((await chat.invoke(prompt)).content, REDACTED)
  upstream.answer = stream(PIECES)
  let text = ''
  for await (const { content } of await chat.stream(prompt)) text += content
  t.equal(text, REDACTED)
})
