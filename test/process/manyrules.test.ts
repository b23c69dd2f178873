// Calls with more facts than an entry holds: the entry keeps the most important and counts the
// others.

import { join } from 'node:path'
import t from 'tap'
import { openAi } from './client.ts'
import { deploy } from './gateway.ts'
import { runProgram } from './run-command.ts'
import { completion, json } from './upstream.ts'

const RULES = 1500
const word = (n: number) => `word${n}x`
const rule = (n: number) => {
  const action = n === RULES - 1 ? 'block' : 'monitor'
  return `  - { name: "a rule with quite a long name, number ${n}", type: keyword_block, pattern: ${word(n)}, action: ${action} }`
}
const rules = `rules:\n${Array.from({ length: RULES }, (_, n) => rule(n)).join('\n')}\n`
const words = (count: number) => Array.from({ length: count }, (_, n) => word(n)).join(' ')

t.test('an entry keeps 256 of 1499 matched rules and 64 characters of a long reason', async (t) => {
  const { upstream, gateway, key } = await deploy(t, undefined, { rules })
  const config = join(gateway.folder, 'sidegate.yaml')
  const client = openAi(gateway, key)
  const ask = (content: string) =>
    client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] })

  const passed = await ask(words(RULES - 1))
  t.match(passed.choices[0]?.message.content, 'Hello.')
  await t.rejects(ask(words(RULES)), { status: 403, code: 'blocked_by_policy' })
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
  t.equal(logs[1].rules[0].action, 'block', 'the blocking rule is kept')
  t.equal(logs[2].rules.length, 256)
  const { stdout } = await runProgram(['audit', 'export', '--config', config])
  const sealed = stdout.split('\n').filter((line) => line.includes('"type":"request"'))
  t.same(
    sealed.map((line) => JSON.parse(line).rules_omitted),
    [RULES - 1 - 256, RULES - 256, undefined],
  )
  const verified = await runProgram(['audit', 'verify', '--config', config])
  t.equal(verified.code, 0)
})
