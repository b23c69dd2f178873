// The check of all logs in the background: one run at a time over all hubs, which any of them can
// cancel.

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { systemTimers } from '../../src/core/timers.ts'
import { FleetCheck } from '../../src/hub/fleet-check.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { openDatabase, partsOn } from '../ledger/fixture.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { until } from '../process/until.ts'

t.setTimeout(60_000)

const { hub, owner } = await fleetDatabase()
const { database, log } = partsOn(openDatabase(t, hub))
await log.open()
t.teardown(() => Promise.all(checks.map((one) => one.close())))
const checks: FleetCheck[] = []

/** The check of one hub. */
function checkOf(queries: Queries = database, onFailure: (error: unknown) => unknown = t.error) {
  const check = new FleetCheck({ queries, timers: systemTimers, newId: randomUUID, onFailure })
  checks.push(check)
  return check
}

const readsLogs = (statement: string) => statement.includes('from sidegate.log_head')

/** Logs are read once they are let through. */
function gated(): { readonly queries: Queries; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    queries: {
      rows: async (...statement) => {
        if (readsLogs(statement[0])) await promise
        return database.rows(...statement)
      },
    },
    open: resolve,
  }
}

const isRunning = async () => (await checkOf().status).running

t.test('a second start joins the run at any hub, and its verdict lists every log', async (t) => {
  const { queries, open } = gated()
  const [check, other] = [checkOf(queries), checkOf()]
  t.match(await other.status, { running: false, verdict: null, startedAtMs: null })
  const first = check.start()
  t.equal(check.start(), first)
  await until('it has begun', isRunning)
  const second = other.start()
  t.match(await other.status, { running: true, startedAtMs: Number, finishedAtMs: null })
  open()
  await Promise.all([first, second])
  for (const one of [check, other])
    t.match(await one.status, {
      ...{ running: false, progress: 1, finishedAtMs: Number, failure: null },
      verdict: { ok: true, entries: 1, damaged: 0, logs: [{ sidecar: null, ok: true }], omitted: 0 },
    })
})

t.test('a run that another hub cancelled has no verdict, and another can start', async (t) => {
  const { queries, open } = gated()
  const [check, other] = [checkOf(queries), checkOf()]
  await other.cancel()
  t.match(await check.status, { failure: null, verdict: { ok: true } }, 'nothing to cancel')
  const begun = check.start()
  await until('it has begun', isRunning)
  const cancelled = other.cancel()
  const isCancelled = async () => (await database.rows('select from log_check where is_cancelled')).length > 0
  await until('it is cancelled', isCancelled)
  const [{ at }] = await run(owner, 'select now() as at')
  const hasSeen = async () =>
    (await database.rows('select from log_check where seen_at > $1', [at])).length > 0
  await until('its hub has seen that', hasSeen)
  open()
  await Promise.all([begun, cancelled])
  t.match(await other.status, { running: false, verdict: null, failure: 'The check was cancelled.' })
  await check.start()
  t.match(await other.status, { verdict: { ok: true }, failure: null })
})

t.test('the run of a hub that was killed is over, and another hub can begin one', async (t) => {
  await run(owner, "update sidegate.log_check set finished_at = null, seen_at = now() - interval '11 s'")
  const check = checkOf()
  t.match(await check.status, { running: false, failure: /has ended; start the check again/ })
  await check.start()
  t.match(await check.status, { running: false, failure: null, verdict: { ok: true } })
})

t.test('a hub that stops ends its own run alone', async (t) => {
  const { queries, open } = gated()
  const [check, joined] = [checkOf(queries), checkOf()]
  const begun = check.start()
  await until('it has begun', isRunning)
  const waiting = joined.start()
  await joined.close()
  await waiting
  t.ok(await isRunning())
  const closed = check.close()
  open()
  await Promise.all([begun, closed])
  t.match(await checkOf().status, { running: false, failure: 'The check was cancelled.' })
})

t.test('logs that cannot be read are a failure, and no verdict', async (t) => {
  const failures: unknown[] = []
  const rows: Queries['rows'] = (...statement) =>
    readsLogs(statement[0]) ? Promise.reject(new Error('away')) : database.rows(...statement)
  const check = checkOf({ rows }, (error) => failures.push(error))
  await check.start()
  t.match(await check.status, { running: false, verdict: null, failure: 'away' })
  t.equal(failures.length, 1)
  const none = checkOf({ rows: () => Promise.reject(new Error('away')) })
  await t.rejects(none.start(), { message: 'away' })
  await t.rejects(none.status, { message: 'away' })
})
