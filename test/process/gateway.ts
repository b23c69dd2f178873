// Starts the real gateway as its own process, the way an operator does, and talks to it over real sockets.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
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
  /** The program; its source if not given. */
  readonly main?: string
  /** A command line that runs the program, whose own stands behind it. */
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
  /** Signs in and returns the cookie header. */
  signIn(): Promise<string>
  /** A call to the management API with a session. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: any; headers: Headers }>
  createKey(name?: string): Promise<{ id: string; key: string }>
  chat(key: string, body: object, init?: RequestInit): Promise<Response>
  /** SIGTERM and wait. */
  stop(): Promise<number | string>
  kill(signal: NodeJS.Signals): Promise<number | string>
}

const NO_RULES = 'rules: []\n'
const COMMAND_MS = 120_000

/** Makes the folder of a deployment: configuration, rules, data. */
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
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(file, JSON.stringify(config))
  return { folder, file }
}

/** Starts a gateway and waits until it listens; rejects with its error output when it does not. */
export async function startGateway(options: GatewayOptions): Promise<TestGateway> {
  const { folder, file } = writeDeployment(options)
  const line = [...(options.under ?? []), process.execPath, options.main ?? MAIN, 'serve', '--config', file]
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
  const first = await new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as Record<string, unknown>
      logs.push(entry)
      if (entry['msg'] === 'listening') resolve(entry)
    })
    void exited.then((code) => reject(new Error(`the gateway ended with ${code}: ${stderr.join('')}`)))
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
    async signIn() {
      const response = await fetch(`${url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token: ADMIN_TOKEN }),
      })
      await response.arrayBuffer()
      return (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
    },
    async api(method, path, body) {
      cookie ??= gateway.signIn()
      const response = await fetch(`${url}/api/v1${path}`, {
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
    async createKey(name = 'test') {
      const { body } = await gateway.api('POST', '/keys', { name })
      return { id: body.id, key: body.key }
    },
    chat: (key, body, init = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify(body),
        ...(init.signal === undefined ? {} : { signal: init.signal }),
      }),
    stop: () => gateway.kill('SIGTERM'),
    kill(signal) {
      child.kill(signal)
      return exited
    },
  }
  return gateway
}

/** Stops the gateway and removes its folder; for `t.teardown`. */
export async function discard(gateway: TestGateway): Promise<void> {
  if (gateway.child.exitCode === null && gateway.child.signalCode === null) await gateway.kill('SIGTERM')
  rmSync(gateway.folder, { recursive: true, force: true })
}

/** Runs a command of the CLI to its end; kills it after COMMAND_MS. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, ...env },
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
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}
