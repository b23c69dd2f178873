// What is compared: the upstream itself, a bare pass-through, the gateway, and, where they are installed, peers.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeOptions } from '../../src/boot/built-program.ts'
import type { Target } from './load.ts'
import { type BenchProcess, MEASURED_CORE, OTHER_CORE, start } from './processes.ts'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const ADMIN_TOKEN = 'bench'
const JSON_TYPE = { 'content-type': 'application/json' }

/** Where `npm run bench:peers` installs them: outside of the repository, they are no dependency. */
export const PEERS_FOLDER = join(
  process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/tmp', '.cache'),
  'sidegate-bench-peers',
)

export interface Subject extends Target {
  readonly name: string
  readonly process: BenchProcess
}

/** Of the keyword rule, which no load meets. */
export const KEYWORDS = 'project aurora|project borealis|internal[- ]only'

/** One rule of each type; nothing of the load is refused by them. */
const RULES = `rules:
  - { name: words, type: keyword_block, pattern: "${KEYWORDS}", action: block }
  - { name: data, type: pii, pattern: "*", action: redact }
  - { name: injection, type: prompt_injection, pattern: "", action: monitor }
  - { name: budget, type: rate_limit, pattern: "1000000M/1d", action: block }
`

/** The provider that everything is measured in front of; the line it prints is its port. */
export const startStandIn = (): Promise<BenchProcess> =>
  start([globalThis.process.execPath, here('stand-in.ts')], OTHER_CORE)

export async function startFloor(upstreamPort: number): Promise<Subject> {
  const process = await start(
    [globalThis.process.execPath, here('floor.ts'), `http://127.0.0.1:${upstreamPort}`],
    MEASURED_CORE,
  )
  return { name: 'floor', port: Number(process.line), headers: {}, process }
}

/** What primitives.ts adds to the floor, in that order. */
export const PRIMITIVES = [
  'key: its hash, and a row of the database',
  'JSON of prompt and answer read, the prompt written',
  'personal data and keywords, both ways',
  'injection score',
  'entry and exchange hashed',
  'both and two indexes in a durable transaction',
  'metrics and a log line',
] as const

/** As long as a real one. */
export const PRIMITIVE_KEY = `sgate_live_${'0'.repeat(49)}`

/** The floor with the first `count` of what a governed call cannot do without, and nothing around them. */
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
  /** Where its configuration and its data go; on a memory file system nothing waits for a disk. */
  readonly folder: string
  readonly upstreamPort: number
  /** The built program. */
  readonly main: string
}

/** As the image starts it (Dockerfile), beside its flags. */
const IMAGE_ENV = { NODE_ENV: 'production', MALLOC_ARENA_MAX: '2' }

/** The gateway with every feature on, and a key, which is made when the folder is new. */
export async function startGateway(options: GatewayOptions): Promise<Subject> {
  const { name, folder, upstreamPort, main } = options
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(join(folder, 'rules.yaml'), RULES)
  writeFileSync(
    file,
    JSON.stringify({
      listen: { gateway: '127.0.0.1:0', ops: '127.0.0.1:0' },
      upstream: { baseUrl: `http://127.0.0.1:${upstreamPort}/v1` },
      rules: { path: 'rules.yaml' },
      data: { path: 'data' },
      admin: { token: { env: 'ADMIN_TOKEN' } },
      limits: { concurrentRequests: 4096 },
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
  const address = (JSON.parse(process.line) as { gateway: string[] }).gateway[0] ?? ''
  const keyFile = join(folder, 'key')
  if (!existsSync(keyFile)) writeFileSync(keyFile, await createKey(`http://${address}/api/v1`))
  const key = readFileSync(keyFile, 'utf8')
  return { name, port: Number(address.split(':')[1]), headers: { authorization: `Bearer ${key}` }, process }
}

async function createKey(api: string): Promise<string> {
  const session = await post(`${api}/session`, { token: ADMIN_TOKEN })
  const cookie = session.headers.get('set-cookie') ?? ''
  const made = await post(`${api}/keys`, { name: 'bench' }, { cookie })
  return ((await made.json()) as { key: string }).key
}

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

/** What starts the peers that are installed, each by itself. */
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
