// Evaluates a candidate rule set on live calls. It judges a call after it is sealed, from the
// captured exchange, so it neither changes nor delays an answer. It counts differences by rule and
// keeps the ids of a few; no content leaves this file.

import { parseReceived } from '../../chat/strict-json.ts'
import { Budget } from '../../core/budget.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { Direction } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import { nowOrInSlices, type Steps } from '../../core/steps.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Metrics } from '../../metrics/registry.ts'
import { matchedKey, type RuleSet, type Selection } from '../../policy/compile.ts'
import type { RuleHit } from '../../policy/rule.ts'
import { ruleTypeOf } from '../../policy/rule-types.ts'
import type { Call } from '../call/call.ts'
import type { DecisionParts } from '../prompt/decide-prompt.ts'
import { isLongBody, type ScanMemory, scanWeight } from '../prompt/memory-turn.ts'
import { type CapturedCall, judgeCaptured } from './judge-captured.ts'

/** Differences that are kept as samples; the newest win. */
const MAXIMUM_SAMPLES = 100
/** Calls that may wait, and bytes of their exchanges; further calls count as skipped. */
const MAXIMUM_WAITING = 256
const MAXIMUM_WAITING_BYTES = 64 * 1024 ** 2

/** The action of a rule on a call; `none` when it did not fire or does not exist. */
type ShadowEffect = RuleAction | 'none'

interface ShadowDifference {
  readonly rule: string
  readonly direction: Direction
  readonly live: ShadowEffect
  readonly candidate: ShadowEffect
}

/** A call on which the sets differ. */
export interface ShadowSample extends ShadowDifference {
  /** Id of the usage entry. */
  readonly logId: string
  readonly createdAtMs: Milliseconds
}

/** Totals since the candidate or the rules in force last changed. */
export interface ShadowReport {
  readonly sinceMs: Milliseconds
  readonly calls: number
  /** Calls with at least one difference. */
  readonly changed: number
  /** Calls that were not judged: too many waited, or judging one failed. */
  readonly skipped: number
  readonly differences: readonly (ShadowDifference & { readonly calls: number })[]
  /** Newest first. */
  readonly samples: readonly ShadowSample[]
}

export interface ShadowParts extends DecisionParts {
  /** Revision of the rules in force. */
  readonly live: () => string
  /** Null while there is no candidate. */
  readonly candidate: () => RuleSet | null
  readonly kinds: KindSet
  /** As in Pipeline. */
  readonly searches: ScanMemory
  readonly metrics: Pick<Metrics, 'candidateCalls' | 'candidateDifferences'>
  readonly clock: Clock
  /** Receives the error when a call cannot be judged. */
  readonly onError: (error: unknown) => void
}

export class Shadow {
  readonly #parts: ShadowParts
  /** Long calls are judged one at a time, so that a live prompt never waits for more than one. */
  readonly #turns = new Budget(1)
  #waiting = 0
  #waitingBytes = 0
  /** The two revisions under comparison. */
  #live = ''
  #candidate = ''
  #sinceMs: Milliseconds
  #calls = 0
  #changed = 0
  #skipped = 0
  #counts = new Map<string, ShadowDifference & { calls: number }>()
  #samples: ShadowSample[] = []

  constructor(parts: ShadowParts) {
    this.#parts = parts
    this.#sinceMs = parts.clock.now()
  }

  /** Judges a sealed call later, between other work. */
  observe(call: Call): void {
    const candidate = this.#parts.candidate()
    // A call that began before a reload says nothing about the rules in force.
    if (
      candidate === null ||
      call.record.request === null ||
      call.record.policyRevision !== this.#parts.live()
    )
      return
    this.#restartIfNew(call.record.policyRevision, candidate.revision)
    const bytes = call.record.request.length + call.record.responseBytes
    if (this.#waiting >= MAXIMUM_WAITING || this.#waitingBytes + bytes > MAXIMUM_WAITING_BYTES) {
      this.#skipped++
      return
    }
    this.#waiting++
    this.#waitingBytes += bytes
    setImmediate(() => {
      void this.#compare(call, bytes, candidate)
        .catch((error: unknown) => {
          // A shadow evaluation never fails a call.
          this.#skipped++
          this.#parts.onError(error)
        })
        .finally(() => {
          this.#waiting--
          this.#waitingBytes -= bytes
        })
    })
  }

  report(): ShadowReport {
    this.#restartIfNew(this.#live, this.#parts.candidate()?.revision ?? '')
    return {
      sinceMs: this.#sinceMs,
      calls: this.#calls,
      changed: this.#changed,
      skipped: this.#skipped,
      differences: [...this.#counts.values()].sort((a, b) => b.calls - a.calls),
      samples: this.#samples.toReversed(),
    }
  }

  #restartIfNew(live: string, candidate: string): void {
    if (live === this.#live && candidate === this.#candidate) return
    this.#live = live
    this.#candidate = candidate
    this.#sinceMs = this.#parts.clock.now()
    this.#calls = 0
    this.#changed = 0
    this.#skipped = 0
    this.#counts = new Map()
    this.#samples = []
  }

  async #compare(call: Call, bytes: number, candidate: RuleSet): Promise<void> {
    const { clock, metrics } = this.#parts
    const release = isLongBody(bytes) ? await this.#waitForBudget(call, bytes) : () => {}
    let hits: readonly RuleHit[]
    try {
      hits = await nowOrInSlices(
        this.#judge(call, candidate.select(call.record.models, matchedKey(call.key), call.api.name)),
        clock,
      )
    } finally {
      release()
    }
    // Either rule set may have changed meanwhile.
    if (call.record.policyRevision !== this.#live || candidate.revision !== this.#candidate) return
    const differences = differencesOf(call.record.hits, hits)
    this.#calls++
    if (differences.length > 0) this.#changed++
    metrics.candidateCalls.inc({ changed: String(differences.length > 0) })
    for (const difference of differences) {
      const { rule, direction, live, candidate: would } = difference
      metrics.candidateDifferences.inc({ rule, live, candidate: would })
      const key = `${rule} ${direction} ${live} ${would}`
      const known = this.#counts.get(key)
      if (known === undefined) this.#counts.set(key, { ...difference, calls: 1 })
      else known.calls++
      this.#samples.push({ ...difference, logId: call.id, createdAtMs: call.createdAtMs })
    }
    this.#samples = this.#samples.slice(-MAXIMUM_SAMPLES)
  }

  async #waitForBudget(call: Call, bytes: number): Promise<() => void> {
    const releaseTurn = await this.#turns.wait(1)
    const { searches } = this.#parts
    const { request } = call.record
    // The live scan had memory for the same values, so the weight is never null.
    const weight = request === null ? null : await scanWeight(this.#parts, request)
    const releaseMemory = await searches.wait(Math.max(bytes, weight ?? 0))
    return () => {
      releaseMemory()
      releaseTurn()
    }
  }

  *#judge(call: Call, selection: Selection): Steps<readonly RuleHit[]> {
    const { record, api } = call
    if (record.request === null) return []
    const captured: CapturedCall = {
      api,
      request: parseReceived(String(record.request)) as JsonObject,
      response: record.response,
      asksForJson: record.asksForJson,
      models: record.models,
      keyModels: call.key.terms.models,
      removedTools: record.removedTools,
      found: (direction) =>
        record.findings
          .filter((finding) => finding.direction === direction)
          .flatMap(({ kind, places }) => places.map((place) => ({ kind, place }))),
    }
    return yield* judgeCaptured(this.#parts, captured, selection)
  }
}

function differencesOf(live: readonly RuleHit[], candidate: readonly RuleHit[]): ShadowDifference[] {
  const now = effects(live)
  const would = effects(candidate)
  return [...new Map([...now, ...would]).values()].flatMap(({ rule: { name }, direction }) => {
    const key = keyOf(name, direction)
    const before: ShadowEffect = now.get(key)?.rule.action ?? 'none'
    const after: ShadowEffect = would.get(key)?.rule.action ?? 'none'
    return before === after ? [] : [{ rule: name, direction, live: before, candidate: after }]
  })
}

const keyOf = (rule: string, direction: Direction): string => `${direction} ${rule}`

const effects = (hits: readonly RuleHit[]): Map<string, RuleHit> =>
  new Map(
    hits
      .filter(({ rule }) => ruleTypeOf(rule.type).isCounted !== true)
      .map((hit) => [keyOf(hit.rule.name, hit.direction), hit]),
  )
