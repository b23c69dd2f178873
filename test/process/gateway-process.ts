// Starts the built program as a process of its own, like an operator, where a process is the point:
// signals, memory, a crash, what `ps` shows, the built form.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import {
  ADMIN_TOKEN,
  callsTo,
  type Deployment,
  discard,
  type GatewayOptions,
  type LogLine,
  type TestGateway,
  UPSTREAM_KEY,
  writeDeployment,
} from './gateway.ts'
import { programArgs } from './program.ts'
import { inTime } from './until.ts'
import { type Answer, startUpstream } from './upstream.ts'

export interface ProgramOptions extends GatewayOptions {
  /** Path of a built program; by default the one that build-program.ts keeps up to date. */
  readonly program?: string
  /** Command that runs the program; the program's own command line follows it. */
  readonly under?: readonly string[]
}

export interface GatewayProcess extends TestGateway {
  readonly child: ChildProcess
  readonly stderr: string[]
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>
  /** As `exited`, with a deadline. */
  exit(): Promise<number | string>
  /** Sends the signal and waits for the exit. */
  kill(signal: NodeJS.Signals): Promise<number | string>
}

/**
 * Starts a gateway and waits until it listens.
 * @throws Error (rejects) with its error output when it ends
 */
export async function startProgram(options: ProgramOptions): Promise<GatewayProcess> {
  const { folder, file } = writeDeployment(options)
  const line = [...(options.under ?? []), 'env', ...programArgs(['serve', '--config', file], options)]
  const child = spawn(line[0]!, line.slice(1), {
    env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const logs: LogLine[] = []
  const stderr: string[] = []
  child.stderr.on('data', (data) => stderr.push(String(data)))
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const listening = new Promise<LogLine>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as LogLine
      logs.push(entry)
      if (entry['msg'] === 'listening') resolve(entry)
    })
    void exited.then((code) => reject(new Error(`the gateway ended with ${code}: ${stderr.join('')}`)))
  })
  const first = await inTime('the gateway listens', listening).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  const place = {
    folder,
    url: `http://${(first['gateway'] as string[])[0]}`,
    opsUrl: `http://${(first['ops'] as string[])[0]}`,
    logs,
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const exit = () => inTime('the gateway exits', exited)
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exit()
  }
  return {
    ...place,
    ...callsTo(place),
    child,
    reload: async () => void child.kill('SIGHUP'),
    stderr,
    exited,
    exit,
    kill,
    stop: () => (hasEnded() ? exited : kill('SIGTERM').finally(() => child.kill('SIGKILL'))),
  }
}

/** Starts a gateway as a process until the end of the test. */
export async function openProgram(
  t: Pick<Test, 'teardown'>,
  options: ProgramOptions,
): Promise<GatewayProcess> {
  const gateway = await startProgram(options)
  t.teardown(() => discard(gateway))
  return gateway
}

/** As `deploy`, with the gateway as a process. */
export async function deployProgram(
  t: Pick<Test, 'teardown'>,
  answer?: Answer,
  options: Omit<ProgramOptions, 'upstreamUrl'> = {},
): Promise<Deployment & { readonly gateway: GatewayProcess }> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const gateway = await openProgram(t, { ...options, upstreamUrl: upstream.baseUrl })
  const { key } = await gateway.createKey('app')
  return { upstream, gateway, key }
}
