// What is measured of each subject. A scenario is run in rounds, the subjects one after the other in every round, so
// that a noisy minute is shared by all of them.

import { atRate, type Measured, quantile, saturate } from './load.ts'
import type { Subject } from './targets.ts'

/** What people write: prose without anything to find, about 1 KB, repeated for longer prompts. */
const PROSE = [
  'We met on Tuesday with the team from the harbour office to go through the plan for the new ferry terminal.',
  'The engineers explained why the quay has to be rebuilt before winter, and how the crane will be brought in from',
  'the other side of the river. Most of the questions were about parking: where buses will stop, whether bicycles',
  'may use the lower deck, and who pays for the fence along the railway. Anna thinks that the budget is tight but',
  'workable if the steel arrives in March. Two people asked about noise at night, and we promised to send them the',
  'measurements from last year. After lunch we walked along the shore and looked at the old warehouse, which could',
  'become a waiting room with a small kitchen and toilets. Please summarise these notes in five points for the board,',
  'and list the decisions that are still open, each with the person who should prepare it until the meeting in April.',
].join(' ')
const KIB = 1024

export interface Figures {
  /** By the name of a figure, one value a round. */
  readonly [figure: string]: number
}

export interface Scenario {
  readonly title: string
  /** The figure that ratios to the floor are told of; more is better when it ends in `/s`. */
  readonly headline: string
  run(subject: Subject, roundMs: number): Promise<Figures>
}

const chatBody = (bytes: number, stream: boolean): string =>
  JSON.stringify({
    model: 'bench/model',
    ...(stream ? { stream: true } : {}),
    messages: [{ role: 'user', content: PROSE.repeat(Math.ceil(bytes / PROSE.length)).slice(0, bytes) }],
  })

/** Runs a load and adds what the kernel counted of the subject meanwhile. */
async function withCpu(
  subject: Subject,
  load: () => Promise<Measured>,
): Promise<{ measured: Measured; cpuUs: number }> {
  const before = subject.process.cpuUs()
  const measured = await load()
  return { measured, cpuUs: (subject.process.cpuUs() - before) / Math.max(1, measured.requests) }
}

export const saturation = (connections: number): Scenario => ({
  title: `Whole answers, 1 KB prompt, ${connections} connections`,
  headline: 'requests/s',
  async run(subject, durationMs) {
    const body = chatBody(KIB, false)
    const { measured, cpuUs } = await withCpu(subject, () =>
      saturate(subject, { body, connections, durationMs }),
    )
    return {
      'requests/s': measured.perSecond,
      'CPU µs': cpuUs,
      'p50 ms': quantile(measured.latencies, 0.5),
      'p99 ms': quantile(measured.latencies, 0.99),
      errors: measured.errors,
    }
  },
})

export const fixedRate = (perSecond: number): Scenario => ({
  title: `Latency at ${perSecond} requests/s, 1 KB prompt, from when a request was due`,
  headline: 'p50 ms',
  async run(subject, durationMs) {
    const body = chatBody(KIB, false)
    const { measured, cpuUs } = await withCpu(subject, () => atRate(subject, { body, perSecond, durationMs }))
    return {
      'p50 ms': quantile(measured.latencies, 0.5),
      'p90 ms': quantile(measured.latencies, 0.9),
      'p99 ms': quantile(measured.latencies, 0.99),
      'CPU µs': cpuUs,
      errors: measured.errors,
    }
  },
})

/** Events of one stream of the stand-in provider. */
const EVENTS_A_STREAM = 103

export const streams = (connections: number): Scenario => ({
  title: `Streams of ${EVENTS_A_STREAM} events, ${connections} at a time`,
  headline: 'events/s',
  async run(subject, durationMs) {
    const body = chatBody(KIB, true)
    const { measured } = await withCpu(subject, () => saturate(subject, { body, connections, durationMs }))
    return {
      'events/s': measured.perSecond * EVENTS_A_STREAM,
      'first event p50 ms': quantile(measured.firstEvents, 0.5),
      'first event p99 ms': quantile(measured.firstEvents, 0.99),
      errors: measured.errors,
    }
  },
})

export const firstEvent: Scenario = {
  title: 'Time to the first event of a stream, 50 streams/s',
  headline: 'first event p50 ms',
  async run(subject, durationMs) {
    const body = chatBody(KIB, true)
    const measured = await atRate(subject, { body, perSecond: 50, durationMs })
    return {
      'first event p50 ms': quantile(measured.firstEvents, 0.5),
      'first event p99 ms': quantile(measured.firstEvents, 0.99),
      errors: measured.errors,
    }
  },
}

export const promptSize = (kib: number): Scenario => ({
  title: `Prompt of ${kib} KB, one connection`,
  headline: 'p50 ms',
  async run(subject, durationMs) {
    const body = chatBody(kib * KIB, false)
    const { measured, cpuUs } = await withCpu(subject, () =>
      saturate(subject, { body, connections: 1, durationMs }),
    )
    return { 'p50 ms': quantile(measured.latencies, 0.5), 'CPU µs': cpuUs, errors: measured.errors }
  },
})
