// What the steps find out about one call, for its entry, its metrics and its headers.
// The steps write it; record.ts and the response headers read it; it decides nothing.

import type { StoredOperation } from '../../chat/stored-format.ts'
import { mergeUsage, type Usage, withEstimates } from '../../chat/token-usage.ts'
import type { Direction, PiiKind } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NanoUsd } from '../../core/money.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import type { TextPlace } from '../../core/text-part.ts'
import type { ToolName } from '../../core/tool-name.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { StoredAnswer } from '../../keys/stored-answer.ts'
import type { CaptureMode } from '../../policy/capture-mode.ts'
import type { Selection } from '../../policy/compile.ts'
import { decisionOn, type PlacedKind } from '../../policy/decide.ts'
import type { RuleHit } from '../../policy/rule.ts'
import { NO_PRICES } from '../../prices/price-book.ts'
import type { OpenIntent, UnscannedRequest } from '../../store/files/intents.ts'
import type { StoredUser } from '../../store/log/user-rows.ts'
import { type UpstreamHead, upstreamRequestId } from '../../upstream/response.ts'
import type { LimitState, Quota } from '../limits/quota.ts'
import type { Placeholders } from '../scan/placeholders.ts'
import type { ToolUse } from './tool-use.ts'

/** An injection score, and where it was reached. Rules read it. */
export interface InjectionEvidence {
  readonly score: number
  /** Path of the text, or of the first text of the group. */
  readonly path: string
  /** Null when the evidence is spread over several texts. */
  readonly span: { readonly start: number; readonly end: number } | null
  readonly reasons: readonly string[]
}

/** The injection score of a prompt, with the model and the rules it is compared with. */
export interface InjectionJudgement extends InjectionEvidence {
  /** Version of the model. */
  readonly model: string
  /** The model's own threshold. */
  readonly threshold: number
  /** The rules that asked for the score, each with its own threshold or null. */
  readonly rules: Selection['injection']
}

/** Findings of one kind in one direction on which the policy takes one action. */
interface FindingCount {
  readonly kind: PiiKind
  readonly direction: Direction
  count: number
  readonly action: RuleAction
  /** Where they are, each place once. */
  readonly places: TextPlace[]
}

/** Findings of one kind in one place, on which one decision was made. */
export interface CountedKind extends PlacedKind {
  readonly count: number
}

/** A stored answer that a call is about. */
export interface AskedAnswer {
  readonly type: 'asks'
  readonly id: string
  readonly effect: StoredOperation['effect']
  readonly answer: StoredAnswer
  /** Whether another gateway of the fleet made it, and this one has no row of it. */
  readonly isElsewhere: boolean
  /** Limits that count the tokens of the answer. */
  readonly limits: Selection['limits']
}

/** How a call concerns an answer that the provider keeps. */
export type StoredRole = MadeAnswer | AskedAnswer

/** An answer that a call makes. */
export interface MadeAnswer {
  readonly type: 'makes'
  /** Whether the provider keeps it. The containers of its tools are kept anyway. */
  readonly isKept: boolean
  readonly isBackground: boolean
}

export class CallRecord {
  model = ''
  /** Every model the call may end up at, fallbacks included. */
  models: readonly string[] = []
  /** The model that the last upstream was asked for; empty before. */
  sentModel = ''
  stream = false
  /** The client asked for an answer in JSON. */
  asksForJson = false
  policyRevision: string
  /** The redacted request body, JSON in UTF-8. Null until the scan: nothing unscanned is kept. */
  request: Buffer | null = null
  /** The answer after redaction; null when there is none. */
  response: JsonObject | null = null
  /** The received bytes of `response`, when they are one line and nothing changed; else null. */
  received: Buffer | null = null
  /** Bytes of the answer as received, approximately. */
  responseBytes = 0
  /** The end user that the client names; null without one. */
  user: StoredUser | null = null
  /** Hash of the run that the client names; null without one. */
  run: string | null = null
  hits: RuleHit[] = []
  /** What the call does with tools; null while there is nothing to count. */
  tools: ToolUse | null = null
  /** Tools that rules took out of the request. */
  removedTools: readonly ToolName[] = []
  /** What the rules say of capturing the call; null when none says anything. */
  ruleCapture: CaptureMode | null = null
  readonly findings: FindingCount[] = []
  /** Null when no rule asked for a score. */
  injection: InjectionJudgement | null = null
  /** Null until limits are reserved. */
  quota: Quota | null = null
  /** True when no hub answered, and a limit of the fleet was counted in this process alone. */
  isCountedAlone = false
  /** The tightest limits that apply. */
  limits: readonly LimitState[] = []
  /** Null until the upstream reports it. */
  usage: Usage | null = null
  estimatedPromptTokens = 0
  /** The model that ran, as an answer names it that is not scanned; null for any other. */
  servedModel: string | null = null
  /** The prices of the call; taken once. */
  prices = NO_PRICES
  /** Images of the prompt; counted only when some cost extra. */
  images = 0
  /** Tokens that the call is expected to use at most, for limits; 0 before they are asked. */
  mostTokens = 0
  /** The same of its cost; 0 when no limit of money applies. */
  mostCost: NanoUsd = 0
  /** True while the upstream of a call that uses tokens has yet to say what it used. */
  isUseUnknown = false
  /** Null when the provider keeps no answer of the call. */
  stored: StoredRole | null = null
  /** Null until the prompt is inspected. */
  placeholders: Placeholders | null = null
  /** Estimated from the text that the client was sent, for upstreams that count none. */
  estimatedCompletionTokens = 0
  /** Null until the call is about to be forwarded. */
  intent: OpenIntent | null = null
  /** True once the upstream may have read the call; only then tokens were used. */
  forwarded = false
  finishReason: string | null = null
  /** Number of the event that would end a stream that fails, where events are numbered. */
  nextEvent = 0
  /** Name of the upstream that was asked last; null before. */
  upstream: string | null = null
  /** Set for a call that is forwarded without a scan; null for any other. */
  unscanned: UnscannedRequest | null = null
  /** Number of requests sent to the upstream, retries included. */
  attempts = 0
  /** Status of the upstream's answer; 0 when there was none. */
  upstreamStatus = 0
  /** As `upstreamRequestId`. */
  upstreamRequestId: string | null = null

  constructor(policyRevision: string) {
    this.policyRevision = policyRevision
  }

  /** Adds what a chunk counts. */
  addUsage(usage: Usage | null): void {
    this.usage = mergeUsage(this.usage, usage)
  }

  /** True when the upstream counted the answer. A zero is no count next to text. */
  get isAnswerCounted(): boolean {
    return this.usage !== null && this.usage.completionTokens > 0
  }

  /** Completes the upstream's usage, if there is one, with the estimates. */
  completeUsage(): void {
    if (this.usage !== null)
      this.usage = withEstimates(this.usage, this.estimatedPromptTokens, this.estimatedCompletionTokens)
  }

  /** Adds what the head of the upstream's answer states. */
  addUpstream(head: UpstreamHead, kinds: KindSet): void {
    this.upstreamStatus = head.status
    this.upstreamRequestId = upstreamRequestId(head, kinds)
  }

  /** Adds findings, each with the action that the policy takes on it. */
  addFindings(found: readonly CountedKind[], selection: Selection): void {
    for (const one of found) {
      const { kind, place, count } = one
      const direction = place === 'answer' ? 'response' : 'request'
      const { action } = decisionOn(one, selection)
      const known = this.findings.find(
        (one) => one.kind === kind && one.direction === direction && one.action === action,
      )
      if (known === undefined) this.findings.push({ kind, direction, count, action, places: [place] })
      else {
        known.count += count
        if (!known.places.includes(place)) known.places.push(place)
      }
    }
  }
}

/** Reports whether the upstream answered with a status of success. */
export const isAnswered = ({ upstreamStatus }: Pick<CallRecord, 'upstreamStatus'>): boolean =>
  upstreamStatus >= 200 && upstreamStatus < 300
