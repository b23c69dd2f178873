import t from 'tap'
import { takeServerSecrets } from '../../src/chat/tool-servers.ts'

t.test('addresses and credentials of tool servers are taken out and put back', async (t) => {
  const body = {
    model: 'm',
    tools: [
      {
        type: 'mcp',
        server_label: 'docs',
        server_url: 'https://docs.example/mcp?u=bob@example.com',
        authorization: 'secret',
        headers: { 'x-token': 'secret', __proto__: null },
      },
      { type: 'function', name: 'url', url: 'https://example.com' },
    ],
    mcp_servers: [{ type: 'url', url: 'https://mcp.example', name: 'n', authorization_token: 'secret' }],
  }
  const before = JSON.stringify(body)
  const secrets = takeServerSecrets(body as never)
  t.equal(secrets.servers, 2)
  t.match(body, {
    tools: [
      {
        server_label: 'docs',
        server_url: '[CREDENTIAL]',
        authorization: '[CREDENTIAL]',
        headers: { 'x-token': '[CREDENTIAL]' },
      },
      { url: 'https://example.com' },
    ],
    mcp_servers: [{ url: '[CREDENTIAL]', name: 'n', authorization_token: '[CREDENTIAL]' }],
  })
  secrets.putBack()
  t.equal(JSON.stringify(body), before)
})

t.test('tool servers are found wherever a request may define one', async (t) => {
  const server = { type: 'mcp', server_label: 'd', server_url: 'https://d.example', authorization: 'secret' }
  const addition = { type: 'tool_addition', tool: { type: 'tool_definition', definition: server } }
  for (const body of [
    { tools: { d: server } },
    { tools: [{ type: 'namespace', name: 'n', tools: [server] }] },
    { tools: [{ type: 'openrouter:subagent', parameters: { tools: [server] } }] },
    { input: [{ type: 'additional_tools', role: 'developer', tools: [server] }] },
    { input: [{ type: 'tool_search_output', tools: [server] }] },
    { messages: [{ role: 'system', content: [addition] }] },
    { messages: [{ role: 'assistant', content: [{ type: 'compaction', tool_changes: [addition] }] }] },
    { mcp_servers: { d: { url: 'https://d.example', authorization_token: 'secret' } } },
  ]) {
    const copy = structuredClone(body) as never
    const secrets = takeServerSecrets(copy)
    t.equal(secrets.servers, 1, JSON.stringify(body))
    t.notMatch(JSON.stringify(copy), /d\.example|secret/)
    secrets.putBack()
    t.same(copy, body)
  }
})

t.test('a request without tool servers is left as it is', async (t) => {
  for (const body of [
    {},
    { tools: 7 },
    { tools: [{ type: 'function', function: { name: 'f' } }], mcp_servers: null },
  ])
    t.equal(takeServerSecrets(body as never).servers, 0)
})
