// Starts the subjects of a run: the upstream, the floor, the gateway and the installed peers. Holds
// the targets of idle gateways.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeOptions } from '../../src/boot/built-program.ts'
import { until } from '../process/until.ts'
import { RULES, ruleFile } from './bench-rules.ts'
import type { Setup } from './features.ts'
import type { Target } from './load.ts'
import { type BenchProcess, MEASURED_CORE, OTHER_CORE, start } from './processes.ts'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const ADMIN_TOKEN = 'a-token-for-benches-only'
const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * Where `npm run bench:peers` installs the peers: outside the repository, because nothing depends
 * on them.
 */
export const PEERS_FOLDER = join(
  process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/tmp', '.cache'),
  'sidegate-bench-peers',
)

export interface Subject extends Target {
  readonly name: string
  /** Where it keeps its log; absent without one. */
  readonly folder?: string
  readonly process: BenchProcess
}

/** What an idle gateway may cost at most. */
export const IDLE_TARGETS = { cpuMsPerSecond: 2, wakeUpsPerSecond: 10 }

/** Starts the stand-in upstream of all subjects. The line it prints is its port. */
export const startStandIn = (): Promise<BenchProcess> =>
  start([globalThis.process.execPath, here('stand-in.ts')], OTHER_CORE)

/** Starts the bare pass-through that all ratios refer to. */
export async function startFloor(upstreamPort: number): Promise<Subject> {
  const process = await start(
    [globalThis.process.execPath, here('floor.ts'), `http://127.0.0.1:${upstreamPort}`],
    MEASURED_CORE,
  )
  return { name: 'floor', port: Number(process.line), headers: {}, process }
}

/** The parts of a governed call, in the order in which primitives.ts adds them to the floor. */
export const PRIMITIVES = [
  'key: its hash, and a row of the database',
  'JSON: prompt and answer parsed, prompt written',
  'personal data and keywords of prompt and answer',
  'injection score',
  'entry and exchange hashed',
  'durable transaction with both and two indexes',
  'metrics and a log line',
] as const

/** A key as long as a real one. */
export const PRIMITIVE_KEY = `sgate_live_${'0'.repeat(49)}`

/** Starts the floor with the first `count` of PRIMITIVES. */
export async function startPrimitives(upstreamPort: number, folder: string, count: number): Promise<Subject> {
  const upstream = `http://127.0.0.1:${upstreamPort}`
  const process = await start(
    [
      globalThis.process.execPath,
      ...nodeOptions(here('../../src/main.ts')),
      here('primitives.ts'),
      upstream,
      folder,
      String(count),
    ],
    MEASURED_CORE,
    { env: IMAGE_ENV, ready: (line) => /^\d+$/.test(line) },
  )
  const headers = { authorization: `Bearer ${PRIMITIVE_KEY}` }
  return { name: `+ ${PRIMITIVES[count - 1]}`, port: Number(process.line), headers, process }
}

export interface GatewayOptions {
  readonly name: string
  /** For its configuration and its data. On a memory file system no commit waits for a disk. */
  readonly folder: string
  readonly upstreamPort: number
  /** Path of the built program. */
  readonly main: string
  /** What it has besides. */
  readonly feature?: Setup
  /** Its rules; one of each type by default. */
  readonly rules?: readonly string[]
}

/** Environment of the image (Dockerfile). */
const IMAGE_ENV = { NODE_ENV: 'production', MALLOC_ARENA_MAX: '2' }

/** Starts the gateway with all features on. Creates a key if the folder is new. */
export async function startGateway(options: GatewayOptions): Promise<Subject> {
  const { name, folder, upstreamPort, main, feature, rules = feature?.rules ?? RULES } = options
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(join(folder, 'rules.yaml'), ruleFile(rules))
  const { listen = {}, ...more } = feature?.configure(folder) ?? {}
  writeFileSync(
    file,
    JSON.stringify({
      listen: { gateway: '127.0.0.1:0', ops: '127.0.0.1:0', ...listen },
      upstream: { baseUrl: `http://127.0.0.1:${upstreamPort}/v1` },
      rules: { path: 'rules.yaml' },
      data: { path: 'data' },
      admin: { token: { env: 'ADMIN_TOKEN' } },
      limits: { concurrentRequests: 4096 },
      ...more,
    }),
  )
  const process = await start(
    [globalThis.process.execPath, ...nodeOptions(main), main, 'serve', '--config', file],
    MEASURED_CORE,
    {
      env: { ...IMAGE_ENV, ADMIN_TOKEN },
      ready: (line) => line.includes('"listening"'),
    },
  )
  const listening = JSON.parse(process.line) as { gateway: string[]; ops: string[] }
  const address = listening.gateway[0] ?? ''
  await until(`${name} is ready`, async () => (await fetch(`http://${listening.ops[0]}/readyz`)).ok)
  const keyFile = join(folder, 'key')
  if (!existsSync(keyFile))
    writeFileSync(keyFile, feature?.key ?? (await createKey(`http://${address}/api/v1`)))
  const key = readFileSync(keyFile, 'utf8')
  const headers = { authorization: `Bearer ${key}` }
  const certificate = feature?.certificate
  return {
    ...{ name, folder, port: Number(address.split(':')[1]), headers, process },
    ...(certificate !== undefined && { certificate }),
  }
}

async function createKey(api: string): Promise<string> {
  const session = await post(`${api}/session`, { token: ADMIN_TOKEN })
  const cookie = session.headers.get('set-cookie') ?? ''
  const made = await post(`${api}/keys`, { name: 'bench' }, { cookie })
  return ((await made.json()) as { key: string }).key
}

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

/** Returns a function for each installed peer that starts it. */
export function peers(upstreamPort: number): (() => Promise<Subject>)[] {
  const starters: (() => Promise<Subject>)[] = []
  const portkey = join(PEERS_FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  if (existsSync(portkey)) starters.push(() => startPortkey(portkey, upstreamPort))
  if (existsSync(join(PEERS_FOLDER, 'node_modules/@fastify/http-proxy'))) {
    starters.push(() => startFastify(upstreamPort))
  }
  return starters
}

async function startPortkey(program: string, upstreamPort: number): Promise<Subject> {
  const port = await freePort()
  const process = await start(
    [globalThis.process.execPath, program, `--port=${port}`, '--headless'],
    MEASURED_CORE,
  )
  await untilOpen(port)
  const headers = {
    authorization: 'Bearer none',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  }
  return { name: 'Portkey gateway', port, headers, process }
}

async function startFastify(upstreamPort: number): Promise<Subject> {
  const script = join(PEERS_FOLDER, 'fastify-proxy.mjs')
  writeFileSync(script, FASTIFY_PROXY)
  const process = await start(
    [globalThis.process.execPath, script, `http://127.0.0.1:${upstreamPort}`],
    MEASURED_CORE,
  )
  return { name: 'fastify http-proxy', port: Number(process.line), headers: {}, process }
}

const FASTIFY_PROXY = `import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
const app = Fastify()
app.register(proxy, { upstream: process.argv[2], undici: { connections: 1024 } })
await app.listen({ port: 0, host: '127.0.0.1' })
console.log(app.server.address().port)
`

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/`)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
