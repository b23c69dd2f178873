// Compares the CPU per call of two builds of the gateway, or of one with a feature and without:
// generations of processes, those of one generation alive together and loaded in short rounds of
// random order.

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Setup } from './features.ts'
import { type Body, KeptConnections, saturate } from './load.ts'
import { median, showProgress } from './report.ts'
import { chatBody } from './scenarios.ts'
import { type Subject, startGateway, startStandIn } from './targets.ts'
import { type Generation, judge, type Rounds, shuffled, TOLERANCE, type Verdict } from './verdict.ts'

const CONNECTIONS = 64
/** What V8 compiles, and when, makes lasting differences between processes; new ones average them. */
const GENERATIONS = 4
/** No generation starts later than this for each pair, so that a busy machine also finishes. */
const LAST_START_MS_PER_PAIR = 75_000
/** V8 has optimised the hot code of a process by then. */
const WARM_UP_CALLS = 25_000
/** Short rounds, because the machine changes its speed within seconds. */
const ROUNDS = 40
const CALLS_PER_ROUND = 500
const KIB = 1024

/** What is sent in one comparison. */
interface Load {
  readonly body: Body
  readonly warmUpCalls: number
  readonly callsPerRound: number
}

/** Fewer calls with longer prompts, so that a round takes about as long. */
const loadOf = (promptKib: number, body: Body = chatBody(promptKib * KIB, false)): Load => ({
  body,
  warmUpCalls: Math.ceil(WARM_UP_CALLS / promptKib),
  callsPerRound: Math.max(CONNECTIONS, Math.ceil(CALLS_PER_ROUND / promptKib)),
})

export interface Comparison {
  readonly verdict: Verdict
  readonly generations: readonly Generation[]
}

/** What is compared. */
export interface Sides {
  readonly tree: Side
  readonly revision: Side
}

export interface Side {
  /** Path of the built program. */
  readonly main: string
  readonly feature?: Setup
  /** Its rules; those of the feature, or one of each type by default. */
  readonly rules?: readonly string[]
}

/**
 * Measures generations of `pairs` processes of each side. Data directories go below `folder`.
 * @param promptKib length of the prompts
 * @param body of the calls, in place of a prompt
 * @throws Error when a call fails
 */
export async function compare(
  sides: Sides,
  pairs: number,
  promptKib: number,
  folder: string,
  body?: Body,
): Promise<Comparison> {
  const load = loadOf(promptKib, body)
  const upstreamPort = Number((await startStandIn()).line)
  const generations: Generation[] = []
  const lastStartMs = performance.now() + pairs * LAST_START_MS_PER_PAIR
  while (generations.length < GENERATIONS && performance.now() < lastStartMs) {
    const title = `Generation ${generations.length + 1} of ${GENERATIONS}`
    mkdirSync(folder)
    generations.push(await measureGeneration(sides, { pairs, load, folder, upstreamPort, title }))
    rmSync(folder, { recursive: true, maxRetries: 5 })
  }
  showProgress('')
  return { verdict: judge(generations), generations }
}

async function measureGeneration(
  sides: Sides,
  options: { pairs: number; load: Load; folder: string; upstreamPort: number; title: string },
): Promise<Generation> {
  const { pairs, load, folder, upstreamPort, title } = options
  const rounds = { tree: [] as number[][], revision: [] as number[][] }
  const processes: Measured[] = []
  for (let index = 1; index <= pairs; index++) {
    for (const side of shuffled(['tree', 'revision'] as const, Math.random)) {
      const name = `${side}-${index}`
      showProgress(`${title}: starting and warming up ${name}`)
      const subject = await startGateway({ name, folder: join(folder, name), upstreamPort, ...sides[side] })
      const one = { subject, kept: new KeptConnections(subject), rounds: [] as number[] }
      await cpuPerCall(one, load.body, load.warmUpCalls)
      rounds[side].push(one.rounds)
      processes.push(one)
    }
  }
  for (let round = 1; round <= ROUNDS; round++) {
    showProgress(`${title}: round ${round} of ${ROUNDS}`)
    for (const one of shuffled(processes, Math.random))
      one.rounds.push(await cpuPerCall(one, load.body, load.callsPerRound))
  }
  for (const { subject, kept } of processes) {
    kept.close()
    await subject.process.stop()
  }
  return rounds
}

/** A process, its connections, and CPU µs a call of each round. */
interface Measured {
  readonly subject: Subject
  readonly kept: KeptConnections
  readonly rounds: number[]
}

/** CPU µs a call over so many calls, all threads. */
async function cpuPerCall(
  { subject, kept }: Pick<Measured, 'subject' | 'kept'>,
  body: Body,
  calls: number,
): Promise<number> {
  const before = subject.process.cpuUs()
  const { requests, errors } = await saturate(subject, { body, connections: CONNECTIONS, calls, kept })
  if (errors > 0) throw new Error(`${subject.name} failed ${errors} of ${requests} calls`)
  return (subject.process.cpuUs() - before) / requests
}

/** The comparison as text for a terminal. */
export function comparisonText(
  { verdict, generations }: Comparison,
  names: Readonly<Record<keyof Sides, string>>,
  promptKib: number,
  calls = `prompts of ${promptKib} KB`,
): string {
  const { ratio, quartiles, range, ratioOfBest, differenceUs, withinTolerance } = verdict
  const tree = generations.flatMap((one) => one.tree)
  const revision = generations.flatMap((one) => one.revision)
  const percent = (Math.abs(ratio - 1) * 100).toFixed(1)
  const tolerance = `${TOLERANCE * 100} %`
  const [q1, q3, least, most] = [...quartiles, ...range].map((one) => one.toFixed(3))
  return [
    `CPU a call, all threads. ${CONNECTIONS} connections, ${calls}, whole answers, log on disk.`,
    `${generations.length} of ${GENERATIONS} generations${generations.length < GENERATIONS ? ' (the machine is busy)' : ''}, ${tree.length / generations.length} processes of each side in each, ` +
      `${ROUNDS} rounds of ${loadOf(promptKib).callsPerRound} calls each.`,
    '',
    '| | CPU µs a call | each process, median of its rounds |',
    '|---|---|---|',
    row(names.tree, tree),
    row(names.revision, revision),
    '',
    `ratio ${ratio.toFixed(3)} (${differenceUs.toFixed(0)} µs a call); pairs: quartiles ${q1} to ${q3}, range ${least} to ${most}; ` +
      `best rounds ${ratioOfBest.toFixed(3)}`,
    withinTolerance
      ? `within ${tolerance}: both cost the same`
      : `not within ${tolerance}: ${names.tree} takes ${percent} % ${ratio > 1 ? 'more' : 'less'} CPU a call`,
    '',
  ].join('\n')
}

function row(name: string, processes: Rounds): string {
  const medians = processes.map(median)
  const each = medians.map((one) => one.toFixed(0)).join(', ')
  return `| ${name} | ${median(medians).toFixed(1)} | ${each} |`
}
