// `npm run bench`: what the gateway costs, beside a bare pass-through and peers in the same run. Loopback only, ends
// by itself. Prints markdown tables; only ratios within one run mean anything.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { arch, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureFootprint, soak } from './footprint.ts'
import { pinned, pinSelf, stopAll } from './processes.ts'
import { type Report, type Result, table } from './report.ts'
import { buildRevision, buildTree } from './revision.ts'
import {
  besideLong,
  type Figures,
  firstEvent,
  fixedRate,
  machinePrompt,
  promptSize,
  type Scenario,
  saturation,
  streams,
  turns,
} from './scenarios.ts'
import {
  PRIMITIVES,
  peers,
  type Subject,
  startFloor,
  startGateway,
  startPrimitives,
  startStandIn,
} from './targets.ts'

const HELP = `npm run bench -- [options]

  --quick          about a minute and a half: fewer scenarios, shorter rounds
  --against REV    also measures the gateway of another commit (git worktree, built beside)
  --json FILE      writes every figure of every round
  --only TEXT      scenarios whose title has this in it, with --quick too
  --primitives     nothing but calls at 64 connections, beside the parts that they are made of, three minutes
  --soak           nothing but the gateway's memory over a million calls, about ten minutes
  --help

Peers are measured when they are installed: npm run bench:peers
`
const FULL = { rounds: 4, roundMs: 1000, warmUpMs: 4000, settleMs: 250 }
const QUICK = { rounds: 3, roundMs: 500, warmUpMs: 2000, settleMs: 150 }
/** A file system in memory, where a write to the log waits for nothing. */
const MEMORY = '/dev/shm'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    json: { type: 'string' },
    only: { type: 'string' },
    primitives: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function scenarios(): Scenario[] {
  // What is asked for most comes last, when everything has run longest.
  const quick = [streams(32), firstEvent, fixedRate(500), saturation(64)]
  const prompts = [...[1, 10, 100, 1000].map(promptSize), machinePrompt(100), turns(100), besideLong(1000)]
  const full = [...prompts, streams(256), streams(1000), ...quick, saturation(256)]
  const { only = '' } = options
  return (options.quick && only === '' ? quick : full).filter(({ title }) => title.includes(only))
}

/** What is measured are processes that have run for a while: their code is compiled, their pools are filled. */
async function warmUp(subjects: readonly Subject[], withStreams = true): Promise<void> {
  const { warmUpMs } = options.quick ? QUICK : FULL
  for (const subject of subjects) {
    process.stderr.write(`\r\x1b[KWarming up ${subject.name}`)
    await saturation(64).run(subject, warmUpMs)
    if (withStreams) await streams(16).run(subject, warmUpMs / 2)
  }
}

async function measure(scenario: Scenario, subjects: readonly Subject[]): Promise<Result> {
  const { rounds, roundMs, settleMs } = options.quick ? QUICK : FULL
  const figures: Record<string, Figures[]> = Object.fromEntries(subjects.map(({ name }) => [name, []]))
  for (const subject of subjects) await scenario.run(subject, settleMs)
  for (let round = 1; round <= rounds; round++) {
    for (const subject of subjects) {
      process.stderr.write(`\r\x1b[K${scenario.title}: round ${round} of ${rounds}, ${subject.name}`)
      figures[subject.name]?.push(await scenario.run(subject, roundMs))
    }
  }
  process.stderr.write('\r\x1b[K')
  return { scenario: scenario.title, headline: scenario.headline, subjects: figures }
}

async function startSubjects(main: string, folder: string): Promise<Subject[]> {
  const standIn = await startStandIn()
  const upstreamPort = Number(standIn.line)
  const subjects: Subject[] = [
    { name: 'direct', port: upstreamPort, headers: {}, process: standIn },
    await startFloor(upstreamPort),
  ]
  if (existsSync(MEMORY)) {
    const inMemory = mkdtempSync(join(MEMORY, 'sidegate-bench-'))
    temporary.push(inMemory)
    subjects.push(
      await startGateway({ name: 'sidegate, log in memory', folder: inMemory, upstreamPort, main }),
    )
  }
  subjects.push(
    await startGateway({ name: 'sidegate, durable', folder: join(folder, 'durable'), upstreamPort, main }),
  )
  if (options.against !== undefined) {
    const other = buildRevision(options.against, join(folder, 'revision'))
    const name = `sidegate ${options.against}, durable`
    subjects.push(await startGateway({ name, folder: join(folder, 'against'), upstreamPort, main: other }))
  }
  for (const startPeer of peers(upstreamPort)) subjects.push(await startPeer())
  return subjects
}

/** The floor, the same with one part more each time, and the gateway; the log in memory. */
async function measurePrimitives(main: string): Promise<string> {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'sidegate-bench-'))
  temporary.push(folder)
  const upstreamPort = Number((await startStandIn()).line)
  const subjects = [await startFloor(upstreamPort)]
  for (const index of PRIMITIVES.keys())
    subjects.push(await startPrimitives(upstreamPort, join(folder, `primitives-${index}`), index + 1))
  subjects.push(await startGateway({ name: 'sidegate', folder: join(folder, 'gateway'), upstreamPort, main }))
  await warmUp(subjects, false)
  return table(await measure(saturation(64), subjects))
}

const temporary: string[] = []

async function run(): Promise<void> {
  pinSelf()
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-bench-'))
  temporary.push(folder)
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? arch()}${pinned ? ', pinned' : ', not pinned'}`,
    node: process.version,
    revision: execFileSync('git', ['rev-parse', '--short', 'HEAD']).toString().trim(),
    results: [],
  }
  console.log(`${report.date}, ${report.machine}, Node ${report.node}, ${report.revision}\n`)
  const main = buildTree(join(folder, 'build'))
  if (options.soak) {
    console.log(await soak(main, join(folder, 'soak')))
    return
  }
  if (options.primitives) {
    console.log(await measurePrimitives(main))
    return
  }
  const subjects = await startSubjects(main, folder)
  await warmUp(subjects)
  const results: Result[] = []
  for (const scenario of scenarios()) {
    const result = await measure(scenario, subjects)
    results.push(result)
    console.log(table(result))
  }
  await stopAll()
  if (options.only === undefined)
    console.log(await measureFootprint(main, join(folder, 'footprint'), options.quick))
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ ...report, results }, null, 2)}\n`)
}

if (options.help) console.log(HELP)
else {
  try {
    await run()
  } finally {
    await stopAll()
    for (const folder of temporary) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
