// Starts the processes of a benchmark, pins them to cores, reads what the kernel counts of them and
// stops them. Linux only, because it reads /proc.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'

/** Core of the measured processes. */
export const MEASURED_CORE = 0
/** Core of the load generator and of the stand-in upstream. */
export const OTHER_CORE = 1

const KIB = 1024
const NS_PER_US = 1000

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/**
 * Whether processes keep to their cores. Otherwise they take time from each other, and only the
 * order of the figures counts.
 */
export const pinned = canPin

/** Keeps the load generator off the measured core. */
export function pinSelf(): void {
  if (canPin) execFileSync('taskset', ['-cp', String(OTHER_CORE), String(process.pid)], { stdio: 'ignore' })
}

export interface BenchProcess {
  readonly child: ChildProcess
  /** The first line on stdout, or the one that `ready` accepted. */
  readonly line: string
  /** CPU time since the start, all threads, user and system. Microseconds, to the nanosecond. */
  cpuUs(): number
  /** Voluntary context switches since the start, all threads: a thread slept and was woken. */
  wakeUps(): number
  /**
   * Resident anonymous memory (RssAnon) in bytes. The kernel can reclaim mapped files; this it
   * cannot.
   */
  anonymousBytes(): number
  /** Sends SIGTERM; resolves when the process has ended. */
  stop(): Promise<void>
}

const running = new Set<BenchProcess>()

/**
 * Starts a program on a core.
 * @param options.ready accepts the line that says the program is ready; default: the first line
 * @throws Error when the program ends before that line
 */
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
    // The reader stays, because a full pipe would block a program that logs.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
      if (options.ready?.(text) !== false) resolve(text)
    })
    void ended.then(() => reject(new Error(`${command.join(' ')} ended before it was ready`)))
  })
  const pid = child.pid ?? 0
  const one: BenchProcess = {
    child,
    line,
    cpuUs: threadCounter(pid, 'schedstat', (text) => Number.parseInt(text, 10) / NS_PER_US),
    wakeUps: threadCounter(pid, 'status', (text) =>
      Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1]),
    ),
    anonymousBytes: () =>
      Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * KIB,
    async stop() {
      running.delete(one)
      child.kill('SIGTERM')
      await ended
    },
  }
  running.add(one)
  return one
}

/**
 * Returns a function that sums one counter of /proc/PID/task/TID/FILE over all threads. A thread
 * that has ended keeps the value last read, so the sum never falls.
 */
function threadCounter(pid: number, file: string, parse: (text: string) => number): () => number {
  const byThread = new Map<string, number>()
  return () => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      try {
        byThread.set(thread, parse(readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8')))
      } catch {
        // The thread ended after its folder was listed.
      }
    }
    return [...byThread.values()].reduce((sum, value) => sum + value, 0)
  }
}

/** Stops all processes that are still running. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((one) => one.stop()))
}
