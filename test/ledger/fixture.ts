// The parts of a hub on a database of its own.

import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { Database } from '../../src/ledger/database.ts'
import { HubLog } from '../../src/ledger/hub-log.ts'
import { JoinTokens } from '../../src/ledger/join-tokens.ts'
import { KeyLedger } from '../../src/ledger/key-ledger.ts'
import { SessionLedger } from '../../src/ledger/session-ledger.ts'
import { testClock } from '../store/fixture.ts'

/** Connects to a database until the test ends. */
export function openDatabase(t: Test, url: string): Database {
  const database = new Database({ url, connections: 4, onError: () => {} })
  t.teardown(() => database.close())
  return database
}

export function partsOn(database: Database, clock = testClock()) {
  const shared = { database, clock, random: (length: number) => randomBytes(length) }
  const log = new HubLog(shared)
  return {
    database,
    clock,
    log,
    keys: new KeyLedger({ ...shared, log }),
    joinTokens: new JoinTokens({ ...shared, log }),
    sessions: new SessionLedger({ ...shared, log }),
  }
}
