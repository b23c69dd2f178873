// What a candidate rule set would have done with the calls that pass: judged after a call is sealed, from what was
// captured of it, so that it can neither change nor delay an answer. Differences are counted by rule and a few are
// kept by id; no content leaves this file.
//
// The candidate sees texts as the rules in force left them, with what these found: where they replaced a value, it
// judges the finding and not the text. Token limits are left out, because they would need counters of their own.

import { readTexts } from '../chat/answer-texts.ts'
import { decodeEscapes } from '../chat/json-text.ts'
import { parseReceived } from '../chat/strict-json.ts'
import { responseTexts } from '../chat/texts.ts'
import { Budget } from '../core/budget.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Direction, PiiKind } from '../core/finding.ts'
import type { JsonObject } from '../core/json.ts'
import { inSlices, STEP_UNITS, type Steps } from '../core/steps.ts'
import { detectSteps } from '../detect/pii/detect.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { RuleSet, Selection } from '../policy/compile.ts'
import { decideResponse } from '../policy/decide.ts'
import type { RuleAction, RuleHit, RuleReference } from '../policy/rule.ts'
import type { Call } from './call.ts'
import { type DecisionParts, judgePrompt } from './prompt/decide-prompt.ts'
import { countKinds, inspect } from './prompt/inspect.ts'

/** Differences kept one by one, the newest. */
const MAX_SAMPLES = 100
/** Calls that wait to be judged, and bytes of their prompts and answers; what is more is left out and counted as skipped. */
const MAX_WAITING = 256
const MAX_WAITING_BYTES = 64 * 1024 ** 2

/** What a rule does to a call in one of the two sets; `none` where it did not fire or does not exist. */
type Effect = RuleAction | 'none'

interface Difference {
  readonly rule: string
  readonly direction: Direction
  readonly live: Effect
  readonly candidate: Effect
}

/** A call on which the sets differ. */
export interface ShadowSample extends Difference {
  /** The usage entry. */
  readonly logId: string
  readonly createdAtMs: Milliseconds
}

/** What was seen since the candidate or the rules in force last changed. */
export interface ShadowReport {
  readonly sinceMs: Milliseconds
  readonly calls: number
  /** Calls with at least one difference. */
  readonly changed: number
  /** Calls that were not judged, because too much waited or because they cannot be. */
  readonly skipped: number
  readonly differences: readonly (Difference & { readonly calls: number })[]
  /** Newest first. */
  readonly samples: readonly ShadowSample[]
}

export interface ShadowParts extends DecisionParts {
  /** Revision of the rules in force. */
  readonly live: () => string
  /** Null while there is no candidate to judge by. */
  readonly candidate: () => RuleSet | null
  readonly kinds: KindSet
  /** As in Pipeline. */
  readonly searches: Budget
  readonly metrics: Pick<Metrics, 'candidateCalls' | 'candidateDifferences'>
  readonly clock: Clock
  /** A call could not be judged. */
  readonly onError: (error: unknown) => void
}

export class Shadow {
  readonly #parts: ShadowParts
  /** Of long calls one is judged at a time: a prompt that waits for room has no more than that before it. */
  readonly #turns = new Budget(1)
  #waiting = 0
  #waitingBytes = 0
  /** The two revisions that are being compared. */
  #live = ''
  #candidate = ''
  #sinceMs: Milliseconds
  #calls = 0
  #changed = 0
  #skipped = 0
  #counts = new Map<string, Difference & { calls: number }>()
  #samples: ShadowSample[] = []

  constructor(parts: ShadowParts) {
    this.#parts = parts
    this.#sinceMs = parts.clock.now()
  }

  /** Judges a sealed call when there is time for it. */
  observe(call: Call): void {
    const candidate = this.#parts.candidate()
    // A long call that began before a reload says nothing of the rules in force.
    if (
      candidate === null ||
      call.record.request === null ||
      call.record.policyRevision !== this.#parts.live()
    )
      return
    this.#restartIfNew(call.record.policyRevision, candidate.revision)
    const bytes = call.record.request.length + call.record.responseBytes
    if (this.#waiting >= MAX_WAITING || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#skipped++
      return
    }
    this.#waiting++
    this.#waitingBytes += bytes
    setImmediate(() => {
      void this.#compare(call, bytes, candidate)
        .catch((error: unknown) => {
          // A trial stops nothing, whatever an upstream has answered.
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
    const leave = bytes > STEP_UNITS ? await this.#waitForRoom(bytes) : () => {}
    const judging = this.#judge(call, candidate.select(call.record.models, call.key.name))
    const hits = await inSlices(judging, clock).finally(leave)
    // Other rules than were compared may be in force or on trial by now.
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
    this.#samples = this.#samples.slice(-MAX_SAMPLES)
  }

  async #waitForRoom(bytes: number): Promise<() => void> {
    const leaveTurn = await this.#turns.wait(1)
    const leaveRoom = await this.#parts.searches.wait(bytes)
    return () => {
      leaveRoom()
      leaveTurn()
    }
  }

  *#judge(call: Call, selection: Selection): Steps<readonly RuleHit[]> {
    const { kinds, injection } = this.#parts
    if (call.record.request === null) return []
    const seen = (direction: Direction) =>
      call.record.findings.filter((finding) => finding.direction === direction)
    const inspection = yield* inspect(parseReceived(String(call.record.request)) as JsonObject, selection, {
      kinds,
      injection,
    })
    const findings = [...seen('request'), ...inspection.findings]
    const request = judgePrompt({ ...inspection, findings }, selection, this.#parts)
    // A prompt that the candidate would refuse has no answer to be judged.
    if (request.outcome === 'denial' || call.record.response === null) return request.hits
    const found: { readonly kind: PiiKind }[] = seen('response')
    const words = new Set<RuleReference>()
    const matcher = selection.keywords('response')
    for (const { text, encoding } of readTexts(
      responseTexts(call.record.response).texts,
      call.record.asksForJson,
    )) {
      const view = encoding === 'json' ? yield* decodeEscapes(text) : text
      for (const finding of yield* detectSteps(view, kinds)) found.push(finding)
      if (matcher === null) continue
      for (const { rule } of yield* matcher.matchSteps(view)) words.add(rule)
    }
    const answer = decideResponse(selection, { findings: countKinds(found), keywordHits: [...words] })
    return [...request.hits, ...answer.hits]
  }
}

function differencesOf(live: readonly RuleHit[], candidate: readonly RuleHit[]): Difference[] {
  const now = effects(live)
  const would = effects(candidate)
  return [...new Map([...now, ...would]).values()].flatMap(({ rule: { name }, direction }) => {
    const key = keyOf(name, direction)
    const before: Effect = now.get(key)?.rule.action ?? 'none'
    const after: Effect = would.get(key)?.rule.action ?? 'none'
    return before === after ? [] : [{ rule: name, direction, live: before, candidate: after }]
  })
}

const keyOf = (rule: string, direction: Direction): string => `${direction} ${rule}`

const effects = (hits: readonly RuleHit[]): Map<string, RuleHit> =>
  new Map(
    hits
      .filter(({ rule }) => rule.type !== 'rate_limit')
      .map((hit) => [keyOf(hit.rule.name, hit.direction), hit]),
  )
