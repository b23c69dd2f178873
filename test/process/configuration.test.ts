// A changed sidegate.yaml under a running gateway: what is reported of it, and what SIGHUP applies.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publish, temporaryFolder } from '../rules/fixture.ts'
import { deploy, editConfig, openGateway, prompt, type TestGateway } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { eventually, fetchInTime, until } from './until.ts'
import { completion, HELD_TEXT, heldStream, json, startUpstream } from './upstream.ts'

/** Limit from a change to its effect, milliseconds. */
const SOON_MS = 20_000

const configuration = async (gateway: TestGateway) => {
  const { status, body } = await gateway.readiness()
  return { status, ...body.configuration }
}

const becomes = (gateway: TestGateway, what: string, isWanted: (state: any) => boolean): Promise<any> =>
  eventually(what, () => configuration(gateway), isWanted, SOON_MS)

const isStale = async (gateway: TestGateway) =>
  Number(/^sidegate_configuration_stale (\d)$/m.exec(await gateway.metrics())?.[1])

const upstreamOf = (baseUrl: string) => ({ baseUrl, apiKey: { env: 'UPSTREAM_KEY' } })

t.test('a change is shown until SIGHUP, and what needs a restart until the file changes back', async (t) => {
  const { gateway } = await deploy(t)
  const file = join(gateway.folder, 'sidegate.yaml')
  const before = readFileSync(file, 'utf8')
  const none = { status: 200, changed: false, needs_reload: [], needs_restart: [], errors: [] }
  t.same([await configuration(gateway), await isStale(gateway)], [none, 0])
  editConfig(gateway.folder, { log: { level: 'info' }, limits: { drainSeconds: 3 } })
  const all = { ...none, changed: true, needs_reload: ['log.level'], needs_restart: ['limits.drainSeconds'] }
  t.same(await becomes(gateway, 'the change is shown', ({ changed }) => changed), all)
  t.equal(await isStale(gateway), 1)
  await gateway.reload()
  t.same([await configuration(gateway), await isStale(gateway)], [{ ...all, needs_reload: [] }, 1])
  writeFileSync(file, before)
  await becomes(gateway, 'the old level is a change', ({ needs_reload }) => needs_reload.length > 0)
  await gateway.reload()
  t.same([await configuration(gateway), await isStale(gateway)], [none, 0])
})

t.test('a bad file replaces nothing, and its error is shown with its line', async (t) => {
  const { upstream, gateway, key } = await deploy(t)
  const file = join(gateway.folder, 'sidegate.yaml')
  const good = readFileSync(file, 'utf8')
  const bad = [
    [`${JSON.stringify(JSON.parse(good), null, 2)}\nx: [`, /sidegate\.yaml:\d+:\d+ is not valid YAML/],
    [good.replace('"level":"debug"', '"level":"loud"'), /sidegate\.yaml:1:\d+ log\.level: must be one of/],
    [good.replace('UPSTREAM_KEY', 'NO_KEY'), /upstream\.apiKey: environment variable NO_KEY is not set/],
  ] as const
  for (const [text, error] of bad) {
    writeFileSync(file, text)
    await becomes(gateway, String(error), ({ errors }) => error.test(String(errors)))
    await gateway.reload()
    t.match(await configuration(gateway), { status: 200, changed: true, needs_restart: [], errors: [error] })
    t.equal(await isStale(gateway), 1)
    t.equal((await gateway.chat(key, prompt('hi'))).status, 200, 'what was in force stays')
    t.ok(gateway.logs.some(({ level, errors }) => level === 'error' && error.test(String(errors))))
  }
  writeFileSync(file, good)
  await becomes(gateway, 'the good file is in force', ({ changed }) => !changed)
  t.equal(upstream.received.length, bad.length)
})

t.test('a call under way finishes with the old upstream, whose connection closes after it', async (t) => {
  const held = heldStream()
  const { upstream, gateway, key } = await deploy(t, held.answer)
  const next = await startUpstream(json(completion('from the next')))
  t.teardown(() => next.close())
  const arrived = upstream.next()
  const stream = await gateway.chat(key, prompt('hi', { stream: true }))
  const socket = (await arrived).socket()
  editConfig(gateway.folder, { upstream: upstreamOf(next.baseUrl) })
  await gateway.reload()
  t.match(await (await gateway.chat(key, prompt('hi'))).text(), /from the next/)
  t.notOk(socket.destroyed)
  held.finish()
  const text = (await stream.text()).replace(/.*?"content":"(.*?)".*|.*\n/g, '$1')
  t.match(text, HELD_TEXT)
  await until('the connection closes', () => socket.destroyed, SOON_MS)
  t.equal((await gateway.newestEntry()).outcome, 'ok')
})

t.test('a call that is still sending its body follows the configuration of its beginning', async (t) => {
  const { upstream, gateway, key } = await deploy(t)
  const next = await startUpstream(json(completion('from the next')))
  t.teardown(() => next.close())
  const body = JSON.stringify(prompt('hi'))
  const begun = Promise.withResolvers<void>()
  const rest = Promise.withResolvers<void>()
  async function* pieces() {
    yield Buffer.from(body.slice(0, 10))
    begun.resolve()
    await rest.promise
    yield Buffer.from(body.slice(10))
  }
  const answer = fetchInTime(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: pieces() as any,
    duplex: 'half',
  } as RequestInit)
  await begun.promise
  await until('the call has its place', async () =>
    /^sidegate_calls_in_flight 1$/m.test(await gateway.metrics()),
  )
  editConfig(gateway.folder, { upstream: upstreamOf(next.baseUrl) })
  await gateway.reload()
  rest.resolve()
  t.match(await (await answer).text(), /Hello/)
  const socket = upstream.received[0]!.socket()
  await until('its connection closes', () => socket.destroyed, SOON_MS)
})

t.test('an upstream that stays keeps its connections', async (t) => {
  const one = await startUpstream()
  const other = await startUpstream()
  for (const server of [one, other]) t.teardown(() => server.close())
  const kept = { name: 'kept', ...upstreamOf(one.baseUrl), models: ['a'] }
  const moved = (baseUrl: string) => ({ name: 'moved', ...upstreamOf(baseUrl), models: ['b'] })
  const gateway = await openGateway(t, {
    upstreamUrl: '',
    config: { upstreams: [kept, moved('http://127.0.0.1:9/v1')] },
  })
  const { key } = await gateway.createKey()
  const ask = async (model: string) => (await gateway.chat(key, { ...prompt('hi'), model })).text()
  await ask('a')
  editConfig(gateway.folder, { upstreams: [kept, moved(other.baseUrl)] })
  await gateway.reload()
  t.match(await ask('b'), /Hello/)
  await ask('a')
  t.equal(one.received[0]!.socket(), one.received[1]!.socket())
})

t.test('a ConfigMap volume that the kubelet swaps is noticed, and SIGHUP takes it under load', async (t) => {
  const old = await startUpstream(json(completion('old')))
  const next = await startUpstream(json(completion('next')))
  for (const server of [old, next]) t.teardown(() => server.close())
  const volume = temporaryFolder(t)
  const text = (baseUrl: string, more: object = {}) =>
    JSON.stringify({
      listen: { gateway: '127.0.0.1:0', ops: '127.0.0.1:0' },
      upstream: upstreamOf(baseUrl),
      admin: { token: { env: 'ADMIN_TOKEN' } },
      rules: { path: join(volume, 'rules.yaml') },
      data: { path: join(volume, 'data') },
      ...more,
    })
  const files = (config: string) => ({ 'sidegate.yaml': config, 'rules.yaml': 'rules: []\n' })
  publish(volume, '1', files(text(old.baseUrl)))
  const gateway = await openProgram(t, { upstreamUrl: '', folder: volume, isWritten: true })
  const { key } = await gateway.createKey()
  publish(volume, '2', files(text(next.baseUrl, { limits: { drainSeconds: 3 } })))
  await becomes(gateway, 'the swap is noticed', ({ changed }) => changed)

  const answers: string[] = []
  const load = { isOver: false }
  const worker = async () => {
    while (!load.isOver) {
      const response = await gateway.chat(key, prompt('hi'))
      answers.push(`${response.status} ${/old|next/.exec(await response.text())?.[0]}`)
    }
  }
  const workers = Array.from({ length: 4 }, worker)
  await until('calls are answered', () => answers.length > 20)
  gateway.child.kill('SIGHUP')
  await until('the next upstream answers', () => answers.includes('200 next'), SOON_MS)
  const swapped = answers.length
  await until('and goes on', () => answers.length > swapped + 20)
  load.isOver = true
  await Promise.all(workers)
  t.same(new Set(answers), new Set(['200 old', '200 next']), 'no call failed')
  t.match(await configuration(gateway), {
    changed: true,
    needs_reload: [],
    needs_restart: ['limits.drainSeconds'],
  })
  t.ok(
    gateway.logs.some(
      ({ level, needsRestart }) => level === 'warn' && `${needsRestart}` === 'limits.drainSeconds',
    ),
  )
  publish(volume, '3', files(text(next.baseUrl)))
  await becomes(gateway, 'the stale state ends', ({ changed }) => !changed)
  t.equal(await gateway.kill('SIGTERM'), 0)
})
