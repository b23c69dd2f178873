// What is learned of one chat call on its way through the steps: the material of its log entry and its headers.

import type { Usage } from '../chat/token-usage.ts'
import type { KeyIdentity } from '../core/apikey.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Direction, PiiKind } from '../core/finding.ts'
import type { JsonObject } from '../core/json.ts'
import { inSlices, type Steps } from '../core/steps.ts'
import { isoTime } from '../core/time.ts'
import type { Phase } from '../metrics/registry.ts'
import type { Selection } from '../policy/compile.ts'
import type { RuleAction, RuleHit } from '../policy/rule.ts'
import type { OpenIntent } from '../store/folder/intents.ts'
import { drainingError } from './admission.ts'
import type { Client } from './client.ts'
import type { InjectionEvidence } from './prompt/injection.ts'

/** What the client is told of a token limit; times in milliseconds from now. */
export interface LimitState {
  readonly limitTokens: number
  readonly remainingTokens: number
  readonly resetMs: Milliseconds
}

/** A prompt's score beside what it is measured against. */
export interface InjectionJudgement extends InjectionEvidence {
  /** Version of the model. */
  readonly model: string
  /** The model's own. */
  readonly threshold: number
  /** The rules that asked, each with a threshold of its own or null. */
  readonly rules: Selection['injection']
}

export class Call {
  readonly id: string
  readonly key: KeyIdentity
  readonly createdAtMs: Milliseconds
  /** The same for people, RFC 3339 with milliseconds. */
  readonly createdAt: string
  readonly arrivedMs: Milliseconds
  model = ''
  /** All models it may end up at. */
  models: readonly string[] = []
  stream = false
  /** The content of the answer is to be JSON, and must stay so. */
  asksForJson = false
  policyRevision: string
  /** The request body as rewritten, JSON in UTF-8; null until it was scanned, so nothing unscanned can be captured. */
  request: Buffer | null = null
  response: JsonObject | null = null
  /** The bytes of `response` where it is as it came, in one line; null where it has to be written. */
  received: Buffer | null = null
  /** Of the answer as it came, about. */
  responseBytes = 0
  hits: RuleHit[] = []
  /** Counted by kind and direction, with what the policy did about the kind. */
  readonly findings: {
    readonly kind: PiiKind
    readonly direction: Direction
    readonly count: number
    readonly action: RuleAction
  }[] = []
  /** Null when no rule asked for a score. */
  injection: InjectionJudgement | null = null
  limit: LimitState | null = null
  usage: Usage | null = null
  estimatedPromptTokens = 0
  /** Gives back the room that is kept for it in the log. */
  giveBack: () => void = () => {}
  /** Where it is written down as under way; null until then. */
  intent: OpenIntent | null = null
  /** Whether the upstream was asked: only then tokens were used. */
  forwarded = false
  /** Text of the answer the client was sent, for the estimate when the upstream told no usage. */
  estimatedCompletionTokens = 0
  finishReason: string | null = null
  firstTokenMs: Milliseconds | null = null
  upstreamStatus = 0
  upstreamMs: Milliseconds = 0
  /** Time a slow client kept us waiting: its body and its reading of a stream. */
  clientMs: Milliseconds = 0
  /** In the order in which they began. */
  readonly phases: Partial<Record<Phase, Milliseconds>> = {}
  readonly #clock: Clock

  constructor(clock: Clock, id: string, key: KeyIdentity, arrivedMs: Milliseconds, policyRevision: string) {
    this.#clock = clock
    this.id = id
    this.key = key
    this.createdAtMs = clock.now() - (clock.monotonic() - arrivedMs)
    this.createdAt = isoTime(this.createdAtMs)
    this.arrivedMs = arrivedMs
    this.policyRevision = policyRevision
  }

  /** Runs one step and adds its time to the phase. */
  measure<T>(phase: Phase, step: () => T): T {
    const startMs = this.#clock.monotonic()
    try {
      return step()
    } finally {
      this.addPhase(phase, this.#clock.monotonic() - startMs)
    }
  }

  /**
   * As `measure`, for work that takes turns with other calls; their turns are counted too.
   * @throws GatewayError `draining` where a stop ends the call: sealing it goes before what is still unknown of it
   */
  async measureSlices<T>(phase: Phase, steps: Steps<T>, client: Pick<Client, 'interrupted'>): Promise<T> {
    const startMs = this.#clock.monotonic()
    const assertGoingOn = () => {
      if (client.interrupted) throw drainingError()
    }
    try {
      assertGoingOn()
      return await inSlices(steps, this.#clock, assertGoingOn)
    } finally {
      this.addPhase(phase, this.#clock.monotonic() - startMs)
    }
  }

  /** Adds what was found, with what the policy does about it. */
  addFindings(
    found: readonly { readonly kind: PiiKind; readonly count: number }[],
    selection: Selection,
    direction: Direction,
  ): void {
    for (const { kind, count } of found) {
      this.findings.push({ kind, direction, count, action: selection.pii(kind, direction).action })
    }
  }

  addPhase(phase: Phase, spentMs: Milliseconds): void {
    this.phases[phase] = (this.phases[phase] ?? 0) + spentMs
  }

  /** Waits for the upstream and counts the time as its own, not ours. */
  async waitForUpstream<T>(wait: Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonic()
    try {
      return await wait
    } finally {
      this.upstreamMs += this.#clock.monotonic() - startMs
    }
  }

  /** Waits for the client and counts the time as its own. */
  async waitForClient<T>(wait: Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonic()
    try {
      return await wait
    } finally {
      this.clientMs += this.#clock.monotonic() - startMs
    }
  }

  elapsedMs(): Milliseconds {
    return this.#clock.monotonic() - this.arrivedMs
  }

  markFirstToken(): void {
    this.firstTokenMs ??= this.elapsedMs()
  }
}

/** Headers every answer to a call carries, success or error. */
export function callHeaders(call: Call): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': call.id, 'server-timing': serverTiming(call) }
  if (call.hits.length > 0) {
    headers['x-sidegate-policy'] = policyNames(call)
  }
  if (call.limit !== null) {
    headers['x-ratelimit-limit-tokens'] = String(call.limit.limitTokens)
    headers['x-ratelimit-remaining-tokens'] = String(call.limit.remainingTokens)
    headers['x-ratelimit-reset-tokens'] = formatDuration(call.limit.resetMs)
  }
  return headers
}

/** Names of the rules that fired, as many as clients take in a header: common ones refuse 16 KiB of all headers. */
const MAX_POLICY_CHARACTERS = 4096

function policyNames({ hits }: Call): string {
  let names = ''
  for (const name of new Set(hits.map(({ rule }) => encodeURIComponent(rule.name)))) {
    if (names.length + name.length >= MAX_POLICY_CHARACTERS) break
    names += names === '' ? name : `,${name}`
  }
  return names
}

/** W3C Server Timing: each step in milliseconds. */
function serverTiming(call: Call): string {
  let timing = ''
  for (const phase in call.phases)
    timing += `${timing === '' ? '' : ', '}${phase};dur=${inThousandths(call.phases[phase as Phase]!)}`
  return call.forwarded ? `${timing}, upstream;dur=${inThousandths(call.upstreamMs)}` : timing
}

/** As `toFixed(3)`, which takes longer than all the rest of such a header. */
function inThousandths(spanMs: Milliseconds): string {
  const thousandths = Math.round(spanMs * 1000)
  const whole = Math.floor(thousandths / 1000)
  const rest = thousandths - whole * 1000
  return `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`
}

/** The form OpenAI uses in its rate limit headers: `350ms`, `12s`, `6m0s`, `1h0m0s`. */
export function formatDuration(spanMs: Milliseconds): string {
  if (spanMs < 1000) return `${Math.ceil(spanMs)}ms`
  const seconds = Math.ceil(spanMs / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${seconds % 60}s`
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`
}
