// One call: its identity, its timing, its record, and what must be released when it ends.

import type { Api } from '../../chat/api-format.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { CallKey } from '../../core/key-terms.ts'
import { inSlices, nowOrInSlices, type Steps } from '../../core/steps.ts'
import { isoTime } from '../../core/time.ts'
import type { Phase } from '../../metrics/registry.ts'
import { drainingError } from './admission.ts'
import { CallRecord } from './call-record.ts'
import type { Client } from './client.ts'

/** A score that is made while the upstream works, and at the latest before the call is sealed. */
export interface DeferredScore {
  /** Makes the score. A second call returns at once. */
  finish(): Promise<void>
  /** No rule fires, because the call was denied before any rule was asked. */
  withoutRules(): void
}

/** What a call is known by from its beginning. */
export interface CallIdentity extends Pick<Call, 'id' | 'api' | 'key' | 'arrivedMs'> {
  /** Revision of the rules in force. */
  readonly policyRevision: string
}

export class Call {
  readonly id: string
  readonly api: Api
  readonly key: CallKey
  readonly createdAtMs: Milliseconds
  /** The same, RFC 3339 with milliseconds. */
  readonly createdAt: string
  readonly arrivedMs: Milliseconds
  readonly record: CallRecord
  /** The injection score, when only monitoring rules read it; else null. */
  deferredScore: DeferredScore | null = null
  firstTokenMs: Milliseconds | null = null
  upstreamMs: Milliseconds = 0
  /** Time spent waiting for the client: for its body, and for it to read a stream. */
  clientMs: Milliseconds = 0
  /** Time of each phase, in the order in which the phases began. */
  readonly phases: Partial<Record<Phase, Milliseconds>> = {}
  readonly #clock: Clock
  readonly #releases: (() => void)[] = []

  constructor(clock: Clock, { id, api, key, arrivedMs, policyRevision }: CallIdentity) {
    this.#clock = clock
    this.id = id
    this.api = api
    this.key = key
    this.createdAtMs = clock.now() - (clock.monotonic() - arrivedMs)
    this.createdAt = isoTime(this.createdAtMs)
    this.arrivedMs = arrivedMs
    this.record = new CallRecord(policyRevision)
  }

  /**
   * Takes over a resource of the call.
   * @returns releases it now; does nothing when it is released already
   */
  hold(release: () => void): () => void {
    this.#releases.push(release)
    return () => {
      const at = this.#releases.indexOf(release)
      if (at < 0) return
      this.#releases.splice(at, 1)
      release()
    }
  }

  /** Releases everything the call still holds, the newest first. */
  releaseAll(): void {
    for (let release = this.#releases.pop(); release !== undefined; release = this.#releases.pop()) release()
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
   * Runs a long step in slices, between which other calls run; their time counts too.
   * @throws GatewayError (rejects) `draining` when a stop interrupts the call, so that it can be
   * sealed
   */
  async measureSlices<T>(phase: Phase, steps: Steps<T>, client: Pick<Client, 'interrupted'>): Promise<T> {
    const startMs = this.#clock.monotonic()
    try {
      return await inSlices(steps, this.#clock, () => assertNotInterrupted(client))
    } finally {
      this.addPhase(phase, this.#clock.monotonic() - startMs)
    }
  }

  /**
   * Works like `measureSlices`, but runs the first slice at once, and throws its errors.
   * @returns a promise only for more than one slice
   */
  measurePiece<T>(phase: Phase, steps: Steps<T>, client: Pick<Client, 'interrupted'>): T | Promise<T> {
    const check = () => assertNotInterrupted(client)
    const result = this.measure(phase, () => nowOrInSlices(steps, this.#clock, check))
    if (!(result instanceof Promise)) return result
    const laterMs = this.#clock.monotonic()
    return result.finally(() => this.addPhase(phase, this.#clock.monotonic() - laterMs))
  }

  addPhase(phase: Phase, spentMs: Milliseconds): void {
    this.phases[phase] = (this.phases[phase] ?? 0) + spentMs
  }

  /** Waits for the upstream; the time does not count as the gateway's own. */
  async waitForUpstream<T>(wait: Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonic()
    try {
      return await wait
    } finally {
      this.upstreamMs += this.#clock.monotonic() - startMs
    }
  }

  /** Waits for the client; the time does not count as the gateway's own. */
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

/** @throws GatewayError `draining` */
function assertNotInterrupted(client: Pick<Client, 'interrupted'>): void {
  if (client.interrupted) throw drainingError()
}
