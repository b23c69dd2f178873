// Memory and start-up: what a pod pays before the work, during it and after, with a new log and with a long one.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fillLog } from './filled.ts'
import { saturate } from './load.ts'
import { stopAll } from './processes.ts'
import { median } from './report.ts'
import { peers, type Subject, startFloor, startGateway, startStandIn } from './targets.ts'

const BODY = JSON.stringify({
  model: 'bench/model',
  messages: [{ role: 'user', content: 'How are you today?' }],
})
const CONNECTIONS = 64
const LOAD_MS = 6000
const QUICK_LOAD_MS = 1200
const REST_MS = 2000
const QUICK_REST_MS = 500
const STARTS = 7
const QUICK_STARTS = 2

/** How often memory is looked at under load. */
const SAMPLES = 6
const SOAK_CALLS = 1_000_000
const SOAK_STEP_MS = 20_000
const SOAK_MS = 550_000
/** Garbage is collected when calls have stopped for half a minute, and V8 gives free pages back some time later. */
const SOAK_REST_MS = 60_000
/** A log of a year or so; a quick run makes a shorter one. */
const LONG_LOG = 1_000_000
const QUICK_LONG_LOG = 50_000

const mebibytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0)

/** A markdown table of memory and of the time from the start of a process to its first answer. */
export async function measureFootprint(main: string, folder: string, quick: boolean): Promise<string> {
  const lines = [
    '**Memory of the process itself (anonymous) and start**',
    '',
    `| | idle MiB | under load MiB, ${SAMPLES} times | at rest MiB | calls | start to first answer ms |`,
    '|---|---|---|---|---|---|',
  ]
  const standIn = await startStandIn()
  const upstreamPort = Number(standIn.line)
  const longLog = quick ? QUICK_LONG_LOG : LONG_LOG
  const longName = `sidegate, ${longLog} entries`
  const longFolder = join(folder, 'long')
  process.stderr.write(`\r\x1b[KMaking a log of ${longLog} entries`)
  mkdirSync(longFolder, { recursive: true })
  await fillLog(join(longFolder, 'data'), longLog)
  const starters = [
    () => startFloor(upstreamPort),
    () => startGateway({ name: 'sidegate', folder: join(folder, 'new'), upstreamPort, main }),
    () => startGateway({ name: longName, folder: longFolder, upstreamPort, main }),
    ...peers(upstreamPort),
  ]
  const startsMs = await timeStarts(starters, quick ? QUICK_STARTS : STARTS)
  for (const [index, startOne] of starters.entries()) {
    const subject = await startOne()
    process.stderr.write(`\r\x1b[KMemory of ${subject.name}`)
    await saturate(subject, { body: BODY, connections: 1, durationMs: 200 })
    const idle = subject.process.anonymousBytes()
    const durationMs = quick ? QUICK_LOAD_MS : LOAD_MS
    const loaded: number[] = []
    const look = setInterval(
      () => loaded.push(subject.process.anonymousBytes()),
      durationMs / (SAMPLES + 0.5),
    )
    const { requests } = await saturate(subject, { body: BODY, connections: CONNECTIONS, durationMs })
    clearInterval(look)
    await sleep(quick ? QUICK_REST_MS : REST_MS)
    const rested = subject.process.anonymousBytes()
    const curve = loaded.map(mebibytes).join(' ')
    const cells = [
      subject.name,
      mebibytes(idle),
      curve,
      mebibytes(rested),
      requests,
      startsMs[index]?.toFixed(0),
    ]
    lines.push(`| ${cells.join(' | ')} |`)
    await subject.process.stop()
  }
  process.stderr.write('\r\x1b[K')
  await stopAll()
  return `${lines.join('\n')}\n`
}

/** The gateway's memory over a million calls, or as many as ten minutes take: a markdown table. */
export async function soak(main: string, folder: string): Promise<string> {
  const standIn = await startStandIn()
  const subject = await startGateway({ name: 'sidegate', folder, upstreamPort: Number(standIn.line), main })
  await saturate(subject, { body: BODY, connections: 1, durationMs: 200 })
  const row = (calls: number) => `| ${calls} | ${mebibytes(subject.process.anonymousBytes())} |`
  const lines = ['| calls | memory of the process itself (anonymous), MiB |', '|---|---|', row(0)]
  const startMs = performance.now()
  let calls = 0
  while (calls < SOAK_CALLS && performance.now() - startMs < SOAK_MS) {
    process.stderr.write(`\r\x1b[K${calls} of ${SOAK_CALLS} calls`)
    const load = { body: BODY, connections: CONNECTIONS, durationMs: SOAK_STEP_MS }
    calls += (await saturate(subject, load)).requests
    lines.push(row(calls))
  }
  await sleep(SOAK_REST_MS)
  lines.push(row(calls).replace('|', '| at rest after'))
  process.stderr.write('\r\x1b[K')
  await stopAll()
  return `${lines.join('\n')}\n`
}

/**
 * Median times to a first whole answer, milliseconds, of processes that were there before. Each turn starts every one of
 * them: the machine's speed moves by more than what they differ by.
 */
async function timeStarts(starters: readonly (() => Promise<Subject>)[], turns: number): Promise<number[]> {
  const times = starters.map((): number[] => [])
  for (let turn = 0; turn <= turns; turn++) {
    for (const [index, startOne] of starters.entries()) {
      const startMs = performance.now()
      const subject = await startOne()
      await saturate(subject, { body: BODY, connections: 1, durationMs: 1 })
      // The first turn makes what a process finds when it was there before.
      if (turn > 0) times[index]?.push(performance.now() - startMs)
      await subject.process.stop()
    }
  }
  return times.map(median)
}
