// The logs of the simulated sidecars: all are sent after an outage, and in the end each is compared
// with the database.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { verifyLogs } from '../../src/hub-program.ts'
import { run } from '../ledger/postgres-server.ts'
import { until } from '../process/until.ts'
import type { ChaosLedger } from './chaos-ledger.ts'
import type { ChaosResult } from './chaos-report.ts'
import type { SimulatedSidecar } from './simulated-sidecar.ts'

/** Longest time in which all is sent. */
const CATCH_UP_MS = 300_000
const ALL_SENT_MS = 60_000

/** A log in the database. */
interface LogRow {
  readonly log_id: string
  readonly seq: string
  readonly hash: string
  readonly state: string
  readonly entries: string
  readonly newest: string
}

export class ChaosLogs {
  readonly #sidecars: readonly SimulatedSidecar[]
  #isHeld = false

  constructor(sidecars: readonly SimulatedSidecar[]) {
    this.#sidecars = sidecars
  }

  /** Whether the simulated sidecars may send. */
  readonly mayShip = (): boolean => !this.#isHeld

  /** Seals calls that cannot be sent yet, as in an outage. */
  async hold(entries: number): Promise<void> {
    this.#isHeld = true
    for (const one of this.#sidecars) {
      one.seal(entries)
      await nextTurn()
    }
  }

  /** Lets all send at once. Resolves when a hub has all. @returns after how long, milliseconds */
  async release(): Promise<number> {
    const startedMs = performance.now()
    this.#isHeld = false
    await until('all entries are sent', () => this.#isAllSent(), CATCH_UP_MS)
    return performance.now() - startedMs
  }

  /** Compares every log with what its sidecar has sealed, and verifies all. */
  async check(url: string, ledger: ChaosLedger): Promise<ChaosResult['logs']> {
    const startedMs = performance.now()
    await until('all entries are sent', () => this.#isAllSent(), ALL_SENT_MS).catch(() => {
      for (const { name, log } of this.#sidecars)
        if (log.next <= log.newest)
          ledger.violate('every entry is sent', `${name}: ${log.next} of ${log.newest}, ${log.ended}`)
    })
    const rows = (await run(
      url,
      `select h.log_id, h.seq, encode(h.hash, 'hex') as hash, h.state, count(e) as entries, max(e.seq) as newest
       from sidegate.log_head h left join sidegate.entry e using (log_id) group by h.log_id`,
    )) as LogRow[]
    const byLog = new Map(rows.map((row) => [row.log_id, row]))
    for (const { name, log } of this.#sidecars) {
      const row = byLog.get(log.log)
      const { acknowledged, newest } = log
      if (acknowledged === null) continue
      const isWhole =
        Number(row?.entries) === newest + 1 && Number(row?.newest) === newest && Number(row?.seq) === newest
      if (!isWhole || `sha256:${row?.hash}` !== acknowledged.hash)
        ledger.violate('each entry is stored once', `${name}: ${newest + 1} sealed, ${JSON.stringify(row)}`)
    }
    const conflicts = await run(url, 'select kind, count(*) from sidegate.conflict group by kind')
    if (conflicts.length > 0) ledger.violate('nothing conflicts', JSON.stringify(conflicts))
    const [checkpoints] = await run(url, 'select count(*) from sidegate.checkpoint')
    const verdicts = await verifyLogs(url, NO_EVIDENCE, () => {})
    for (const { sidecar, verdict } of verdicts)
      if (!verdict.ok) ledger.violate('every log verifies', `${sidecar}: ${JSON.stringify(verdict.findings)}`)
    return {
      count: rows.length,
      entries: rows.reduce((sum, { entries }) => sum + Number(entries), 0),
      checkpoints: Number(checkpoints?.count),
      verified_seconds: Math.round((performance.now() - startedMs) / 1000),
    }
  }

  #isAllSent(): boolean {
    return this.#sidecars.every(({ log }) => log.next > log.newest)
  }
}
