// `npm run bench`: measures what the gateway costs next to a bare pass-through and to peers in the
// same run. Uses loopback only. Compare figures only within one run.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { arch, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rulesKnownTo } from './bench-rules.ts'
import { compare, comparisonText, type Sides } from './comparison.ts'
import { FEATURES, type Feature, type FeatureName } from './features.ts'
import { measureFootprint, soak } from './footprint.ts'
import { pinned, pinSelf, stopAll } from './processes.ts'
import { type Machine, type Result, showProgress, table } from './report.ts'
import { buildRevision, buildTree } from './revision.ts'
import {
  embeddings,
  type Figures,
  firstEvent,
  fixedRate,
  loneCall,
  machinePrompt,
  messageStreams,
  nextToLong,
  promptSize,
  responseStreams,
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

Measures the gateway next to a bare pass-through (the floor) and to the peers that are installed
(npm run bench:peers). Prints markdown tables. About nine minutes; compare figures only within one run.

  --quick          fewer scenarios and shorter rounds, about a minute and a half
  --only TEXT      only the scenarios whose title contains TEXT; no memory, start and idle figures
  --json FILE      writes the figures of every round to FILE

Other modes, one at a time:

  --against REV    compares the CPU a call of this tree with that of the git revision REV: the ratio,
                   its spread, and whether it is within 3 %. Four to six minutes for three pairs.
                   Prints text on a terminal and JSON into a pipe (npm run --silent bench -- …).
  --with FEATURE   compares the CPU a call of this tree with a feature to that without: fleet (keys
                   of a hub), jwt (a token of an issuer in place of the key), tls (calls over TLS
                   on kept connections) or tools (ten rules on tools and runs, for answers that
                   call a tool with 2 KB of arguments). Otherwise as --against.
  --pairs N        with --against and --with: processes of each side, 3 by default
  --prompt KB      with --against and --with: length of the prompts, 1 by default
  --primitives     the floor with one part of a governed call more at a time, about three minutes
  --soak           the gateway's memory over a million calls, about ten minutes

  --help           prints this text

More figures: node test/bench/audit.ts (usage log, \`audit verify\`), test/bench/pii.ts (personal data),
test/bench/injection.ts (injection score), test/bench/torture.ts (kills and failing disks).
`
const FULL = { rounds: 4, roundMs: 1000, warmUpMs: 4000, settleMs: 250 }
const QUICK = { rounds: 3, roundMs: 500, warmUpMs: 2000, settleMs: 150 }
/** A file system in memory: commits of the log do not wait for a disk. */
const MEMORY = '/dev/shm'
const DEFAULT_PAIRS = 3

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string' },
    against: { type: 'string' },
    with: { type: 'string' },
    pairs: { type: 'string' },
    prompt: { type: 'string' },
    primitives: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const pairs = Number(options.pairs ?? DEFAULT_PAIRS)
const promptKib = Number(options.prompt ?? 1)
const temporary: string[] = []

/** Returns what is wrong with the command line, or null. */
function usageError(): string | null {
  const { against, with: feature, primitives, soak: isSoak } = options
  const modes = [against !== undefined, feature !== undefined, primitives, isSoak].filter(Boolean)
  if (modes.length > 1) return '--against, --with, --primitives and --soak exclude each other; choose one'
  if (feature !== undefined && !Object.hasOwn(FEATURES, feature))
    return `--with ${feature} is not one of ${Object.keys(FEATURES).join(', ')}`
  for (const name of ['pairs', 'prompt'] as const)
    if (options[name] !== undefined && against === undefined && feature === undefined)
      return `--${name} needs --against REV or --with FEATURE`
  if (feature === 'tools' && options.prompt !== undefined)
    return '--prompt says nothing of --with tools, which has calls of its own; leave it out'
  if (!Number.isInteger(promptKib) || promptKib < 1)
    return `--prompt ${options.prompt} is not a positive integer`
  if (!Number.isInteger(pairs) || pairs < 1) return `--pairs ${options.pairs} is not a positive integer`
  return null
}

function scenarios(): Scenario[] {
  // The most important scenarios come last, when all processes have run longest.
  const quick = [streams(32), firstEvent, loneCall, fixedRate(500), saturation(64)]
  const prompts = [...[10, 100, 1000].map(promptSize), machinePrompt(100), turns(100), nextToLong(1000)]
  const apis = [embeddings, messageStreams(32), responseStreams(32)]
  const full = [...prompts, ...apis, streams(256), streams(1000), ...quick, saturation(256)]
  const { only = '' } = options
  return (options.quick && only === '' ? quick : full).filter(({ title }) => title.includes(only))
}

/** Loads each process until V8 has compiled its code and its pools are full. */
async function warmUp(subjects: readonly Subject[], withStreams = true): Promise<void> {
  const { warmUpMs } = options.quick ? QUICK : FULL
  for (const subject of subjects) {
    showProgress(`Warming up ${subject.name}`)
    await saturation(64).run(subject, warmUpMs)
    if (!withStreams) continue
    for (const streamsOf of [streams, messageStreams, responseStreams])
      await streamsOf(16).run(subject, warmUpMs / 2)
  }
}

async function measure(scenario: Scenario, subjects: readonly Subject[]): Promise<Result> {
  const { rounds, roundMs, settleMs } = options.quick ? QUICK : FULL
  const figures: Record<string, Figures[]> = Object.fromEntries(subjects.map(({ name }) => [name, []]))
  for (const subject of subjects) await scenario.run(subject, settleMs)
  for (let round = 1; round <= rounds; round++) {
    for (const subject of subjects) {
      showProgress(`${scenario.title}: round ${round} of ${rounds}, ${subject.name}`)
      figures[subject.name]?.push(await scenario.run(subject, roundMs))
    }
  }
  showProgress('')
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
    const inMemory = temporaryFolder(MEMORY)
    subjects.push(
      await startGateway({ name: 'sidegate, log in memory', folder: inMemory, upstreamPort, main }),
    )
  }
  subjects.push(
    await startGateway({ name: 'sidegate, durable', folder: join(folder, 'durable'), upstreamPort, main }),
  )
  for (const startPeer of peers(upstreamPort)) subjects.push(await startPeer())
  return subjects
}

function temporaryFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, 'sidegate-bench-'))
  temporary.push(folder)
  return folder
}

async function measureAll(main: string, folder: string, machine: Machine): Promise<void> {
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
    writeFileSync(options.json, `${JSON.stringify({ ...machine, results }, null, 2)}\n`)
}

/**
 * Measures the floor, the floor with one part more each time, and the gateway; the log is in
 * memory.
 */
async function measurePrimitives(main: string): Promise<string> {
  const folder = temporaryFolder(existsSync(MEMORY) ? MEMORY : tmpdir())
  const upstreamPort = Number((await startStandIn()).line)
  const subjects = [await startFloor(upstreamPort)]
  for (const index of PRIMITIVES.keys())
    subjects.push(await startPrimitives(upstreamPort, join(folder, `primitives-${index}`), index + 1))
  subjects.push(await startGateway({ name: 'sidegate', folder: join(folder, 'gateway'), upstreamPort, main }))
  await warmUp(subjects, false)
  return table(await measure(saturation(64), subjects))
}

/** Compares `sides`, and prints the comparison. */
async function printComparison(
  sides: Sides,
  names: Readonly<Record<keyof Sides, string>>,
  folder: string,
  machine: Machine,
  body?: () => string,
): Promise<void> {
  const comparison = await compare(sides, pairs, promptKib, join(folder, 'gateways'), body)
  const calls = body === undefined ? undefined : 'calls of an agent'
  if (process.stdout.isTTY) console.log(comparisonText(comparison, names, promptKib, calls))
  else console.log(JSON.stringify({ ...machine, sides: names, pairs, promptKib, ...comparison }))
}

function compareWith(revision: string, main: string, folder: string, machine: Machine): Promise<void> {
  showProgress(`Building ${revision}`)
  const theirs = buildRevision(revision, join(folder, 'revision'))
  const rules = rulesKnownTo(theirs, folder)
  const sides = { tree: { main, rules }, revision: { main: theirs, rules } }
  return printComparison(sides, { tree: 'tree', revision }, folder, machine)
}

async function compareFeature(
  name: FeatureName,
  main: string,
  folder: string,
  machine: Machine,
): Promise<void> {
  showProgress(`Starting what ${name} needs`)
  const feature: Feature = await FEATURES[name]()
  try {
    const { baseline, body } = feature
    const revision = { main, ...(baseline !== undefined && { feature: baseline }) }
    const names = { tree: `with ${name}`, revision: 'without' }
    await printComparison({ tree: { main, feature }, revision }, names, folder, machine, body)
  } finally {
    await feature.stop()
  }
}

async function run(): Promise<void> {
  pinSelf()
  const folder = temporaryFolder(tmpdir())
  const machine: Machine = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? arch()}${pinned ? ', pinned' : ', not pinned'}`,
    node: process.version,
    revision: execFileSync('git', ['describe', '--always', '--dirty']).toString().trim(),
  }
  const { against, with: feature } = options
  if ((against === undefined && feature === undefined) || process.stdout.isTTY)
    console.log(`${machine.date}, ${machine.machine}, Node ${machine.node}, ${machine.revision}\n`)
  showProgress('Building the tree')
  const main = buildTree(join(folder, 'build'))
  if (against !== undefined) await compareWith(against, main, folder, machine)
  else if (feature !== undefined) await compareFeature(feature as FeatureName, main, folder, machine)
  else if (options.soak) console.log(await soak(main, join(folder, 'soak')))
  else if (options.primitives) console.log(await measurePrimitives(main))
  else await measureAll(main, folder, machine)
}

const wrong = usageError()
if (options.help) console.log(HELP)
else if (wrong !== null) {
  console.error(`${wrong}\nnpm run bench -- --help lists the options.`)
  process.exitCode = 2
} else {
  try {
    await run()
  } finally {
    await stopAll()
    for (const folder of temporary) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
