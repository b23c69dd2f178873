// Starts the real gateway as its own process, like an operator, and talks to it over real sockets.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { programArgs, SOURCE } from './program.ts'
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
  /** Reuse a folder from an earlier process. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  /** Path of a built program; the source by default, so that the coverage of its lines is measured. */
  readonly program?: string
  /** Command that runs the program; the program's own command line follows it. */
  readonly under?: readonly string[]
}

export interface TestGateway {
  readonly folder: string
  readonly child: ChildProcess
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly opsUrl: string
  /** Parsed log lines so far. */
  readonly logs: Record<string, unknown>[]
  readonly stderr: string[]
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>
  /** As `exited`, with a deadline. */
  exit(): Promise<number | string>
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
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<number | string>
  /** Sends the signal and waits for the exit. */
  kill(signal: NodeJS.Signals): Promise<number | string>
}

const NO_RULES = 'rules: []\n'
/** Text of a rule file with one keyword rule, for prompts and answers. */
export const BLOCK_AURORA = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true }
`
const COMMAND_MS = 120_000

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
 * Starts a gateway and waits until it listens.
 * @throws Error (rejects) with its error output when it ends
 */
export async function startGateway(options: GatewayOptions): Promise<TestGateway> {
  const { folder, file } = writeDeployment(options)
  const args = ['serve', '--config', file]
  const program =
    options.program === undefined
      ? [process.execPath, SOURCE, ...args]
      : ['env', ...programArgs(args, options)]
  const line = [...(options.under ?? []), ...program]
  const child = spawn(line[0] ?? '', line.slice(1), {
    env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const logs: Record<string, unknown>[] = []
  const stderr: string[] = []
  child.stderr.on('data', (data) => stderr.push(String(data)))
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const listening = new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as Record<string, unknown>
      logs.push(entry)
      if (entry['msg'] === 'listening') resolve(entry)
    })
    void exited.then((code) => reject(new Error(`the gateway ended with ${code}: ${stderr.join('')}`)))
  })
  const first = await inTime('the gateway listens', listening).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  const url = `http://${(first['gateway'] as string[])[0]}`
  let cookie: Promise<string> | null = null
  const gateway: TestGateway = {
    folder,
    child,
    url,
    opsUrl: `http://${(first['ops'] as string[])[0]}`,
    logs,
    stderr,
    exited,
    exit: () => inTime('the gateway exits', exited),
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
      cookie ??= gateway.signIn()
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
    newestEntry: async () => (await gateway.api('GET', '/usage/logs?limit=1')).body.logs[0],
    entryWith: (outcome) =>
      eventually(`an entry ${outcome}`, gateway.newestEntry, (entry) => entry?.outcome === outcome),
    async readiness() {
      const response = await fetchInTime(`${gateway.opsUrl}/readyz`)
      return { status: response.status, body: await response.json() }
    },
    metrics: async () => (await fetchInTime(`${gateway.opsUrl}/metrics`)).text(),
    applied: () =>
      until('the database has everything', async () =>
        /^sidegate_journal_lag_frames 0$/m.test(await gateway.metrics()),
      ),
    async createKey(name = 'test') {
      const { body } = await gateway.api('POST', '/keys', { name })
      return { id: body.id, key: body.key }
    },
    chat: (key, body, init = {}) =>
      fetchInTime(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify(body),
        ...(init.signal === undefined ? {} : { signal: init.signal }),
      }),
    stop: () => gateway.kill('SIGTERM'),
    kill(signal) {
      child.kill(signal)
      return gateway.exit()
    },
  }
  return gateway
}

/** Stops the gateway and removes its folder; for `t.teardown`. */
export async function discard(gateway: TestGateway): Promise<void> {
  if (gateway.child.exitCode === null && gateway.child.signalCode === null) {
    await gateway.kill('SIGTERM').finally(() => gateway.child.kill('SIGKILL'))
  }
  rmSync(gateway.folder, { recursive: true, force: true })
}

/** Texts that a stopped gateway has written, by place. */
export function writtenBy(gateway: TestGateway): { store: string; logs: string; errorOutput: string } {
  const data = join(gateway.folder, 'data')
  return {
    store: readdirSync(data)
      .map((name) => readFileSync(join(data, name)).toString('latin1'))
      .join('\n'),
    logs: gateway.logs.map((line) => JSON.stringify(line)).join('\n'),
    errorOutput: gateway.stderr.join(''),
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

export interface CommandResult {
  /** Exit code; null after a signal, such as the one that ends it at the deadline. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end; kills it after COMMAND_MS. */
export function runCommand(line: readonly string[], options: SpawnOptions = {}): Promise<CommandResult> {
  const child = spawn(line[0] ?? '', line.slice(1), {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Runs a command of the CLI as `runCommand` does. */
export const runCli = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> =>
  runCommand(['env', ...programArgs(args, { env })], {
    env: { ...process.env, ...env },
  })
