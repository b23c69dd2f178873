// The Pod that the charts render, run without a cluster: the compiled gateway with the manifest's arguments, files and
// environment, and an app beside it, through everything that happens to a Pod.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createApiKey, hashApiKey } from '../../src/core/apikey.ts'
import { eachEntry, openDirectory } from '../../src/store/verification/log-source.ts'
import { objects, pick, prepareCharts } from '../charts/helm.ts'
import { missing } from '../charts/tools.ts'
import { POD_UID, type Pod, startPod } from './pod.ts'
import { APP, type AppCall, type AppResult } from './pod-app.ts'
import {
  type Answer,
  chunk,
  completion,
  delta,
  event,
  finish,
  json,
  startUpstream,
  stream,
} from './upstream.ts'

t.setTimeout(300_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ADMIN_TOKEN = 'an-admin-token-for-the-pod'
const RULES = (pattern: string) =>
  `rules:\n  - { name: words, type: keyword_block, pattern: "${pattern}", action: block }\n`

// Two loopback addresses of this process's own, so that the manifest's ports are free whatever else runs.
const [LOOPBACK, POD_IP] = [64, 128].map(
  (first) => `127.${first + ((process.pid >> 16) & 63)}.${(process.pid >> 8) & 255}.${process.pid & 255}`,
) as [string, string]

const build = (folder: string) =>
  new Promise<void>((resolve, reject) => {
    const args = ['-u', 'NODE_OPTIONS', process.execPath, '.build.ts', folder]
    execFile('env', args, { cwd: ROOT }, (error, stdout) => (error ? reject(new Error(stdout)) : resolve()))
  })

/** Whether somebody listens there. */
const listens = (host: string, port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host, port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** Says a word of each stream and waits to be told to go on. */
function heldStream() {
  const held: (() => void)[] = []
  const answer: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      event(chunk([{ index: 0, delta: { role: 'assistant', content: 'word ' }, finish_reason: null }])),
    )
    response.write(event(delta('by word ')))
    held.push(() => response.end(event(delta('to the end')) + event(finish()) + event('[DONE]')))
  }
  return {
    answer,
    goOn: () => {
      for (const end of held.splice(0)) end()
    },
  }
}

const skip = missing('helm') || (process.platform !== 'linux' && 'SKIPPED: needs all of 127.0.0.0/8')

t.test('the Pod', { skip }, async (t) => {
  const folder = t.testdir({ config: t.fixture('symlink', join(ROOT, 'config')), pod: {} })
  await build(join(folder, 'dist'))
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const key = createApiKey(randomBytes(32))

  const charts = prepareCharts()
  t.teardown(charts.remove)
  const values = {
    config: {
      upstream: { baseUrl: upstream.baseUrl, retries: { attempts: 0 } },
      admin: { allowedHosts: [LOOPBACK] },
      keys: [{ name: 'app', sha256: hashApiKey(key) }],
    },
    listen: { host: LOOPBACK, opsHost: POD_IP },
    rules: { files: { '10-words.yaml': RULES('project borealis') } },
  }
  const json1 = Object.entries(values).flatMap(([name, value]) => [
    '--set-json',
    `${name}=${JSON.stringify(value)}`,
  ])
  const rendered = charts.render('sidegate', ...json1)
  const { spec } = pick(charts.render('examples/app'), 'Deployment')['spec'].template
  // The app's address of the gateway is the one thing that this machine has otherwise than a Pod.
  const [container] = objects(JSON.stringify(spec.containers[0]).replaceAll('127.0.0.1', LOOPBACK))
  const start = () =>
    startPod({
      spec: { ...spec, containers: [container] },
      objects: rendered,
      secrets: {
        'sidegate-upstream': { 'api-key': 'first-credential\n' },
        'sidegate-admin': { token: ADMIN_TOKEN },
        'app-sidegate-key': { 'api-key': key },
      },
      folder: join(folder, 'pod'),
      podIp: POD_IP,
      entrypoints: {
        sidegate: [process.execPath, join(folder, 'dist/main.js')],
        app: [process.execPath, APP],
      },
    })

  /** The call's end, or for `piece` its first piece if that comes before. */
  const resultOf = async (pod: Pod, id: string, wanted?: 'piece'): Promise<AppResult> => {
    for (;;) {
      const lines = pod.app.output.filter((line) => line.startsWith('{'))
      const found = lines
        .map((line) => JSON.parse(line) as AppResult)
        .find((one) => one.id === id && (wanted === 'piece' || one.piece === undefined))
      if (found !== undefined) return found
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  let calls = 0
  const send = (pod: Pod, call: Omit<AppCall, 'id'>): string => {
    const id = `call-${++calls}`
    pod.app.process.stdin?.write(`${JSON.stringify({ ...call, id })}\n`)
    return id
  }
  const say = (pod: Pod, content: string) => resultOf(pod, send(pod, { content }))
  /** The usage log, newest first, as an auditor reads it. */
  const logs = async (): Promise<any[]> => {
    const base = `http://${LOOPBACK}:8484/api/v1`
    const session = await fetch(`${base}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: ADMIN_TOKEN }),
    })
    const cookie = session.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const response = await fetch(`${base}/usage/logs?limit=1000`, { headers: { cookie } })
    return ((await response.json()) as { logs: any[] }).logs
  }

  /** What the log on the volume says of the starts. */
  const boots = async (): Promise<object[]> => {
    const environment = openDirectory(join(folder, 'pod/var/lib/sidegate'))
    const found: object[] = []
    await eachEntry(environment, (_, { bytes }) => {
      const { type, clean, instance } = JSON.parse(Buffer.from(bytes).toString())
      if (type === 'boot') found.push({ clean, instance })
      return true
    })
    await environment.close()
    return found
  }

  let pod = await start()
  t.teardown(() => pod.terminate(Promise.resolve()))

  await t.test('start: the gateway is there before the app’s first call', async (t) => {
    t.same(pod.events, ['sidegate started', 'sidegate ready', 'app started'])
    t.same(await resultOf(pod, 'start'), { id: 'start', text: 'Hello.' })
    t.equal(upstream.received.at(-1)?.headers.authorization, 'Bearer first-credential')
    t.equal(await listens(POD_IP, 9484), true, 'health and metrics on the Pod’s address')
    t.equal(await listens(POD_IP, 8484), false, 'nothing else there')
    t.equal(await listens(LOOPBACK, 9484), false)
  })

  await t.test('a rule changes under traffic', async (t) => {
    const held = heldStream()
    upstream.answer = held.answer
    const streams = [1, 2, 3].map(() => send(pod, { content: 'A story of project aurora.', stream: true }))
    for (const id of streams) await resultOf(pod, id, 'piece')
    pod.sync('sidegate-rules', { '10-words.yaml': RULES('project aurora') })
    upstream.answer = json(completion('Fine.'))
    // Until the new rules are in force; every call before is answered by the old ones.
    let last: AppResult
    do last = await say(pod, 'Of project aurora.')
    while (last.text === 'Fine.')
    t.equal(last.code, 'blocked_by_policy')
    t.equal((await say(pod, 'Of project borealis.')).text, 'Fine.', 'the old rule has gone')
    held.goOn()
    for (const id of streams) t.equal((await resultOf(pod, id)).text, 'word by word to the end')
    t.equal(pod.gateway.restarts, 0)
  })

  await t.test('the provider’s credential is rotated', async (t) => {
    pod.sync('sidegate-secrets', { 'upstream-api-key': 'second-credential\n', 'admin-token': ADMIN_TOKEN })
    do await say(pod, 'Hello.')
    while (upstream.received.at(-1)?.headers.authorization !== 'Bearer second-credential')
    t.equal(pod.gateway.restarts, 0)
  })

  await t.test('the provider is away: the Pod stays ready', async (t) => {
    upstream.answer = (response) => void response.destroy()
    t.equal((await say(pod, 'Hello.')).code, 'upstream_unavailable')
    const before = pod.readiness.length
    while (pod.readiness.length < before + 4) await new Promise((resolve) => setTimeout(resolve, 20))
    t.same(new Set(pod.readiness), new Set([200]), 'every probe so far was answered')
    upstream.answer = stream(['Fine.'])
  })

  await t.test('the gateway is killed: the container starts again on the same volume', async (t) => {
    const before = await logs()
    pod.gateway.process.kill('SIGKILL')
    await pod.happened('sidegate started', 2)
    while (!(await listens(LOOPBACK, 8484))) await new Promise((resolve) => setTimeout(resolve, 20))
    const after = await logs()
    t.same(
      after.map(({ id }) => id),
      before.map(({ id }) => id),
      'every entry is there',
    )
    const id = send(pod, { content: 'Hello.', stream: true })
    t.equal((await resultOf(pod, id)).text, 'Fine.')
    t.same(pod.gateway.exits, ['SIGKILL'])
    t.same(await boots(), [
      { clean: true, instance: POD_UID },
      { clean: false, instance: POD_UID },
    ])
  })

  await t.test('the end: streams in flight finish, the app goes first', async (t) => {
    const held = heldStream()
    upstream.answer = held.answer
    const id = send(pod, { content: 'A story.', stream: true })
    await resultOf(pod, id, 'piece')
    const ended = pod.terminate()
    held.goOn()
    await ended
    t.equal((await resultOf(pod, id)).text, 'word by word to the end')
    t.same(pod.events.slice(-2), ['app ended', 'sidegate ended'])
    t.same([pod.app.exits, pod.gateway.exits.at(-1)], [[0], 0])
  })

  await t.test('the same volume: the log goes on', async (t) => {
    upstream.answer = json(completion('Hello.'))
    pod = await start()
    await resultOf(pod, 'start')
    const [newest, before] = await logs()
    t.equal(newest.outcome, 'ok')
    t.match(
      before,
      { outcome: 'ok', stream: true, finish_reason: 'stop' },
      'the last stream of the last life',
    )
    t.ok(newest.seq > before.seq)
  })

  await t.test('no patience left: the app is killed in the middle of a stream', async (t) => {
    upstream.answer = heldStream().answer
    await resultOf(pod, send(pod, { content: 'A story.', stream: true }), 'piece')
    const fromMs = performance.now()
    await pod.terminate(Promise.resolve())
    t.comment(`ended after ${Math.round(performance.now() - fromMs)} ms; the kubelet leaves it 2000`)
    t.same([pod.app.exits, pod.gateway.exits], [['SIGKILL'], [0]], 'the gateway need not be killed')
    upstream.answer = json(completion('Hello.'))
    pod = await start()
    await resultOf(pod, 'start')
    t.match((await logs())[1], { outcome: 'client_aborted', stream: true }, 'the broken call is in the log')
  })

  await t.test('an empty volume: a new log, the same keys and rules', async (t) => {
    await pod.terminate()
    rmSync(join(folder, 'pod'), { recursive: true })
    pod = await start()
    t.equal((await resultOf(pod, 'start')).text, 'Hello.', 'the key declared by hash is accepted')
    t.equal((await say(pod, 'Of project borealis.')).code, 'blocked_by_policy')
    t.equal((await logs()).length, 2)
  })
})
