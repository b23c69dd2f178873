// `npm run bench`: what the gateway costs, beside a bare pass-through in the same run. Loopback only, ends by itself.
// Prints a markdown table; figures of different runs or machines cannot be compared, ratios within one can.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Measured, run } from './load.ts'

const ROUNDS = 3
const ROUND_MS = 4000
const CONNECTIONS = 64
const STREAM_CONNECTIONS = 32
const PROMPT = 'Summarise for the board what was agreed and which questions stay open until spring. '.repeat(
  12,
)

const children: ChildProcess[] = []
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** Starts a script and resolves with the first line it prints. */
function start(file: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  children.push(child)
  return new Promise((resolve, reject) => {
    // Reading on keeps the pipe from filling up, which would stop the gateway's log.
    if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', resolve)
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)))
  })
}

const RULES = `rules:
  - { name: words, type: keyword_block, pattern: "project aurora|project borealis", action: block, enabled: true }
  - { name: data, type: pii, pattern: "*", action: redact, enabled: true }
  - { name: injection, type: prompt_injection, pattern: "", action: monitor, enabled: true }
  - { name: budget, type: rate_limit, pattern: "1000000M/1d", action: block, enabled: true }
`

/** The gateway with every feature on; resolves with its port and a key. */
async function startGateway(folder: string, upstreamPort: string): Promise<{ port: number; key: string }> {
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
    }),
  )
  const line = await start(here('../../src/main.ts'), ['serve', '--config', file], { ADMIN_TOKEN: 'bench' })
  const address = (JSON.parse(line) as { gateway: string[] }).gateway[0] ?? ''
  const headers = { 'content-type': 'application/json' }
  const session = await fetch(`http://${address}/api/v1/session`, {
    method: 'POST',
    headers,
    body: '{"token":"bench"}',
  })
  const cookie = session.headers.get('set-cookie') ?? ''
  const made = await fetch(`http://${address}/api/v1/keys`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body: '{"name":"bench"}',
  })
  const { key } = (await made.json()) as { key: string }
  return { port: Number(address.split(':')[1]), key }
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

interface Target {
  readonly name: string
  readonly port: number
  readonly headers: Record<string, string>
}

async function compare(
  title: string,
  targets: readonly Target[],
  connections: number,
  stream: boolean,
): Promise<void> {
  const body = JSON.stringify({
    model: 'bench/model',
    ...(stream ? { stream: true } : {}),
    messages: [{ role: 'user', content: PROMPT }],
  })
  const results = new Map<string, Measured[]>(targets.map(({ name }) => [name, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { name, port, headers } of targets) {
      // The first round warms up and is not counted.
      const durationMs = round === 0 ? ROUND_MS / 2 : ROUND_MS
      const measured = await run({
        port,
        connections,
        durationMs,
        path: '/v1/chat/completions',
        headers,
        body,
      })
      if (round > 0) results.get(name)?.push(measured)
    }
    process.stderr.write('.')
  }
  const floor = median((results.get('floor') ?? []).map(({ perSecond }) => perSecond))
  process.stderr.write('\n')
  console.log(
    `\n**${title}**, ${connections} connections\n\n| | requests/s | of the floor | p50 ms | p99 ms | errors |\n|---|---|---|---|---|---|`,
  )
  for (const [name, rounds] of results) {
    const perSecond = median(rounds.map((round) => round.perSecond))
    const cells = [
      name,
      perSecond.toFixed(0),
      (perSecond / floor).toFixed(2),
      median(rounds.map(({ p50 }) => p50)).toFixed(2),
      median(rounds.map(({ p99 }) => p99)).toFixed(2),
      rounds.reduce((sum, { errors }) => sum + errors, 0),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sidegate-bench-'))
try {
  const upstreamPort = await start(here('stand-in.ts'), [])
  const floorPort = await start(here('floor.ts'), [`http://127.0.0.1:${upstreamPort}`])
  const gateway = await startGateway(folder, upstreamPort)
  const targets: Target[] = [
    { name: 'direct', port: Number(upstreamPort), headers: {} },
    { name: 'floor', port: Number(floorPort), headers: {} },
    {
      name: 'sidegate, everything on, durable',
      port: gateway.port,
      headers: { authorization: `Bearer ${gateway.key}` },
    },
  ]
  await compare('Whole answers, 1 KB prompt', targets, CONNECTIONS, false)
  await compare('Streams of 100 events', targets, STREAM_CONNECTIONS, true)
} finally {
  for (const child of children) child.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
