// Asks the recognisers of the configuration about the texts of calls: each new text once, within
// bounds of time, size and parallel requests. Keeps hashes and offsets, and no texts.

import { hash } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { RecogniserConfig } from '../core/recogniser-config.ts'
import { endOfTurn, Pace } from '../core/steps.ts'
import { AnalyzerClient, MAXIMUM_REQUESTS, RecogniserError, type RequestResult } from './analyzer-client.ts'
import { JoinedValues, type TextWindow, windowsOf } from './sentences.ts'
import { type RecognisedValue, withoutPlaceholders } from './values.ts'

/**
 * Maximum texts in the younger half of the cache of a recogniser. When it is full, the older half
 * goes.
 */
const MAXIMUM_CACHED_TEXTS = 8192
/** Maximum values cached for one text. A text with more is sent again. */
const MAXIMUM_CACHED_VALUES = 64
/** Maximum values in one text. More are no answer: no prose names something so often. */
const MAXIMUM_VALUES = 32_768
/** Maximum requests of one call under way. */
const MAXIMUM_REQUESTS_OF_CALL = 8
/** Maximum requests that wait for a place. */
const MAXIMUM_WAITING = 8192
/** Maximum time that one call waits for its texts. A long conversation takes many requests. */
const MAXIMUM_WAIT_MS: Milliseconds = 60_000

/** Who waits for the answer. */
export interface Asking {
  /** Findings are remembered for each key alone, as in the scan cache. */
  readonly keyId: string
  /** Prompts go to every recogniser, answers to those that read them. */
  readonly place: 'prompt' | 'answer'
  /** Aborted when the client leaves. */
  readonly left: AbortSignal
}

/** Counts a request by its result. */
export type CountRequest = (recogniser: string, result: RequestResult) => void

export class Recognisers {
  readonly #all: readonly Recogniser[]
  /** Whether one of them reads answers. */
  readonly readsAnswers: boolean

  constructor(configs: readonly RecogniserConfig[], clock: Pick<Clock, 'monotonic'>, count: CountRequest) {
    this.#all = configs.map((config) => new Recogniser(config, clock, count))
    this.readsAnswers = configs.some(({ streams }) => streams === 'sentences')
  }

  /**
   * Resolves with the values in each of the texts, by their starts. They may overlap: which counts
   * depends on what the rules do with them.
   * @throws GatewayError (rejects) `recogniser_unavailable` when one with `onError: block` fails
   */
  async find(texts: readonly string[], asking: Asking): Promise<readonly (readonly RecognisedValue[])[]> {
    const asked = this.#all.filter(
      ({ config }) => asking.place === 'prompt' || config.streams === 'sentences',
    )
    const found = await Promise.all(asked.map((one) => one.find(texts, asking)))
    return texts.map((_, index) =>
      found.flatMap((values) => values[index]!).sort((a, b) => a.start - b.start || b.end - a.end),
    )
  }

  close(): void {
    for (const one of this.#all) one.close()
  }
}

class Recogniser {
  readonly config: RecogniserConfig
  readonly #client: AnalyzerClient
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #count: CountRequest
  readonly #places = new Places()
  #recent = new Map<string, readonly RecognisedValue[]>()
  #older = new Map<string, readonly RecognisedValue[]>()

  constructor(config: RecogniserConfig, clock: Pick<Clock, 'monotonic'>, count: CountRequest) {
    this.config = config
    this.#client = new AnalyzerClient(config)
    this.#clock = clock
    this.#count = count
  }

  close(): void {
    this.#client.close()
  }

  /** As in Recognisers, for this one. After the first failure it asks for no further text. */
  async find(texts: readonly string[], asking: Asking): Promise<readonly (readonly RecognisedValue[])[]> {
    const failed = new AbortController()
    const end = AbortSignal.any([failed.signal, asking.left])
    const found: FoundInWindow[][] = texts.map(() => [])
    const requests = this.#requestsFor(texts, found, asking.keyId)
    const startMs = this.#clock.monotonic()
    let failure: RecogniserError | null = null
    const work = async (): Promise<void> => {
      for (let next = requests.next(); !next.done && failure === null; next = requests.next()) {
        try {
          if (this.#clock.monotonic() - startMs > MAXIMUM_WAIT_MS)
            throw new RecogniserError('timeout', `its answers take more than ${MAXIMUM_WAIT_MS} ms`)
          await next.value(end)
        } catch (error) {
          failure ??= error instanceof RecogniserError ? error : new RecogniserError('invalid', 'it fails')
          failed.abort()
        }
      }
    }
    await Promise.all(Array.from({ length: MAXIMUM_REQUESTS_OF_CALL }, work))
    if (asking.left.aborted) throw new GatewayError('upstream_unavailable', 'The client has left.')
    const joined = found.map((windows) =>
      countValues(windows) > MAXIMUM_VALUES ? null : joinWindows(windows),
    )
    const tooMany = `it names more than ${MAXIMUM_VALUES} values in one text`
    if (failure !== null) this.#fail(failure)
    else if (joined.includes(null)) this.#fail(new RecogniserError('invalid', tooMany))
    return joined.map((values) => values ?? [])
  }

  /** Counts a failure. @throws GatewayError with `onError: block` */
  #fail({ result, message }: RecogniserError): void {
    const { name, onError } = this.config
    this.#count(name, result)
    if (onError === 'ignore') return
    throw new GatewayError(
      'recogniser_unavailable',
      `The recogniser ${name} does not judge the texts of this call: ${message}. Send the call again later.`,
      { headers: { 'retry-after': '1' } },
    )
  }

  /** Yields a request for each window of the texts whose values are not known, and pauses. */
  *#requestsFor(
    texts: readonly string[],
    found: readonly FoundInWindow[][],
    keyId: string,
  ): Generator<(end: AbortSignal) => Promise<void>> {
    const pace = new Pace()
    for (const [index, text] of texts.entries()) {
      for (const window of windowsOf(text)) {
        if (pace.isOver(window.text.length)) yield endOfTurn
        if (!mayHoldValue(window.text)) continue
        const add = (values: readonly RecognisedValue[]) => void found[index]!.push({ window, values })
        const name = hash('sha256', window.text.toWellFormed(), 'base64url') + keyId
        const known = this.#known(name)
        if (known === undefined) yield (end) => this.#ask(window.text, name, end).then(add)
        else add(known)
      }
    }
  }

  async #ask(text: string, name: string, end: AbortSignal): Promise<readonly RecognisedValue[]> {
    await this.#places.take()
    try {
      // It may be known by now: neighbouring texts of a call are often equal.
      const known = this.#known(name)
      if (known !== undefined) return known
      const values = withoutPlaceholders(text, await this.#client.ask(text, end))
      this.#count(this.config.name, 'ok')
      if (values.length <= MAXIMUM_CACHED_VALUES) this.#keep(name, values)
      return values
    } finally {
      this.#places.release()
    }
  }

  #known(name: string): readonly RecognisedValue[] | undefined {
    const recent = this.#recent.get(name)
    if (recent !== undefined) return recent
    const older = this.#older.get(name)
    if (older !== undefined) this.#keep(name, older)
    return older
  }

  #keep(name: string, values: readonly RecognisedValue[]): void {
    if (this.#recent.size >= MAXIMUM_CACHED_TEXTS) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(name, values)
  }
}

/** What a window of a text holds. Offsets count in the window. */
interface FoundInWindow {
  readonly window: TextWindow
  readonly values: readonly RecognisedValue[]
}

const countValues = (found: readonly FoundInWindow[]): number =>
  found.reduce((sum, { values }) => sum + values.length, 0)

function joinWindows(found: FoundInWindow[]): readonly RecognisedValue[] {
  const joined = new JoinedValues<RecognisedValue>()
  return found
    .sort((a, b) => a.window.start - b.window.start)
    .flatMap(({ window, values }) =>
      joined.add(
        window,
        values.map(({ kind, start, end }) => ({
          ...{ kind, start: start + window.start, end: end + window.start },
        })),
      ),
    )
}

/** A text without a letter or a digit names nothing; the analyzer refuses an empty one. */
const mayHoldValue = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

/** The places for requests at a recogniser, first come, first served. */
class Places {
  #free = MAXIMUM_REQUESTS
  readonly #waiting: (() => void)[] = []

  /** @throws RecogniserError (rejects) for more than MAXIMUM_WAITING requests */
  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    if (this.#waiting.length >= MAXIMUM_WAITING)
      throw new RecogniserError('overloaded', `more than ${MAXIMUM_WAITING} texts wait for it`)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
