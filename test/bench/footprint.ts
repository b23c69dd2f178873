// Measures memory, start and idle cost: what a pod pays before, during and after its work, with a
// new log and with a long one.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fillLog } from './filled.ts'
import { saturate } from './load.ts'
import { type BenchProcess, stopAll } from './processes.ts'
import { median, showProgress } from './report.ts'
import { IDLE_TARGETS, peers, type Subject, startFloor, startGateway, startStandIn } from './targets.ts'

const BODY = JSON.stringify({
  model: 'bench/model',
  messages: [{ role: 'user', content: 'How are you today?' }],
})
const CONNECTIONS = 64
const FULL = { loadMs: 6000, restMs: 2000, idleMs: 10_000, starts: 7, longLog: 1_000_000 }
const QUICK = { loadMs: 1200, restMs: 500, idleMs: 2000, starts: 2, longLog: 50_000 }

/** How often memory is read under load. */
const SAMPLES = 6
const SOAK_CALLS = 1_000_000
const SOAK_STEP_MS = 20_000
const SOAK_MS = 550_000
/** The gateway collects garbage after half a minute without calls; V8 returns free pages later. */
const SOAK_REST_MS = 60_000

const mebibytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0)

/**
 * A markdown table of memory, of the time from start to first answer, and of the cost of being
 * idle.
 */
export async function measureFootprint(main: string, folder: string, quick: boolean): Promise<string> {
  const sizes = quick ? QUICK : FULL
  const standIn = await startStandIn()
  const upstreamPort = Number(standIn.line)
  const longFolder = join(folder, 'long')
  const longName = `sidegate, ${sizes.longLog} entries`
  showProgress(`Filling a log with ${sizes.longLog} entries`)
  mkdirSync(longFolder, { recursive: true })
  await fillLog(join(longFolder, 'data'), sizes.longLog)
  const starters = [
    () => startFloor(upstreamPort),
    () => startGateway({ name: 'sidegate', folder: join(folder, 'new'), upstreamPort, main }),
    () => startGateway({ name: longName, folder: longFolder, upstreamPort, main }),
    ...peers(upstreamPort),
  ]
  showProgress('Timing starts')
  const startsMs = await timeStarts(starters, sizes.starts)
  const { cpuMsPerSecond, wakeUpsPerSecond } = IDLE_TARGETS
  const lines = [
    '**Anonymous memory, start, and the cost of being idle**',
    '',
    `| | idle MiB | under load MiB, ${SAMPLES} samples | at rest MiB | calls | start to first answer ms | idle CPU ms/s | wake-ups/s |`,
    '|---|---|---|---|---|---|---|---|',
    `| target for sidegate | | | | | | ≤ ${cpuMsPerSecond} | ≤ ${wakeUpsPerSecond} |`,
  ]
  for (const [index, startOne] of starters.entries()) {
    const subject = await startOne()
    const { name } = subject
    showProgress(`Memory of ${name}`)
    await saturate(subject, { body: BODY, connections: 1, durationMs: 200 })
    await sleep(sizes.restMs)
    const idle = await measureIdle(subject.process, sizes.idleMs)
    const idleBytes = subject.process.anonymousBytes()
    const { curve, requests } = await memoryUnderLoad(subject, sizes.loadMs)
    await sleep(sizes.restMs)
    const restedBytes = subject.process.anonymousBytes()
    const cells = [mebibytes(idleBytes), curve, mebibytes(restedBytes), requests, startsMs[index]?.toFixed(0)]
    lines.push(`| ${[name, ...cells, idle.cpuMs.toFixed(1), idle.wakeUps.toFixed(0)].join(' | ')} |`)
    await subject.process.stop()
  }
  showProgress('')
  await stopAll()
  return `${lines.join('\n')}\n`
}

/** CPU time and wake-ups of an idle process, all threads, per second. */
async function measureIdle(
  process: BenchProcess,
  durationMs: number,
): Promise<{ cpuMs: number; wakeUps: number }> {
  const startMs = performance.now()
  const [cpuUs, wakeUps] = [process.cpuUs(), process.wakeUps()]
  await sleep(durationMs)
  const seconds = (performance.now() - startMs) / 1000
  return {
    cpuMs: (process.cpuUs() - cpuUs) / 1000 / seconds,
    wakeUps: (process.wakeUps() - wakeUps) / seconds,
  }
}

async function memoryUnderLoad(
  subject: Subject,
  durationMs: number,
): Promise<{ curve: string; requests: number }> {
  const loaded: number[] = []
  const sample = () => loaded.push(subject.process.anonymousBytes())
  const timer = setInterval(sample, durationMs / (SAMPLES + 0.5))
  const { requests } = await saturate(subject, { body: BODY, connections: CONNECTIONS, durationMs })
  clearInterval(timer)
  return { curve: loaded.map(mebibytes).join(' '), requests }
}

/**
 * A markdown table of the gateway's memory over a million calls, or as many as it answers in ten
 * minutes.
 */
export async function soak(main: string, folder: string): Promise<string> {
  const standIn = await startStandIn()
  const subject = await startGateway({ name: 'sidegate', folder, upstreamPort: Number(standIn.line), main })
  await saturate(subject, { body: BODY, connections: 1, durationMs: 200 })
  const row = (calls: string) => `| ${calls} | ${mebibytes(subject.process.anonymousBytes())} |`
  const lines = ['| calls | anonymous memory, MiB |', '|---|---|', row('0')]
  const startMs = performance.now()
  let calls = 0
  while (calls < SOAK_CALLS && performance.now() - startMs < SOAK_MS) {
    showProgress(`${calls} of ${SOAK_CALLS} calls`)
    const load = { body: BODY, connections: CONNECTIONS, durationMs: SOAK_STEP_MS }
    calls += (await saturate(subject, load)).requests
    lines.push(row(String(calls)))
  }
  await sleep(SOAK_REST_MS)
  lines.push(row(`at rest after ${calls}`))
  showProgress('')
  await stopAll()
  return `${lines.join('\n')}\n`
}

/**
 * Median milliseconds from the start of a process to its first whole answer. Each turn starts all
 * programs, because the machine's speed varies more than they differ.
 */
async function timeStarts(starters: readonly (() => Promise<Subject>)[], turns: number): Promise<number[]> {
  const times = starters.map((): number[] => [])
  for (let turn = 0; turn <= turns; turn++) {
    for (const [index, startOne] of starters.entries()) {
      const startMs = performance.now()
      const subject = await startOne()
      await saturate(subject, { body: BODY, connections: 1, durationMs: 1 })
      // The first turn creates the files that later starts find.
      if (turn > 0) times[index]?.push(performance.now() - startMs)
      await subject.process.stop()
    }
  }
  return times.map(median)
}
