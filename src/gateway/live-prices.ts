// The prices in force as a gateway runs them: those of the hub, then those of its own file. Follows
// both, logs and counts loads.

import { hash } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { UnknownPrice } from '../core/config.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import type { PolicySet } from '../fleet/policy-set.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { FleetPrices, PolicyRefusal } from '../policy/fleet-policy.ts'
import { NO_PRICES, PriceBook } from '../prices/price-book.ts'
import { openPrices, type PriceSnapshot, parsePrices } from '../prices/price-file.ts'
import { loadCheckedOut } from '../rules/load.ts'
import { FileWatcher } from '../rules/watch.ts'
import { logWatching } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'

/** Globs in one line of the log, or in readiness. */
const MAXIMUM_NAMES = 20
/** Names the prices of the hub in problems. */
const OF_HUB = 'prices of the hub'

/** The own price file. */
interface OwnPrices {
  readonly path: string
  readonly unknownPrice: UnknownPrice
  /** As read before the start, without problems. */
  readonly snapshot: PriceSnapshot
}

interface LivePricesParts {
  /** Null without a price file. */
  readonly own: OwnPrices | null
  /** Null without a hub. */
  readonly hub: Pick<PolicySet, 'connect'> | null
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'priceReloads' | 'priceReloadTime'>
  readonly logger: GatewayLogger
}

/** Reads and parses a price file, once git does not write it. Never rejects. */
export const loadPrices = (path: string): Promise<PriceSnapshot> => loadCheckedOut(path, openPrices)

export class LivePrices {
  readonly #parts: LivePricesParts
  readonly #watcher: FileWatcher<PriceSnapshot> | null
  #own: PriceBook
  /** Null while the hub has none. */
  #hub: { readonly book: PriceBook; readonly unknownPrice: UnknownPrice } | null = null
  #book: PriceBook
  #problems: readonly Problem[] = []
  #hidden = ''

  /** Puts the prices in force; the file is followed from `start`. */
  constructor(parts: LivePricesParts) {
    const { own, hub, logger } = parts
    this.#parts = parts
    this.#own = own?.snapshot.book ?? NO_PRICES
    this.#book = this.#own
    this.#watcher =
      own &&
      new FileWatcher({
        path: own.path,
        open: openPrices,
        initial: own.snapshot,
        onSnapshot: (loaded) => this.#replace(loaded),
        onError: (error) => logger.error({ err: error }, 'the new prices could not be put in force'),
        onWatching: logWatching(logger, own.path, 'price file'),
      })
    hub?.connect({ prices: (sent) => this.#takeHub(sent) })
    if (own !== null) this.#count('ok')
  }

  /** The prices for a call that begins now. */
  current(): PriceBook {
    return this.#book
  }

  /** What limits of money do with a call without a price: as the hub says, if it has prices. */
  unknownPrice(): UnknownPrice {
    return this.#hub?.unknownPrice ?? this.#parts.own?.unknownPrice ?? 'block'
  }

  /** Errors of the file as it is; the prices in force are then those of an earlier one. */
  problems(): readonly Problem[] {
    return this.#problems
  }

  /** Globs of the own file that do not count, because the hub has prices for them. */
  get hidden(): string[] {
    const globs = new Set(this.#hub?.book.lines.map(({ glob }) => glob))
    return this.#own.lines
      .map(({ glob }) => glob)
      .filter((glob) => globs.has(glob))
      .slice(0, MAXIMUM_NAMES)
  }

  /** Resolves once the file is watched. */
  async start(): Promise<void> {
    await this.#watcher?.start()
  }

  /** Reads the file now, as on SIGHUP. */
  async reload(): Promise<void> {
    await this.#watcher?.reload()
  }

  async close(): Promise<void> {
    await this.#watcher?.close()
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
    this.#own = book
    this.#combine()
    logger.info({ revision: this.#book.revision, prices: this.#book.lines.length }, 'prices loaded')
  }

  /** Takes the prices of the hub whole or not at all. @returns why not */
  #takeHub({ revision, prices, unknown_price: unknownPrice }: FleetPrices): PolicyRefusal | null {
    if (revision === null) this.#hub = null
    else if (this.#hub?.book.revision === revision) this.#hub = { ...this.#hub, unknownPrice }
    else {
      const { book, problems } = parsePrices(prices, OF_HUB)
      const [first] = problems
      if (first !== undefined) return { rule: null, path: '', message: formatProblem(first) }
      this.#hub = { book, unknownPrice }
      const { logger } = this.#parts
      logger.info({ revision: book.revision, prices: book.lines.length }, 'prices of the hub are in force')
    }
    this.#combine()
    return null
  }

  /** The first glob that matches counts, so that the lines of the hub come first. */
  #combine(): void {
    const own = this.#own
    const hub = this.#hub?.book ?? NO_PRICES
    if (own.lines.length === 0) this.#book = this.#hub === null ? own : hub
    else if (hub.lines.length === 0) this.#book = own
    else {
      const revision = hash('sha256', `${hub.revision}\n${own.revision}`)
      this.#book = new PriceBook([...hub.lines, ...own.lines], revision)
    }
    const { hidden } = this
    const names = hidden.join('\n')
    if (names !== '' && names !== this.#hidden)
      this.#parts.logger.warn(
        { prices: hidden },
        'own prices do not count: the hub has prices for these globs',
      )
    this.#hidden = names
  }

  #count(result: 'ok' | 'error'): void {
    const { clock, metrics } = this.#parts
    metrics.priceReloads.inc({ result })
    if (result === 'ok') metrics.priceReloadTime.set(clock.now() / 1000)
  }
}
