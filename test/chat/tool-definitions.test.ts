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

t.test('a request without tools has no definitions', async (t) => {
  t.equal(readDefinitions({ model: 'm', messages: [] }), null)
})
