// What another provider is sent of a conversation that one began.

import fc from 'fast-check'
import t from 'tap'
import { portableBody } from '../../src/chat/portable-body.ts'
import type { JsonObject } from '../../src/core/json.ts'

const text = { type: 'text', text: 'hi' }
const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
const messages = (...content: object[]) => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'go' },
    { role: 'assistant', content },
  ],
})

t.test('signed and encrypted reasoning is left out, and nothing else', async (t) => {
  const call = (more: object) => ({
    role: 'assistant',
    tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' }, ...more }],
  })
  for (const [before, after] of [
    [messages(thinking, { type: 'redacted_thinking', data: 'eA==' }, text), messages(text)],
    [messages(thinking, use), messages(use)],
    [
      messages({ ...text, citations: [{ type: 'web_search_result_location', encrypted_index: 'eA==' }] }),
      messages({ ...text, citations: [] }),
    ],
    [{ prompt: 'a text' }, { prompt: 'a text' }],
    [
      {
        input: [
          { type: 'reasoning', encrypted_content: 'eA==', summary: [] },
          { role: 'user', content: 'x' },
        ],
      },
      { input: [{ role: 'user', content: 'x' }] },
    ],
    [
      {
        messages: [{ role: 'assistant', reasoning_details: [{ type: 'reasoning.encrypted', data: 'eA==' }] }],
      },
      { messages: [{ role: 'assistant', reasoning_details: [] }] },
    ],
    [
      { messages: [call({ extra_content: { google: { thought_signature: 'eA==' } } })] },
      { messages: [call({ extra_content: { google: {} } })] },
    ],
  ] as [JsonObject, JsonObject][]) {
    const copy = structuredClone(before)
    t.strictSame(portableBody(before)?.body, after)
    t.strictSame(before, copy, 'the body itself stays')
  }
})

t.test('a body that every provider can read is returned as it is', async () => {
  const plain = messages(text, use, { type: 'thinking', thinking: 'unsigned' }) as JsonObject
  if (portableBody(plain)?.body !== plain) throw new Error('changed')
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
      const made = portableBody(body as JsonObject)?.body ?? null
      return made === null || made === body || JSON.stringify(made) !== JSON.stringify(body)
    }),
  )
})

t.test('what stands for something that one provider keeps goes to no other', async (t) => {
  for (const body of [
    { input: [{ type: 'compaction', encrypted_content: 'eA==' }] },
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
    { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] }] },
    { ...messages(text), container: 'container_1' },
    { ...messages(text), container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } },
    { ...messages(text), prompt: { id: 'pmpt_1' } },
    { ...messages(text), tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    messages({ type: 'redacted_thinking', data: 'eA==' }),
    messages({
      type: 'web_search_tool_result',
      tool_use_id: 's',
      content: [{ type: 'web_search_result', url: 'https://x.example', encrypted_content: 'eA==' }],
    }),
    { ...messages(thinking, use), thinking: { type: 'enabled', budget_tokens: 9 } },
  ])
    t.equal(portableBody(body as JsonObject), null, JSON.stringify(body).slice(0, 60))
  const over = { ...messages(thinking, text), thinking: { type: 'enabled', budget_tokens: 9 } }
  t.not(portableBody(over as JsonObject), null, 'a turn that is over needs no thought')
})
