// The live tail of the usage log: gives each reader the calls sealed from now on, as server-sent
// events. Readers pull from the store, so sealing waits for none and a slow one costs no memory.

import type { UsageView } from '../audit/entry-fields.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import type { Timers } from '../core/timers.ts'
import { drainingError } from '../pipeline/call/admission.ts'
import type { StoredCalls } from '../store/log/call-tail.ts'

/** Maximum readers at a time. */
export const MAXIMUM_LIVE_READERS = 16
/** Maximum calls that a reader may lag; the oldest of more are left out. */
export const MAXIMUM_LAG_CALLS = 256
/** Maximum missed calls that a reader gets when it resumes. */
export const MAXIMUM_RESUMED_CALLS = 1000
/** Maximum calls in one chunk. */
const CALLS_OF_CHUNK = 32
/** Calls sealed within this time reach the readers together. */
const GATHER_MS: Milliseconds = 50
/** Longest time for which a session that has ended keeps its idle stream. */
const SESSION_CHECK_MS: Milliseconds = 1000
/** Longest silence. */
const HEARTBEAT_MS: Milliseconds = 15_000
const HEARTBEAT = ': heartbeat\n\n'

export interface LiveReaderOptions {
  /** Id of the last event that the reader has; null to begin now. */
  readonly afterSeq: number | null
  /** Whether the session of the reader still opens the log. */
  readonly isAllowed: () => Promise<boolean>
  /** Cuts off a reader that has not read what was sent. */
  readonly disconnect: () => void
  /** Called once when the stream is over. */
  readonly onEnd?: () => void
}

/** Calls in the order in which readers get them. A gateway has the first three. */
export interface TailedCalls {
  stored(): StoredCalls
  /** Returns the position of the first call after the event with an id. */
  positionAfter(seq: number): number
  call(position: number): UsageView | null
  /** Whether no call after an event was left out before `positionAfter`. */
  isWholeAfter?(seq: number): boolean
  /** Returns the id of the event of a call, by default its sequence number. */
  idOf?(position: number): number
  /** Returns the time since which no calls can be read; null while they can. */
  lostSinceMs?(): Milliseconds | null
}

interface LiveTailParts {
  readonly calls: TailedCalls
  readonly clock: Pick<Clock, 'monotonic'>
  readonly timers: Timers
}

export class LiveTail {
  readonly #parts: LiveTailParts
  readonly #readers = new Set<LiveReader>()
  /** Events of the newest calls, which several readers send; at most MAXIMUM_LAG_CALLS. */
  readonly #events = new Map<number, string>()
  #gathering: unknown = null
  #isClosed = false

  constructor(parts: LiveTailParts) {
    this.#parts = parts
  }

  /** To be called after each commit. Returns at once. */
  committed(): void {
    if (this.#readers.size === 0 || this.#gathering !== null) return
    this.#gathering = this.#parts.timers.set(() => {
      this.#gathering = null
      // An erasure may have changed what was remembered.
      this.#events.clear()
      for (const reader of this.#readers) reader.wake()
    }, GATHER_MS)
  }

  /** Ends the streams of sessions that are over. To be called when administrators change. */
  checkSessions(): void {
    for (const reader of this.#readers) reader.wake()
  }

  /**
   * Begins a stream of events. Its `return` must be called when nobody reads it any more.
   * @throws GatewayError `overloaded` with MAXIMUM_LIVE_READERS readers, `draining` after `close`
   */
  read(options: LiveReaderOptions): AsyncIterable<string> {
    if (this.#isClosed) throw drainingError()
    if (this.#readers.size >= MAXIMUM_LIVE_READERS)
      throw new GatewayError(
        'overloaded',
        `${MAXIMUM_LIVE_READERS} readers follow the usage log already; close one of them and try again.`,
        { headers: { 'retry-after': '10' } },
      )
    const reader = new LiveReader(this.#parts, {
      ...options,
      eventOf: (position) => this.#eventOf(position),
      onEnd: () => {
        this.#readers.delete(reader)
        if (this.#readers.size === 0) this.#events.clear()
        options.onEnd?.()
      },
    })
    this.#readers.add(reader)
    return { [Symbol.asyncIterator]: () => reader }
  }

  /** Ends every stream, without waiting for slow readers, and refuses new ones. */
  close(): void {
    this.#isClosed = true
    this.#parts.timers.clear(this.#gathering)
    for (const reader of this.#readers) reader.close()
  }

  /** Returns '' for a call that is not stored any more. */
  #eventOf(position: number): string {
    const known = this.#events.get(position)
    if (known !== undefined) return known
    const { calls } = this.#parts
    const call = calls.call(position)
    const id = calls.idOf?.(position) ?? call?.seq
    const text = call === null ? '' : `id: ${id}\n${printEvent('entry', call)}`
    if (this.#events.size < MAXIMUM_LAG_CALLS) this.#events.set(position, text)
    return text
  }
}

const printEvent = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

interface LiveReaderParts extends LiveReaderOptions {
  readonly eventOf: (position: number) => string
  readonly onEnd: () => void
}

const END: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One reader's stream. Each chunk is whole events. */
class LiveReader implements AsyncIterator<string, undefined> {
  readonly #calls: LiveTailParts['calls']
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #timers: Timers
  readonly #parts: LiveReaderParts
  /** Position of the next call to send. */
  #next: number
  /** Calls from here on were sealed after the reader came. */
  readonly #liveFrom: number
  /** Calls that were left out since the last event; null when nobody counted them. */
  #missed: number | null = 0
  /** What the reader knows. */
  #lostSinceMs: Milliseconds | null = null
  #greeting: string
  #sentMs: Milliseconds
  #isEnded = false
  /** Whether the last chunk is written and the next one awaited. */
  #isAwaited = false
  /** Ends a wait. */
  #wake: (() => void) | null = null

  constructor({ calls, clock, timers }: LiveTailParts, parts: LiveReaderParts) {
    this.#calls = calls
    this.#clock = clock
    this.#timers = timers
    this.#parts = parts
    this.#sentMs = clock.monotonic()
    const { end, headSeq } = calls.stored()
    const { afterSeq } = parts
    this.#liveFrom = end
    this.#next = afterSeq === null ? end : calls.positionAfter(afterSeq)
    this.#skipTo(end - MAXIMUM_RESUMED_CALLS)
    if (afterSeq !== null && calls.isWholeAfter?.(afterSeq) === false) this.#missed = null
    // A browser that loses the connection before the first entry resumes here.
    this.#greeting = `: live\nid: ${afterSeq ?? headSeq}\n\n`
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    this.#isAwaited = true
    while (!this.#isEnded && (await this.#parts.isAllowed()) && !this.#isEnded) {
      const chunk = this.#chunk()
      if (chunk !== '') {
        this.#sentMs = this.#clock.monotonic()
        this.#isAwaited = false
        return { done: false, value: chunk }
      }
      await this.#wait()
    }
    return this.return()
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isEnded) {
      this.#isEnded = true
      this.#parts.onEnd()
      this.wake()
    }
    return Promise.resolve(END)
  }

  wake(): void {
    this.#wake?.()
  }

  /** Ends the stream, even if the rest of it would never be asked for. */
  close(): void {
    if (!this.#isAwaited) this.#parts.disconnect()
    void this.return()
  }

  /** Returns what is to be sent now; '' for nothing. */
  #chunk(): string {
    const { first, end } = this.#calls.stored()
    this.#skipTo(first)
    if (this.#next >= this.#liveFrom) this.#skipTo(end - MAXIMUM_LAG_CALLS)
    const pageEnd = this.#next < this.#liveFrom ? this.#liveFrom : end
    const last = Math.min(pageEnd, this.#next + CALLS_OF_CHUNK)
    let chunk = this.#greeting + this.#lossEvent()
    this.#greeting = ''
    if (this.#missed !== 0) chunk += printEvent('gap', { missed: this.#missed })
    this.#missed = 0
    for (; this.#next < last; this.#next++) chunk += this.#parts.eventOf(this.#next)
    const isSilent = chunk === '' && this.#clock.monotonic() - this.#sentMs >= HEARTBEAT_MS
    return isSilent ? HEARTBEAT : chunk
  }

  /** Returns an event when calls cannot be read any more, or can again. */
  #lossEvent(): string {
    const sinceMs = this.#calls.lostSinceMs?.() ?? null
    if (sinceMs === this.#lostSinceMs) return ''
    this.#lostSinceMs = sinceMs
    const state = sinceMs === null ? { available: true } : { available: false, since: isoTime(sinceMs) }
    return printEvent('database', state)
  }

  /** Leaves out the calls before a position. */
  #skipTo(position: number): void {
    if (position <= this.#next) return
    if (this.#missed !== null) this.#missed += position - this.#next
    this.#next = position
  }

  /** Resolves when there may be more to send, and after SESSION_CHECK_MS at the latest. */
  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#timers.set(() => this.wake(), SESSION_CHECK_MS)
      this.#wake = () => {
        this.#wake = null
        this.#timers.clear(timer)
        resolve()
      }
    })
  }
}
