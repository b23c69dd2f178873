// Sends the log of a sidecar to a hub: oldest first, one request at a time, on a connection of its
// own. Only the answer of the hub says that it has an entry. No call waits for any of it.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { within } from '../core/deadline.ts'
import type { Secret } from '../core/secret.ts'
import type { Timers } from '../core/timers.ts'
import { Backoff } from './backoff.ts'
import { HubRefusal, HubRequests } from './hub-requests.ts'
import { nextShipment, type ShippableLog } from './next-shipment.ts'
import {
  checkpointPath,
  isCosigned,
  logPath,
  MAXIMUM_SHIPPED_ENTRIES,
  NOTE_TYPE,
  readShipmentAnswer,
  SHIPMENT_TYPE,
  type ShipmentAnswer,
} from './shipping.ts'

/** Time in which entries gather for one request, unless there are enough for a full one. */
const GATHER_MS: Milliseconds = 250
/** Interval of looking for entries of other processes. */
const POLL_MS: Milliseconds = 1000
/** Interval at which it is written how far the hub is. */
const SAVE_MS: Milliseconds = 5000
/** Longest wait for an answer, after up to 30 s for a turn at the hub, and what a MiB adds. */
const ANSWER_MS: Milliseconds = 45_000
const MIB_MS: Milliseconds = 1000
const MIB = 1024 ** 2
/** Time after which is looked again whether a hub knows this sidecar, or the log can be read. */
const NOT_READY_MS: Milliseconds = 250
/** Time after which a checkpoint that was refused is sent again. */
const NOTE_RETRY_MS: Milliseconds = 5000
/** Problems that are remembered as reported. */
const MAXIMUM_REPORTED = 50
/** Failures in a row that are a problem. One may be of a connection that was kept and is closed. */
const PROBLEM_FAILURES = 2

/** A signed checkpoint of the log. */
export interface ShippedNote {
  readonly size: number
  readonly note: string
}

export interface ShipperParts {
  readonly log: ShippableLog
  /** PEM; null for the authorities of the system. */
  readonly ca: Secret | null
  /** Whether the log can be read; after an error of the disk it must not be. */
  readonly isReadable: () => boolean
  /** Origin of the hub that is connected, or tried next. */
  readonly hub: () => string
  /** Returns the header with the credential; null when no hub knows this sidecar yet. */
  readonly authorize: () => Promise<Record<string, string> | null>
  readonly clock: Clock
  readonly timers: Timers
  /** Returns a number from 0, inclusive, to 1, exclusive. */
  readonly random: () => number
  readonly events: {
    /** A hub has these many more entries for good. */
    shipped(entries: number): void
    /** Entries could not be sent. Once for each reason, until some are. */
    troubled(hub: string, problem: string): void
    /** Nothing more of this log is sent. */
    ended(problem: string): void
    /** The exchange of an entry is too long to be sent. */
    leftOut(seq: number): void
    /** A hub has cosigned a checkpoint. Resolves when it is stored. */
    cosigned(checkpoint: ShippedNote): Promise<void>
  }
}

/** What came of a request. */
type Outcome = { readonly isDone: true } | { readonly isDone: false; readonly waitMs: Milliseconds }
const DONE: Outcome = { isDone: true }

/** This log and that of the hub cannot be brought together. */
class ShippingEnd extends Error {
  override readonly name = 'ShippingEnd'
}

export class Shipper {
  readonly #parts: ShipperParts
  readonly #requests: HubRequests
  readonly #backoff: Backoff
  /** Ends the request under way. */
  readonly #abort = new AbortController()
  /** The newest checkpoint that no hub has cosigned. */
  #note: ShippedNote | null = null
  #running: Promise<void> | null = null
  /** Sends what is there and ends. */
  #isLast = false
  #end: string | null = null
  #problem: string | null = null
  #noteProblem: string | null = null
  /** When a checkpoint that was refused is sent again. */
  #noteAtMs: Milliseconds = Number.NEGATIVE_INFINITY
  #failures = 0
  /** The last entry whose exchange was reported as left out. */
  #leftOutSeq = -1
  #savedAtMs: Milliseconds
  #isWoken = false
  /** Whether there were more entries than one request takes. */
  #isFull = false
  readonly #reported = new Set<string>()
  #wake: () => void = () => {}

  constructor(parts: ShipperParts) {
    this.#parts = parts
    this.#requests = new HubRequests(parts.ca)
    this.#backoff = new Backoff(parts.random)
    this.#savedAtMs = parts.clock.monotonic()
  }

  /** Why nothing more of this log is sent, for people; null while it is. */
  get end(): string | null {
    return this.#end
  }

  /** Why entries, or the last checkpoint, could not be sent, for people; null after they were. */
  get problem(): string | null {
    return this.#end ?? this.#problem ?? this.#noteProblem
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Entries have become durable. Costs a call next to nothing. */
  sealed(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    this.#wake()
  }

  /** A checkpoint was signed. It takes the place of one that no hub has yet. */
  signed(checkpoint: ShippedNote): void {
    this.#note = checkpoint
    this.sealed()
  }

  /**
   * Sends what is left, until all is sent, a hub refuses it, or the time is over.
   * @param hurry ends it at once when it resolves
   */
  async stop(limitMs: Milliseconds, hurry: Promise<void>): Promise<void> {
    this.#isLast = true
    this.#wake()
    if (this.#running !== null) {
      await within(Promise.race([this.#running, hurry]), limitMs)
      this.#abort.abort()
      this.#wake()
      await this.#running
    }
    await this.#save()
    this.#requests.close()
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted && this.#end === null) {
      this.#isWoken = false
      const outcome = await this.#step()
      if (outcome !== null && !outcome.isDone) await this.#wait(outcome.waitMs)
      else if (!this.#isLast) await this.#gather(outcome === null)
      else if (outcome === null) return
      await this.#saveInTime()
    }
  }

  /** Waits for entries, and then for more of them: a request for each would cost too much. */
  async #gather(isIdle: boolean): Promise<void> {
    if (isIdle && !this.#isWoken) await this.#wait(POLL_MS, true)
    if (this.#isWoken && !this.#isFull) await this.#wait(GATHER_MS)
  }

  /** Makes one request. @returns null when there is nothing to send */
  async #step(): Promise<Outcome | null> {
    const { log, isReadable, authorize, events } = this.#parts
    try {
      if (!isReadable()) return this.#isLast ? null : { isDone: false, waitMs: NOT_READY_MS }
      const waiting = log.newest + 1 - log.first
      this.#isFull = waiting > MAXIMUM_SHIPPED_ENTRIES
      const note = this.#dueNote()
      if (waiting <= 0 && note === null) return null
      const headers = await authorize()
      if (headers === null) return this.#isLast ? null : { isDone: false, waitMs: NOT_READY_MS }
      return await (note === null ? this.#sendEntries(headers) : this.#sendNote(headers, note))
    } catch (error) {
      const { message } = error as Error
      if (!(error instanceof ShippingEnd)) return this.#failed(message, 0)
      this.#end = message
      events.ended(message)
      return DONE
    }
  }

  async #sendEntries(headers: Record<string, string>): Promise<Outcome> {
    const { log, hub } = this.#parts
    const body = { type: SHIPMENT_TYPE, bytes: nextShipment(log, (seq) => this.#leaveOut(seq)) }
    const { status, text, retryAfterMs } = await this.#post(`${hub()}${logPath(log.log)}`, headers, body)
    const answer = readShipmentAnswer(status, text)
    if (answer === null) return this.#refused(status, text, retryAfterMs)
    return this.#take(answer)
  }

  /** An entry that is sent again is not reported again. */
  #leaveOut(seq: number): void {
    if (seq > this.#leftOutSeq) this.#parts.events.leftOut(seq)
    this.#leftOutSeq = Math.max(seq, this.#leftOutSeq)
  }

  #take(answer: ShipmentAnswer): Outcome {
    const { log, events } = this.#parts
    if ('code' in answer)
      throw new ShippingEnd(
        `the hub has another entry ${answer.seq} of this log, so nothing more of it is sent; keep a copy of the data folder, compare both with \`sidegate audit verify\`, and begin a log with \`sidegate audit new-log\``,
      )
    if ('want' in answer) return this.#moveTo(answer.want)
    const { seq, hash } = answer
    if (seq > log.newest) throw new ShippingEnd(this.#whyBehind(seq))
    const own = log.hashOf(seq)
    if (own !== null && own !== hash)
      throw new ShippingEnd(
        `the hub has an entry ${seq} of this log with another hash, so nothing more of it is sent; keep a copy of the data folder and compare both with \`sidegate audit verify\``,
      )
    const entries = seq + 1 - log.next
    if (entries <= 0) return this.#failed('the hub answers with entries that it had before', 0)
    log.took(answer)
    events.shipped(entries)
    return this.#succeeded()
  }

  /** The hub has more or less than was known. The wait bounds what a hub that errs can cause. */
  #moveTo(want: number): Outcome {
    const { log } = this.#parts
    const { newest } = log
    if (want > newest + 1) throw new ShippingEnd(this.#whyBehind(want - 1))
    // With all of it, its answer to the newest entry has a hash to compare.
    if (log.moveTo(Math.min(want, newest))) {
      const { first } = log
      if (want > 0 && want < first)
        this.#report(`the hub lacks entries ${want} to ${first - 1} of this log, which are pruned here`)
      return this.#failed(`the hub asks for entry ${want}`, 0)
    }
    throw new ShippingEnd(
      `the hub needs entry ${want} of this log, which is not stored here, so nothing more of it is sent; verify it with \`sidegate audit verify\`, and begin a log with \`sidegate audit new-log\``,
    )
  }

  #whyBehind(seq: number): string {
    const { newest } = this.#parts.log
    return `the hub has entries of this log up to ${seq}, and here it ends at ${newest}: an older copy of the data folder was put in its place, so nothing more of it is sent; begin a log with \`sidegate audit new-log\``
  }

  /** The checkpoint to be sent now, once its entries are; null for none. */
  #dueNote(): ShippedNote | null {
    const { log, clock } = this.#parts
    if (this.#note === null || this.#note.size > log.next) return null
    return this.#isLast || clock.monotonic() >= this.#noteAtMs ? this.#note : null
  }

  async #sendNote(headers: Record<string, string>, sent: ShippedNote): Promise<Outcome> {
    const { log, hub, events } = this.#parts
    const body = { type: NOTE_TYPE, bytes: Buffer.from(sent.note) }
    const url = `${hub()}${checkpointPath(log.log)}`
    const { status, text, retryAfterMs } = await this.#post(url, headers, body)
    if (status !== 200) {
      const answer = readShipmentAnswer(status, text)
      if (answer !== null) return this.#take(answer)
      return this.#putOff(sent, new HubRefusal(status, text), retryAfterMs)
    }
    this.#forget(sent)
    if (!isCosigned(sent.note, text)) {
      this.#reportNote('it came back as another one')
      return DONE
    }
    this.#noteProblem = null
    await events.cosigned({ size: sent.size, note: text })
    return this.#succeeded()
  }

  /** Entries do not wait for a checkpoint that is refused. */
  #putOff(sent: ShippedNote, { message, isPassing }: HubRefusal, leastMs: Milliseconds): Outcome {
    if (this.#isLast && isPassing) return this.#failed(message, leastMs)
    if (this.#isLast) this.#forget(sent)
    this.#noteAtMs = this.#parts.clock.monotonic() + Math.max(leastMs, NOTE_RETRY_MS)
    this.#reportNote(message)
    return DONE
  }

  #reportNote(why: string): void {
    const problem = `no hub has cosigned the last checkpoint: ${why}`
    if (problem !== this.#noteProblem) this.#parts.events.troubled(this.#parts.hub(), problem)
    this.#noteProblem = problem
  }

  /** A newer one may have taken its place. */
  #forget(sent: ShippedNote): void {
    if (this.#note === sent) this.#note = null
  }

  #post(url: string, headers: Record<string, string>, body: { type: string; bytes: Buffer }) {
    const limitMs = ANSWER_MS + (body.bytes.length / MIB) * MIB_MS
    return this.#requests.exchange(url, headers, body, Math.ceil(limitMs), {
      end: this.#abort.signal,
    })
  }

  #refused(status: number, text: string, retryAfterMs: Milliseconds): Outcome {
    const refusal = new HubRefusal(status, text)
    const outcome = this.#failed(refusal.message, retryAfterMs)
    // It would refuse again before the time is over.
    if (this.#isLast && !refusal.isPassing) this.#abort.abort()
    return outcome
  }

  #succeeded(): Outcome {
    this.#failures = 0
    this.#problem = null
    this.#reported.clear()
    this.#backoff.reset()
    return DONE
  }

  #failed(problem: string, leastMs: Milliseconds): Outcome {
    if (this.#abort.signal.aborted) return DONE
    this.#failures++
    if (this.#failures >= PROBLEM_FAILURES) this.#report(problem)
    return { isDone: false, waitMs: Math.max(leastMs, this.#backoff.next()) }
  }

  #report(problem: string): void {
    const { events, hub } = this.#parts
    this.#problem = problem
    if (this.#reported.has(problem)) return
    if (this.#reported.size >= MAXIMUM_REPORTED) this.#reported.clear()
    this.#reported.add(problem)
    events.troubled(hub(), problem)
  }

  async #saveInTime(): Promise<void> {
    const nowMs = this.#parts.clock.monotonic()
    if (nowMs - this.#savedAtMs < SAVE_MS) return
    this.#savedAtMs = nowMs
    await this.#save()
  }

  /** What is not written is sent again after a restart, and compared. */
  async #save(): Promise<void> {
    await this.#parts.log.save().catch(() => {})
  }

  /** @param isForEntries ends it when entries are sealed; a stop that is at its end always does */
  #wait(delayMs: Milliseconds, isForEntries = false): Promise<void> {
    return new Promise((resolve) => {
      const { timers } = this.#parts
      const timer = timers.set(resolve, delayMs)
      this.#wake = () => {
        const isEnd = this.#isLast || this.#abort.signal.aborted
        if (!isForEntries && !isEnd) return
        timers.clear(timer)
        resolve()
      }
    })
  }
}
