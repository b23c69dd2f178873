// Runs the demo and each command that it prints, like a newcomer.

import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import t from 'tap'
import { temporaryFolder } from '../rules/fixture.ts'
import { programArgs } from './program.ts'
import { runCommand } from './run-command.ts'
import { inTime, until } from './until.ts'

t.test('each command that the demo prints works, and Ctrl-C ends the demo and leaves no files', async (t) => {
  const hasCurl = await runCommand(['curl', '--version']).then(
    () => true,
    () => false,
  )
  if (!hasCurl) {
    t.pass('the lines of the demo', { skip: 'NOT TESTED: curl is not installed' })
    return
  }
  const folder = temporaryFolder(t)
  const child = spawn('env', programArgs(['demo', '--gateway', '[::]:0', '--ops', '0.0.0.0:0']), {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (data) => {
    printed += data
  })
  await until('the demo prints its last command', () => /grep \^sidegate_\n/.test(printed))
  const hosts = [...printed.matchAll(/https?:\/\/([^\s/]+):\d+/g)].map(([, host]) => host)
  t.same([...new Set(hosts)], ['127.0.0.1'], 'a client cannot connect to all addresses')
  t.match(printed, /API key\s+sgate_live_[0-9A-Za-z]{49}\n/)
  t.match(printed, /admin token\s+\S{20,}\n/)
  const lines = [...printed.matchAll(/^ {3}(curl .*)$/gm)].map(([, line]) => line ?? '')
  t.equal(lines.length, 5)
  const outputs: string[] = []
  for (const line of lines) outputs.push((await runCommand(['bash', '-c', line])).stdout)
  t.match(outputs[0], /Write to \[EMAIL_1\] or call \[PHONE_1\]/)
  t.match(outputs[1], /blocked_by_policy/)
  t.match(outputs[2], /data: \[DONE\]/)
  const streamed = [...(outputs[2] ?? '').matchAll(/"delta":\{"content":"([^"]*)"/g)]
    .map(([, text]) => text)
    .join('')
  t.match(streamed, /My card is \[CREDIT_CARD_1\]/)
  t.match(JSON.parse(outputs[3] ?? ''), {
    total: 3,
    logs: [{ stream: true }, { outcome: 'blocked' }, { outcome: 'ok' }],
  })
  t.match(outputs[4], /^sidegate_requests_total/m)
  t.match(readdirSync(folder), [/^sidegate-demo-/])
  child.kill('SIGINT')
  t.equal(await inTime('the demo exits', exited), 0)
  t.same(readdirSync(folder), [], 'its folder is removed')
})

t.test('the demo takes the host of its default addresses from the environment', async (t) => {
  const env = { ...process.env, SIDEGATE_DEMO_HOST: '192.0.2.1' }
  const line = ['env', ...programArgs(['demo'])]
  const { code, stderr } = await runCommand(line, { env })
  t.equal(code, 2)
  t.match(stderr, /192\.0\.2\.1:8484/)
  t.match(stderr, /192\.0\.2\.1:9484/)
})

t.test('the demo without a folder for its data says how to give it one', async (t) => {
  const env = { ...process.env, TMPDIR: '/nowhere' }
  const { code, stderr } = await runCommand(['env', ...programArgs(['demo'])], { env })
  t.equal(code, 1)
  t.match(stderr, /keeps its data in \/nowhere, which cannot be written \(ENOENT\); set TMPDIR/)
})
