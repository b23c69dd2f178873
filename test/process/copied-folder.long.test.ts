// Data folders that are copied, restored, moved, compacted and emptied: a copy begins a new log that
// names its predecessor, and both verify.

import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { prompt, writeDeployment } from './gateway.ts'
import { deployProgram, type GatewayProcess, openProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { completion, json } from './upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(600_000)

interface Origin {
  readonly gateway: GatewayProcess
  readonly data: string
  readonly key: string
  /** Id of its log. */
  readonly log: string
  start(env?: Readonly<Record<string, string>>): Promise<GatewayProcess>
}

async function origin(t: Test, end: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<Origin> {
  const { upstream, gateway, key } = await deployProgram(t, json(completion('ok')), {})
  const log = await logOf(gateway, key)
  t.equal((await gateway.api('POST', '/rules', RULE)).status, 201)
  await gateway.kill(end)
  const data = join(gateway.folder, 'data')
  const start = (env = {}) => openProgram(t, { upstreamUrl: upstream.baseUrl, folder: gateway.folder, env })
  return { gateway, data, key, log, start }
}

const RULE = {
  name: 'no borealis',
  type: 'keyword_block',
  pattern: 'borealis',
  action: 'block',
  enabled: true,
}

/** Makes a call, and returns the log of its receipt. */
async function logOf(gateway: GatewayProcess, key: string): Promise<string> {
  const response = await gateway.chat(key, prompt('hello'))
  await response.text()
  return (response.headers.get('x-sidegate-audit') ?? '').split(';', 1)[0] ?? ''
}

async function verify(t: Test, data: string, log: string): Promise<void> {
  const folder = t.testdir()
  const { file } = writeDeployment({
    upstreamUrl: 'http://127.0.0.1:1/v1',
    folder,
    config: { data: { path: data } },
  })
  const { code, stdout } = await runProgram(['audit', 'verify', '--config', file])
  t.match([code, JSON.parse(stdout)], [0, { ok: true, log }])
}

async function genesisOf(gateway: GatewayProcess): Promise<any> {
  const { stdout } = await runProgram(['audit', 'export', '--config', join(gateway.folder, 'sidegate.yaml')])
  return JSON.parse(stdout.split('\n', 1)[0] ?? '')
}

const setAside = (data: string, prefix: string) =>
  readdirSync(data)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(data, name))

/** Asserts that the gateway began a log that continues the one of `from`, with its key and rule. */
async function continues(t: Test, served: GatewayProcess, { key, log, data }: Origin): Promise<void> {
  const next = await logOf(served, key)
  t.match(next, /^[0-9a-f-]{36}$/, 'the key still works')
  t.not(next, log)
  t.equal((await served.chat(key, prompt('borealis'))).status, 403, 'and so does the rule')
  t.match(await genesisOf(served), {
    type: 'genesis',
    log: next,
    continues: { log, seq: Number, reason: /is a copy/ },
  })
  t.match(
    served.logs.find(({ msg }) => /was copied or restored/.test(String(msg))),
    { level: 'warn', log: next, predecessor: log },
  )
  t.match(await served.readiness(), { status: 200, body: { quarantines: 0 } })
  await verify(t, data, next)
  const [old = '', ...more] = setAside(data, 'predecessor-')
  t.same(more, [])
  await verify(t, old, log)
  await served.stop()
}

for (const end of ['SIGTERM', 'SIGKILL'] as const) {
  t.test(`a copy of a folder after ${end} begins a new log, and the original goes on`, async (t) => {
    const from = await origin(t, end)
    const kept = `${from.data}.kept`
    cpSync(from.data, kept, { recursive: true, preserveTimestamps: true })
    renameSync(from.data, `${from.data}.original`)
    renameSync(kept, from.data)
    await continues(t, await from.start(), from)
    const again = await from.start()
    t.not(await logOf(again, from.key), from.log)
    t.equal(setAside(from.data, 'predecessor-').length, 1, 'a second start continues the new log')
    await again.stop()
    rmSync(from.data, { recursive: true })
    renameSync(`${from.data}.original`, from.data)
    t.equal(await logOf(await from.start(), from.key), from.log)
  })
}

t.test('a restored database file begins a new log', async (t) => {
  const from = await origin(t)
  const file = join(from.data, 'data.mdb')
  cpSync(file, `${file}.backup`)
  await (await from.start()).stop()
  rmSync(file)
  cpSync(`${file}.backup`, file)
  await continues(t, await from.start(), from)
})

t.test(
  'a folder that moves on its file system, or is replaced by a compacted copy, keeps its log',
  async (t) => {
    const from = await origin(t)
    renameSync(from.data, `${from.data}.moved`)
    mkdirSync(from.data)
    renameSync(join(`${from.data}.moved`, 'data.mdb'), join(from.data, 'data.mdb'))
    const moved = await from.start()
    t.equal(await logOf(moved, from.key), from.log)
    await moved.stop()
    const config = join(from.gateway.folder, 'sidegate.yaml')
    const copy = `${from.data}.compact`
    t.match(await runProgram(['audit', 'compact', '--config', config, '--to', copy]), { code: 0 })
    cpSync(copy, `${copy}.copy`, { recursive: true })
    rmSync(from.data, { recursive: true })
    renameSync(copy, from.data)
    const served = await from.start()
    t.equal(await logOf(served, from.key), from.log)
    await served.stop()
    t.same(setAside(from.data, 'predecessor-'), [])
    rmSync(from.data, { recursive: true })
    renameSync(`${copy}.copy`, from.data)
    t.match(await runProgram(['audit', 'compact', '--config', config, '--to', copy]), { code: 0 })
    rmSync(from.data, { recursive: true })
    renameSync(copy, from.data)
    await continues(t, await from.start(), from)
  },
)

/** Lets a process see files as on a file system without birth times. */
const NO_BIRTH_TIMES = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { statSync } = fs
  fs.statSync = (path, options) => {
    const status = statSync(path, options)
    if (status !== undefined && options?.bigint) status.birthtimeNs = BIRTH
    return status
  }
  syncBuiltinESMExports()
`

for (const birth of ['0n', 'status.ctimeNs']) {
  t.test(`without birth times (${birth}) a copy goes on, and the log says so`, async (t) => {
    const from = await origin(t)
    const preload = join(from.gateway.folder, 'no-birth-times.mjs')
    writeFileSync(preload, NO_BIRTH_TIMES.replace('BIRTH', birth))
    const kept = `${from.data}.kept`
    cpSync(from.data, kept, { recursive: true })
    rmSync(from.data, { recursive: true })
    renameSync(kept, from.data)
    const served = await from.start({ NODE_OPTIONS: `--import=${preload}` })
    t.equal(await logOf(served, from.key), from.log)
    t.ok(
      served.logs.some(({ level, msg }) => level === 'warn' && /gives no birth times/.test(String(msg))),
      'a warning',
    )
    await served.stop()
  })
}

t.test('new-log ends a log by hand, unless a gateway runs', async (t) => {
  const from = await origin(t)
  const config = join(from.gateway.folder, 'sidegate.yaml')
  const running = await from.start()
  const refused = await runProgram(['audit', 'new-log', '--config', config])
  t.match(refused, { code: 2, stderr: /in use by the gateway with process id/ })
  t.equal(await logOf(running, from.key), from.log)
  await running.stop()
  const { code, stdout } = await runProgram(['audit', 'new-log', '--config', config])
  t.equal(code, 0)
  const result = JSON.parse(stdout)
  t.match(result, {
    predecessor: { log: from.log, seq: Number },
    reason: 'begun by hand',
    keys_carried: true,
  })
  await verify(t, result.folder, from.log)
  const served = await from.start()
  t.equal(await logOf(served, from.key), result.log)
  t.match(await genesisOf(served), { continues: { log: from.log, reason: 'begun by hand' } })
})

t.test('a database file that is gone is reported, and the new log says so', async (t) => {
  const { data, start } = await origin(t)
  rmSync(join(data, 'data.mdb'))
  const served = await start()
  t.match(await served.readiness(), { status: 200, body: { quarantines: 1 } })
  t.match(await genesisOf(served), { continues: { log: null, seq: null, reason: /^data\.mdb is missing/ } })
})

const EMPTIED: Record<string, (file: string) => void> = {
  'of 0 bytes': (file) => truncateSync(file, 0),
  'cut within its header': (file) => truncateSync(file, 40),
  'of one page': (file) => truncateSync(file, 4096),
  'of zeros': (file) => writeFileSync(file, Buffer.alloc(65_536)),
}

for (const [name, empty] of Object.entries(EMPTIED)) {
  t.test(`a database file ${name} is quarantined and reported`, async (t) => {
    const { gateway, data, start } = await origin(t)
    empty(join(data, 'data.mdb'))
    const config = join(gateway.folder, 'sidegate.yaml')
    const verdict = await runProgram(['audit', 'verify', '--config', config])
    t.match([verdict.code, JSON.parse(verdict.stdout)], [1, { findings: [{ reason: /^data\.mdb is / }] }])
    const created = await runProgram(['keys', 'create', '--config', config, '--name', 'app'])
    t.match([created.code, created.stderr], [2, /data\.mdb is /], 'no command begins a log in silence')
    const served = await start()
    t.equal(setAside(data, 'quarantine-').length, 1)
    t.match(await served.readiness(), { status: 200, body: { quarantines: 1 } })
    t.match(await genesisOf(served), { continues: { log: null, seq: null, reason: /^data\.mdb is / } })
    t.match(
      served.logs.find(({ level }) => level === 'error'),
      { msg: /the usage log is damaged; it was set aside/ },
    )
  })
}
