// The one place that knows the order of a chat call. Each step stands where it does for a reason given beside it.

import { type ChatRequest, prepareUpstreamBody, readChatRequest } from '../chat/request.ts'
import { parseJson } from '../chat/strict-json.ts'
import { estimatePromptTokens } from '../chat/token-usage.ts'
import type { Budget } from '../core/budget.ts'
import type { Clock } from '../core/clock.ts'
import { settledWith } from '../core/deadline.ts'
import { toGatewayError } from '../core/errors.ts'
import { atOnce, endOfTurn, inSlices, STEP_UNITS, type Steps } from '../core/steps.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import type { RuleSet, Selection } from '../policy/compile.ts'
import { type Permit, watched } from '../policy/decide.ts'
import type { Counters } from '../store/counters.ts'
import type { Upstream } from '../upstream/forward.ts'
import { upstreamStatus, wasSent } from '../upstream/response.ts'
import { type Admission, type AdmissionControl, drainingError } from './admission.ts'
import { isEventStream, relayStream } from './answer/streamed-answer.ts'
import { answerWhole } from './answer/whole-answer.ts'
import { authenticate, type KeyRing } from './authenticate.ts'
import { Call, callHeaders } from './call.ts'
import { assertWaiting, type Client } from './client.ts'
import { blockedBy, endingOf, limited, payloadRefused, refuse, reportUnforeseen } from './failure.ts'
import { type DecisionParts, decidePrompt, judge } from './prompt/decide-prompt.ts'
import type { InjectionEvidence } from './prompt/injection.ts'
import { countKinds, type Inspection, inspect } from './prompt/inspect.ts'
import { demandOf, Quota } from './prompt/quota.ts'
import type { ScanCache } from './prompt/scan-cache.ts'
import { type Delivery, formatReceipt, intend, type RecordParts, record } from './record.ts'
import type { ScanRules } from './scan/text-scanner.ts'

/** Everything a call passes through, built once by the composition root. */
export interface Pipeline extends RecordParts, DecisionParts {
  readonly clock: Clock
  readonly keys: KeyRing
  readonly counters: Counters
  readonly upstream: Upstream
  readonly kinds: KindSet
  /** Of searches for these kinds and with this model. */
  readonly recall: ScanCache
  readonly bodyBytes: number
  /** For long prompts and answers while they are searched, bytes. */
  readonly searches: Budget
  /** The rule set in force; taken once a call. */
  rules(): RuleSet
  readonly admission: AdmissionControl
  /** A new UUIDv7. */
  newId(): string
}

/** Handles one chat call from its head to the last byte of its answer. Never rejects. */
export async function handle(pipeline: Pipeline, client: Client): Promise<void> {
  const { admission, clock } = pipeline
  let call: Call
  let seat: Admission
  try {
    // Nothing is taken on that could not be logged, so this comes before anything else is looked at.
    admission.assertAuditable()
    // 1 Key: first, so that a stranger learns nothing, costs nothing and takes nobody's place.
    const startMs = clock.monotonic()
    const key = authenticate(pipeline.keys, client.headers)
    call = new Call(clock, pipeline.newId(), key, client.arrivedMs, pipeline.rules().revision)
    call.addPhase('key', clock.monotonic() - startMs)
    seat = admission.enter(client)
  } catch (error) {
    refuse(pipeline, client, error, { 'x-request-id': pipeline.newId() })
    return
  }
  try {
    await take(pipeline, client, call, seat)
  } finally {
    call.giveBack()
    admission.leave(seat)
  }
}

async function take(pipeline: Pipeline, client: Client, call: Call, seat: Admission): Promise<void> {
  // From here on the call makes exactly one entry, however it ends.
  const exchange = new Exchange(pipeline, client, call, seat)
  let delivery: Delivery
  try {
    // Without room nothing of it is read.
    if (seat.refusal !== null) throw seat.refusal
    delivery = await exchange.run()
    assertWaiting(client)
  } catch (error) {
    await exchange.fail(error)
    return
  }
  try {
    // 6 Seal: the answer's last byte waits until the entry is durable, so whoever has read it all can rely on it.
    const receipt = await record(pipeline, call, exchange.quota, delivery.ending)
    // 7 Response: the rest of it.
    delivery.finish(receipt)
  } catch (error) {
    // Not sealed means not answered as a success, whatever the upstream said.
    refuse(pipeline, client, error, callHeaders(call))
  }
}

/** A prompt that may be forwarded, and what its answer is to be read by. */
interface Prompt extends Pick<Inspection, 'placeholders' | 'restoration'> {
  readonly permit: Permit
  readonly body: Buffer
  readonly selection: Selection
  readonly includeUsage: boolean
}

/** Steps 2 to 5 of one call. */
class Exchange {
  quota: Quota | null = null
  /** A score that is still to be made, because it decides nothing. */
  #unscored: { readonly steps: Steps<InjectionEvidence>; readonly selection: Selection } | null = null
  /** Whether its prompt is searched a slice at a time. */
  #isLong = false
  /** None is asked about a prompt with payloads that may not pass. */
  #areRulesAsked = true
  readonly #pipeline: Pipeline
  readonly #client: Client
  readonly #call: Call
  readonly #seat: Admission
  /** Gives back the room for its search. */
  #leaveSearch = () => {}

  constructor(pipeline: Pipeline, client: Client, call: Call, seat: Admission) {
    this.#pipeline = pipeline
    this.#client = client
    this.#call = call
    this.#seat = seat
  }

  async run(): Promise<Delivery> {
    const { admission, bodyBytes, upstream, intents, kinds, log, searches } = this.#pipeline
    const call = this.#call
    const keep = (bytes: number) => admission.keep(this.#seat, bytes)
    const prompt = await this.#read(await call.waitForClient(this.#client.readBody(bodyBytes, keep)))
    const { selection, placeholders, restoration, includeUsage } = prompt
    call.giveBack = log.reserve(prompt.body.length)
    // Written down first: a process that is killed from here on still leaves a trace of the call.
    call.intent = await intend(intents, call)
    call.forwarded = true
    // 4 Forward what was parsed and scanned, not what was received.
    const forwarding = call.waitForUpstream(
      upstream.forward(prompt.permit, prompt.body, this.#client.headers, this.#client),
    )
    const watching = this.#watch()
    // Both: the entry of a call that fails upstream tells of the score too.
    const response = await settledWith(forwarding, watching)
    call.upstreamStatus = response.status
    // 5 The answer is scanned by the same rules, in whole or as it streams.
    const scan: ScanRules = {
      kinds,
      piiAction: (kind) => selection.pii(kind, 'response').action,
      keywords: selection.keywords('response'),
      credential: response.credential,
      // Errors are logged by whoever gets them, so values are not put back into one.
      restoration: response.status < 400 ? restoration : null,
    }
    const answer = { call, client: this.#client, response, scan, selection, placeholders, searches, keep }
    try {
      await watching
      // An error is one answer, whatever it says it is: its status must reach the client.
      return response.status < 400 && isEventStream(response.headers['content-type'], call.stream)
        ? await relayStream(answer, includeUsage)
        : await answerWhole(answer)
    } catch (error) {
      // Whatever is wrong with it: nobody reads the rest, and the upstream need not go on.
      response.abort()
      throw error
    }
  }

  /**
   * Steps 2 and 3. By themselves, because upstreams take minutes: of a prompt only what is sent is kept meanwhile, and its text for
   * the log.
   */
  async #read(bytes: Buffer): Promise<Prompt> {
    await endOfTurn()
    const { clock, rules, searches } = this.#pipeline
    const client = this.#client
    const call = this.#call
    const startMs = clock.monotonic()
    this.#isLong = bytes.length > STEP_UNITS
    if (this.#isLong) this.#leaveSearch = await searches.wait(bytes.length)
    assertWaiting(client)
    const request = readChatRequest(parseJson(bytes))
    call.model = request.model
    call.models = request.models
    call.stream = request.stream
    call.asksForJson = request.asksForJson
    // One rule set for the whole call, answer included: a reload in between does not judge it by two policies.
    const selection = rules().select(request.models, call.key.name)
    call.policyRevision = selection.revision
    // 2 Personal data leaves the prompt before rules judge it, so they judge what would be forwarded.
    // A long prompt keeps no other call waiting, and goes no further when nobody waits for it.
    const steps = this.#inspect(request, selection)
    const check = () => assertWaiting(client)
    const inspection = this.#isLong ? await inSlices(steps, clock, check) : atOnce(steps)
    const { placeholders, restoration } = inspection
    call.addPhase('inspect', clock.monotonic() - startMs)
    // 3 Policy: payloads that may not pass, then token limits and rules. The only maker of a Permit, without which
    // nothing can be forwarded.
    const permit = call.measure('policy', () => this.#decide(request, selection, inspection))
    const body = prepareUpstreamBody(request, call.request!)
    return { permit, body, selection, placeholders, restoration, includeUsage: request.includeUsage }
  }

  *#inspect(request: ChatRequest, selection: Selection): Steps<Inspection> {
    const { kinds, injection, recall, binaryParts, metrics } = this.#pipeline
    const call = this.#call
    const inspection = yield* inspect(request.body, selection, {
      kinds,
      injection,
      recall: (text) => recall.of(call.key.id, text),
      scored: selection.injection.length > 0 && !selection.watchesInjection,
    })
    if (selection.watchesInjection) this.#unscored = { steps: inspection.score(), selection }
    if (inspection.binaryParts > 0) metrics.binaryParts.inc({ decision: binaryParts }, inspection.binaryParts)
    call.addFindings(countKinds(inspection.findings), selection, 'request')
    if (inspection.injection !== null) call.injection = judge(inspection.injection, selection, injection)
    // Each of these goes through all of the prompt.
    yield
    const json = JSON.stringify(request.body)
    yield
    call.request = Buffer.from(json)
    yield
    call.estimatedPromptTokens = estimatePromptTokens(request.body)
    return inspection
  }

  #decide(request: ChatRequest, selection: Selection, inspection: Inspection): Permit {
    const call = this.#call
    const decision = decidePrompt(inspection, selection, this.#pipeline, () =>
      this.#reserve(request, selection),
    )
    call.hits.push(...decision.hits)
    if (decision.outcome === 'permit') return decision.permit
    this.#areRulesAsked = decision.reason !== 'payload'
    if (decision.reason === 'payload') throw payloadRefused()
    throw decision.reason === 'blocked' ? blockedBy(decision.rule) : limited(decision.rule, this.quota!)
  }

  #reserve(request: ChatRequest, selection: Selection): Quota['evidence'] {
    const { counters, clock } = this.#pipeline
    const call = this.#call
    const demand = demandOf(request, call.estimatedPromptTokens)
    this.quota = new Quota(counters, selection, call.key, demand, clock.now())
    call.limit = this.quota.tightest
    return this.quota.evidence
  }

  /**
   * What rules only watch for keeps no upstream waiting. Done once; then, and where there is nothing to do, nothing. The
   * last that needs the texts of the prompt.
   */
  async #watch(): Promise<void> {
    try {
      if (this.#unscored === null) return
      const { steps, selection } = this.#unscored
      this.#unscored = null
      await endOfTurn()
      const { threshold } = this.#pipeline.injection
      const call = this.#call
      const evidence = this.#isLong
        ? await call.measureSlices('inspect', steps, this.#client)
        : call.measure('inspect', () => atOnce(steps))
      call.injection = judge(evidence, selection, this.#pipeline.injection)
      if (this.#areRulesAsked) call.hits.push(...watched(selection, evidence.score, threshold))
    } finally {
      this.#leaveSearch()
    }
  }

  /** Steps 6 and 7 of a call that failed, was refused or whose client left. */
  async fail(error: unknown): Promise<void> {
    const client = this.#client
    const cause = toGatewayError(error)
    if (!wasSent(cause)) this.#call.forwarded = false
    const failure = client.interrupted ? drainingError() : cause
    this.#call.upstreamStatus ||= upstreamStatus(failure)
    // What the log had no room for is not kept; that it was asked is.
    if (failure.code === 'audit_unavailable') this.#call.request = null
    const ending = endingOf(failure, client)
    // Whatever comes of its score, the call is sealed.
    await this.#watch().catch((scoring) => reportUnforeseen(this.#pipeline.logger, this.#call.id, scoring))
    try {
      const receipt = await record(this.#pipeline, this.#call, this.quota, ending)
      const headers = { ...callHeaders(this.#call), 'x-sidegate-audit': formatReceipt(receipt) }
      refuse(this.#pipeline, client, failure, headers)
    } catch (sealing) {
      refuse(this.#pipeline, client, sealing, callHeaders(this.#call))
    }
  }
}
