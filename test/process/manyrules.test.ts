// Calls of which there is more to say than an entry holds: they are sealed all the same, and clients can read the answer.

import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import { discard, runCli, startGateway } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

const RULES = 1500
const word = (n: number) => `word${n}x`
const rule = (n: number) => {
  const action = n === RULES - 1 ? 'block' : 'monitor'
  return `  - { name: "a rule with quite a long name, number ${n}", type: keyword_block, pattern: ${word(n)}, action: ${action} }`
}
const rules = `rules:\n${Array.from({ length: RULES }, (_, n) => rule(n)).join('\n')}\n`
const said = (count: number) => Array.from({ length: count }, (_, n) => word(n)).join(' ')

t.test('a prompt that makes a thousand rules fire, an answer with a reason of 300 KB', async (t) => {
  const upstream = await startUpstream()
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const config = join(gateway.folder, 'sidegate.yaml')
  const { key } = await gateway.createKey()
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
  const ask = (content: string) =>
    client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] })

  const passed = await ask(said(RULES - 1))
  t.match(passed.choices[0]?.message.content, 'Hello.')
  await t.rejects(ask(said(RULES)), { status: 403, code: 'blocked_by_policy' })
  const [choice] = completion('Hello.').choices
  upstream.answer = json({
    ...completion('Hello.'),
    choices: [{ ...choice, finish_reason: 'r'.repeat(63) + '\ud83d\ude00'.repeat(70_000) }],
  })
  await ask('hi')

  const { logs } = (await gateway.api('GET', '/usage/logs')).body
  t.match(logs, [
    { outcome: 'ok', rules: [], finish_reason: /^r{63}.$/u },
    { outcome: 'blocked' },
    { outcome: 'ok' },
  ])
  t.equal(logs[1].rules.length, 256)
  t.equal(logs[1].rules[0].action, 'block', 'what blocked is among them')
  t.equal(logs[2].rules.length, 256)
  const { stdout } = await runCli(['audit', 'export', '--config', config])
  const sealed = stdout.split('\n').filter((line) => line.includes('"type":"request"'))
  t.same(
    sealed.map((line) => JSON.parse(line).rules_omitted),
    [RULES - 1 - 256, RULES - 256, undefined],
  )
  const verified = await runCli(['audit', 'verify', '--config', config])
  t.equal(verified.code, 0)
})
