// The check of all logs in the background: one run at a time, which can be cancelled.

import t from 'tap'
import { FleetCheck } from '../../src/hub/fleet-check.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { openDatabase, partsOn } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'

t.setTimeout(60_000)

const { hub } = await fleetDatabase()
const { database, log, clock } = partsOn(openDatabase(t, hub))
await log.open()

/** Statements wait until they are let through. */
function gated(): { readonly queries: Queries; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    queries: {
      rows: async (...statement) => {
        await promise
        return database.rows(...statement)
      },
    },
    open: resolve,
  }
}

t.test('a second start joins the run, and its verdict lists every log', async (t) => {
  const { queries, open } = gated()
  const check = new FleetCheck({ queries, clock, onFailure: (error) => t.error(error) })
  t.match(check.status, { running: false, verdict: null, startedAtMs: null })
  const [first, second] = [check.start(), check.start()]
  t.equal(first, second)
  t.match(check.status, { running: true, startedAtMs: clock.now() })
  open()
  await first
  t.match(check.status, {
    ...{ running: false, progress: 1, finishedAtMs: clock.now(), failure: null },
    verdict: { ok: true, entries: 1, damaged: 0, logs: [{ sidecar: null, ok: true }], omitted: 0 },
  })
})

t.test('a cancelled run has no verdict, and another can start', async (t) => {
  const { queries, open } = gated()
  const check = new FleetCheck({ queries, clock, onFailure: (error) => t.error(error) })
  await check.cancel()
  t.match(check.status, { failure: null }, 'nothing to cancel')
  const run = check.start()
  const cancelled = check.cancel()
  open()
  await Promise.all([run, cancelled])
  t.match(check.status, { running: false, verdict: null, failure: 'The check was cancelled.' })
  await check.start()
  t.match(check.status, { verdict: { ok: true }, failure: null })
})

t.test('a database that cannot be read is a failure, and no verdict', async (t) => {
  const failures: unknown[] = []
  const check = new FleetCheck({
    queries: { rows: () => Promise.reject(new Error('away')) },
    clock,
    onFailure: (error) => failures.push(error),
  })
  await check.start()
  t.match(check.status, { running: false, verdict: null, failure: 'away' })
  t.equal(failures.length, 1)
})
