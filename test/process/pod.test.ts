// Runs the Pod of the charts without a cluster: the built gateway with the arguments, files and
// environment of the manifest, and an app, through the life of a Pod.

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
import { runCommand } from './run-command.ts'
import { eventually, fetchInTime, inTime, until } from './until.ts'
import { completion, HELD_TEXT, heldStream, json, startUpstream, stream } from './upstream.ts'

t.setTimeout(300_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ADMIN_TOKEN = 'an-admin-token-for-the-pod'
const RULES = (pattern: string) =>
  `rules:\n  - { name: words, type: keyword_block, pattern: "${pattern}", action: block }\n`

// Two loopback addresses that only this process uses, so that the ports of the manifest are free.
const [LOOPBACK, POD_IP] = [64, 128].map(
  (first) => `127.${first + ((process.pid >> 16) & 63)}.${(process.pid >> 8) & 255}.${process.pid & 255}`,
) as [string, string]

/** Builds the program. @throws Error (rejects) with the errors of the build */
async function build(folder: string): Promise<void> {
  const line = ['env', '-u', 'NODE_OPTIONS', process.execPath, '.build.ts', folder]
  const { code, stdout } = await runCommand(line, { cwd: ROOT })
  if (code !== 0) throw new Error(`the build failed: ${stdout}`)
}

/** Whether a server accepts connections at the address. */
function listens(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port })
  const tried = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  return inTime(`a connection to ${host}:${port}`, tried).finally(() => socket.destroy())
}

const skip = missing('helm') || (process.platform !== 'linux' && 'SKIPPED: needs all of 127.0.0.0/8')

t.test('the Pod of the charts loses no call in its life', { skip }, async (t) => {
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
  const settings = Object.entries(values).flatMap(([name, value]) => [
    '--set-json',
    `${name}=${JSON.stringify(value)}`,
  ])
  const rendered = charts.render('sidegate', ...settings)
  const { spec } = pick(charts.render('examples/app'), 'Deployment')['spec'].template
  // Only the address of the gateway differs from a Pod.
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

  /** Result of a call at its end; with `piece`, the first text if that comes before. */
  const resultOf = async (pod: Pod, id: string, kind?: 'piece'): Promise<AppResult> => {
    const find = () =>
      pod.app.output
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as AppResult)
        .find((one) => one.id === id && (kind === 'piece' || one.piece === undefined))
    return (await eventually(`the result of ${id}`, find, (found) => found !== undefined)) as AppResult
  }
  let calls = 0
  const send = (pod: Pod, call: Omit<AppCall, 'id'>): string => {
    const id = `call-${++calls}`
    pod.app.process.stdin?.write(`${JSON.stringify({ ...call, id })}\n`)
    return id
  }
  const say = (pod: Pod, content: string) => resultOf(pod, send(pod, { content }))
  /** Entries of the usage log, newest first, from the API. */
  const logs = async (): Promise<any[]> => {
    const base = `http://${LOOPBACK}:8484/api/v1`
    const session = await fetchInTime(`${base}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: ADMIN_TOKEN }),
    })
    const cookie = session.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const response = await fetchInTime(`${base}/usage/logs?limit=1000`, { headers: { cookie } })
    return ((await response.json()) as { logs: any[] }).logs
  }

  /** Boot entries of the log on the volume. */
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

  await t.test('the gateway serves before the app starts', async (t) => {
    t.same(pod.events, ['sidegate started', 'sidegate ready', 'app started'])
    t.same(await resultOf(pod, 'start'), { id: 'start', text: 'Hello.' })
    t.equal(upstream.received.at(-1)?.headers.authorization, 'Bearer first-credential')
    t.equal(await listens(POD_IP, 9484), true, 'health and metrics on the Pod’s address')
    t.equal(await listens(POD_IP, 8484), false, 'no other port')
    t.equal(await listens(LOOPBACK, 9484), false)
  })

  await t.test('a rule changes under traffic, and running streams keep the old one', async (t) => {
    const held = heldStream()
    upstream.answer = held.answer
    const streams = [1, 2, 3].map(() => send(pod, { content: 'A story of project aurora.', stream: true }))
    for (const id of streams) await resultOf(pod, id, 'piece')
    pod.sync('sidegate-rules', { '10-words.yaml': RULES('project aurora') })
    upstream.answer = json(completion('Fine.'))
    const ask = () => say(pod, 'Tell me about project aurora.')
    const last = await eventually('the new rule takes effect', ask, ({ text }) => text !== 'Fine.')
    t.equal(last.code, 'blocked_by_policy')
    t.equal((await say(pod, 'Tell me about project borealis.')).text, 'Fine.', 'the old rule is gone')
    held.finish()
    for (const id of streams) t.equal((await resultOf(pod, id)).text, HELD_TEXT)
    t.equal(pod.gateway.restarts, 0)
  })

  await t.test('a rotated credential of the provider is used without a restart', async (t) => {
    pod.sync('sidegate-secrets', { 'upstream-api-key': 'second-credential\n', 'admin-token': ADMIN_TOKEN })
    await until('the second credential is used', async () => {
      await say(pod, 'Hello.')
      return upstream.received.at(-1)?.headers.authorization === 'Bearer second-credential'
    })
    t.equal(pod.gateway.restarts, 0)
  })

  await t.test('the Pod stays ready while the provider is unreachable', async (t) => {
    upstream.answer = (response) => void response.destroy()
    t.equal((await say(pod, 'Hello.')).code, 'upstream_unavailable')
    const before = pod.readiness.length
    await until('two more probes of each kind', () => pod.readiness.length >= before + 4)
    t.same(new Set(pod.readiness), new Set([200]), 'every probe so far succeeded')
    upstream.answer = stream(['Fine.'])
  })

  await t.test('a killed gateway restarts on its volume with every entry', async (t) => {
    const before = await logs()
    pod.gateway.process.kill('SIGKILL')
    await pod.happened('sidegate started', 2)
    await until('the gateway listens', () => listens(LOOPBACK, 8484))
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

  await t.test('a termination ends the app first, and running streams finish', async (t) => {
    const held = heldStream()
    upstream.answer = held.answer
    const id = send(pod, { content: 'A story.', stream: true })
    await resultOf(pod, id, 'piece')
    const ended = pod.terminate()
    held.finish()
    await ended
    t.equal((await resultOf(pod, id)).text, HELD_TEXT)
    t.same(pod.events.slice(-2), ['app ended', 'sidegate ended'])
    t.same([pod.app.exits, pod.gateway.exits.at(-1)], [[0], 0])
  })

  await t.test('a new start on the same volume continues the log', async (t) => {
    upstream.answer = json(completion('Hello.'))
    pod = await start()
    await resultOf(pod, 'start')
    const [newest, before] = await logs()
    t.equal(newest.outcome, 'ok')
    t.match(
      before,
      { outcome: 'ok', stream: true, finish_reason: 'stop' },
      'the last stream of the run before',
    )
    t.ok(newest.seq > before.seq)
  })

  await t.test('a stream of a killed app is sealed as aborted, and the gateway exits with 0', async (t) => {
    upstream.answer = heldStream().answer
    await resultOf(pod, send(pod, { content: 'A story.', stream: true }), 'piece')
    const fromMs = performance.now()
    await pod.terminate(Promise.resolve())
    t.comment(`ended after ${Math.round(performance.now() - fromMs)} ms; the kubelet leaves it 2000`)
    t.same([pod.app.exits, pod.gateway.exits], [['SIGKILL'], [0]], 'the gateway is not killed')
    upstream.answer = json(completion('Hello.'))
    pod = await start()
    await resultOf(pod, 'start')
    t.match((await logs())[1], { outcome: 'client_aborted', stream: true }, 'the aborted call is in the log')
  })

  await t.test('an empty volume starts a new log with the same keys and rules', async (t) => {
    await pod.terminate()
    rmSync(join(folder, 'pod'), { recursive: true })
    pod = await start()
    t.equal((await resultOf(pod, 'start')).text, 'Hello.', 'the key declared by hash is accepted')
    t.equal((await say(pod, 'Tell me about project borealis.')).code, 'blocked_by_policy')
    t.equal((await logs()).length, 2)
  })
})
