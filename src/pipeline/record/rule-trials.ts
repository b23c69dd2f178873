// Tries a rule against the newest calls of the log, before it is saved: on which calls it would
// fire, and which it would stop. Answers ids and counts, never texts. Like the shadow it judges
// what was captured.

import type { SealedRequest } from '../../audit/entry.ts'
import { stoppedBy } from '../../audit/security.ts'
import { apiNamed } from '../../chat/apis.ts'
import { CHAT } from '../../chat/chat-api.ts'
import { Budget } from '../../core/budget.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { Direction } from '../../core/finding.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import { inSlices } from '../../core/steps.ts'
import { TEXT_PARTS } from '../../core/text-part.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { RuleSet } from '../../policy/compile.ts'
import type { PlacedKind } from '../../policy/decide.ts'
import { overloaded } from '../call/admission.ts'
import type { DecisionParts } from '../prompt/decide-prompt.ts'
import { type CapturedCall, judgeCaptured } from './judge-captured.ts'

/** Maximum calls of one trial. */
export const MAXIMUM_TRIED_CALLS = 500
/** Longest time of one trial. What is left then is not tried. */
const MAXIMUM_TRIAL_MS: Milliseconds = 10_000
/** Longest wait for the trial before. */
const MAXIMUM_WAIT_MS: Milliseconds = 5000
/** Longest exchange that is tried, bytes: longer ones would hold memory that prompts need. */
const MAXIMUM_TRIED_BYTES = 1024 * 1024
const MAXIMUM_TRIAL_SAMPLES = 100

/** A sealed call with its exchange. */
export interface SealedExchange {
  readonly entry: SealedRequest
  /** Null when none was captured, it was erased, or it is too long. */
  readonly exchange: JsonObject | null
}

/** The log, newest call first. */
export interface NewestCalls {
  newestSeqs(limit: number): readonly number[]
  /** Null for an entry that was removed meanwhile. */
  exchange(seq: number, maximumBytes: number): SealedExchange | null
}

type Effect = RuleAction | 'none'

interface TrialSample {
  readonly entry: SealedRequest
  readonly direction: Direction
  readonly live: Effect
  readonly candidate: Effect
}

export interface TrialResult {
  /** Calls that were judged. */
  readonly calls: number
  /** Calls without a captured exchange of a length that is tried, or that could not be read. */
  readonly skipped: number
  /** Calls on which the rule fires. */
  readonly fired: number
  /** Calls that it would stop, and that nothing stopped. */
  readonly stopped: number
  /** Arrival of the oldest call that was looked at, RFC 3339; null without calls. */
  readonly since: string | null
  /** Whether the time was over before all calls were judged. */
  readonly truncated: boolean
  /** Effects that differ from what the rule of this name did; newest first. */
  readonly samples: readonly TrialSample[]
  readonly differences: readonly (Omit<TrialSample, 'entry'> & { readonly calls: number })[]
}

interface TrialParts {
  readonly log: NewestCalls
  readonly pipeline: () => DecisionParts & { readonly kinds: KindSet; readonly clock: Clock }
}

export class RuleTrials {
  readonly #parts: TrialParts
  /** One at a time, so that live prompts wait for one at most. */
  readonly #turns = new Budget(1)

  constructor(parts: TrialParts) {
    this.#parts = parts
  }

  /**
   * Tries the rule of a name in a set.
   * @param count newest calls to look at, at most MAXIMUM_TRIED_CALLS
   * @throws GatewayError `overloaded` (rejects) while other trials run
   */
  async run(rules: RuleSet, name: string, count: number): Promise<TrialResult> {
    const release = await this.#turns.waitAtMost(1, MAXIMUM_WAIT_MS)
    if (release === null) throw overloaded('Another trial of a rule runs; send the request again.')
    try {
      return await this.#try(rules, name, count)
    } finally {
      release()
    }
  }

  async #try(rules: RuleSet, name: string, count: number): Promise<TrialResult> {
    const { log, pipeline } = this.#parts
    const parts = pipeline()
    const { clock } = parts
    const endMs = clock.monotonic() + MAXIMUM_TRIAL_MS
    const tally = new Tally()
    for (const seq of log.newestSeqs(count)) {
      if (clock.monotonic() >= endMs) return tally.result(true)
      const sealed = log.exchange(seq, MAXIMUM_TRIED_BYTES)
      if (sealed === null) continue
      const call = capturedOf(sealed)
      if (call === null) {
        tally.skip(sealed.entry)
        continue
      }
      const { entry } = sealed
      const key = { name: entry.key_name, labels: entry.labels ?? {} }
      const selection = rules.select(call.models, key, call.api.name)
      const hits = await inSlices(judgeCaptured(parts, call, selection), clock)
      const ofRule = hits.filter(({ rule }) => rule.name === name)
      tally.add(
        entry,
        name,
        ofRule.map(({ rule, direction }) => ({ action: rule.action, direction })),
      )
    }
    return tally.result(false)
  }
}

interface TriedEffect {
  readonly action: RuleAction
  readonly direction: Direction
}

class Tally {
  #calls = 0
  #skipped = 0
  #fired = 0
  #stopped = 0
  #since: string | null = null
  readonly #samples: TrialSample[] = []
  readonly #differences = new Map<string, Omit<TrialSample, 'entry'> & { calls: number }>()

  skip({ created_at }: SealedRequest): void {
    this.#since = created_at
    this.#skipped++
  }

  add(entry: SealedRequest, name: string, hits: readonly TriedEffect[]): void {
    this.#since = entry.created_at
    this.#calls++
    if (hits.length > 0) this.#fired++
    const stops = hits.some(
      ({ action, direction }) => action === 'block' || (action === 'remove' && direction === 'response'),
    )
    if (stops && stoppedBy(entry) === null) this.#stopped++
    const live = new Map<Direction, Effect>()
    for (const rule of entry.rules)
      if (rule.name === name) live.set(rule.direction, rule.action as RuleAction)
    const candidate = new Map<Direction, Effect>(hits.map(({ direction, action }) => [direction, action]))
    for (const direction of new Set([...live.keys(), ...candidate.keys()])) {
      const [before, after] = [live.get(direction) ?? 'none', candidate.get(direction) ?? 'none']
      if (before !== after) this.#differs({ entry, direction, live: before, candidate: after })
    }
  }

  #differs(sample: TrialSample): void {
    const { entry: _, ...difference } = sample
    const key = Object.values(difference).join()
    const known = this.#differences.get(key)
    if (known === undefined) this.#differences.set(key, { ...difference, calls: 1 })
    else known.calls++
    if (this.#samples.length < MAXIMUM_TRIAL_SAMPLES) this.#samples.push(sample)
  }

  result(truncated: boolean): TrialResult {
    return {
      calls: this.#calls,
      skipped: this.#skipped,
      fired: this.#fired,
      stopped: this.#stopped,
      since: this.#since,
      truncated,
      samples: this.#samples,
      differences: [...this.#differences.values()].sort((a, b) => b.calls - a.calls),
    }
  }
}

/** Null for a call without a request that its API can have. */
function capturedOf({ entry, exchange }: SealedExchange): CapturedCall | null {
  const api = apiNamed(entry.api ?? CHAT.name)
  const request: JsonValue = exchange?.['request'] ?? null
  if (api === null || !isObject(request)) return null
  const response = exchange?.['response'] ?? null
  return {
    api,
    request,
    response: isObject(response) && api.answer.isAnswer(response) ? response : null,
    asksForJson: false,
    models: [entry.model],
    keyModels: null,
    removedTools: [],
    // An entry says the direction of a finding and not its part.
    found: (direction) =>
      entry.pii
        .filter((finding) => finding.direction === direction)
        .flatMap(({ kind }): PlacedKind[] =>
          direction === 'response'
            ? [{ kind, place: 'answer' }]
            : TEXT_PARTS.map((place) => ({ kind, place })),
        ),
  }
}
