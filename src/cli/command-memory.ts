// Sizes the heap of a process other than the gateway. A command stays small, because a gateway may
// share its container: over the limit of the container the kernel kills its largest process, which
// is the gateway.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const KIB = 1024
const MIB = 1024 * KIB

/** Memory of a command, of its own and not of files. */
export const COMMAND_BYTES = 48 * MIB

/** Where Linux describes the limits of a container (cgroup v2), and this process. */
export interface MemoryFiles {
  readonly group: string
  readonly process: string
}

const SYSTEM: MemoryFiles = { group: '/sys/fs/cgroup', process: '/proc/self' }

/** Keeps the young generation to 3 MiB; that of the gateway may have 48. */
export const COMMAND_OPTIONS = ['--min-semi-space-size=1', '--max-semi-space-size=1']
/** Memory of a command besides the heap for long-lived objects. */
const OTHER_BYTES = 26 * MIB

/**
 * Starts the same command line in the place of this process with a heap that fits into the
 * container, as `startWith` does.
 */
export function boundHeap(): void {
  const free = freeBytes(SYSTEM)
  const heap = free === null ? [] : [`--max-old-space-size=${inMib(free - OTHER_BYTES)}`]
  startWith([...COMMAND_OPTIONS, ...heap])
}

/**
 * Starts the same command line in the place of this process with other options of Node, and does
 * not return; returns at once in a process that was started so, and where the system has no such
 * call. V8 reads the sizes before any code runs, and those in the first line of src/main.ts are the
 * gateway's.
 */
export function startWith(options: readonly string[], more: Readonly<Record<string, string>> = {}): void {
  const { execArgv, execPath, argv, env } = process
  if (process.execve === undefined || execArgv.includes(options[0]!)) return
  process.execve(execPath, [execPath, ...execArgv, ...options, ...argv.slice(1)], { ...more, ...env })
}

/**
 * Returns a sentence when the container has no room for a command of this size; null when it has,
 * or when no limit is known.
 */
export function memoryFault(bytes: number, files: MemoryFiles = SYSTEM): string | null {
  const free = freeBytes(files)
  if (free === null || bytes <= free) return null
  return `this command needs ${inMib(bytes)} MiB of memory, and the container has ${inMib(Math.max(0, free))} MiB left; raise its limit, or run the command in another container on the same volume`
}

/**
 * Bytes that the container leaves this process, those included that it has; null without a limit.
 * The kernel takes back the cache of files that nobody read for long.
 */
function freeBytes({ group, process }: MemoryFiles): number | null {
  const limit = numberIn(join(group, 'memory.max'), /^(\d+)/)
  const used = numberIn(join(group, 'memory.current'), /^(\d+)/)
  if (limit === null || used === null) return null
  const cached = numberIn(join(group, 'memory.stat'), /^inactive_file (\d+)/m) ?? 0
  const own = (numberIn(join(process, 'status'), /^RssAnon:\s+(\d+) kB/m) ?? 0) * KIB
  return limit - used + cached + own
}

function numberIn(file: string, pattern: RegExp): number | null {
  try {
    const found = pattern.exec(readFileSync(file, 'utf8'))?.[1]
    return found === undefined ? null : Number(found)
  } catch {
    return null
  }
}

const inMib = (bytes: number): number => Math.floor(bytes / MIB)
