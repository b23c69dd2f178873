// Measures the usage log: sealing, appending, listing, `audit verify`, erasing and pruning. Prints
// a markdown table.
// Usage: npx node test/bench/audit.ts [--entries 1000000] [--verify]
// --verify only fills a log and verifies it. Files go to TMPDIR; "durable" means a disk only if
// TMPDIR is on one.

import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { genesis, type Head, seal } from '../../src/audit/chain.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import type { UsageQuery } from '../../src/audit/usage-query.ts'
import { exportLog } from '../../src/cli/audit-export.ts'
import { systemClock } from '../../src/core/clock.ts'
import { uuidv7Source } from '../../src/core/ids.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'
import { DirectorySource } from '../../src/store/verification/directory.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import type { LogSource } from '../../src/store/verification/log-source.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { draftOf, EXCHANGE, fillLog } from './filled.ts'
import { median } from './report.ts'

const CALLERS = 128
const SEALED = 100_000
const PAGES = 21
const DAY_MS = 86_400_000
const TIB = 1024 ** 4

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '1000000' },
    verify: { type: 'boolean', default: false },
  },
})
const entries = Number(values.entries)
const folder = mkdtempSync(join(tmpdir(), 'sidegate-audit-bench-'))
/** The best of these counts: other work on the machine makes a run longer, never shorter. */
const VERIFICATIONS = 3
const newId = uuidv7Source(() => systemClock.now(), randomBytes)
const rows: string[] = ['| what | figure |', '|---|---|']
const add = (what: string, figure: string) => {
  rows.push(`| ${what} | ${figure} |`)
  console.error(`${what}: ${figure}`)
}

const open = (name: string, options: Partial<StoreOptions> = {}): Store =>
  openStore({ path: join(folder, name), clock: systemClock, random: randomBytes, maxBytes: TIB, ...options })

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

/** CPU of canonical form, hashes and tree of an entry, without the database. */
function measureSealing(): void {
  const drafts = Array.from({ length: SEALED }, (_, n) => draftOf(n, systemClock.now()))
  const first = genesis(
    newId(),
    { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' },
    0,
  )
  let head: Head = { log: first.entry.log, seq: 0, hash: first.hash }
  const frontier = Frontier.empty()
  const { user, system } = process.cpuUsage()
  for (const each of drafts) {
    const { entry, hash } = seal(head, each, 0, null)
    frontier.push(leafHash(hash))
    head = { log: head.log, seq: entry.seq, hash }
  }
  const used = process.cpuUsage()
  add('sealing, CPU an entry', `${((used.user + used.system - user - system) / SEALED).toFixed(1)} µs`)
}

async function measureAppending(): Promise<void> {
  const store = open('appending')
  let sealed = 0
  const times: number[] = []
  const caller = async () => {
    while (sealed < SEALED) {
      const each = draftOf(sealed++, systemClock.now())
      times.push(await timed(() => store.log.append(each, { content: EXCHANGE })))
    }
  }
  const cpu = process.cpuUsage()
  const spentMs = await timed(() => Promise.all(Array.from({ length: CALLERS }, caller)))
  const { user, system } = process.cpuUsage(cpu)
  const ascending = times.toSorted((a, b) => a - b)
  const at = (share: number) => `${(ascending[Math.floor(ascending.length * share)] ?? 0).toFixed(1)} ms`
  add(
    `durable entries with exchanges, ${CALLERS} callers`,
    `${Math.round((SEALED / spentMs) * 1000)} a second`,
  )
  add('… CPU an entry, all threads', `${((user + system) / SEALED).toFixed(1)} µs`)
  add('… until durable', `p50 ${at(0.5)}, p99 ${at(0.99)}`)
  await store.close()
}

async function fill(): Promise<void> {
  let usedBytes = 0
  const spentMs = await timed(async () => {
    usedBytes = await fillLog(join(folder, 'filled'), entries)
  })
  add(`filling a log with ${entries} calls`, `${(spentMs / 1000).toFixed(0)} s`)
  add('… bytes a call in the store, one in twenty with an exchange', String(Math.round(usedBytes / entries)))
}

async function measurePages(): Promise<void> {
  const openingMs: number[] = []
  for (let round = 0; round < 5; round++) {
    let store: Store | null = null
    openingMs.push(
      await timed(async () => {
        store = open('filled')
      }),
    )
    await (store as Store | null)?.close()
  }
  add('opening it', `${median(openingMs).toFixed(1)} ms`)
  const store = open('filled')
  const queries: [string, UsageQuery][] = [
    ['first page of 50', { limit: 50, offset: 0 }],
    ['page of 50 in the middle', { limit: 50, offset: Math.floor(entries / 2) }],
    ['last page of 50', { limit: 50, offset: entries - 50 }],
    ['page of 1,000 in the middle', { limit: 1000, offset: Math.floor(entries / 2) }],
    ['page of 50, filter that matches 1 in 1,000', { limit: 50, offset: 0, filter: { blocked: true } }],
    ['page of 50, filter that matches 9 in 10', { limit: 50, offset: 0, filter: { model: 'openai/gpt-5' } }],
  ]
  for (const [name, query] of queries) {
    const times: number[] = []
    for (let round = 0; round < PAGES; round++) times.push(await timed(() => store.log.list(query)))
    add(name, `median ${median(times).toFixed(2)} ms, worst ${Math.max(...times).toFixed(2)} ms`)
  }
  await store.close()
}

/** Verifies the data directory and an export of it, as the command and the gateway do. */
async function measureVerifying(): Promise<void> {
  const file = join(folder, 'export.jsonl')
  const environment = openEnvironment(join(folder, 'filled'))
  const output = createWriteStream(file)
  await exportLog(environment, { sinceMs: null, untilMs: null, exchanges: false }, output)
  await environment.close()
  output.end()
  await finished(output)
  const sources: [string, () => LogSource][] = [
    ['the data directory', () => new DirectorySource(join(folder, 'filled'))],
    ['an export', () => new ExportSource(file)],
  ]
  for (const [name, open] of sources) {
    let bestMs = Number.POSITIVE_INFINITY
    let bestCpuMs = Number.POSITIVE_INFINITY
    for (let round = 0; round < VERIFICATIONS; round++) {
      const source = open()
      const cpu = process.cpuUsage()
      const spentMs = await timed(async () => {
        const { ok, findings } = await verifyLog(source, NO_EVIDENCE, () => {})
        if (!ok) throw new Error(findings[0]?.reason)
      })
      const { user, system } = process.cpuUsage(cpu)
      bestMs = Math.min(bestMs, spentMs)
      bestCpuMs = Math.min(bestCpuMs, (user + system) / 1000)
      await source.close()
    }
    const perSecond = Math.round((entries / bestMs) * 1000)
    add(`verifying ${name}`, `${(bestMs / 1000).toFixed(2)} s, ${perSecond} entries a second`)
    add('… CPU an entry', `${((bestCpuMs / entries) * 1000).toFixed(1)} µs`)
  }
  rmSync(file)
}

async function measureErasing(): Promise<void> {
  const store = open('filled')
  let erased = 0
  const spentMs = await timed(async () => {
    erased = (await store.log.erase({ keyId: 'key-3' }, 'vera'))?.erased ?? 0
  })
  add(`erasing the ${erased} exchanges of a key`, `${(spentMs / 1000).toFixed(2)} s`)
  await store.close()
}

/** Prunes nine tenths of the log while one caller appends. */
async function measurePruning(): Promise<void> {
  const allPruned = Promise.withResolvers<number>()
  // The store would carry on without pruning; the measurement fails instead.
  const onHousekeepingError = allPruned.reject
  let watch = () => {}
  const store = open('filled', {
    retention: { retainMs: 10 * DAY_MS, onPruned: (count) => count > 0 && pruned(count) },
    onHousekeepingError,
    every: (intervalMs, work) => {
      if (intervalMs === 1000) watch = work
      return () => {}
    },
  })
  let total = 0
  const pruned = (count: number) => {
    total += count
    if (total >= entries * 0.89) allPruned.resolve(total)
  }
  let running = true
  const waits: number[] = []
  const caller = async () => {
    while (running) waits.push(await timed(() => store.log.append(draftOf(1, systemClock.now()))))
  }
  const spentMs = await timed(async () => {
    const calling = caller()
    watch()
    await allPruned.promise
    running = false
    await calling
  })
  add(`pruning ${total} entries while one caller appends`, `${Math.round((total / spentMs) * 1000)} a second`)
  add(
    '… latency of that caller',
    `median ${median(waits).toFixed(1)} ms, worst ${Math.max(...waits).toFixed(1)} ms`,
  )
  await store.close()
}

try {
  if (values.verify) {
    await fill()
    await measureVerifying()
  } else {
    measureSealing()
    await measureAppending()
    await fill()
    await measurePages()
    await measureVerifying()
    await measureErasing()
    await measurePruning()
  }
  console.log(rows.join('\n'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
