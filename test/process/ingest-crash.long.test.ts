// A hub and its database that are killed while sidecars ship: what was acknowledged is there, and
// nothing is there twice.

import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { logPath, printShipment, SHIPMENT_TYPE } from '../../src/fleet/shipping.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { RunningFleet } from '../fleet/running-fleet.ts'
import { openDatabase } from '../ledger/fixture.ts'
import { id } from '../store/fixture.ts'
import { fetchInTime } from './until.ts'

t.setTimeout(180_000)

const LOGS = 10
const ENTRIES = 800
const BATCH = 60
const KILLS = 4
/** Pause before a request that failed is sent again. */
const RETRY_MS = 50

/** Ships a log as a sidecar does. Adds the newest acknowledged entry to `acknowledged`. */
async function ship(
  { log, entries }: SidecarLog,
  { url, token, acknowledged }: { url: string; token: string; acknowledged: Map<string, number> },
): Promise<void> {
  for (let from = 0; from < entries.length; ) {
    const answer = await fetchInTime(url + logPath(log), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': SHIPMENT_TYPE },
      body: printShipment(entries.slice(from, from + BATCH)),
    }).catch(() => null)
    const body = answer === null ? null : ((await answer.json().catch(() => null)) as any)
    if (answer?.status === 200 && body !== null) {
      acknowledged.set(log, body.seq)
      from = body.seq + 1
    } else if (answer?.status === 409 && 'want' in (body ?? {})) from = body.want
    else if (answer?.status === 409) throw new Error(JSON.stringify(body))
    else await delay(RETRY_MS)
  }
}

t.test('kills of hub and database lose no acknowledged entry and store none twice', async (t) => {
  const fleet = new RunningFleet({ pods: [], maxStaleSeconds: 60 })
  t.teardown(() => fleet.stop())
  await fleet.start()
  const hub = fleet.hubs[0]!
  const acknowledged = new Map<string, number>()
  const logs = Array.from({ length: LOGS }, (_, n) => new SidecarLog(id(n), Date.now()).addMany(ENTRIES))
  const shipping = logs.map(async (log, n) => {
    const token = await fleet.tokenOf(`pod-${n}`)
    await ship(log, { url: hub.url, token, acknowledged })
  })
  const shipped = Promise.all(shipping)
  const database = openDatabase(t, fleet.urlAs('owner'))
  for (let kill = 0; kill < KILLS; kill++) {
    await delay(200 + 100 * kill)
    const before = new Map(acknowledged)
    if (kill === 2) {
      await fleet.postgres.kill()
      await fleet.postgres.start()
    } else {
      hub.child.signal('SIGKILL')
      await hub.child.exited
    }
    const stored = await database.rows<{ log_id: string; seq: number }>('select log_id, seq from log_head')
    const heads = new Map(stored.map(({ log_id, seq }) => [log_id, seq]))
    for (const [log, seq] of before) t.ok((heads.get(log) ?? -1) >= seq, `kill ${kill}: ${log}`)
    if (kill !== 2) hub.child = await fleet.startHub(hub.file)
  }
  await shipped
  const verdicts = await verifyLogs(new StoredLogs(database), NO_EVIDENCE, () => {})
  t.equal(verdicts.length, LOGS + 1)
  for (const { sidecar, verdict } of verdicts) {
    t.match(verdict, { ok: true, findings: [] })
    if (sidecar !== null) t.equal(verdict.entries, ENTRIES + 1)
  }
  const [count] = await database.rows<{ rows: number }>(
    'select count(*) as rows from entry where log_id <> (select log_id from log_head where sidecar is null)',
  )
  t.equal(count?.rows, LOGS * (ENTRIES + 1))
})
