// What a hub does now and then, also for the others: makes months ahead, continues erasures and
// removes what is too old.

import type { Milliseconds } from '../core/clock.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { AnswerOwners } from '../ledger/answer-owners.ts'
import type { Erasures } from '../ledger/erasures.ts'
import { ExchangeExpiry } from '../ledger/exchange-expiry.ts'
import type { HubLog } from '../ledger/hub-log.ts'
import type { LimitLedger } from '../ledger/limit-ledger.ts'
import { asOnlyHub, MonthRetention, type RetentionParts } from '../ledger/month-retention.ts'
import type { UsageUpkeep } from '../ledger/usage-upkeep.ts'

/** Interval at which the months of entries are made ahead, and of retention. */
const HOUR_MS: Milliseconds = 3_600_000
/** Interval at which sums of usage are packed, and rows of stored answers removed. */
const SUMS_MS: Milliseconds = 300_000
/** Interval at which orders of erasure are looked at. */
const ORDERS_MS: Milliseconds = 10_000

/** Interval at which rows of limits that no window reaches are removed. */
const LIMITS_MS: Milliseconds = 60_000

interface UpkeepParts extends RetentionParts {
  readonly log: Pick<HubLog, 'change' | 'makePartitions'>
  readonly erasures: Pick<Erasures, 'maintain'>
  readonly limits: Pick<LimitLedger, 'sweep'>
  readonly sums: Pick<UsageUpkeep, 'run'>
  readonly owners: Pick<AnswerOwners, 'sweep'>
  readonly logger: GatewayLogger
}

/** One kind of work, which does not run twice at a time. */
interface Task {
  readonly intervalMs: Milliseconds
  readonly run: () => Promise<void>
  /** Why the log has a line when it fails. */
  readonly failure: string
}

export class Upkeep {
  readonly #tasks: readonly Task[]
  readonly #logger: GatewayLogger
  readonly #running = new Map<Task, Promise<void>>()
  #timers: NodeJS.Timeout[] = []

  constructor(parts: UpkeepParts) {
    const { log, erasures, limits, sums, owners, logger } = parts
    this.#logger = logger
    this.#tasks = [
      {
        intervalMs: HOUR_MS,
        run: () => log.makePartitions(),
        failure: 'the next months of entries could not be made; it is retried',
      },
      {
        intervalMs: ORDERS_MS,
        run: () => erasures.maintain(),
        failure: 'orders of erasure could not be continued; it is retried',
      },
      {
        intervalMs: LIMITS_MS,
        run: () => limits.sweep(),
        failure: 'rows of limits that no window reaches could not be removed; it is retried',
      },
      {
        intervalMs: SUMS_MS,
        run: () => sums.run(),
        failure: 'sums of usage could not be packed; it is retried',
      },
      {
        intervalMs: SUMS_MS,
        run: () => owners.sweep(),
        failure: 'rows of stored answers whose time is over could not be removed; it is retried',
      },
      {
        intervalMs: HOUR_MS,
        run: () => removeOld(parts),
        failure: 'what is too old could not be removed; it is retried in an hour',
      },
    ]
  }

  start(): void {
    this.#timers = this.#tasks.map((task) => {
      this.#begin(task)
      return setInterval(() => this.#begin(task), task.intervalMs).unref()
    })
  }

  /** Resolves once no work runs. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#running.values())
  }

  #begin(task: Task): void {
    if (this.#running.has(task)) return
    const running = task
      .run()
      .catch((error) => this.#logger.error({ err: error }, task.failure))
      .then(() => {
        this.#running.delete(task)
      })
    this.#running.set(task, running)
  }
}

/** Drops months and removes exchanges that are too old, unless another hub does. */
const removeOld = ({ logger, ...parts }: UpkeepParts): Promise<void> =>
  asOnlyHub(parts.database, async () => {
    const months = await new MonthRetention(parts).run()
    if (months.length > 0) logger.info({ months }, 'months of entries were dropped')
    const exchanges = await new ExchangeExpiry(parts).run()
    if (exchanges > 0) logger.info({ exchanges }, 'exchanges were removed by audit.retain')
  })
