// Starting on the data folder of a killed process, and on one that is in use.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { discard } from '../process/gateway.ts'
import { type GatewayProcess, startProgram } from '../process/gateway-process.ts'
import { runProgram } from '../process/run-command.ts'
import { completion, delta, event, json, startUpstream } from '../process/upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const upstream = await startUpstream()
t.teardown(() => upstream.close())

const ask = (streams: boolean) => ({
  model: 'm',
  stream: streams,
  messages: [{ role: 'user', content: 'hi' }],
})

async function usage(gateway: GatewayProcess): Promise<any[]> {
  const { body } = await gateway.api('GET', '/usage/logs?limit=1000')
  return body.logs
}

t.test('only a clean stop lets the next start skip the inspection', async (t) => {
  const start = (folder?: string) =>
    startProgram({ upstreamUrl: upstream.baseUrl, ...(folder !== undefined && { folder }) })
  const first = await start()
  const mark = join(first.folder, 'data/closed')
  t.notOk(existsSync(mark))
  t.equal(await first.stop(), 0)
  t.ok(existsSync(mark))
  const second = await start(first.folder)
  t.notOk(existsSync(mark), 'it counts for one start')
  await second.kill('SIGKILL')
  t.notOk(existsSync(mark))
  const third = await start(first.folder)
  t.equal(await third.stop(), 0)
  t.ok(existsSync(mark))
  await discard(third)
})

t.test('after kill -9 the next start seals each call in flight once, as interrupted', async (t) => {
  const gateway = await startProgram({ upstreamUrl: upstream.baseUrl })
  const { folder } = gateway
  const { key, id: keyId } = await gateway.createKey('batch')
  upstream.answer = json(completion('Hello.'))
  const sealed = await gateway.chat(key, ask(false))
  await sealed.text()
  upstream.answer = (response, { body }) => {
    if (!body.includes('"stream":true')) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('some words, and more of them follow, but never all')))
  }
  const arrived = [upstream.next()]
  const whole = gateway.chat(key, ask(false)).catch(() => null)
  await arrived[0]
  const streamed = await gateway.chat(key, ask(true))
  const reader = streamed.body?.getReader()
  await reader?.read()
  const rest = reader?.read().catch(() => null)
  const secondary = upstream.next()
  const another = gateway.chat(key, ask(false)).catch(() => null)
  await secondary
  await gateway.kill('SIGKILL')
  await Promise.all([whole, rest, another])

  for (const starts of [1, 2]) {
    const next = await startProgram({ upstreamUrl: upstream.baseUrl, folder })
    const logs = await usage(next)
    t.equal(logs.length, 4, `after ${starts} starts`)
    const [first, ...interrupted] = logs.toSorted((a: any, b: any) => a.seq - b.seq)
    t.match(first, { id: sealed.headers.get('x-request-id') as string, outcome: 'ok' })
    for (const entry of interrupted) {
      t.match(entry, { outcome: 'interrupted', key_id: keyId, key_name: 'batch', model: 'm', status: 503 })
      t.ok(entry.prompt_tokens > 0)
    }
    t.ok(interrupted.some(({ id }: any) => id === streamed.headers.get('x-request-id')))
    t.strictSame(interrupted.map(({ stream }: any) => stream).sort(), [false, false, true])
    t.equal(new Set(logs.map(({ id }: any) => id)).size, 4)
    await next.stop()
    t.equal(statSync(join(folder, 'data', 'intents')).size, 0)
  }
  const { stdout } = await runProgram(['audit', 'export', '--config', join(folder, 'sidegate.yaml')])
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const boot = entries.findIndex((entry) => entry.type === 'boot' && entry.clean === false)
  t.match(
    entries.slice(boot + 1, boot + 4),
    [1, 2, 3].map(() => ({ outcome: 'interrupted' })),
  )
  await discard(gateway)
})

t.test('a call that is not scanned is sealed as such after kill -9, and budgets are charged', async (t) => {
  const options = {
    upstreamUrl: upstream.baseUrl,
    rules: `
rules:
  - { name: budget, type: rate_limit, pattern: "1 USD/1h", action: block, match: { models: ["gpt-*"] }, enabled: true }
`,
    config: { passThrough: [{ path: '/v1/images/*', methods: ['POST'] }] },
  }
  const gateway = await startProgram(options)
  const { key } = await gateway.createKey('app')
  upstream.answer = () => {}
  const arrived = upstream.next()
  const call = fetch(`${gateway.url}/v1/images/edits`, {
    method: 'POST',
    body: 'twelve bytes',
    headers: { authorization: `Bearer ${key}` },
  }).catch(() => null)
  await arrived
  await gateway.kill('SIGKILL')
  await call
  const next = await startProgram({ ...options, folder: gateway.folder })
  t.teardown(() => discard(next))
  t.match(await usage(next), [
    {
      outcome: 'interrupted',
      unscanned: true,
      method: 'POST',
      path: '/v1/images/edits',
      request_bytes: 12,
      response_bytes: 0,
    },
  ])
  const { body } = await next.api('GET', '/usage/limits')
  t.equal(body.limits[0].used, 0.05)
})

t.test('a second gateway on a folder is refused, commands are not', async (t) => {
  const gateway = await startProgram({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const { folder } = gateway
  await t.rejects(startProgram({ upstreamUrl: upstream.baseUrl, folder }), {
    message: new RegExp(
      `ended with 2: .*in use by the gateway with process id ${gateway.child.pid}; stop`,
      's',
    ),
  })
  const listed = await runProgram(['keys', 'list', '--config', join(folder, 'sidegate.yaml')])
  t.equal(listed.code, 0)
  await gateway.kill('SIGKILL')
  const next = await startProgram({ upstreamUrl: upstream.baseUrl, folder })
  await next.stop()
  t.notOk(existsSync(join(folder, 'data', 'gateway.pid')))
})
