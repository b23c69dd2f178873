// Starts real gateways for tests and talks to them over real sockets. A gateway runs in the process of
// its test, which takes a twentieth of the time of a process of its own; gateway-process.ts starts those
// whose process is the point.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/core/config.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { runGateway } from '../../src/gateway.ts'
import { eventually, fetchInTime, inTime, until } from './until.ts'
import { type Answer, type ScriptedUpstream, startUpstream } from './upstream.ts'

export const ADMIN_TOKEN = 'an-admin-token-for-tests'
export const UPSTREAM_KEY = 'upstream-credential-for-tests'

export interface GatewayOptions {
  readonly upstreamUrl: string
  /** Text of rules/rules.yaml. */
  readonly rules?: string
  /** Merged into the configuration, section by section. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Reuse a folder from an earlier gateway. */
  readonly folder?: string
  /** Whether the folder has its configuration and rules already. */
  readonly isWritten?: boolean
  /** Variables besides the two credentials that the configuration names. */
  readonly env?: Readonly<Record<string, string>>
}

/** A log line, parsed. */
export type LogLine = Record<string, unknown>

/** Where a gateway can be reached, and what it has logged. */
export interface GatewayPlace {
  readonly folder: string
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly opsUrl: string
  /** Log lines so far. */
  readonly logs: LogLine[]
}

/** What tests ask a gateway. */
export interface GatewayCalls {
  /** Signs in and returns the cookie header. */
  signIn(): Promise<string>
  /** A call to the management API with a session. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: any; headers: Headers }>
  /** Summary of the newest entry of the usage log. */
  newestEntry(): Promise<any>
  /** Waits until the newest entry has this outcome, and returns its summary. */
  entryWith(outcome: string): Promise<any>
  /** Answer of the readiness probe. */
  readiness(): Promise<{ status: number; body: any }>
  /** The page of metrics. */
  metrics(): Promise<string>
  /** Waits until the database has everything that is in the journal. */
  applied(): Promise<void>
  createKey(name?: string): Promise<{ id: string; key: string }>
  chat(key: string, body: object, init?: RequestInit): Promise<Response>
}

export interface TestGateway extends GatewayPlace, GatewayCalls {
  /** Does what SIGHUP does; a process is sent the signal and may not have finished. */
  reload(): Promise<void>
  /** Drains and stops; a second call waits for the first. Resolves with the exit code. */
  stop(): Promise<number | string>
}

const NO_RULES = 'rules: []\n'
/** Text of a rule file with one keyword rule, for prompts and answers. */
export const BLOCK_AURORA = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true }
`
/** Body of a chat call with one message. */
export const prompt = (content: unknown, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})

/**
 * Makes the folder of a deployment: configuration and rules.
 * @returns it and the configuration file
 */
export function writeDeployment(options: GatewayOptions): { folder: string; file: string } {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'sidegate-test-'))
  if (options.isWritten === true) return { folder, file: join(folder, 'sidegate.yaml') }
  mkdirSync(join(folder, 'rules'), { recursive: true })
  if (options.rules !== undefined || options.folder === undefined) {
    writeFileSync(join(folder, 'rules', 'rules.yaml'), options.rules ?? NO_RULES)
  }
  const config: Record<string, unknown> = {
    listen: { gateway: '127.0.0.1:0', ops: '127.0.0.1:0' },
    upstream: { baseUrl: options.upstreamUrl, apiKey: { env: 'UPSTREAM_KEY' } },
    rules: { path: 'rules' },
    data: { path: 'data' },
    admin: { token: { env: 'ADMIN_TOKEN' } },
    // Each sealed call has a line at this level.
    log: { level: 'debug' },
  }
  for (const [key, value] of Object.entries(options.config ?? {})) {
    const section = config[key]
    config[key] =
      typeof section === 'object' && !Array.isArray(value) ? { ...section, ...(value as object) } : value
  }
  if (config['upstreams'] !== undefined) delete config['upstream']
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(file, JSON.stringify(config))
  return { folder, file }
}

/**
 * Starts a gateway in this process.
 * @throws Error (rejects) with the problems that a command would print
 */
export async function startGateway(options: GatewayOptions): Promise<TestGateway> {
  const { folder, file } = writeDeployment(options)
  const logs: LogLine[] = []
  const env = { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY, ...options.env }
  const running = await inTime(
    'the gateway listens',
    runGateway(readConfig(file, env, systemClock), {
      output: { write: (lines) => logs.push(...readLines(lines)) },
    }),
  )
  if ('problems' in running) throw new Error(running.problems.map(formatProblem).join('\n'))
  void running.failed.then((reason) => {
    throw new Error(`the gateway cannot continue: ${reason}`)
  })
  const place = { folder, url: `http://${running.address}`, opsUrl: `http://${running.opsAddress}`, logs }
  return {
    ...place,
    ...callsTo(place),
    reload: () => inTime('the gateway reloads', running.reload()),
    stop: () => inTime('the gateway stops', running.stop()).then(() => 0),
  }
}

const readLines = (lines: string): LogLine[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)

/** The calls to a gateway, over its sockets. */
export function callsTo({ url, opsUrl }: GatewayPlace): GatewayCalls {
  let cookie: Promise<string> | null = null
  const calls: GatewayCalls = {
    async signIn() {
      const response = await fetchInTime(`${url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token: ADMIN_TOKEN }),
      })
      await response.arrayBuffer()
      return (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
    },
    async api(method, path, body) {
      cookie ??= calls.signIn()
      const response = await fetchInTime(`${url}/api/v1${path}`, {
        method,
        headers: {
          cookie: await cookie,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
      return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers }
    },
    newestEntry: async () => (await calls.api('GET', '/usage/logs?limit=1')).body.logs[0],
    entryWith: (outcome) =>
      eventually(`an entry ${outcome}`, calls.newestEntry, (entry) => entry?.outcome === outcome),
    async readiness() {
      const response = await fetchInTime(`${opsUrl}/readyz`)
      return { status: response.status, body: await response.json() }
    },
    metrics: async () => (await fetchInTime(`${opsUrl}/metrics`)).text(),
    applied: () =>
      until('the database has everything', async () =>
        /^sidegate_journal_lag_frames 0$/m.test(await calls.metrics()),
      ),
    async createKey(name = 'test') {
      const { body } = await calls.api('POST', '/keys', { name })
      return { id: body.id, key: body.key }
    },
    chat: (key, body, init = {}) =>
      fetchInTime(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify(body),
        ...(init.signal === undefined ? {} : { signal: init.signal }),
      }),
  }
  return calls
}

/** Changes sections of the configuration file; undefined removes one. */
export function editConfig(folder: string, sections: Readonly<Record<string, unknown>>): void {
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...sections }))
}

/** Stops the gateway and removes its folder; for `t.teardown`. */
export async function discard(gateway: TestGateway): Promise<void> {
  await gateway.stop()
  rmSync(gateway.folder, { recursive: true, force: true })
}

/** Texts that a stopped gateway has written, by place. */
export function writtenBy(gateway: TestGateway): { store: string; logs: string } {
  const data = join(gateway.folder, 'data')
  return {
    store: readdirSync(data)
      .map((name) => readFileSync(join(data, name)).toString('latin1'))
      .join('\n'),
    logs: gateway.logs.map((line) => JSON.stringify(line)).join('\n'),
  }
}

/** Starts a gateway until the end of the test. */
export async function openGateway(t: Pick<Test, 'teardown'>, options: GatewayOptions): Promise<TestGateway> {
  const gateway = await startGateway(options)
  t.teardown(() => discard(gateway))
  return gateway
}

export interface Deployment {
  readonly upstream: ScriptedUpstream
  readonly gateway: TestGateway
  /** An API key with the name `app`. */
  readonly key: string
}

/** Starts an upstream with the answer, and a gateway in front of it, until the end of the test. */
export async function deploy(
  t: Pick<Test, 'teardown'>,
  answer?: Answer,
  options: Omit<GatewayOptions, 'upstreamUrl'> = {},
): Promise<Deployment> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const gateway = await openGateway(t, { ...options, upstreamUrl: upstream.baseUrl })
  const { key } = await gateway.createKey('app')
  return { upstream, gateway, key }
}
