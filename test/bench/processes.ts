// Processes of a benchmark: started on a core of their own where the machine has two, watched by what the kernel
// counts of them, and ended with it. Linux only: that is where sidecars run.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'

/** What is measured runs here, everything else on the other one. */
export const MEASURED_CORE = 0
export const OTHER_CORE = 1

/** Clock ticks of /proc/PID/stat a second; 100 on every Linux there is. */
const TICK_US = 10_000
const KIB = 1024

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** Whether processes keep to their cores; if not, they take from each other, and only the order of figures counts. */
export const pinned = canPin

/** Keeps the load generator itself off the measured core. */
export function pinSelf(): void {
  if (canPin) execFileSync('taskset', ['-cp', String(OTHER_CORE), String(process.pid)], { stdio: 'ignore' })
}

export interface BenchProcess {
  readonly child: ChildProcess
  /** The first line it printed. */
  readonly line: string
  /** CPU time so far, all threads, user and system, microseconds. */
  cpuUs(): number
  /** Resident memory that is the process's own (RssAnon); mapped files are the kernel's to take back. Bytes. */
  anonymousBytes(): number
  stop(): Promise<void>
}

const running = new Set<BenchProcess>()

/** Starts a program; resolves when it has printed a line, or the one that `ready` waits for. */
export async function start(
  command: readonly string[],
  core: number,
  options: { readonly env?: Record<string, string>; readonly ready?: (line: string) => boolean } = {},
): Promise<BenchProcess> {
  const [program = '', ...args] = canPin ? ['taskset', '-c', String(core), ...command] : command
  const child = spawn(program, args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    // Reading on keeps the pipe from filling up, which would stop a program that logs.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
      if (options.ready?.(text) !== false) resolve(text)
    })
    void ended.then(() => reject(new Error(`${command.join(' ')} ended before it was ready`)))
  })
  const stat = () =>
    readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
  const one: BenchProcess = {
    child,
    line,
    cpuUs: () => (Number(stat()[11]) + Number(stat()[12])) * TICK_US,
    anonymousBytes: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) * KIB
    },
    async stop() {
      running.delete(one)
      child.kill('SIGTERM')
      await ended
    },
  }
  running.add(one)
  return one
}

export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((one) => one.stop()))
}
