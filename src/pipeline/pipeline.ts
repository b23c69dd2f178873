// The parts that every call passes through, and the values that its steps hand on. Each value is
// immutable; only `Call` keeps state.

import type { ModelRequest } from '../chat/model-request.ts'
import type { Texts } from '../chat/texts.ts'
import type { ServerSecrets } from '../chat/tool-servers.ts'
import type { Clock } from '../core/clock.ts'
import type { UnknownPrice } from '../core/config.ts'
import type { RefusalStatus } from '../core/errors.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import type { AnswerLookup } from '../fleet/answer-lookup.ts'
import type { HighestNumbers } from '../keys/stored-answer.ts'
import type { RuleSet, Selection } from '../policy/compile.ts'
import type { Permit } from '../policy/decide.ts'
import type { CallRules, ToolJudgement } from '../policy/tool-rules.ts'
import type { PriceBook } from '../prices/price-book.ts'
import type { Recognisers } from '../recognisers/recognisers.ts'
import type { Counters } from '../store/limits/counters.ts'
import type { StoredAnswers } from '../store/log/stored-answers.ts'
import type { Route, Upstreams } from '../upstream/upstreams.ts'
import type { GivenIds } from './answer/given-ids.ts'
import type { DocumentEdits } from './answer/moved-citations.ts'
import type { ThoughtMemory } from './answer/thought-memory.ts'
import type { Admission, AdmissionControl } from './call/admission.ts'
import type { KeySources } from './call/authenticate.ts'
import type { Call } from './call/call.ts'
import type { Client } from './call/client.ts'
import type { RunNames } from './call/run-names.ts'
import type { FleetQuota } from './limits/fleet-quota.ts'
import type { ParallelCalls } from './limits/parallel-calls.ts'
import type { Demand, QuotaParts } from './limits/quota.ts'
import type { DecisionParts } from './prompt/decide-prompt.ts'
import type { Identifiers } from './prompt/identifiers.ts'
import type { Inspection } from './prompt/inspect.ts'
import type { ScanMemory } from './prompt/memory-turn.ts'
import type { RequestTools } from './prompt/request-tools.ts'
import type { ScanCache } from './prompt/scan-cache.ts'
import type { ReceiptSource } from './receipt-source.ts'
import type { RecordParts } from './record/record.ts'
import type { OutsideValues } from './scan/outside-values.ts'

/** Everything a call passes through, built once by the composition root. */
export interface Pipeline extends RecordParts, DecisionParts, KeySources {
  readonly clock: Clock
  readonly counters: Pick<Counters, 'reserve' | 'settle' | 'charge'>
  readonly parallel: Pick<ParallelCalls, 'enter' | 'running'>
  /** Covers what a call asks of limits that hold over a fleet. Null without a hub. */
  readonly fleetLimits: Pick<FleetQuota, 'cover' | 'inUse' | 'isOfHub' | 'isAlone'> | null
  readonly stored: Pick<StoredAnswers, 'find' | 'claim'>
  /** Asks the hub about answers that other gateways of the fleet made. Null without a hub. */
  readonly sharedAnswers: Pick<AnswerLookup, 'find' | 'claim' | 'sealed'> | null
  readonly receipts: ReceiptSource
  readonly upstreams: Upstreams
  readonly kinds: KindSet
  /** Null without recognisers. */
  readonly recognisers: Recognisers | null
  /** Remembers scans with these kinds and this injection model. */
  readonly scanCache: ScanCache
  readonly bodyBytes: number
  readonly toolServers: 'pass' | 'refuse'
  /** Status of a refusal by a rule; null for that of each API. */
  readonly refusalStatus: RefusalStatus | null
  readonly thoughts: ThoughtMemory
  readonly givenIds: GivenIds
  readonly identifiers: Identifiers
  readonly runs: RunNames
  /** Memory for long prompts and answers under scan, bytes. */
  readonly searches: ScanMemory
  readonly admission: AdmissionControl
  /** The rule set in force; taken once a call. */
  rules(): RuleSet
  /** The price book in force; taken once a call. */
  prices(): PriceBook
  /** What limits of money do with a call without a price. */
  unknownPrice(): UnknownPrice
  /** A new UUIDv7. */
  newId(): string
}

/** A call with a key and a place. From here on it makes exactly one entry. */
export interface Admitted {
  readonly call: Call
  readonly client: Client
  readonly admission: Admission
}

/** A parsed request, with the rules for it. */
export interface Received {
  /** The body as received. */
  readonly bytes: Buffer
  readonly request: ModelRequest
  /** Path below the upstream's base URL, with the query of the client. */
  readonly target: string
  /** Where the call may go, in order. */
  readonly routes: readonly [Route, ...Route[]]
  readonly selection: Selection
  /** Highest placeholders of the conversation that it continues. */
  readonly continued: HighestNumbers | undefined
  /** True when the prompt is scanned in slices, so that other calls run meanwhile. */
  readonly isLong: boolean
  /** Releases the memory budget of the prompt's texts. */
  readonly release: () => void
}

/** A request whose texts are listed. */
export interface Walked {
  readonly received: Received
  readonly walk: Texts
  /** Secrets of tool servers, out of the body until it is captured. */
  readonly servers: ServerSecrets
  /** Signed reasoning in the body. */
  readonly thoughts: readonly string[]
  readonly defined: RequestTools
}

/** A request about whose texts the recognisers were asked. */
export interface Recognised extends Walked {
  /** What they found; null without any. */
  readonly outside: OutsideValues | null
}

/** A request whose body is redacted. */
export interface Inspected extends Received {
  readonly inspection: Inspection
  readonly tools: ToolJudgement
  /** The body to forward: as received, but for what changed. */
  readonly json: Buffer
  /** What the call asks of its limits, and what they are counted in; absent without a hub. */
  readonly covered?: { readonly demand: Demand; readonly limits: QuotaParts }
}

/** A call that may leave. Holds nothing of the prompt but the permit's bytes. */
export interface Permitted extends Pick<Inspection, 'placeholders' | 'restoration'> {
  readonly permit: Permit
  readonly selection: Selection
  /** The rules for tool calls in the answer; null when none concerns one. */
  readonly calls: CallRules | null
  /** Where the documents of the prompt changed, which the answer may cite. */
  readonly documents: DocumentEdits
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Number of the last event of the stream that the client has; null for the whole stream. */
  readonly after: number | null
}
