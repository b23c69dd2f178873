// The prices in force as a gateway runs them: follows the price file, logs and counts its loads.

import type { Clock } from '../core/clock.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { openPrices, type PriceSnapshot } from '../prices/price-file.ts'
import { loadCheckedOut } from '../rules/load.ts'
import { FileWatcher } from '../rules/watch.ts'
import { logWatching } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'

interface LivePricesParts {
  /** The price file. */
  readonly path: string
  /** The file as read before the start, without problems. */
  readonly snapshot: PriceSnapshot
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'priceReloads' | 'priceReloadTime'>
  readonly logger: GatewayLogger
}

/** Reads and parses a price file, once git does not write it. Never rejects. */
export const loadPrices = (path: string): Promise<PriceSnapshot> => loadCheckedOut(path, openPrices)

export class LivePrices {
  readonly #parts: Omit<LivePricesParts, 'snapshot'>
  readonly #watcher: FileWatcher<PriceSnapshot>
  #book: PriceBook
  #problems: readonly Problem[] = []

  /** Puts the file in force; it is followed from `start`. */
  constructor({ snapshot, ...parts }: LivePricesParts) {
    const { path, logger } = parts
    this.#parts = parts
    this.#book = snapshot.book
    this.#watcher = new FileWatcher({
      path,
      open: openPrices,
      initial: snapshot,
      onSnapshot: (loaded) => this.#replace(loaded),
      onError: (error) => logger.error({ err: error }, 'the new prices could not be put in force'),
      onWatching: logWatching(logger, path, 'price file'),
    })
    this.#count('ok')
  }

  /** The prices for a call that begins now. */
  current(): PriceBook {
    return this.#book
  }

  /** Errors of the file as it is; the prices in force are then those of an earlier one. */
  problems(): readonly Problem[] {
    return this.#problems
  }

  /** Resolves once the file is watched. */
  start(): Promise<void> {
    return this.#watcher.start()
  }

  /** Reads the file now, as on SIGHUP. */
  reload(): Promise<void> {
    return this.#watcher.reload()
  }

  close(): Promise<void> {
    return this.#watcher.close()
  }

  /** Takes a file whole or not at all. */
  #replace({ book, problems }: PriceSnapshot): void {
    const { logger } = this.#parts
    this.#problems = problems
    this.#count(problems.length === 0 ? 'ok' : 'error')
    if (problems.length > 0) {
      const errors = problems.map(formatProblem)
      logger.error({ errors }, 'the price file has errors; the last good prices stay in force')
      return
    }
    this.#book = book
    logger.info({ revision: book.revision, prices: book.lines.length }, 'prices loaded')
  }

  #count(result: 'ok' | 'error'): void {
    const { clock, metrics } = this.#parts
    metrics.priceReloads.inc({ result })
    if (result === 'ok') metrics.priceReloadTime.set(clock.now() / 1000)
  }
}
