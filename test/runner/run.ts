// Runs tests: `npm test`, `npm run test:long`, or single files and folders by `npm test -- PATH…`.
// Prints a line a file, each failure, the slowest files and the totals. Writes the report of all
// files in TAP to .tap/report.tap. Exits 1 on any failure.

import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../process/program.ts'
import { filesAt, filesOf, type Job, planJobs, type Tier } from './plan.ts'
import { JobOutput, Report } from './report.ts'

const HELP = `Usage: npm test -- [--long] [--jobs N] [--coverage] [PATH…]

Runs the short tests, or the test files and folders named.

  --long      run the files named *.long.test.ts instead
  --jobs N    processes at a time (default: the number of cores)
  --coverage  keep V8's coverage of the folders that are counted, for \`npm run coverage\`
  --help      print this text
`
/** Time of one process of tests. */
const MAXIMUM_JOB_MS = 900_000
/** Time of one test, seconds. */
const MAXIMUM_TEST_SECONDS = 300

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
    coverage: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}

const tier: Tier = values.long ? 'long' : 'short'
const files = positionals.length > 0 ? filesAt(positionals) : filesOf(tier)
const jobs = planJobs(files)
const results = join(ROOT, '.tap')
mkdirSync(results, { recursive: true })
const report = new Report(createWriteStream(join(results, 'report.tap')), tier, values.coverage)
const environment = {
  ...process.env,
  TAP_TIMEOUT: String(MAXIMUM_TEST_SECONDS),
  // Test files and the programs they start load the same modules; the cache keeps their compiled
  // code. Coverage of cached code is less exact.
  NODE_COMPILE_CACHE: join(results, 'compiled'),
}
const measured = {
  ...environment,
  NODE_V8_COVERAGE: join(results, 'coverage'),
  NODE_DISABLE_COMPILE_CACHE: '1',
}

/** Runs a file of this folder or a test, and hands its output on. @returns how it ended */
function runNode(
  args: readonly string[],
  onOutput: (text: string) => void,
  env: NodeJS.ProcessEnv = environment,
): Promise<number | string> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: MAXIMUM_JOB_MS,
    killSignal: 'SIGKILL',
  })
  child.stdout.setEncoding('utf8').on('data', onOutput)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
}

let building: Promise<unknown> | null = null
/** Builds the program that tests start, once, while the first tests run. */
function built(): Promise<unknown> {
  building ??= runNode(['test/process/build-program.ts'], (text) => process.stdout.write(text)).then(
    (code) => {
      if (code !== 0) throw new Error(`the program could not be built (${code})`)
    },
  )
  return building
}

async function runJob(job: Job): Promise<void> {
  if (job.needsProgram) await built()
  const output = new JobOutput(job)
  const ended = await runNode(
    ['test/runner/one-process.ts', ...job.files],
    (text) => output.write(text),
    values.coverage && job.isCounted ? measured : environment,
  )
  report.add(output.end(ended))
}

const waiting = jobs.values()
if (jobs.some(({ needsProgram }) => needsProgram)) void built().catch(() => {})
await Promise.all(
  Array.from({ length: Number(values.jobs) }, async () => {
    for (const job of waiting) await runJob(job)
  }),
)
await report.end()
process.exitCode = report.isOk ? 0 : 1
