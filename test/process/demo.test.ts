// Runs the demo and each command that it prints, like a newcomer.

import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { DemoClock } from '../../src/demo/demo-clock.ts'
import { APPS, PAST_MODELS } from '../../src/demo/past-apps.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { programArgs } from './program.ts'
import { runCommand } from './run-command.ts'
import { eventually, inTime, until } from './until.ts'

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
  t.match(JSON.parse(outputs[3] ?? '').logs, [{ stream: true }, { outcome: 'blocked' }, { outcome: 'ok' }])
  t.match(outputs[4], /^sidegate_requests_total/m)
  await t.test('its log begins with an hour of stand-in calls, sealed as any', async (t) => {
    const [, token = ''] = /admin token\s+(\S+)/.exec(printed) ?? []
    const [url = ''] = /http:\S+(?=\/console)/.exec(printed) ?? []
    await checkPastHour(t, url, token)
  })
  t.match(readdirSync(folder), [/^sidegate-demo-/])
  child.kill('SIGINT')
  t.equal(await inTime('the demo exits', exited), 0)
  t.same(readdirSync(folder), [], 'its folder is removed')
})

/** What the calls of the past hour have, by the members of their entries. */
const PAST = {
  key_name: APPS.map(({ name }) => name),
  model: Object.keys(PAST_MODELS),
  outcome: ['ok', 'blocked', 'rate_limited', 'upstream_error'],
  api: ['chat', 'messages', 'responses', 'embeddings'],
} as const
const FIRED = [
  ...['unreleased-projects', 'redact-personal-data', 'credentials-in-prompts', 'prompt-injection'],
  ...['demo-calls-of-search', 'demo-budget-of-a-key', 'demo-tools-of-agents'],
]
const HOUR_MS = 3_600_000
/** Longest time from the first call to this test. */
const STARTED_WITHIN_MS = 120_000

async function checkPastHour(t: Test, url: string, token: string): Promise<void> {
  const json = { 'content-type': 'application/json' }
  const signedIn = await fetch(`${url}/api/v1/session`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ token }),
  })
  const headers = { ...json, cookie: signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '' }
  const api = async (path: string, method = 'GET') =>
    (await (await fetch(`${url}/api/v1/${path}`, { method, headers })).json()) as any
  const { logs } = await api('usage/logs?limit=1000&label=demo%3Dstand-in')
  for (const [name, values] of Object.entries(PAST)) {
    const found = new Set(logs.map((call: any) => call[name]))
    t.strictSame(
      values.filter((value) => !found.has(value)),
      [],
      name,
    )
  }
  const has = (name: string, is: (call: any) => boolean) => t.ok(logs.some(is), name)
  t.equal(new Set(logs.map(({ labels }: any) => labels.team)).size, 3)
  has('a user', ({ user }) => user !== null)
  has('a run', ({ run }) => run !== undefined)
  has('a tool that was called', ({ tools }) => tools?.some(({ called }: any) => called > 0))
  has('a stream', ({ stream, ttft_ms, latency_ms }) => stream && ttft_ms > 100 && latency_ms > ttft_ms)
  has('a cost', ({ cost }) => cost > 0)
  has('a model that the key may not call', ({ blocked, rules }) => blocked && rules.length === 0)
  const fired = new Set(logs.flatMap(({ rules }: any) => rules.map((rule: any) => rule.name)))
  t.strictSame(
    FIRED.filter((name) => !fired.has(name)),
    [],
  )
  for (const direction of ['request', 'response'])
    t.ok((await api(`usage/logs?kind=email&direction=${direction}`)).total > 0, `an email in a ${direction}`)
  const ages = logs.map(({ created_at }: any) => Date.now() - Date.parse(created_at))
  t.ok(Math.min(...ages) > 0 && Math.max(...ages) < HOUR_MS + STARTED_WITHIN_MS, 'in the last hour')
  await api('audit/verify', 'POST')
  const check = await eventually(
    'the check ends',
    () => api('audit/verify'),
    ({ running }) => running === false,
  )
  t.match(check, { ok: true, error: null })
}

t.test('the clock of the demo leaps to the time of the system and never beyond', async (t) => {
  let nowMs = 1_000_000
  const clock = new DemoClock(5000, { now: () => nowMs, monotonic: () => nowMs - 1_000_000 })
  t.strictSame([clock.now(), clock.monotonic()], [995_000, 0])
  clock.leap(2000)
  clock.leap(-1)
  nowMs += 10
  t.strictSame([clock.now(), clock.monotonic()], [997_010, 2010])
  clock.leap(9000)
  t.strictSame([clock.now(), clock.monotonic()], [1_000_010, 5010])
  clock.catchUp()
  t.equal(clock.now(), nowMs)
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
