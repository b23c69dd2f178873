// Which strings of bodies a machine compares or follows, and which are prose.

import t from 'tap'
import { requestTexts, responseTexts } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

const schema = (more: object) => ({
  type: 'object',
  title: 'PROSE',
  description: 'PROSE',
  properties: {
    jordan: {
      type: 'string',
      description: 'PROSE',
      enum: ['Jordan Lee', 'x'],
      default: 'Jordan',
      pattern: 'J.*',
    },
    default: { const: 'Jordan', examples: ['PROSE', { name: 'PROSE' }] },
    description: { type: 'jordan', enum: [{ description: 'Jordan' }], $comment: 'PROSE' },
  },
  required: ['jordan'],
  ...more,
})

const REQUEST = {
  model: 'jordan',
  user: 'jordan-1',
  safety_identifier: 'PROSE with white space',
  metadata: { user_id: 'jordan', jordan: 'PROSE', type: 'PROSE' },
  stop: ['Jordan:'],
  tools: [
    { type: 'function', function: { name: 'jordan_lookup', description: 'PROSE', parameters: schema({}) } },
    { name: 'jordan', description: 'PROSE', input_schema: schema({}), input_examples: [{ who: 'PROSE' }] },
    { type: 'mcp', server_label: 'jordan', server_description: 'PROSE', allowed_tools: ['jordan'] },
    { type: 'web_search', user_location: { city: 'Jordan' } },
    { type: 'custom', format: { type: 'grammar', definition: 'start: "Jordan"' } },
  ],
  tool_choice: { type: 'function', function: { name: 'jordan_lookup' } },
  response_format: { type: 'json_schema', json_schema: { name: 'jordan', schema: schema({}) } },
  text: { format: { type: 'json_schema', name: 'jordan', schema: schema({}) } },
  provider: { order: ['Jordan'] },
  extra_body: {
    guided_choice: ['Jordan'],
    note: 'PROSE',
    functions: [{ name: 'jordan', description: 'PROSE' }],
  },
  input: [
    { type: 'function_call', name: 'jordan_lookup', call_id: 'jordan', arguments: 'PROSE' },
    { type: 'custom_tool_call', name: 'jordan', input: 'PROSE' },
    { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/jordan.png' }] },
    { type: 'additional_tools', tools: [{ name: 'jordan', description: 'PROSE', parameters: schema({}) }] },
  ],
  customer: { name: 'PROSE', customer_id: 'jordan', home: 'PROSE', url: 'https://example.com/jordan' },
  messages: [
    { role: 'user', name: 'jordan', content: 'PROSE' },
    {
      role: 'system',
      content: [
        {
          type: 'tool_addition',
          tool: { type: 'tool_definition', definition: { name: 'jordan', description: 'PROSE' } },
        },
        {
          type: 'tool_addition',
          tool: { type: 'tool_definition', definition: { name: 'jordan', input_schema: schema({}) } },
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'PROSE' },
        {
          type: 'tool_use',
          id: 'jordan',
          name: 'jordan',
          input: { name: 'PROSE', id: 'PROSE', jordan: 4155552671 },
        },
      ],
      tool_calls: [{ id: 'jordan', type: 'function', function: { name: 'jordan', arguments: 'PROSE' } }],
    },
    { role: 'tool', tool_call_id: 'jordan', name: 'jordan', content: 'PROSE' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'https://example.com/jordan.png' } },
        { type: 'file', file: { filename: 'PROSE', file_data: 'data:text/plain,PROSE' } },
        { type: 'document', title: 'PROSE', source: { type: 'url', url: 'https://example.com/jordan' } },
      ],
    },
  ],
}

const ANSWER = {
  id: 'jordan',
  model: 'jordan lee',
  error: { message: 'PROSE', code: 'jordan', type: 'jordan' },
  choices: [
    {
      message: {
        content: 'PROSE',
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://x.example/jordan', title: 'PROSE' } },
        ],
        tool_calls: [{ id: 'jordan', function: { name: 'jordan', arguments: 'PROSE' } }],
      },
      finish_reason: 'jordan',
    },
  ],
  response: { tools: [{ name: 'jordan', description: 'PROSE' }], instructions: 'PROSE' },
  item: { type: 'function_call', name: 'jordan', arguments: 'PROSE' },
}

t.test('names, values of schemas, settings, ids and URLs are exact, and prose is not', async (t) => {
  const bodies = [atOnce(requestTexts(REQUEST as JsonObject)), responseTexts(ANSWER as unknown as JsonObject)]
  for (const { texts } of bodies) {
    t.ok(texts.length > 10)
    for (const { path, text, isExact } of texts)
      t.equal(isExact, !text.startsWith('PROSE'), `${path}: ${text}`)
  }
})
