// Scenarios: one kind of load and its figures. A scenario runs in rounds, and each round loads all
// subjects one after the other, so that a noisy minute slows all of them.

import { conversation, machineText, PROSE } from './conversation.ts'
import { syncedWrite } from './disk.ts'
import { atRate, type Body, type Measured, quantile, saturate } from './load.ts'
import { STAND_IN_ANSWERS } from './stand-in-answers.ts'
import type { Subject } from './targets.ts'

const KIB = 1024

export interface Figures {
  /** The value of one round, by the name of the figure. */
  readonly [figure: string]: number
}

export interface Scenario {
  readonly title: string
  /** The figure whose ratio to the floor is printed. More is better if its name ends in `/s`. */
  readonly headline: string
  run(subject: Subject, roundMs: number): Promise<Figures>
}

const requestOf = (content: string, stream = false): string =>
  JSON.stringify({
    model: 'bench/model',
    ...(stream ? { stream: true } : {}),
    messages: [{ role: 'user', content }],
  })

export const chatBody = (bytes: number, stream: boolean): string =>
  requestOf(PROSE.repeat(Math.ceil(bytes / PROSE.length)).slice(0, bytes), stream)

const PROMPT = PROSE.slice(0, KIB)
const STREAMED = { model: 'bench/model', stream: true }
const MESSAGE_BODY = JSON.stringify({
  ...STREAMED,
  max_tokens: 1024,
  messages: [{ role: 'user', content: PROMPT }],
})
const RESPONSE_BODY = JSON.stringify({ ...STREAMED, input: PROMPT })

/** Runs a load; returns its result and the subject's CPU µs per request, all threads. */
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
  title: `Latency at ${perSecond} requests/s, 1 KB prompt, from the time a request was due`,
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

/** Streams of an API, which the last part of its path names. */
const streamsOf = (name: string, path: string, body: string, connections: number): Scenario => ({
  title: `Streams of ${name}, ${connections} at a time`,
  headline: 'events/s',
  async run(subject, durationMs) {
    const load = { path, body, connections, durationMs }
    const { measured, cpuUs } = await withCpu(subject, () => saturate(subject, load))
    return {
      'events/s': measured.perSecond * eventsOf(path),
      'CPU µs': cpuUs,
      'first event p50 ms': quantile(measured.firstEvents, 0.5),
      'first event p99 ms': quantile(measured.firstEvents, 0.99),
      errors: measured.errors,
    }
  },
})

/** Events in one stream of the stand-in upstream. */
const eventsOf = (path: string): number =>
  STAND_IN_ANSWERS[path.slice(path.lastIndexOf('/') + 1)]!.events.length

export const streams = (connections: number): Scenario =>
  streamsOf('chat', '/v1/chat/completions', chatBody(KIB, true), connections)

export const messageStreams = (connections: number): Scenario =>
  streamsOf('messages', '/v1/messages', MESSAGE_BODY, connections)

export const responseStreams = (connections: number): Scenario =>
  streamsOf('responses', '/v1/responses', RESPONSE_BODY, connections)

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

/** One call at a time. */
const oneByOne = (title: string, body: Body, path?: string): Scenario => ({
  title,
  headline: 'p50 ms',
  async run(subject, durationMs) {
    const load = { ...(path === undefined ? {} : { path }), body, connections: 1, durationMs }
    const { measured, cpuUs } = await withCpu(subject, () => saturate(subject, load))
    return { 'p50 ms': quantile(measured.latencies, 0.5), 'CPU µs': cpuUs, errors: measured.errors }
  },
})

/** A lone call, and one durable write as large as its row in the log, on the same disk. */
export const loneCall: Scenario = {
  title: 'A lone call, 1 KB prompt, and one synced write next to its log',
  headline: 'p50 ms',
  async run(subject, durationMs) {
    const load = { body: chatBody(KIB, false), connections: 1, durationMs }
    const { measured, cpuUs } = await withCpu(subject, () => saturate(subject, load))
    const { folder } = subject
    return {
      'p50 ms': quantile(measured.latencies, 0.5),
      'CPU µs': cpuUs,
      'synced write ms': folder === undefined ? Number.NaN : syncedWrite(folder, durationMs / 4),
      errors: measured.errors,
    }
  },
}

export const promptSize = (kib: number): Scenario =>
  oneByOne(`Prompt of ${kib} KB, one connection`, chatBody(kib * KIB, false))

export const machinePrompt = (kib: number): Scenario =>
  oneByOne(`Prompt of ${kib} KB of code and tables, one connection`, requestOf(machineText(kib * KIB)))

const EMBEDDINGS_BODY = JSON.stringify({
  model: 'bench/model',
  encoding_format: 'base64',
  input: Array.from({ length: 100 }, (_, index) => `${index} ${PROSE}`.slice(0, KIB)),
})

export const embeddings: Scenario = oneByOne(
  'Embeddings of 100 inputs of 1 KB, one connection',
  EMBEDDINGS_BODY,
  '/v1/embeddings',
)

/** The latency of short calls while another connection sends long prompts, one at a time. */
export const nextToLong = (kib: number): Scenario => ({
  title: `Calls of 1 KB, 50 a second, next to prompts of ${kib} KB of code and tables`,
  headline: 'p90 ms',
  async run(subject, durationMs) {
    const long = { body: requestOf(machineText(kib * KIB)), connections: 1, durationMs }
    const short = { body: chatBody(KIB, false), perSecond: 50, durationMs }
    const [others, measured] = await Promise.all([saturate(subject, long), atRate(subject, short)])
    return {
      'p50 ms': quantile(measured.latencies, 0.5),
      'p90 ms': quantile(measured.latencies, 0.9),
      'longest ms': quantile(measured.latencies, 1),
      'long prompt p50 ms': quantile(others.latencies, 0.5),
      errors: measured.errors + others.errors,
    }
  },
})

/** Numbers the calls of all scenarios, so that no two have the same last message. */
let calls = 0

export function turns(kib: number): Scenario {
  const body = conversation(kib * KIB)
  return oneByOne(`Conversation of ${kib} KB with a new last message, one connection`, () => body(calls++))
}
