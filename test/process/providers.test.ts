// The worked examples of config/providers, each against a stand-in of its provider's shape.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { openAi } from './client.ts'
import { openGateway, type TestGateway } from './gateway.ts'
import { message, textBlock } from './messages-upstream.ts'
import { fetchInTime } from './until.ts'
import { completion, json, type ScriptedUpstream, startUpstream } from './upstream.ts'

const FOLDER = fileURLToPath(new URL('../../config/providers/', import.meta.url))

const SECRETS = {
  OPENAI_API_KEY: 'secret-of-openai',
  AZURE_KEY: 'secret-of-azure',
  ANTHROPIC_API_KEY: 'secret-of-anthropic',
  OPENROUTER_API_KEY: 'secret-of-openrouter',
}

interface Example {
  readonly gateway: TestGateway
  readonly key: string
  /** Stand-ins by the name of their upstream. */
  readonly servers: Readonly<Record<string, ScriptedUpstream>>
}

const tested = new Set<string>()

/** Runs an example whose hosts are stand-ins. */
async function run(t: Test, file: string): Promise<Example> {
  tested.add(file)
  const { upstreams, ...others } = parse(readFileSync(`${FOLDER}${file}`, 'utf8'))
  const servers: Record<string, ScriptedUpstream> = {}
  for (const upstream of upstreams) {
    const server = await startUpstream()
    t.teardown(() => server.close())
    servers[upstream.name] = server
    upstream.baseUrl = upstream.baseUrl.replace(/^https?:\/\/[^/]+/, new URL(server.baseUrl).origin)
  }
  const gateway = await openGateway(t, {
    upstreamUrl: '',
    config: { upstreams, ...others },
    env: SECRETS,
  })
  const { key } = await gateway.createKey()
  return { gateway, key, servers }
}

const say = (content: string) => [{ role: 'user' as const, content }]

/** What a stand-in received last. */
function lastOf(server: ScriptedUpstream | undefined) {
  const { url, headers, body } = server!.received.at(-1)!
  return { url, headers, body: body === '' ? null : JSON.parse(body) }
}

t.test('openai.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'openai.yaml')
  const client = openAi(gateway, key)
  await client.chat.completions.create(
    { model: 'gpt-5', messages: say('I am ann@example.com') },
    { headers: { 'openai-project': 'p1', 'openai-organization': 'o1' } },
  )
  const { url, headers, body } = lastOf(servers['openai'])
  t.equal(url, '/v1/chat/completions')
  t.match(headers, { authorization: 'Bearer secret-of-openai', 'openai-project': 'p1' })
  t.notOk('openai-organization' in headers)
  t.same(body, { model: 'gpt-5', messages: say('I am [EMAIL_1]') })
})

t.test('azure.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'azure.yaml')
  const client = openAi(gateway, key)
  const ask = (model: string) => client.chat.completions.create({ model, messages: say('hi') }).withResponse()
  const { response } = await ask('gpt-4o')
  t.equal(response.headers.get('x-sidegate-upstream'), 'azure')
  const { url, headers, body } = lastOf(servers['azure'])
  t.equal(url, '/openai/deployments/prod-gpt-4o/chat/completions?api-version=2024-10-21')
  t.equal(headers['api-key'], 'secret-of-azure')
  t.notOk('authorization' in headers)
  t.equal(body.model, 'prod-gpt-4o')
  servers['azure']!.answer = json({ error: { message: 'busy' } }, 429)
  const { response: second } = await ask('gpt-4o')
  t.equal(second.headers.get('x-sidegate-upstream'), 'openrouter')
  t.equal(second.headers.get('x-sidegate-attempts'), '2')
  t.match(lastOf(servers['openrouter']), {
    url: '/api/v1/chat/completions',
    headers: { authorization: 'Bearer secret-of-openrouter' },
    body: { model: 'gpt-4o' },
  })
  t.match(await gateway.newestEntry(), { upstream: 'openrouter', attempts: 2, model: 'gpt-4o' })
  const { response: third } = await ask('mistral-large')
  t.equal(third.headers.get('x-sidegate-upstream'), 'openrouter', 'a model that azure does not serve')
  t.match(await gateway.metrics(), /sidegate_upstream_calls_total\{upstream="openrouter",result="ok"\} 2/)
})

t.test('anthropic.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'anthropic.yaml')
  const client = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0, fetch: fetchInTime })
  servers['anthropic']!.answer = json(message(textBlock('hello')))
  await client.messages.create({ model: 'claude', max_tokens: 9, messages: say('I am ann@example.com') })
  t.match(lastOf(servers['anthropic']), {
    url: '/v1/messages',
    headers: { 'x-api-key': 'secret-of-anthropic', 'anthropic-version': /^20/ },
    body: { messages: say('I am [EMAIL_1]') },
  })
  t.notOk('authorization' in lastOf(servers['anthropic']).headers)
  await openAi(gateway, key).chat.completions.create({ model: 'claude', messages: say('hi') })
  t.match(lastOf(servers['openrouter']), { url: '/api/v1/chat/completions' })
  servers['anthropic']!.answer = json({ data: [{ id: 'claude', type: 'model' }], has_more: false })
  servers['openrouter']!.answer = json({ object: 'list', data: [{ id: 'claude' }, { id: 'gpt-5' }] })
  const { data } = await openAi(gateway, key).models.list()
  t.same(
    data.map(({ id }) => id),
    ['claude', 'gpt-5'],
  )
  servers['openrouter']!.answer = json({}, 500)
  t.equal((await openAi(gateway, key).models.list()).data.length, 1, 'a list that fails is left out')
  t.match(await gateway.metrics(), /sidegate_upstream_lists_failed_total\{upstream="openrouter"\} 1/)
})

t.test('vllm.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'vllm.yaml')
  const client = openAi(gateway, key)
  await client.chat.completions.create({ model: 'meta-llama/Llama-3.1-8B', messages: say('hi') })
  t.notOk('authorization' in lastOf(servers['chat']).headers)
  const vector = { object: 'embedding', index: 0, embedding: [0.5] }
  servers['embeddings']!.answer = json({
    object: 'list',
    data: [vector],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  })
  await client.embeddings.create({ model: 'bge-m3', input: 'hi', encoding_format: 'float' })
  t.match(lastOf(servers['embeddings']), { url: '/v1/embeddings' })
  const unknown = client.chat.completions.create({ model: 'gpt-5', messages: say('hi') })
  await t.rejects(unknown, { code: 'model_not_found' })
})

t.test('ollama.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'ollama.yaml')
  servers['ollama']!.answer = json(completion('hello'))
  await openAi(gateway, key).chat.completions.create({ model: 'llama3.2', messages: say('hi') })
  t.match(lastOf(servers['ollama']), { url: '/v1/chat/completions' })
})

t.test('openrouter.yaml', async (t) => {
  const { gateway, key, servers } = await run(t, 'openrouter.yaml')
  await openAi(gateway, key).chat.completions.create({ model: 'a/b', messages: say('hi') })
  t.match(lastOf(servers['openrouter']), {
    url: '/api/v1/chat/completions',
    headers: { 'x-title': 'search' },
  })
  servers['openrouter']!.answer = json({ data: { total_credits: 7 } })
  const answer = await fetchInTime(`${gateway.url}/v1/credits`, {
    headers: { authorization: `Bearer ${key}` },
  })
  t.same(await answer.json(), { data: { total_credits: 7 } })
  t.match(lastOf(servers['openrouter']), { url: '/api/v1/credits' })
})

t.test('every example is tested', async (t) => {
  const examples = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))
  t.same([...tested].sort(), examples.sort())
})
