// The calls and results of each API, in conversations and in whole answers.

import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'

const HISTORIES: [api: Api, body: object, called: string[], results: (string | null)[]][] = [
  [
    CHAT,
    {
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          tool_calls: [
            { id: '1', type: 'function', function: { name: 'web', arguments: '{}' } },
            { id: '2', type: 'custom', custom: { name: 'patch', input: 'x' } },
          ],
        },
        { role: 'tool', tool_call_id: '1', content: 'y' },
        { role: 'tool', tool_call_id: 'unknown', content: 'y' },
        { role: 'assistant', function_call: { name: 'old', arguments: '' } },
        { role: 'function', name: 'old', content: 'y' },
      ],
    },
    ['web', 'patch', 'old'],
    ['web', null, 'old'],
  ],
  [
    RESPONSES,
    {
      input: [
        { role: 'user', content: 'x' },
        { type: 'function_call', call_id: '1', name: 'a', arguments: '{}' },
        { type: 'function_call_output', call_id: '1', output: 'y' },
        { type: 'function_call_output', call_id: '0', output: 'y' },
        { type: 'web_search_call', id: 'w' },
        { type: 'mcp_call', server_label: 'jira', name: 'read', arguments: '{}' },
        { type: 'computer_call', call_id: '2', action: {} },
        { type: 'computer_call_output', call_id: '3', output: {} },
        { type: 'mcp_list_tools', server_label: 'jira', tools: [] },
      ],
    },
    ['a', 'web_search', 'mcp:jira/read', 'computer_use'],
    ['a', null, 'web_search', 'mcp:jira/read', 'computer_use'],
  ],
  [RESPONSES, { input: 'text' }, [], []],
  [
    MESSAGES,
    {
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: '1', name: 'a', input: {} },
            { type: 'server_tool_use', id: '2', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: '2', content: [] },
            { type: 'mcp_tool_use', id: '3', name: 'read', server_name: 'jira', input: {} },
            { type: 'mcp_tool_result', tool_use_id: '3', content: [] },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1' }, { type: 'tool_result' }] },
      ],
    },
    ['a', 'web_search', 'mcp:jira/read'],
    ['web_search', 'mcp:jira/read', 'a', null],
  ],
]
for (const [api, body, called, results] of HISTORIES)
  t.test(`${api.name}: a conversation names its calls and results`, async (t) => {
    const history = api.tools!.history(body as never)
    t.same(
      history.called.map(({ name }) => name),
      called,
    )
    t.same(
      history.results.map((tool) => tool?.name ?? null),
      results,
    )
  })

const CALLS: [api: Api, at: string, call: object][] = [
  [CHAT, 'choices', { message: { tool_calls: [{ function: { name: 'a', arguments: '{}' } }] } }],
  [RESPONSES, 'output', { type: 'function_call', call_id: '1', name: 'a', arguments: '{}' }],
  [MESSAGES, 'content', { type: 'tool_use', id: '1', name: 'a', input: {} }],
]
t.test('a call in an object or a list in place of an item of a list is read', async (t) => {
  const names = (api: Api, body: object) => api.tools!.calls(body as never).map(({ tool }) => tool.name)
  for (const [api, at, call] of CALLS)
    for (const items of [[call], { 0: call }, [[call]], { 0: [call] }, call])
      t.same(names(api, { [at]: items }), ['a'], JSON.stringify(items))
  const call = { function: { name: 'a', arguments: '{}' } }
  for (const calls of [[[call]], { 0: call }, { 0: [call] }, [[[call]]]])
    t.same(names(CHAT, { choices: [{ message: { tool_calls: calls } }] }), ['a'], JSON.stringify(calls))
})

t.test('a call of a set of tools has the names of the set', async (t) => {
  const content = [{ type: 'tool_use', id: '1', name: 'left_click', toolset_name: 'computer', input: {} }]
  const [call] = MESSAGES.tools!.calls({ content })
  t.equal(call!.tool.name, 'left_click')
  t.same(call!.tool.also, ['computer', 'computer_use', 'computer_toolset'])
})

const ANSWERS: [api: Api, body: object, calls: [name: string, given: object][]][] = [
  [
    CHAT,
    {
      choices: [
        { message: { tool_calls: [{ function: { name: 'a', arguments: '{"x":1}' } }] } },
        { message: { function_call: { name: 'b', arguments: '{}' } } },
        { message: { tool_calls: [{ type: 'custom', custom: { name: 'c', input: 'raw' } }], content: null } },
        { message: { content: 'x' } },
        { message: { tool_calls: { function: { name: 'd', arguments: { x: 1 } } } } },
        { message: { tool_calls: { 0: { function: { name: ['e'], arguments: null } } } } },
        { delta: { tool_calls: [{ function: { name: 'f' }, custom: { name: 'g', input: '' } }] } },
      ],
    },
    [
      ['a', { type: 'written', text: '{"x":1}' }],
      ['b', { type: 'written', text: '{}' }],
      ['c', { type: 'text', text: 'raw' }],
      ['d', { type: 'value', value: { x: 1 } }],
      ['e', { type: 'written', text: '' }],
      ['f', { type: 'written', text: '' }],
      ['g', { type: 'text', text: '' }],
    ],
  ],
  [
    RESPONSES,
    {
      output: [
        { type: 'message', content: [] },
        { type: 'function_call', name: 'a', arguments: '{}' },
        { type: 'custom_tool_call', name: 'b', input: 'raw' },
        { type: 'web_search_call', id: 'w', status: 'completed', action: { query: 'q' } },
        { type: 'mcp_approval_request', server_label: 'j', name: 'x', arguments: '{}' },
        { type: 'tool_call', name: 'c', arguments: '{}' },
        { type: 'tool_use', name: 'd', input: {} },
      ],
    },
    [
      ['a', { type: 'written', text: '{}' }],
      ['b', { type: 'text', text: 'raw' }],
      ['web_search', { type: 'value', value: { action: { query: 'q' } } }],
      ['mcp:j/x', { type: 'written', text: '{}' }],
      ['c', { type: 'written', text: '{}' }],
      ['d', { type: 'value', value: {} }],
    ],
  ],
  [
    MESSAGES,
    {
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_use', name: 'a', input: { x: 1 } },
        { type: 'server_tool_use', name: 'bash_code_execution', input: {} },
        { type: 'tool_call', name: 'b', input: {} },
      ],
    },
    [
      ['a', { type: 'value', value: { x: 1 } }],
      ['code_execution', { type: 'value', value: {} }],
      ['b', { type: 'value', value: {} }],
    ],
  ],
]
for (const [api, body, calls] of ANSWERS)
  t.test(`${api.name}: an answer lists the calls of all its parts`, async (t) => {
    t.same(
      api.tools!.calls(body as never).map(({ tool, given }) => [tool.name, given]),
      calls,
    )
  })
