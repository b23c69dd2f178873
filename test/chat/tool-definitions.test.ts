import t from 'tap'
import { rewriteSteps } from '../../src/chat/json-rewrite.ts'
import { parseReceived } from '../../src/chat/strict-json.ts'
import { readDefinitions } from '../../src/chat/tool-definitions.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

const fn = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

const NAMED: [what: string, body: object, names: string[]][] = [
  ['functions', { tools: [fn('a'), { type: 'function', name: 'b' }] }, ['a', 'b']],
  ['older functions', { functions: [{ name: 'a' }] }, ['a']],
  [
    'custom tools',
    {
      tools: [
        { type: 'custom', custom: { name: 'a' } },
        { type: 'custom', name: 'b' },
      ],
    },
    ['a', 'b'],
  ],
  ['tools of Anthropic', { tools: [{ name: 'a', input_schema: {} }] }, ['a']],
  [
    "providers' tools",
    {
      tools: [
        { type: 'web_search_preview' },
        { type: 'web_search_2025_08_26' },
        { type: 'computer_use_preview' },
        { type: 'code_interpreter', container: { type: 'auto' } },
      ],
    },
    ['web_search', 'web_search', 'computer_use', 'code_interpreter'],
  ],
  [
    'typed tools with a name',
    {
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'edit' },
      ],
    },
    ['bash', 'edit|text_editor'],
  ],
  ['a computer', { tools: [{ type: 'computer_20250124', name: 'computer' }] }, ['computer|computer_use']],
  ['a set', { tools: [{ type: 'computer_toolset_20260801' }] }, ['computer_use|computer_toolset']],
  ['a server', { tools: [{ type: 'mcp', server_label: 'jira' }] }, ['mcp:jira*']],
  [
    'a server with allowed tools',
    { tools: [{ type: 'mcp', server_label: 'jira', allowed_tools: ['read'] }] },
    ['mcp:jira*', 'mcp:jira/read|mcp:jira'],
  ],
  [
    'servers of Anthropic',
    {
      mcp_servers: [{ type: 'url', name: 'git', tool_configuration: { allowed_tools: ['log'] } }],
      tools: [
        { type: 'mcp_toolset', mcp_server_name: 'git', configs: { log: {}, push: { enabled: false } } },
      ],
    },
    ['mcp:git*', 'mcp:git/log|mcp:git', 'mcp:git*', 'mcp:git/log|mcp:git'],
  ],
  [
    'a namespace',
    { tools: [{ type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'a' }] }] },
    ['a'],
  ],
  ['a search of chat', { web_search_options: {} }, ['web_search']],
  [
    'a search of xAI',
    { search_parameters: { mode: 'auto' }, enable_search: true },
    ['web_search', 'web_search'],
  ],
  [
    'plugins',
    { plugins: [{ id: 'web' }, { id: 'file-parser' }, { id: 'fusion' }, { id: 'web', enabled: false }, 'x'] },
    ['', 'fusion', 'web_search|web'],
  ],
  ['a model that searches', { model: 'a/b:online', models: ['c:online'] }, ['web_search']],
  ['tools of OpenRouter', { tools: [{ type: 'openrouter:web_fetch' }] }, ['web_fetch']],
  ['a stored prompt', { prompt: { id: 'pmpt_1', version: '2' } }, ['prompt:pmpt_1']],
  ['tools in an object', { tools: { a: fn('a'), b: fn('b') } }, ['', 'a', 'b']],
  ['a tool in place of a list', { tools: fn('a') }, ['a', 'a']],
  ['a name in a list', { tools: [{ function: { name: ['a'] } }] }, ['a']],
  [
    'a function and a custom tool in one',
    { tools: [{ function: { name: 'a' }, custom: { name: 'b' }, name: 'c' }] },
    ['a', 'b', 'c'],
  ],
  [
    'additional tools, and what a search found',
    {
      input: [
        { role: 'user', content: 'x' },
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'a' }] },
        {
          type: 'tool_search_output',
          tools: [{ type: 'namespace', name: 'x', tools: [{ type: 'custom', name: 'b' }] }],
        },
        { type: 'mcp_list_tools', server_label: 'j', tools: [{ name: 'listed' }] },
      ],
    },
    ['a', 'b'],
  ],
  ['tools of a message', { messages: [{ role: 'system', tools: [fn('a')] }] }, ['a']],
  [
    'tools that a conversation of Anthropic adds',
    {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'a' } } },
            { type: 'tool_addition', tool: { type: 'mcp_tool_reference', server_name: 'j', name: 'b' } },
            { type: 'tool_removal', tool: { type: 'tool_reference', name: 'c' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            {
              type: 'compaction',
              tool_changes: [
                { type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'd' } } },
                { type: 'tool_addition', tool: { type: 'tool_reference', name: 'e' } },
              ],
            },
          ],
        },
      ],
    },
    ['a', 'd', 'e', 'mcp:j/b|mcp:j'],
  ],
  [
    'a pinned list of a toolset',
    {
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'j',
          configs: { off: { enabled: false } },
          tools: [{ name: 'a' }, { name: 'off' }],
        },
      ],
    },
    ['mcp:j*', 'mcp:j/a|mcp:j'],
  ],
  [
    'tools of a tool that calls models',
    { tools: [{ type: 'openrouter:subagent', parameters: { tools: [fn('a')] } }] },
    ['a', 'subagent'],
  ],
  ['a list in the list', { tools: [[fn('a')]] }, ['a']],
  ["Groq's enabled tools", { compound_custom: { tools: { enabled_tools: ['web_search'] } } }, ['web_search']],
  ['what is no definition', { tools: [null, 'x', {}] }, ['', '', '']],
]
for (const [what, body, names] of NAMED)
  t.test(`${what} are named as their definitions say`, async (t) => {
    const { defined } = readDefinitions(body as JsonObject)!
    t.same(
      defined.map(({ name, also, isServer }) => [name, ...also].join('|') + (isServer ? '*' : '')).sort(),
      [...names].sort(),
    )
  })

const CHOSEN: [body: object, name: string | null][] = [
  [{ tool_choice: { type: 'function', function: { name: 'a' } } }, 'a'],
  [{ tool_choice: { type: 'function', name: 'a' } }, 'a'],
  [{ tool_choice: { type: 'tool', name: 'a' } }, 'a'],
  [{ tool_choice: { type: 'custom', custom: { name: 'a' } } }, 'a'],
  [{ tool_choice: { type: 'mcp', server_label: 'jira', name: 'read' } }, 'mcp:jira/read'],
  [{ tool_choice: { type: 'web_search_preview' } }, 'web_search'],
  [{ function_call: { name: 'a' } }, 'a'],
  [{ tool_choice: 'required' }, null],
  [{ tool_choice: { type: 'any' } }, null],
  [{ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'a' }] } }, null],
]
for (const [body, name] of CHOSEN)
  t.test(`the choice ${JSON.stringify(body)} names ${name ?? 'no tool'}`, async (t) => {
    t.same(
      readDefinitions({ ...body, tools: [fn('z')] } as JsonObject)!.chosen.map((tool) => tool.name),
      name === null ? [] : [name],
    )
  })

/** Removes tools from a JSON text and returns what is left, byte for byte. */
function without(text: string, ...names: string[]): string {
  const body = parseReceived(text) as JsonObject
  const removed = readDefinitions(body)!.remove(new Set(names))
  return atOnce(rewriteSteps(text, body, removed))
}

const REMOVED: [what: string, text: string, left: string][] = [
  [
    'one of several',
    '{"tools": [ {"name":"a"}, {"name":"bash"},  {"name":"c"} ],"n":1.0}',
    '{"tools": [ {"name":"a"},  {"name":"c"} ],"n":1.0}',
  ],
  [
    'the first and the last',
    '{"tools":[{"name":"bash"},{"name":"a"},{"name":"bash"}]}',
    '{"tools":[{"name":"a"}]}',
  ],
  [
    'all',
    '{"model":"m","tools":[{"name":"bash"}],"tool_choice":"required","parallel_tool_calls":true}',
    '{"model":"m"}',
  ],
  ['all of the older form', '{"functions":[{"name":"bash"}],"function_call":"auto","n":1}', '{"n":1}'],
  [
    'the chosen one',
    '{"tools":[{"name":"a"},{"name":"bash"}],"tool_choice":{"type":"function","function":{"name":"bash"}}}',
    '{"tools":[{"name":"a"}],"tool_choice":"auto"}',
  ],
  [
    'the chosen one of Anthropic',
    '{"tools":[{"name":"a"},{"name":"bash"}],"tool_choice":{"type":"tool","name":"bash","disable_parallel_tool_use":true}}',
    '{"tools":[{"name":"a"}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}',
  ],
  [
    'one of the tools to choose from',
    '{"tools":[{"name":"a"},{"name":"bash"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"bash"},{"type":"function","name":"a"}]}}',
    '{"tools":[{"name":"a"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"}]}}',
  ],
  [
    'a tool of a namespace, and the empty namespace',
    '{"tools":[{"type":"namespace","name":"x","tools":[{"name":"bash"}]},{"name":"a"}]}',
    '{"tools":[{"name":"a"}]}',
  ],
  [
    'an additional tool, and the item without any',
    '{"input":[{"role":"user"},{"type":"additional_tools","tools":[{"name":"bash"}]},{"type":"additional_tools","tools":[{"name":"bash"},{"name":"a"}]}],"tool_choice":"required"}',
    '{"input":[{"role":"user"},{"type":"additional_tools","tools":[{"name":"a"}]}],"tool_choice":"required"}',
  ],
  [
    'what a search found',
    '{"input":[{"type":"tool_search_output","tools":[{"name":"bash"}]}],"tool_choice":"auto"}',
    '{"input":[{"type":"tool_search_output","tools":[]}]}',
  ],
  [
    'a change of tools, and the message without any',
    '{"tools":[{"name":"a"}],"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"bash"}}}]},{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_removal","tool":{"type":"tool_reference","name":"bash"}}]}]}',
    '{"tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}',
  ],
]
for (const [what, text, left] of REMOVED)
  t.test(`removing ${what} leaves the other bytes`, async (t) => {
    t.equal(without(text, 'bash'), left)
  })

t.test('a tool of a server leaves its list, and the server with its last one', async (t) => {
  const server = (tools: string) =>
    `{"tools":[{"type":"mcp","server_label":"j","allowed_tools":[${tools}]},{"name":"a"}]}`
  t.equal(without(server('"x","y"'), 'mcp:j/x'), server('"y"'))
  t.equal(without(server('"x"'), 'mcp:j/x'), '{"tools":[{"name":"a"}]}')
  t.equal(without(server('"x"'), 'mcp:j'), '{"tools":[{"name":"a"}]}')
  const toolset = '{"tools":[{"type":"mcp_toolset","mcp_server_name":"j","configs":{"x":{}}}]}'
  t.equal(without(toolset, 'mcp:j/x'), toolset.replace('{}', '{"enabled":false}'))
})

t.test('options and plugins leave a request, and what cannot is said', async (t) => {
  for (const [text, left] of [
    ['{"web_search_options":{},"n":1.0}', '{"n":1.0}'],
    ['{"plugins":[{"id":"web"},{"id":"file-parser"}]}', '{"plugins":[{"id":"file-parser"}]}'],
    ['{"plugins":[{"id":"web"}],"n":1.0}', '{"n":1.0}'],
    ['{"tools":{"function":{"name":"web_search"}},"n":1.0}', '{"n":1.0}'],
  ] as const)
    t.equal(without(text, 'web_search'), left)
  const read = readDefinitions({ model: 'a:online', prompt: { id: 'p' }, plugins: [{ id: 'x' }] })!
  t.same([...read.fixed], ['web_search', 'prompt:p'])
})

t.test('tools whose calls no answer shows are known', async (t) => {
  const read = readDefinitions({
    tools: [{ type: 'openrouter:web_fetch' }, { type: 'web_search' }],
    plugins: [{ id: 'web' }],
    prompt: { id: 'p' },
  })!
  t.same(
    read.unseen.map(({ name }) => name),
    ['web_fetch', 'web_search'],
  )
})

t.test('a request without tools has no definitions', async (t) => {
  t.equal(readDefinitions({ model: 'm', messages: [], prompt: 'x', plugins: [], enable_search: false }), null)
})
