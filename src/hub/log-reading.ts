// Reads the stored logs for the management API, on connections of its own: a long search delays no
// change of a key and no sidecar that ships.

import { randomUUID } from 'node:crypto'
import { type Milliseconds, systemClock } from '../core/clock.ts'
import type { HubConfig } from '../core/hub-config.ts'
import { systemTimers } from '../core/timers.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import { ArrivalReading } from '../ledger/arrived-calls.ts'
import { Database } from '../ledger/database.ts'
import { LedgerReceipts } from '../ledger/ledger-receipts.ts'
import type { Outage } from '../ledger/outage.ts'
import { FleetCheck } from './fleet-check.ts'
import { FleetTail } from './fleet-tail.ts'

const CONNECTIONS = 4
/** Longest time for one statement. */
const STATEMENT_MS: Milliseconds = 5000

export class LogReading {
  readonly database: Database
  readonly check: FleetCheck
  readonly receipts: LedgerReceipts
  readonly tail: FleetTail

  constructor({ database }: Pick<HubConfig, 'database'>, outage: Outage, logger: GatewayLogger) {
    this.database = new Database({
      url: database.url!.current(),
      connections: CONNECTIONS,
      statementMs: STATEMENT_MS,
      outage,
      onError: (error) => logger.warn({ err: error }, 'a connection to the database was lost'),
    })
    this.receipts = new LedgerReceipts(this.database, systemClock)
    this.tail = new FleetTail({
      reading: new ArrivalReading(this.database),
      ...{ clock: systemClock, timers: systemTimers, logger },
    })
    this.check = new FleetCheck({
      ...{ queries: this.database, timers: systemTimers, newId: randomUUID },
      onFailure: (error) => logger.error({ err: error }, 'the logs could not be verified'),
    })
  }

  /** Ends a check that this hub runs, and closes the connections. */
  async close(): Promise<void> {
    await this.check.close()
    await this.database.close()
  }
}
