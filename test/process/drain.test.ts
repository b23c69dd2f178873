// Stopping: running calls finish, new ones are turned away, what takes too long is ended and sealed.

import { Agent, request } from 'node:http'
import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { chunk, delta, event, finish, startUpstream } from './upstream.ts'

const stream = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }

/** An upstream that streams a word and waits to be told to go on. */
async function slowUpstream() {
  let goOn = () => {}
  const upstream = await startUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      event(chunk([{ index: 0, delta: { role: 'assistant', content: 'word ' }, finish_reason: null }])),
    )
    response.write(event(delta('by word ')))
    goOn = () => response.end(event(delta('to the end')) + event(finish()) + event('[DONE]'))
  })
  return { upstream, goOn: () => goOn() }
}

t.test('streams in flight finish, then the process ends', async (t) => {
  const { upstream, goOn } = await slowUpstream()
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await send(agent, gateway.url)
  const response = await gateway.chat(key, stream)
  const reader = response.body?.getReader()
  await reader?.read()
  gateway.child.kill('SIGTERM')
  while (!gateway.logs.some(({ msg }) => msg === 'draining'))
    await new Promise((resolve) => setImmediate(resolve))
  const health = await fetch(`${gateway.opsUrl}/readyz`)
  t.equal(health.status, 503)
  t.match(await health.json(), { ready: false, draining: true })
  await t.rejects(fetch(`${gateway.url}/v1/models`), 'no new connections')
  goOn()
  let text = ''
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
    text += Buffer.from(part.value)
  t.match(text, /"content":"end"[\s\S]*\[DONE\]\n\n$/)
  t.equal(await gateway.exited, 0)
  const again = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.match((await again.api('GET', '/usage/logs')).body.logs[0], { outcome: 'ok' })
  await again.stop()
  agent.destroy()
})

const send = (agent: Agent, url: string) =>
  new Promise<number>((resolve, reject) => {
    request(`${url}/openapi.json`, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })

t.test('what does not finish in time is ended with an error and sealed as interrupted', async (t) => {
  const { upstream } = await slowUpstream()
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    config: { limits: { drainSeconds: 0 } },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const arrived = upstream.next()
  const response = await gateway.chat(key, stream)
  const reading = response.text()
  await arrived
  gateway.child.kill('SIGTERM')
  const text = await reading
  t.match(text, /"code":"draining"/)
  t.notMatch(text, /\[DONE\]/)
  t.equal(await gateway.exited, 0)
  const again = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.match((await again.api('GET', '/usage/logs')).body.logs[0], {
    outcome: 'interrupted',
    status: 503,
    stream: true,
  })
  await again.stop()
})

t.test('nothing to wait for: the end comes at once, and a second signal does not wait', async (t) => {
  const { upstream } = await slowUpstream()
  t.teardown(() => upstream.close())
  const idle = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.equal(await idle.stop(), 0)
  await discard(idle)
  const busy = await startGateway({ upstreamUrl: upstream.baseUrl })
  const { key } = await busy.createKey()
  const arrived = upstream.next()
  const reading = busy.chat(key, stream).then((response) => response.text())
  reading.catch(() => {})
  await arrived
  busy.child.kill('SIGTERM')
  while (!busy.logs.some(({ msg }) => msg === 'draining'))
    await new Promise((resolve) => setImmediate(resolve))
  busy.child.kill('SIGINT')
  t.equal(await busy.exited, 0)
  await discard(busy)
})
