// Measures the database of hubs, by hand on a server of its own that writes to disk:
// `node test/bench/fleet.ts ingest` what the sums of usage cost beside the entries they are made of,
// `node test/bench/fleet.ts read [combinations]` reports of a month whose days have so many, half by
// sidecar, and the first page of the log.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { checkArrival } from '../../src/audit/arrival.ts'
import { systemClock } from '../../src/core/clock.ts'
import { atOnce } from '../../src/core/steps.ts'
import { Database } from '../../src/ledger/database.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import { HubLog } from '../../src/ledger/hub-log.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { type Shipment, ShippedLogs } from '../../src/ledger/shipped-logs.ts'
import { UsageReading } from '../../src/ledger/usage-reading.ts'
import { FleetUsage } from '../../src/ledger/usage-sums.ts'
import { SUM_COUNT } from '../../src/usage/call-sums.ts'
import { dayOfHour, hourOf } from '../../src/usage/periods.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { run, startServer } from '../ledger/postgres-server.ts'

const SHIPPED_ENTRIES = 200
const SIDECARS = 10
/** Transactions of each kind, with sums and without. */
const ROUNDS = 16
const STORED_ENTRIES = 200_000
const READ_RUNS = 5
const MONTH_MS = 30 * 86_400_000
const NANOSECONDS_PER_MS = 1e6

const server = await startServer({ isDurable: true })
await run(server.urlOf('postgres', server.owner), 'create database fleet')
await migrate(server.urlOf('fleet', server.owner))
const OPTIONS = { connections: 1, statementMs: 600_000, onError: () => {} }
const database = new Database({ ...OPTIONS, url: server.urlOf('fleet', 'sidegate_hub') })
await new HubLog({ database, clock: systemClock, random: (length) => Buffer.alloc(length, 1) }).open()

/**
 * Seals calls at some sidecars and ships them, every second time without counting them.
 * @param rows of sums that a transaction writes: half by combination, half by sidecar besides
 */
async function measureIngest(rows: number): Promise<void> {
  const ofSidecar = rows / 2 / SIDECARS
  const logs = new ShippedLogs(database, 'clear')
  const sidecars = Array.from({ length: SIDECARS }, (_, at) => ({
    ...{ name: `bench/${rows}-${at}`, own: new SidecarLog(randomUUID(), Date.now()), sent: 0 },
  }))
  const shipments = (isCounted: boolean): Shipment[] =>
    sidecars.map((sidecar, at) => {
      const { own, name } = sidecar
      while (own.entries.length < sidecar.sent + SHIPPED_ENTRIES) {
        const one = own.entries.length % ofSidecar
        const key_id = `key-${at}-${one % 20}`
        own.add(requestDraft({ id: randomUUID(), key_id, key_name: key_id, model: `model-${one}` }))
      }
      const fresh = own.entries.slice(sidecar.sent, sidecar.sent + SHIPPED_ENTRIES)
      sidecar.sent += SHIPPED_ENTRIES
      const checked = atOnce(checkArrival(own.log, fresh, COLUMN_READER))
      if ('reason' in checked) throw new Error(checked.reason)
      const entries = isCounted
        ? checked
        : checked.map((one) => ({ ...one, kept: { ...one.kept, call: null } }))
      return { log: own.log, sidecar: name, name, entries, beginning: null }
    })
  for (let warm = 0; warm < 4; warm++) await logs.store(shipments(warm % 2 === 0))
  const costs = { counted: new Cost(), bare: new Cost() }
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const batch = shipments(round % 2 === 0)
    await (round % 2 === 0 ? costs.counted : costs.bare).add(() => logs.store(batch))
  }
  const { counted, bare } = costs
  const more = (of: (cost: Cost) => number) => `+${Math.round(100 * (of(counted) / of(bare) - 1))} %`
  console.log(
    `${rows} rows of sums a transaction, load ${loadavg()[0]!.toFixed(1)}\n  bare     ${bare.text}\n  counted  ${counted.text}\n  more     median ${more((one) => one.medianMs)}, client ${more((one) => one.clientMs)}, server ${more((one) => one.serverMs)}, client and server ${more((one) => one.clientMs + one.serverMs)}`,
  )
}

/** Time of some transactions. */
class Cost {
  readonly #times: number[] = []
  clientMs = 0
  serverMs = 0

  async add(work: () => Promise<unknown>): Promise<void> {
    const [row] = await database.rows<{ pid: number }>('select pg_backend_pid() as pid')
    const before = { ...process.cpuUsage(), server: serverCpuMs(row!.pid), at: performance.now() }
    await work()
    this.#times.push(performance.now() - before.at)
    const { user, system } = process.cpuUsage(before)
    this.clientMs += (user + system) / 1000
    this.serverMs += serverCpuMs(row!.pid) - before.server
  }

  get medianMs(): number {
    return this.#times.toSorted((a, b) => a - b)[this.#times.length >> 1]!
  }

  get text(): string {
    const rows = SIDECARS * SHIPPED_ENTRIES
    const each = (ms: number) => (ms / this.#times.length).toFixed(1)
    return `median ${this.medianMs.toFixed(1)} ms, ${Math.round(rows / (this.medianMs / 1000))} rows/s, client ${each(this.clientMs)} ms, server ${each(this.serverMs)} ms of CPU`
  }
}

/** Returns the CPU time of a back end. */
const serverCpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / NANOSECONDS_PER_MS

/** @param combinations of each day; a gateway's bound is 12,000 of calls */
async function measureReads(combinations: number): Promise<void> {
  const owner = new Database({ ...OPTIONS, url: server.urlOf('fleet', server.owner) })
  const nowMs = Date.now()
  const today = dayOfHour(hourOf(nowMs))
  const sums = (one: string) => `array[${Array.from({ length: SUM_COUNT }, () => one).join(', ')}]::bigint[]`
  const fill = (statement: string, ...values: readonly number[]) => owner.rows(statement, values)
  await owner.rows('set search_path = sidegate')
  await fill(
    `insert into combination (hash, part, key_id, key_name, model, api, labels, sidecar, last_day)
     select sha256(n::text::bytea), case n % 2 when 0 then 'call' else 'sidecar' end, 'key-' || n % 200, 'name',
       'model-' || n % 37, 'chat', jsonb_build_object('team', 't' || n % 20), case n % 2 when 1 then 's' || n % 999 end, $2
     from generate_series(1, $1::integer) n`,
    ...[combinations, today],
  )
  await fill(
    `insert into usage_day select day, 1, n, ${sums('n')}
     from generate_series($2::integer - 31, $2::integer - 1) day, generate_series(1, $1::integer) n`,
    ...[combinations, today],
  )
  await fill(
    `insert into entry (received_at, log_id, seq, hash, created_at, type, call_id, key_id, rule_triggers, body)
     select now(), $2::text::uuid, n, sha256(convert_to(E'sidegate-audit/v1/entry\\n', 'UTF8') || convert_to(n::text, 'UTF8')),
       now() - n * interval '1 second', 'request', n::text, 'key-' || n % 200, 0, convert_to(n::text, 'UTF8')
     from generate_series(1, $1::integer) n`.replace('$2::text', `'${randomUUID()}'`),
    STORED_ENTRIES,
  )
  await owner.rows('vacuum analyze')
  await owner.close()
  const usage = new FleetUsage(database, systemClock)
  for (const groupBy of [['key'], ['key', 'model'], ['label:team', 'day'], ['sidecar']] as const)
    await time(`a month by ${groupBy.join()}`, () =>
      usage.report({ groupBy: [...groupBy], sinceMs: nowMs - MONTH_MS, untilMs: nowMs }),
    )
  const log = new UsageReading({ queries: database, fleetKey: Buffer.alloc(1) })
  await time(`the first page of ${STORED_ENTRIES} calls`, () => log.list({ limit: 50, offset: 0 }))
}

async function time(what: string, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = []
  for (let run = 0; run < READ_RUNS; run++) {
    const startMs = performance.now()
    await work()
    times.push(performance.now() - startMs)
  }
  const sorted = times.toSorted((a, b) => a - b).map((ms) => Math.round(ms))
  console.log(`${what}: ${sorted[0]} to ${sorted.at(-1)} ms, load ${loadavg()[0]!.toFixed(1)}`)
}

try {
  const [what, size = '2000'] = process.argv.slice(2)
  if (what === 'ingest') for (const rows of [40, 400, 2000]) await measureIngest(rows)
  else if (what === 'read' && Number(size) > 0) await measureReads(Number(size))
  else throw new Error('give ingest, or read and a number of combinations')
} finally {
  await database.close()
  await server.stop()
}
