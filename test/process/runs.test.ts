// Limits of runs on the running process: how a run is named, parallel calls, and what a restart and
// a kill leave.

import t from 'tap'
import { discard, openGateway, prompt, type TestGateway } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { fetchInTime } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const RULES = `
rules:
  - {name: run-calls, type: rate_limit, pattern: "5 requests/run", per: run, action: block, match: {keys: [app]}}
  - {name: run-steps, type: rate_limit, pattern: "2 tool_calls/run", per: run, action: block, match: {keys: [agent]}}
`
const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())
const options = { upstreamUrl: upstream.baseUrl, rules: RULES }
const gateway = await openGateway(t, options)
const { key } = await gateway.createKey('app')

const call = async (
  headers: Record<string, string>,
  more: object = {},
  to: TestGateway = gateway,
  apiKey = key,
) => {
  const response = await fetchInTime(`${to.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...prompt('hi'), ...more }),
  })
  const { status, headers: answered } = response
  return { status, headers: answered, body: (await response.json()) as any }
}
const run = (name: string) => ({ 'x-sidegate-run': name })

t.test('fifty parallel calls of a run keep its limit, and other runs have theirs', async (t) => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => call(run('a'))))
  t.equal(answers.filter(({ status }) => status === 200).length, 5)
  const refused = answers.find(({ status }) => status === 429)!
  t.match(refused.body.error, {
    code: 'rate_limit_exceeded',
    rule_name: 'run-calls',
    message: /for this run/,
  })
  t.equal((await call(run('b'))).status, 200)
  const over = await call(run('a'))
  t.match(over, { status: 429, body: { error: { message: /for this run; begin another run\.$/ } } })
  t.equal(over.headers.get('x-should-retry'), 'false')
  t.notOk(over.headers.has('retry-after') || over.headers.has('retry-after-ms'), 'no wait helps')
})

t.test('a run is named by its header, then the body, then the headers of agents', async (t) => {
  const hashOf = async (headers: Record<string, string>, more: object = {}) => {
    await call(headers, more)
    return (await gateway.newestEntry()).run
  }
  const own = await hashOf(run('one'), { metadata: { run_id: 'two' }, prompt_cache_key: 'three' })
  t.match(own, /^[0-9a-f]{32}$/)
  const agent = { 'session-id': 'four' }
  const byField = await hashOf(agent, { metadata: { run_id: 'two' }, prompt_cache_key: 'three' })
  t.equal(byField, await hashOf(run('two')))
  t.equal(await hashOf(agent, { prompt_cache_key: 'three' }), await hashOf(run('three')))
  for (const name of ['session-id', 'session_id', 'x-claude-code-session-id', 'x-session-id'])
    t.equal(await hashOf({ [name]: 'four' }), await hashOf(run('four')), name)
  t.equal(await hashOf({}), undefined)
  t.ok(upstream.received.every(({ headers }) => headers['x-sidegate-run'] === undefined))
  for (const named of [own, 'one']) {
    const { body } = await gateway.api('GET', `/usage/logs?run=${named}`)
    t.match(body, { total: 1, logs: [{ run: own }] })
  }
})

t.test('tool calls of a run are counted when the answer is complete', async (t) => {
  const { key: agent } = await gateway.createKey('agent')
  const calls = ['a', 'b'].map((name) => ({
    id: name,
    type: 'function',
    function: { name, arguments: '{}' },
  }))
  const whole = completion('')
  const choices = [{ ...whole.choices[0], message: { role: 'assistant', tool_calls: calls } }]
  upstream.answer = json({ ...whole, choices })
  t.equal((await call(run('steps'), {}, gateway, agent)).status, 200)
  const { status, body } = await call(run('steps'), {}, gateway, agent)
  t.equal(status, 429)
  t.match(body.error.message, /The tool call limit "run-steps" is reached for this run/)
  upstream.answer = json(completion('ok'))
  for (let n = 0; n < 4; n++) t.equal((await call(run('talk'), {}, gateway, agent)).status, 200)
})

t.test('a count of a run survives a restart and a kill', async (t) => {
  const first = await startProgram(options)
  const { key: own } = await first.createKey('app')
  const again = { ...options, folder: first.folder }
  const ask = async (to: TestGateway) => (await call(run('kept'), {}, to, own)).status
  for (let n = 0; n < 3; n++) t.equal(await ask(first), 200)
  await first.kill('SIGTERM')
  const second = await startProgram(again)
  t.equal(await ask(second), 200)
  await second.kill('SIGKILL')
  const third = await startProgram(again)
  t.equal(await ask(third), 200)
  t.equal(await ask(third), 429)
  await discard(third)
})
