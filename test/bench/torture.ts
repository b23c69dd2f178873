// `npm run torture`: checks the promises of the usage log while the gateway is killed at random
// moments under load, started twice on one folder, run on a disk that fills up or fails, and while
// bits of its journal are flipped.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readPosition } from '../../src/store/environment/apply.ts'
import { openLmdb } from '../../src/store/environment/lmdb.ts'
import { FRAME_HEADER_BYTES } from '../../src/store/journal/frame.ts'
import { type JournalPosition, listSegments, readFrames } from '../../src/store/journal/journal-reader.ts'
import { readHeader } from '../../src/store/journal/segment-file.ts'
import '../process/build-program.ts'
import { type GatewayProcess, startProgram } from '../process/gateway-process.ts'
import { runProgram } from '../process/run-command.ts'
import { completion, json, startUpstream, stream } from '../process/upstream.ts'

const HELP = `Usage: npm run torture -- [--kills N] [--json FILE]

Checks that a killed gateway loses no acknowledged entry and seals none twice.
  --kills N    kills at random moments under load (default 200)
  --json FILE  writes {kills, acknowledged, lost, doubled, chain_errors} of the kills to FILE
  --help
Exit: 0 if every promise holds, 1 if not.
`
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const KILLS = Number(values.kills)
if (!(Number.isSafeInteger(KILLS) && KILLS > 0)) {
  process.stderr.write('torture: --kills takes a number from 1\n')
  process.exit(2)
}
/** Small, so that kills also come while a segment is changed, made or overwritten. */
const JOURNAL = { data: { segmentBytes: 128 * 1024 } }
const HOLD = join(import.meta.dirname, '../store/processes/hold.ts')
const CALLERS = 8
/** A kill comes at most this long after the load starts. */
const LONGEST_RUN_MS = 1500
const LONGEST_FAULT_MS = 20_000
const DISK_MEBIBYTES = 24
const PAGE = 1000

const upstream = await startUpstream()
/** Its starts are short, so that a kill follows soon on the one before. */
const BUILT = { upstreamUrl: upstream.baseUrl }
upstream.answer = (response, received) =>
  received.body.includes('"stream":true')
    ? stream(['some words ', 'and more ', 'of them'])(response, received)
    : json(completion('some words'))(response, received)

let failures = 0
function report(what: string, right: boolean): void {
  if (!right) failures++
  console.log(`${right ? 'ok    ' : 'FAILED'} ${what}`)
}

interface Receipt {
  readonly id: string
  readonly hash: string
}

/**
 * Calls until the gateway no longer answers with 200; records the receipt of each complete answer.
 */
async function call(
  gateway: GatewayProcess,
  key: string,
  streams: boolean,
  receipts: Receipt[],
  content = 'hi',
): Promise<void> {
  for (;;) {
    try {
      const messages = [{ role: 'user', content }]
      const response = await gateway.chat(key, { model: 'm', stream: streams, messages })
      const text = await response.text()
      if (response.status !== 200 || (streams && !text.endsWith('data: [DONE]\n\n'))) return
      const receipt = streams ? text : (response.headers.get('x-sidegate-audit') ?? '')
      const hash = /hash=(sha256:[0-9a-f]{64})/.exec(receipt)?.[1] ?? ''
      receipts.push({ id: response.headers.get('x-request-id') ?? '', hash })
    } catch {
      return
    }
  }
}

interface Account {
  readonly lost: number
  readonly twice: number
  readonly interrupted: number
}

/**
 * Counts the acknowledged calls that the log has lost or listed twice, and the interrupted ones.
 */
async function account(gateway: GatewayProcess, receipts: readonly Receipt[]): Promise<Account> {
  const hashes = new Map<string, string>()
  let twice = 0
  let interrupted = 0
  for (let offset = 0; ; offset += PAGE) {
    const { body } = await gateway.api('GET', `/usage/logs?limit=${PAGE}&offset=${offset}`)
    for (const { id, hash, outcome } of body.logs) {
      if (hashes.has(id)) twice++
      hashes.set(id, hash)
      if (outcome === 'interrupted') interrupted++
    }
    if (body.logs.length < PAGE) break
  }
  return { lost: receipts.filter(({ id, hash }) => hashes.get(id) !== hash).length, twice, interrupted }
}

/** Whether `audit verify` passes on the folder's log. */
async function verifies(folder: string): Promise<boolean> {
  const { code, stdout, stderr } = await runProgram([
    'audit',
    'verify',
    '--config',
    join(folder, 'sidegate.yaml'),
  ])
  if (code !== 0) console.log(stdout, stderr)
  return code === 0
}

async function kills(): Promise<void> {
  let gateway = await startProgram({ ...BUILT, config: JOURNAL })
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const receipts: Receipt[] = []
  let setAside = false
  for (let kill = 1; kill <= KILLS; kill++) {
    const callers = Array.from({ length: CALLERS }, (_, n) => call(gateway, key, n % 2 === 0, receipts))
    const running = gateway
    setTimeout(() => running.child.kill('SIGKILL'), randomInt(LONGEST_RUN_MS))
    await Promise.all([gateway.exited, ...callers])
    gateway = await startProgram({ ...BUILT, folder, config: JOURNAL })
    setAside ||= gateway.logs.some(isSetAside)
    if (kill % 20 === 0) console.log(`       ${kill} kills, ${receipts.length} acknowledged`)
  }
  const { lost, twice, interrupted } = await account(gateway, receipts)
  await gateway.stop()
  const chain = await verifies(folder)
  const chainErrors = Number(!chain) + Number(setAside)
  const counts = `${receipts.length} acknowledged, ${lost} lost, ${twice} twice, ${chainErrors} chain errors`
  report(`${KILLS} kills: ${counts}, ${interrupted} interrupted`, lost + twice + chainErrors === 0)
  const figures = {
    kills: KILLS,
    acknowledged: receipts.length,
    lost,
    doubled: twice,
    chain_errors: chainErrors,
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures)}\n`)
  rmSync(folder, { recursive: true })
}

const isSetAside = ({ msg }: { readonly msg?: unknown }): boolean =>
  String(msg).startsWith('the usage log is damaged')

/**
 * Flips a bit of each frame that a killed gateway left in its journal, one at a time: damage with
 * valid frames behind it is found, and a last frame that cannot be read is cut.
 */
async function flippedBits(): Promise<void> {
  const gateway = await startProgram(BUILT)
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const data = join(folder, 'data')
  // Keeps the frames out of the database.
  const holder = spawn(process.execPath, [HOLD, data], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  const chat = async () => (await gateway.chat(key, { model: 'm', messages: [] })).text()
  await Promise.all([chat(), gateway.createKey(), gateway.signIn()])
  await chat()
  await gateway.kill('SIGKILL')
  const held = once(holder, 'exit')
  holder.kill('SIGKILL')
  await held
  const frames: JournalPosition[] = []
  const [name = ''] = listSegments(data).filter((one) => readHeader(join(data, one)) !== null)
  const lmdb = openLmdb(data)
  readFrames(data, readPosition(lmdb.tables), (frame, end) =>
    frames.push({ ...end, offset: end.offset - frame.bytes }),
  )
  await lmdb.close()
  let found = 0
  for (const { offset } of frames) {
    const copy = mkdtempSync(join(tmpdir(), 'sidegate-flip-'))
    cpSync(folder, copy, { recursive: true, filter: (file) => !statSync(file).isSocket() })
    const file = join(copy, 'data', name)
    const bytes = readFileSync(file)
    const at = offset + FRAME_HEADER_BYTES + 2
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(file, bytes)
    const next = await startProgram({ ...BUILT, folder: copy })
    found += Number(next.logs.some(isSetAside))
    await next.stop()
    rmSync(copy, { recursive: true })
  }
  const counts = `${frames.length} frames with one flipped bit each, ${found} found as damage, the last one cut`
  report(counts, frames.length > 3 && found === frames.length - 1)
  rmSync(folder, { recursive: true })
}

async function twoProcesses(): Promise<void> {
  const gateway = await startProgram(BUILT)
  const { folder } = gateway
  const second = await startProgram({ ...BUILT, folder }).then(
    () => 'started',
    (error: Error) => error.message,
  )
  report('a second gateway on one folder is refused', second.includes('in use by the gateway'))
  await gateway.stop()
  rmSync(folder, { recursive: true })
}

async function fullDisk(): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), 'sidegate-torture-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEBIBYTES}m`, 'tmpfs', disk], {
      stdio: 'ignore',
    })
  } catch {
    console.log('NOT RUN a full disk: this process may not mount a tmpfs')
    return
  }
  try {
    const folder = join(disk, 'gateway')
    mkdirSync(folder)
    let gateway = await startProgram({ ...BUILT, folder, rules: 'rules: []\n' })
    const { key } = await gateway.createKey()
    const receipts: Receipt[] = []
    const content = 'many words '.repeat(5000)
    await Promise.all(
      Array.from({ length: CALLERS }, (_, n) => call(gateway, key, n % 2 === 0, receipts, content)),
    )
    const refused = (await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content }] })).status
    await gateway.kill('SIGKILL')
    execFileSync('mount', ['-o', `remount,size=${2 * DISK_MEBIBYTES}m`, disk])
    gateway = await startProgram({ ...BUILT, folder })
    const { lost, twice, interrupted } = await account(gateway, receipts)
    await gateway.stop()
    const chain = await verifies(folder)
    const counts = `${receipts.length} acknowledged, then ${refused}; ${lost} lost, ${interrupted} interrupted`
    report(`a full disk: ${counts}`, refused === 503 && lost + twice === 0 && chain)
  } finally {
    execFileSync('umount', [disk])
    rmSync(disk, { recursive: true })
  }
}

/** Makes system calls of the gateway fail with EIO, through strace. */
async function failingDisk(): Promise<void> {
  if (spawnSync('strace', ['-V']).error !== undefined) {
    console.log('NOT RUN a failing disk: strace is not installed')
    return
  }
  for (const fault of ['fdatasync:error=EIO:when=3+', 'pwrite64,pwritev,pwritev2:error=EIO:when=5+']) {
    let gateway = await startProgram(BUILT)
    const { folder } = gateway
    const { key } = await gateway.createKey()
    const receipts: Receipt[] = []
    const calls = fault.split(':', 1)[0]
    const tracer = spawn('strace', [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      `trace=${calls}`,
      '-e',
      `inject=${fault}`,
      '-p',
      String(gateway.child.pid),
    ])
    const traced = gateway
    // If the tracer may not attach, nothing fails and the run has to end.
    const enough = setTimeout(() => traced.child.kill('SIGKILL'), LONGEST_FAULT_MS)
    await Promise.all(Array.from({ length: CALLERS }, (_, n) => call(traced, key, n % 2 === 0, receipts)))
    const failed = traced.child.signalCode === null || traced.stderr.length > 0
    clearTimeout(enough)
    await traced.kill('SIGKILL')
    tracer.kill()
    gateway = await startProgram({ ...BUILT, folder })
    const { lost, twice, interrupted } = await account(gateway, receipts)
    await gateway.stop()
    const chain = await verifies(folder)
    const counts = `${receipts.length} acknowledged, ${lost} lost, ${interrupted} interrupted`
    report(`${fault}${failed ? '' : ' (never failed)'}: ${counts}`, failed && lost + twice === 0 && chain)
    rmSync(folder, { recursive: true })
  }
}

await twoProcesses()
await fullDisk()
await failingDisk()
await flippedBits()
await kills()
await upstream.close()
process.exit(failures === 0 ? 0 : 1)
