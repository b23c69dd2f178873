// Calls, clients, upstream responses, scans and random cuts that the tests of the pipeline share.

import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { GatewayError } from '../../src/core/errors.ts'
import { PII_KINDS } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { RuleAction } from '../../src/core/rule-action.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { GivenIds } from '../../src/pipeline/answer/given-ids.ts'
import type { DocumentEdits } from '../../src/pipeline/answer/moved-citations.ts'
import { deliverStreamedAnswer } from '../../src/pipeline/answer/streamed-answer.ts'
import { ThoughtMemory } from '../../src/pipeline/answer/thought-memory.ts'
import { deliverWholeAnswer } from '../../src/pipeline/answer/whole-answer.ts'
import { Call } from '../../src/pipeline/call/call.ts'
import type { Client } from '../../src/pipeline/call/client.ts'
import { ScanMemory } from '../../src/pipeline/prompt/memory-turn.ts'
import type { OutsideValues } from '../../src/pipeline/scan/outside-values.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { type ScanRules, TextScanner } from '../../src/pipeline/scan/text-scanner.ts'
import type { Selection } from '../../src/policy/compile.ts'
import type { PiiDecision } from '../../src/policy/pii-decisions.ts'
import type { Rule } from '../../src/policy/rule.ts'
import type { CallRules } from '../../src/policy/tool-rules.ts'
import { CollectingClient } from '../../src/rulecheck/collecting-client.ts'
import { errorEvent } from '../../src/server/respond.ts'
import type { UpstreamResponse } from '../../src/upstream/response.ts'
import { callKey, keyOf } from '../policy/keys.ts'
import { compileRules, rule } from '../policy/rules.ts'

export const INJECTION = loadInjectionModel()

export const ALL_KINDS = kindSet(PII_KINDS)

/** A clock on which no time passes. */
export const STILL_CLOCK: Pick<Clock, 'now' | 'monotonic'> = { now: () => 0, monotonic: () => 0 }

/** The rules for model `m` and key `k`. */
export const selectRules = (rules: readonly Rule[]): Selection =>
  compileRules(rules, 'r').select(['m'], keyOf('k'))

/** The decision of a rule set without rules, but with this action. */
export const decisionOf = (action: RuleAction): PiiDecision => ({
  ...{ action, rule: null, placeholders: null, restores: action === 'restore' },
})

export const newCall = (clock = STILL_CLOCK, policyRevision = 'r', api = CHAT): Call =>
  new Call(clock as Clock, { id: 'id', api, key: callKey('k'), arrivedMs: 0, policyRevision })

/** A response with status 200 that arrives in these pieces. */
export function responseOf(
  pieces: readonly (string | Buffer)[],
  credential: string | null = null,
): UpstreamResponse {
  let next = 0
  return {
    status: 200,
    headers: {},
    credential,
    read: async () => (next < pieces.length ? Buffer.from(pieces[next++]!) : null),
    abort: () => {},
    discard: () => {},
  }
}

/** A response that reports each read. */
const read = (response: UpstreamResponse, onRead: () => void): UpstreamResponse => ({
  ...response,
  read: () => {
    onRead()
    return response.read()
  },
})

/** Cuts a text at each number, modulo its length. */
export function cutText(text: string, cuts: readonly number[]): string[] {
  const offsets = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [...offsets, text.length].map((end, index) => text.slice(index === 0 ? 0 : offsets[index - 1], end))
}

/** Scans a text that arrives in these pieces. `counted` says whether the scanner counts right. */
export function scanPieces(
  pieces: readonly string[],
  rules: ScanRules,
  encoding: 'plain' | 'json' = 'plain',
  placeholders = new Placeholders(),
) {
  const scanner = new TextScanner(rules, placeholders, encoding)
  const outputs = [...pieces.map((piece) => scanner.push(piece)), scanner.finish()]
  const sent = outputs.map((output) => output.sent).join('')
  return {
    sent,
    logged: outputs.map((output) => output.logged).join(''),
    blocked: scanner.blocked,
    redacted: scanner.redacted,
    findings: scanner.findings.map(({ kind }) => kind).sort(),
    hits: scanner.keywordHits.map(({ name }) => name).sort(),
    counted: scanner.sentCharacters === sent.length,
  }
}

const STREAM_RULES = selectRules([
  rule('aurora', 'project aurora'),
  rule('harbour', 'harbour', { action: 'monitor' }),
  rule('zenith', 'zenith\\b'),
  rule('all kinds', '*', { type: 'pii', action: 'restore' }),
])

/** Redacts all kinds, and restores `[EMAIL_1]` as ann@example.com. */
const relayScan = (credential: string | null): ScanRules => ({
  kinds: ALL_KINDS,
  decide: (kind) => ({ ...STREAM_RULES.pii(kind, 'answer'), action: 'redact' }),
  shapes: null,
  keywords: STREAM_RULES.keywords('response'),
  credential,
  restoration: new Restoration(new Map([['[EMAIL_1]', 'ann@example.com']])),
})

export const RELAY_SCAN = relayScan(null)
/** As RELAY_SCAN; placeholders have the shape of what they replace. */
export const SHAPED_SCAN: ScanRules = { ...RELAY_SCAN, shapes: { has: () => true } }

/** The numbering of a call that gave out `[EMAIL_1]`. */
function numberedPlaceholders(): Placeholders {
  const placeholders = new Placeholders()
  placeholders.avoid('[EMAIL_1]')
  return placeholders
}

interface RelayOptions {
  readonly api?: Api
  readonly credential?: string | null
  readonly clock?: typeof STILL_CLOCK
  readonly keep?: (bytes: number) => void
  readonly documents?: DocumentEdits
  readonly calls?: CallRules | null
  readonly scan?: ScanRules
  readonly outside?: OutsideValues
  /** Called with what was sent so far, before each event is read. */
  readonly onRead?: (sent: readonly string[]) => void
}

/**
 * Relays a stream. Blocks `project aurora` and `zenith`, monitors `harbour`, redacts all kinds, and
 * restores `[EMAIL_1]` as ann@example.com. Creation times become 0, so that streams compare.
 */
export async function relay(
  events: readonly string[],
  {
    api = CHAT,
    credential = null,
    clock = STILL_CLOCK,
    keep = () => {},
    documents = [],
    calls = null,
    scan = relayScan(credential),
    outside,
    onRead = () => {},
  }: RelayOptions = {},
) {
  const call = newCall(clock, 'r', api)
  const sent: string[] = []
  const client = {
    startStream: () => {},
    write: (text: string) => void sent.push(text),
    end: (text: string) => void sent.push(text),
    cancelled: false,
  } as unknown as Client
  const placeholders = numberedPlaceholders()
  const answer = {
    call,
    client,
    response: read(responseOf(events, credential), () => onRead(sent)),
    scan: { ...scan, ...(outside !== undefined && { outside }) },
    selection: STREAM_RULES,
    calls,
    placeholders,
    injection: INJECTION,
    thoughts: new ThoughtMemory(),
    givenIds: new GivenIds(),
    documents,
    searches: new ScanMemory(0, Number.POSITIVE_INFINITY),
    clock: STILL_CLOCK,
    keep,
    streamBegan: () => {},
  }
  let failure = ''
  let end = ''
  try {
    const delivered = await deliverStreamedAnswer(answer, { includeUsage: false, after: null })
    delivered.finish({ log: 'l', seq: 0, hash: 'h' })
  } catch (error) {
    failure = (error as GatewayError).code
    end = errorEvent(
      { error: error as GatewayError, number: call.record.nextEvent },
      api.errors,
      'l;seq=0;hash=h',
    )
    // An error of the upstream is part of its answer.
    if ((error as GatewayError).event !== null) sent.push(end)
  }
  const withoutTime = (text: string) => text.replaceAll(/"created":\d+/g, '"created":0')
  return {
    sent: sent.map(withoutTime),
    /** The stream as the client reads it, with the error of the gateway. */
    stream: withoutTime(sent.at(-1) === end ? sent.join('') : sent.join('') + end),
    logged: withoutTime(JSON.stringify(call.record.response as JsonObject)),
    findings: call.record.findings,
    hits: call.record.hits,
    tools: call.record.tools?.sealed() ?? [],
    failure,
  }
}

/** Delivers a whole answer. @returns the body that the client gets */
export async function deliverWhole(
  api: Api,
  body: object | string,
  {
    scan = RELAY_SCAN,
    selection = STREAM_RULES,
    placeholders = numberedPlaceholders(),
    documents = [] as DocumentEdits,
    calls = null as CallRules | null,
  } = {},
): Promise<string> {
  const client = new CollectingClient()
  const delivery = await deliverWholeAnswer({
    call: newCall(STILL_CLOCK, 'r', api),
    client,
    response: responseOf([typeof body === 'string' ? body : JSON.stringify(body)]),
    ...{ scan, selection, calls, placeholders, documents, injection: INJECTION },
    thoughts: new ThoughtMemory(),
    givenIds: new GivenIds(),
    searches: new ScanMemory(0, Number.POSITIVE_INFINITY),
    clock: STILL_CLOCK,
    keep: () => {},
    streamBegan: () => {},
  })
  delivery.finish({ log: 'l', seq: 0, hash: '' })
  return client.text
}

/** An event with one choice. */
export const event = (choice: object): string =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`

/** The events that end a stream. */
export const END: readonly [string, string] = [
  event({ delta: {}, finish_reason: 'stop' }),
  'data: [DONE]\n\n',
]

/** An address that is cut between two deltas. */
export const SPLIT_ADDRESS = ['write to dora@exam', 'ple.com now'] as const

export const chunksOf = (sent: readonly string[]): any[] =>
  [...sent.join('').matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

/** Joins a text of all deltas, as a client does. */
export const textOf = (sent: readonly string[], read: (delta: any, choice: any) => unknown): string =>
  chunksOf(sent)
    .flatMap(({ choices }) =>
      choices.map((choice: { delta?: object }) => read(choice.delta ?? {}, choice) ?? ''),
    )
    .join('')
