// The built program: it starts with its compiled code, and refuses versions of Node that are too old.

import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { codeFile, nodeOptions, programFile } from '../../src/boot/built-program.ts'
import { VERSION } from '../../src/core/version.ts'
import { MAIN, startGateway } from './gateway.ts'
import { startUpstream } from './upstream.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** `node`, as an operator has it: what the test runner loads into every Node would be in the way of the program. */
const NODE = ['-u', 'NODE_OPTIONS', process.execPath] as const

const run = (args: readonly string[]) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile('env', [...NODE, ...args], { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** Makes the process believe that it runs on another Node, before the program begins. */
const pretend = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`

const BAD_CONFIG = `upstream: { baseUrl: 'ftp://example.com', retries: { attempts: many }, timeout: 3 }
rules: { path: rules.yaml }
limits: { bodyBytes: -1 }
`
const BAD_RULES = `rules:
  - { name: one, type: keyword_block, pattern: 3, action: block, enabled: perhaps }
  - { name: two, type: keyword_blok, pattern: x, action: redact, match: { direction: up } }
  - { type: pii }
`

// As it is installed: `dist` beside `config`.
const folder = t.testdir()
const dist = join(folder, 'dist')
const main = join(dist, 'main.js')
cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
t.match(await run(['.build.ts', dist]), { code: 0, stdout: '', stderr: '' }, 'it is built')

t.test('the built program', async (t) => {
  t.match(await run([main, '--version']), { code: 0, stdout: `sidegate ${VERSION}\n`, stderr: '' })
  t.match(await run([main, 'serve', '--config', 'nowhere.yaml']), {
    code: 2,
    stderr: /nowhere\.yaml.*ENOENT/,
  })
  for (const version of ['18.20.8', '20.20.2', '22.18.0']) {
    const { code, stdout, stderr } = await run(['--import', pretend(version), main, '--version'])
    t.equal(code, 2, version)
    t.equal(stdout, '')
    t.match(stderr, /^sidegate needs Node 22\.19 or later.*\n$/, 'one line')
  }
  for (const version of ['22.19.0', '24.0.0'])
    t.equal((await run(['--import', pretend(version), main, '--version'])).code, 0, version)
})

t.test('it is strict, as the modules are that it is made of', async (t) => {
  t.match(readFileSync(programFile(dist), 'utf8'), /^\(function \([a-zA-Z_, ]+\) \{"use strict";/)
  t.match(readFileSync(main, 'utf8'), /^#!.*\n"use strict";/)
})

t.test('a start loads no modules of Node that only unused parts of libraries ask for', async (t) => {
  t.notMatch(readFileSync(programFile(dist), 'utf8'), /require\("(?:node:)?(?:https|http2)"\)/)
})

/** Whether V8 takes the compiled code that lies in a folder; undefined without any. */
async function takesCode(flags: readonly string[], from: string): Promise<string> {
  const program = `
    const { loadProgram } = await import(${JSON.stringify(join(ROOT, 'src/boot/built-program.ts'))})
    const { script, run } = loadProgram(${JSON.stringify(from)})
    const code = await run(['--version'])
    console.log(code, script.cachedDataRejected)`
  return (await run([...flags, '--input-type=module', '--eval', program])).stdout
}

t.test('a shell, npm and the image start Node with the options of src/main.ts', async (t) => {
  const options = nodeOptions(MAIN)
  t.same(nodeOptions(main), options)
  const print = 'data:text/javascript,console.log(JSON.stringify(process.execArgv))'
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`
  for (const program of [MAIN, main]) {
    const env = { PATH, NODE_OPTIONS: `--import=${print}` }
    const stdout = execFileSync(program, ['--version'], { env, timeout: 60_000, encoding: 'utf8' })
    t.equal(stdout, `${JSON.stringify(options)}\nsidegate ${VERSION}\n`, program)
  }
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.match(scripts, { start: 'src/main.ts serve', demo: 'src/main.ts demo', sidegate: 'src/main.ts' })
  t.match(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'), '\nENTRYPOINT ["dist/main.js"]\n')
  t.equal(await takesCode(options, dist), `sidegate ${VERSION}\n0 false\n`)
})

t.test('code of another V8, of other flags, cut off or none: the program is compiled', async (t) => {
  const flags = nodeOptions(MAIN)
  t.equal(await takesCode([], dist), `sidegate ${VERSION}\n0 true\n`, 'without the flags')
  const other = t.testdir()
  copyFileSync(programFile(dist), programFile(other))
  t.equal(await takesCode(flags, other), `sidegate ${VERSION}\n0 undefined\n`, 'none')
  copyFileSync(codeFile(dist), codeFile(other))
  t.equal(
    await takesCode(flags, other),
    `sidegate ${VERSION}\n0 false\n`,
    'in another folder, as in the image',
  )
  const code = readFileSync(codeFile(dist))
  for (const [what, bytes] of [
    ['cut off', code.subarray(0, code.length / 2)],
    ['empty', Buffer.alloc(0)],
    ['of another version', Buffer.concat([Buffer.alloc(16), code.subarray(16)])],
  ] as const) {
    writeFileSync(codeFile(other), bytes)
    t.equal(await takesCode(flags, other), `sidegate ${VERSION}\n0 true\n`, what)
  }
  rmSync(codeFile(other))
})

const RULES = Array.from(
  { length: 1000 },
  (_, n) => `  - { name: rule-${n}, type: keyword_block, pattern: word${n}x, action: block }`,
)
const MANY_RULES = `rules:\n${RULES.join('\n')}\n`

t.test('what the program runs beside itself runs from where it is built', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const options = { upstreamUrl: upstream.baseUrl, main, rules: MANY_RULES }
  const first = await startGateway(options)
  const { key } = await first.createKey()
  t.equal(
    (await first.chat(key, { model: 'm', messages: [{ role: 'user', content: 'word999x' }] })).status,
    403,
    'the reader of large rule files',
  )
  t.equal((await first.chat(key, { model: 'm', messages: [{ role: 'user', content: 'Hello' }] })).status, 200)
  t.match((await first.api('POST', '/audit/verify')).body, { result: { ok: true } }, 'the check of the log')
  await first.kill('SIGKILL')
  const { folder } = first
  const second = await startGateway({ ...options, folder })
  t.pass('the look at a store that was left open')
  await second.stop()
})

t.test('the built program says the same of a bad configuration and of bad rules as its source', async (t) => {
  const config = 'upstream: { baseUrl: "http://localhost/v1" }\nrules: { path: rules.yaml }\n'
  const files = { 'rules.yaml': BAD_RULES, 'bad.yaml': BAD_CONFIG, 'good.yaml': config }
  const deployment = t.testdir(files)
  for (const [file, told] of [
    ['bad.yaml', /upstream\.retries\.attempts/],
    ['good.yaml', /rules\[1\]\.match\.direction/],
  ] as const) {
    const args = ['check', '--config', join(deployment, file), '--format', 'json']
    const [built, source] = await Promise.all([main, MAIN].map((program) => run([program, ...args])))
    t.match(source, { code: 1, stdout: told })
    t.same(built, source)
  }
})

t.test('the demo', async (t) => {
  const demo = spawn('env', [...NODE, main, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.match(String(await once(demo.stdout, 'data')), /Sidegate is running/)
  demo.kill('SIGINT')
  t.same(await once(demo, 'exit'), [0, null])
})
