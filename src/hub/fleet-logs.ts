// The part of a hub that takes the logs of sidecars: what stores and witnesses them, on connections
// of its own, what answers, and what notices that a log has ended without a word.

import type { Signer } from '../audit/note.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { KeptUser } from '../core/retention-section.ts'
import { systemTimers } from '../core/timers.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import { Database } from '../ledger/database.ts'
import { LedgerCheckpoints } from '../ledger/ledger-checkpoints.ts'
import { LogChecks } from '../ledger/log-checks.ts'
import type { LogStates } from '../ledger/log-states.ts'
import type { Outage } from '../ledger/outage.ts'
import { ShippedLogs } from '../ledger/shipped-logs.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { checkpointHandler } from './checkpoint-handler.ts'
import { CheckpointWitness } from './checkpoint-witness.ts'
import { keepConflicts } from './conflicts.ts'
import type { FleetTail } from './fleet-tail.ts'
import { Ingest } from './ingest.ts'
import { logHandler } from './log-handler.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Connections of the ingest, so that revocations never wait for entries. */
const INGEST_CONNECTIONS = 3
/** Interval of the search for logs that have ended without a word. */
const WATCH_MS: Milliseconds = 30_000

interface FleetLogsParts {
  /** URL of the database. */
  readonly url: string
  readonly outage: Outage
  readonly verify: (authorization: string | undefined) => Promise<SidecarIdentity>
  readonly states: LogStates
  /** Signs the checkpoints of the hubs' log. */
  readonly signer: Signer
  /** What is stored of the end users of calls. */
  readonly keptUser: KeptUser
  readonly tail: Pick<FleetTail, 'stored'>
  readonly clock: Clock
  readonly newId: () => string
  readonly logger: GatewayLogger
  readonly metrics: HubMetrics
}

export class FleetLogs {
  readonly #parts: FleetLogsParts
  readonly #database: Database
  readonly #checks: LogChecks
  readonly handler: ReturnType<typeof logHandler>
  #watch: NodeJS.Timeout | null = null
  #isFailing = false

  constructor(parts: FleetLogsParts) {
    this.#parts = parts
    const { logger, url, outage } = parts
    this.#database = new Database({
      ...{ url, outage, connections: INGEST_CONNECTIONS },
      onError: (error) => logger.warn({ err: error }, 'a connection to the database was lost'),
    })
    this.#checks = new LogChecks(this.#database)
    const logs = new ShippedLogs(this.#database, parts.keptUser)
    const timers = systemTimers
    const ingest = new Ingest({
      async store(shipments) {
        const results = await logs.store(shipments)
        parts.tail.stored(shipments, results)
        return results
      },
      timers,
    })
    const keep = keepConflicts(parts)
    const witness = new CheckpointWitness({
      ...parts,
      ...{ checkpoints: new LedgerCheckpoints(this.#database), keep },
    })
    const entries = logHandler({ ...parts, ingest, keep, timers })
    const checkpoints = checkpointHandler({ ...parts, witness })
    this.handler = (method, path) => entries(method, path) ?? checkpoints(method, path)
  }

  /** Looks for logs that are cut, and does so regularly from then on. */
  async start(): Promise<void> {
    await this.#look()
    this.#watch = setInterval(() => void this.#look(), WATCH_MS).unref()
  }

  /** Closes the connections, once what is being stored is. */
  async stop(): Promise<void> {
    if (this.#watch !== null) clearInterval(this.#watch)
    await this.#database.close()
  }

  async #look(): Promise<void> {
    const { states, logger, metrics } = this.#parts
    try {
      for (const { log_id: log, sidecar, seq } of await states.markCut())
        logger.error({ log, sidecar, seq }, 'a log ended without a stop entry, and its sidecar is not heard')
      metrics.logsCut.set(await states.countCut())
      // Any hub may have run the check.
      metrics.logsDamaged.set(await this.#checks.damaged())
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        logger.error({ err: error }, 'the search for cut and damaged logs failed; it is repeated')
      this.#isFailing = true
    }
  }
}
