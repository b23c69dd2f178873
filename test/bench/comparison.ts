// Compares the CPU per call of two builds of the gateway: several processes of each, all alive,
// loaded in short rounds whose order is drawn anew each time.

import { join } from 'node:path'
import { saturate } from './load.ts'
import { median, showProgress } from './report.ts'
import { chatBody } from './scenarios.ts'
import { type Subject, startGateway, startStandIn } from './targets.ts'
import { judge, type Rounds, shuffled, TOLERANCE, type Verdict } from './verdict.ts'

const CONNECTIONS = 64
const BODY = chatBody(1024, false)
/** V8 has optimised the code of a process after about ten thousand calls. */
const WARM_UP_CALLS = 20_000
/** Many short rounds beat few long ones: the machine changes its speed within seconds. */
const ROUNDS = 240
const CALLS_PER_ROUND = 500

export interface Comparison {
  readonly verdict: Verdict
  /** CPU µs a call of every round, one list for each process. */
  readonly tree: Rounds
  readonly revision: Rounds
}

/** The built programs of both sides. */
export interface Builds {
  readonly tree: string
  readonly revision: string
}

/**
 * Starts `pairs` processes of each build and measures them. Data directories go below `folder`.
 * @throws Error when a call fails
 */
export async function compare(builds: Builds, pairs: number, folder: string): Promise<Comparison> {
  const upstreamPort = Number((await startStandIn()).line)
  const rounds = { tree: [] as number[][], revision: [] as number[][] }
  const processes: { subject: Subject; measured: number[] }[] = []
  for (let index = 0; index < pairs; index++) {
    for (const side of shuffled(['tree', 'revision'] as const, Math.random)) {
      const name = `${side} ${index + 1}`
      showProgress(`Starting and warming up ${name} of ${pairs}`)
      const data = join(folder, `${side}-${index}`)
      const subject = await startGateway({ name, folder: data, upstreamPort, main: builds[side] })
      await cpuPerCall(subject, WARM_UP_CALLS)
      const measured: number[] = []
      rounds[side].push(measured)
      processes.push({ subject, measured })
    }
  }
  for (let round = 1; round <= ROUNDS; round++) {
    showProgress(`Round ${round} of ${ROUNDS}`)
    for (const { subject, measured } of shuffled(processes, Math.random)) {
      measured.push(await cpuPerCall(subject, CALLS_PER_ROUND))
    }
  }
  showProgress('')
  return { ...rounds, verdict: judge(rounds.tree, rounds.revision) }
}

/** CPU µs a call over so many calls, all threads. */
async function cpuPerCall(subject: Subject, calls: number): Promise<number> {
  const before = subject.process.cpuUs()
  const { requests, errors } = await saturate(subject, { body: BODY, connections: CONNECTIONS, calls })
  if (errors > 0) throw new Error(`${subject.name} failed ${errors} of ${requests} calls`)
  return (subject.process.cpuUs() - before) / requests
}

/** The comparison as text for a terminal. */
export function comparisonText({ verdict, tree, revision }: Comparison, against: string): string {
  const { ratio, spread, ratioOfBest, withinTolerance } = verdict
  const percent = ((ratio - 1) * 100).toFixed(1)
  const tolerance = `${TOLERANCE * 100} %`
  return [
    `CPU a call, all threads: ${CONNECTIONS} connections, 1 KB prompts, whole answers, log on disk.`,
    `${tree.length} processes of each build, ${ROUNDS} rounds of ${CALLS_PER_ROUND} calls each, in random order.`,
    '',
    '| | CPU µs a call | each process, median of its rounds |',
    '|---|---|---|',
    row('tree', tree),
    row(against, revision),
    '',
    `ratio ${ratio.toFixed(3)}; of single pairs ${spread.map((one) => one.toFixed(3)).join(' to ')}; of best rounds ${ratioOfBest.toFixed(3)}`,
    withinTolerance
      ? `within ${tolerance}: the builds cost the same`
      : `not within ${tolerance}: the tree takes ${percent.replace('-', '')} % ${ratio > 1 ? 'more' : 'less'} CPU a call than ${against}`,
    '',
  ].join('\n')
}

function row(name: string, processes: Rounds): string {
  const medians = processes.map(median)
  return `| ${name} | ${median(medians).toFixed(1)} | ${medians.map((one) => one.toFixed(1)).join(', ')} |`
}
