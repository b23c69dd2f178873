// Runs one exchange through the pipeline's inspection, decision and answer scan, without a gateway.
// Token limits are left out: they depend on traffic.

import type { SealedTool } from '../audit/entry-fields.ts'
import type { Api } from '../chat/api-format.ts'
import { apiNamed } from '../chat/apis.ts'
import { CHAT } from '../chat/chat-api.ts'
import { StreamCollector } from '../chat/stream-collector.ts'
import { parseJson, parseReceived } from '../chat/strict-json.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { PiiKind } from '../core/finding.ts'
import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import { NO_TERMS } from '../core/key-terms.ts'
import { seededRandom } from '../core/seeded-random.ts'
import { atOnce, type Steps } from '../core/steps.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import { GivenIds } from '../pipeline/answer/given-ids.ts'
import { documentEditsOf } from '../pipeline/answer/moved-citations.ts'
import { deliverStreamedAnswer } from '../pipeline/answer/streamed-answer.ts'
import { ThoughtMemory } from '../pipeline/answer/thought-memory.ts'
import { type Answer, deliverWholeAnswer } from '../pipeline/answer/whole-answer.ts'
import { Call } from '../pipeline/call/call.ts'
import { readCleanRequest } from '../pipeline/prompt/clean-model.ts'
import { type DecisionParts, judgePrompt } from '../pipeline/prompt/decide-prompt.ts'
import { countKinds, type Inspection, inspect } from '../pipeline/prompt/inspect.ts'
import { ScanMemory } from '../pipeline/prompt/memory-turn.ts'
import { countDefinitions, judgeTools, readTools, removeTools } from '../pipeline/prompt/request-tools.ts'
import { rulesOfAnswer } from '../pipeline/scan/rules-of-answer.ts'
import type { RuleSet, Selection } from '../policy/compile.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import type { ToolOutcome } from './case-schema.ts'
import type { CaseDecision, RuleCase } from './cases.ts'
import { streamOf } from './chunking.ts'
import { CollectingClient } from './collecting-client.ts'

/** The parts of a configuration that affect a case. */
export interface CaseEnvironment extends DecisionParts {
  readonly kinds: KindSet
}

export interface CaseOutcome {
  readonly decision: CaseDecision
  /** Name of the rule that refuses the call or the answer; null when none does. */
  readonly refusedBy: string | null
  /** Names of the rules that fired, sorted. */
  readonly rules: readonly string[]
  readonly redacted: string
  /** Null when no answer reaches the client. */
  readonly answer: string | null
  readonly findings: Readonly<Partial<Record<PiiKind, number>>>
  /** What happened to each tool that was defined or called. */
  readonly tools: Readonly<Record<string, ToolOutcome>>
}

const STOPPED_CLOCK: Clock = { now: () => 0, monotonic: () => 0 }
const RECEIPT = { log: 'test', seq: 0, hash: '' }
/** One answer is scanned at a time, so that no budget is needed. */
const UNBOUNDED = new ScanMemory(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)

/**
 * @param seed null for an answer in one piece; with a seed it streams, cut at random by the seed
 * @throws GatewayError for a request or an answer that the gateway refuses under any rules
 */
export async function runCase(
  {
    api: name,
    request: written,
    key: matched,
    answer: writtenAnswer,
  }: Pick<RuleCase, 'api' | 'request' | 'key' | 'answer'>,
  rules: RuleSet,
  environment: CaseEnvironment,
  seed: number | null = null,
): Promise<CaseOutcome> {
  const api = apiNamed(name)!
  // Parsed anew, because inspection rewrites the body in place.
  const received = parseJson(
    Buffer.from(JSON.stringify(name === 'chat' ? { ...written, stream: seed !== null } : written)),
  )
  const request = readCleanRequest(api, received)
  const selection = rules.select(request.models, matched, name)
  const defined = readTools(api, request.body, selection)
  const inspection = atOnce(inspectRequest(api, request.body, selection, environment))
  const tools = atOnce(judgeTools(defined, selection, inspection.facts))
  removeTools(defined, tools)
  const terms = { ...NO_TERMS, labels: matched.labels }
  const key = { id: 'test', name: matched.name, line: 'test', terms }
  const call = new Call(STOPPED_CLOCK, {
    id: 'test',
    api,
    key,
    arrivedMs: 0,
    policyRevision: rules.revision,
  })
  call.record.tools = atOnce(countDefinitions(defined, tools, environment.kinds))
  call.record.addFindings(countKinds(inspection.findings), selection)
  const decision = judgePrompt(
    { ...inspection, tools, models: request.models, keyModels: null },
    selection,
    environment,
  )
  call.record.hits.push(...decision.hits)
  const redacted = redactedText(api, request.body)
  const refusedBy = decision.outcome === 'denial' ? (decision.rule?.name ?? 'pii.binaryParts') : null
  if (refusedBy !== null || writtenAnswer === null) return outcomeOf(call, redacted, refusedBy, null)
  const body = wholeAnswer(writtenAnswer)
  const pieces = seed === null ? [] : streamOf(api, body, seededRandom(seed))
  // Not every API streams.
  const isStream = pieces.length > 0
  const client = new CollectingClient()
  const answer: Answer = {
    call,
    client,
    response: upstreamAnswer(isStream ? pieces : [Buffer.from(JSON.stringify(body))]),
    scan: rulesOfAnswer(selection, {
      ...{ kinds: environment.kinds, placeholderStyle: environment.placeholderStyle },
      ...{ credential: null, restoration: inspection.restoration },
    }),
    selection,
    calls: tools.calls,
    placeholders: inspection.placeholders,
    injection: environment.injection,
    documents: documentEditsOf(request.body, inspection.documentEdits),
    thoughts: new ThoughtMemory(),
    givenIds: new GivenIds(),
    searches: UNBOUNDED,
    clock: STOPPED_CLOCK,
    keep: () => {},
    streamBegan: () => {},
  }
  try {
    const delivery = await (isStream
      ? deliverStreamedAnswer(answer, { includeUsage: false, after: null })
      : deliverWholeAnswer(answer))
    delivery.finish(RECEIPT)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'response_blocked_by_policy') throw error
    return outcomeOf(call, redacted, error.extra['rule_name'] ?? '', null)
  }
  return outcomeOf(call, redacted, null, isStream ? assembled(api, client.text) : client.text)
}

function outcomeOf(
  call: Call,
  redacted: string,
  refusedBy: string | null,
  delivered: string | null,
): CaseOutcome {
  const findings: Partial<Record<PiiKind, number>> = {}
  for (const { kind, count } of call.record.findings) findings[kind] = (findings[kind] ?? 0) + count
  const monitored = call.record.hits.some(({ rule }) => rule.action === 'monitor')
  return {
    decision: refusedBy !== null ? 'block' : monitored ? 'monitor' : 'allow',
    refusedBy,
    rules: [...new Set(call.record.hits.map(({ rule }) => rule.name))].sort(),
    redacted,
    answer: delivered === null ? null : answerText(call.api, parseReceived(delivered) as JsonObject),
    findings,
    tools: Object.fromEntries((call.record.tools?.sealed() ?? []).map((one) => [one.name, toolOutcome(one)])),
  }
}

const toolOutcome = ({ called, refused }: SealedTool): ToolOutcome =>
  refused > 0 ? 'refused' : called > 0 ? 'called' : 'defined'

const completion = (message: JsonObject): JsonObject => ({
  id: 'test',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
})

/** A text or the calls of a message stand for a completion of chat. */
function wholeAnswer(answer: string | JsonObject): JsonObject {
  if (typeof answer === 'string') return completion({ content: answer })
  const { tool_calls: calls, ...others } = answer
  if (!Array.isArray(calls) || answer['choices'] !== undefined) return answer
  return completion({ content: null, ...others, tool_calls: calls.map(wholeCall) })
}

/** A call as an answer has it, from its name and arguments. */
function wholeCall(written: JsonValue, index: number): JsonValue {
  if (!isObject(written) || written['function'] !== undefined || written['custom'] !== undefined)
    return written
  const { name = '', arguments: given = {} } = written
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  return { id: `call_${index}`, type: 'function', function: { name, arguments: text } }
}

function upstreamAnswer(pieces: readonly Buffer[]): UpstreamResponse {
  let next = 0
  return {
    status: 200,
    headers: {},
    credential: null,
    read: async () => pieces[next++] ?? null,
    abort: () => {},
    discard: () => {},
  }
}

/** The answer that a client assembles from an event stream. */
function assembled(api: Api, stream: string): string {
  const collector = new StreamCollector(api.readStream(false))
  collector.push(Buffer.from(stream))
  return JSON.stringify(collector.finish())
}

/** Inspects a request under the rules. */
function* inspectRequest(
  api: Api,
  body: JsonObject,
  selection: Selection,
  environment: CaseEnvironment,
): Steps<Inspection> {
  const walk = yield* api.requestTexts(body, selection.readsNumbers('request'))
  return yield* inspect(walk, selection, environment)
}

/** The text that a model would see. */
const redactedText = (api: Api, body: JsonObject): string =>
  api === CHAT
    ? textOf(body)
    : atOnce(api.requestTexts(body))
        .texts.flatMap(({ role, text }) => (role === null ? [] : text))
        .join('\n')

/** The texts of all messages, separated by line breaks. */
function textOf({ messages }: JsonObject): string {
  const list = objectsIn(messages)
  return list.map(({ content }) => contentText(content)).join('\n')
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n')
}

function answerText(api: Api, body: JsonObject): string {
  if (api !== CHAT)
    return api.answer
      .texts(body)
      .texts.map(({ text }) => text)
      .join('\n')
  const first = Array.isArray(body['choices']) ? body['choices'][0] : undefined
  return isObject(first) && isObject(first['message']) ? contentText(first['message']['content']) : ''
}
