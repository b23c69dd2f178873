// The commands that read the rules in force, beside a running gateway.

import t from 'tap'
import { openGateway } from './gateway.ts'
import { runProgram } from './run-command.ts'

const RULES = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block }
  - { name: watch, type: keyword_block, pattern: "harbour", action: monitor }
  - { name: search-only, type: keyword_block, pattern: "zenith", action: block, match: { labels: { team: search } } }
`
const gateway = await openGateway(t, { upstreamUrl: 'http://127.0.0.1:9/v1', rules: RULES })
const cli = (...args: string[]) => runProgram([...args, '--config', `${gateway.folder}/sidegate.yaml`])

t.test('rules list names each rule in force with its source', async (t) => {
  const api = { name: 'made', type: 'keyword_block', pattern: 'secret plan', action: 'block' }
  t.equal((await gateway.api('POST', '/rules', api)).status, 201)
  const { body } = await gateway.api('GET', '/rules')
  const watch = body.rules.find(({ name }: any) => name === 'watch')
  await gateway.api('PATCH', `/rules/${watch.id}`, { enabled: false, reason: 'too loud' })
  const { code, stdout } = await cli('rules', 'list')
  t.equal(code, 0)
  const listed = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(listed, [
    { name: 'no-aurora', enabled: true, source: { kind: 'file', line: 3 }, override: null },
    { name: 'watch', enabled: false, declared_enabled: true, override: { reason: 'too loud' } },
    { name: 'search-only', match: { labels: { team: 'search' } } },
    { name: 'made', source: { kind: 'api' } },
  ])
  t.match(await cli('rules', 'show'), { code: 2 })
})

t.test('evaluate says what the rules do with a text', async (t) => {
  const evaluated = async (...args: string[]) => JSON.parse((await cli('evaluate', ...args)).stdout)
  t.match(await evaluated('About Project Aurora'), { decision: 'block', refused_by: 'no-aurora' })
  t.match(await evaluated('a secret plan'), { decision: 'block', refused_by: 'made' }, 'a rule of the API')
  t.match(await evaluated('Write to bob@example.org'), {
    decision: 'allow',
    redacted: 'Write to [EMAIL_1]',
    findings: { email: 1 },
  })
  t.match(await evaluated('zenith'), { decision: 'allow' })
  t.match(await evaluated('zenith', '--label', 'team=search'), { decision: 'block' })
  t.match(await cli('evaluate', 'project aurora', '--fail-on', 'block'), { code: 1 })
  t.match(await cli('evaluate', 'hello', '--fail-on', 'block'), { code: 0 })
  t.match(await cli('evaluate'), { code: 2 })
})
