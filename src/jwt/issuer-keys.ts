// The public keys of an issuer as they are in force: from a file, or from a URL that is asked again
// and again. What cannot be read leaves the last good ones in force.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { readKeySet, type VerificationKey } from '../core/json-web-keys.ts'
import type { Secret } from '../core/secret.ts'
import type { Timers } from '../core/timers.ts'

/** A set of keys; another value once it changes. */
export interface IssuerKeySet {
  readonly keys: readonly VerificationKey[]
}

export interface IssuerKeys {
  /** Called when there is another set. */
  onChange: () => void
  /** Null before there is a set. */
  current(): IssuerKeySet | null
  /**
   * Resolves once a newer set was asked for. Null when that is not possible now: an unknown key may
   * be the invention of a caller.
   */
  refresh(): Promise<void> | null
  start(): void
  close(): void
}

/** Keys in a file, which is read at most once a second. */
export class FileKeys implements IssuerKeys {
  onChange = () => {}
  readonly #file: Secret
  #text: string | null = null
  #set: IssuerKeySet | null = null

  constructor(file: Secret) {
    this.#file = file
  }

  current(): IssuerKeySet | null {
    const text = this.#file.current()
    if (text === this.#text) return this.#set
    this.#text = text
    const reading = readKeySet(text)
    if ('problem' in reading) return this.#set
    this.onChange()
    this.#set = reading
    return reading
  }

  refresh(): null {
    return null
  }

  start(): void {}
  close(): void {}
}

/** Interval at which the keys are asked for. */
export const REFRESH_MS: Milliseconds = 300_000
/** Least time between two requests, also for a token with an unknown key. */
export const MINIMUM_REFRESH_MS: Milliseconds = 10_000

export interface UrlKeysParts {
  readonly url: string
  /** Resolves with the text of a set. @throws Error (rejects) that says why not */
  readonly request: (url: string, signal: AbortSignal) => Promise<string>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly timers: Timers
  /** A request ended. @param problem why its answer is not in force; null if it is */
  readonly onLoad: (problem: string | null) => void
}

export class UrlKeys implements IssuerKeys {
  onChange = () => {}
  readonly #parts: UrlKeysParts
  readonly #closing = new AbortController()
  #text: string | null = null
  #set: IssuerKeySet | null = null
  #loading: Promise<void> | null = null
  #askedMs: Milliseconds = Number.NEGATIVE_INFINITY
  #timer: unknown = null

  constructor(parts: UrlKeysParts) {
    this.#parts = parts
  }

  current(): IssuerKeySet | null {
    return this.#set
  }

  refresh(): Promise<void> | null {
    if (this.#loading !== null) return this.#loading
    const isSoon = this.#parts.clock.monotonic() - this.#askedMs < MINIMUM_REFRESH_MS
    return isSoon || this.#closing.signal.aborted ? null : this.#load()
  }

  start(): void {
    void this.refresh()
  }

  /** Ends a request that runs, and every wait for it. */
  close(): void {
    this.#closing.abort()
    this.#parts.timers.clear(this.#timer)
  }

  /** Never rejects. */
  #load(): Promise<void> {
    const { url, request, clock, timers, onLoad } = this.#parts
    this.#askedMs = clock.monotonic()
    timers.clear(this.#timer)
    const loading = request(url, this.#closing.signal)
      .then(
        (text) => this.#take(text),
        (error: Error) => error.message,
      )
      .then((problem) => {
        this.#loading = null
        if (this.#closing.signal.aborted) return
        const waitMs = problem === null ? REFRESH_MS : MINIMUM_REFRESH_MS
        this.#timer = timers.set(() => void this.#load(), waitMs)
        onLoad(problem)
      })
    this.#loading = loading
    return loading
  }

  /** Returns why a text is not in force; null if it is. */
  #take(text: string): string | null {
    if (text === this.#text) return null
    const reading = readKeySet(text)
    if ('problem' in reading) return reading.problem
    this.#text = text
    this.#set = reading
    this.onChange()
    return null
  }
}
