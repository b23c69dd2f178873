// What the kernel counts of a process. Linux only, because it reads /proc.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const KIB = 1024
const NS_PER_MS = 1e6

/** Resident memory in MiB. */
export const residentMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / KIB

/** CPU time of all threads so far, milliseconds. A thread that has ended is not counted. */
const cpuMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [onCpu] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
    return sum + Number(onCpu) / NS_PER_MS
  }, 0)

/** Measures CPU time over an interval. @returns milliseconds a second of each process */
export async function cpuMsPerSecond(pids: readonly number[], seconds: number): Promise<number[]> {
  const before = pids.map(cpuMs)
  const startedMs = performance.now()
  await delay(seconds * 1000)
  const tookSeconds = (performance.now() - startedMs) / 1000
  return pids.map((pid, index) => (cpuMs(pid) - before[index]!) / tookSeconds)
}
