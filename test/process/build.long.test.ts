// The built program: starts with its compiled code and behaves like its source.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { codeFile, nodeOptions, programFile } from '../../src/boot/built-program.ts'
import { VERSION } from '../../src/core/version.ts'
import { discard, prompt } from './gateway.ts'
import { deployProgram, startProgram } from './gateway-process.ts'
import { ROOT, SOURCE } from './program.ts'
import { type CommandResult, runCommand } from './run-command.ts'
import { inTime } from './until.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

/** `node` without what the test runner loads into it. */
const NODE = ['env', '-u', 'NODE_OPTIONS', process.execPath] as const

const run = (args: readonly string[]): Promise<CommandResult> => runCommand([...NODE, ...args], { cwd: ROOT })

/** A module that makes the process believe that it runs on another Node. */
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

// The layout of an installation: `dist` next to `config`.
const folder = t.testdir()
const dist = join(folder, 'dist')
const main = join(dist, 'main.js')
cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
t.match(await run(['.build.ts', dist]), { code: 0, stdout: '', stderr: '' }, 'the build succeeds')

t.test('the built program runs, and refuses a Node that is too old', async (t) => {
  t.match(await run([main, '--version']), { code: 0, stdout: `sidegate ${VERSION}\n`, stderr: '' })
  t.match(await run([main, 'serve', '--config', 'nowhere.yaml']), {
    code: 2,
    stderr: /nowhere\.yaml.*ENOENT/,
  })
  for (const version of ['18.20.8', '20.20.2', '22.21.1']) {
    const { code, stdout, stderr } = await run(['--import', pretend(version), main, '--version'])
    t.equal(code, 2, version)
    t.equal(stdout, '')
    t.match(stderr, /^sidegate needs Node 22\.22 or later.*nvm install 24.*\n$/, 'one line')
  }
  for (const version of ['22.22.0', '24.0.0'])
    t.equal((await run(['--import', pretend(version), main, '--version'])).code, 0, version)
})

t.test('the built program runs in strict mode, like its modules', async (t) => {
  t.match(readFileSync(programFile(dist), 'utf8'), /^\(function \([a-zA-Z_, ]+\) \{"use strict";/)
  t.match(readFileSync(main, 'utf8'), /^#!.*\n"use strict";/)
})

t.test('a start loads no modules of Node that only unused parts of libraries need', async (t) => {
  t.notMatch(readFileSync(programFile(dist), 'utf8'), /require\("(?:node:)?(?:https|http2)"\)/)
})

/**
 * Runs a built program with `--version`.
 * @returns its output and whether V8 rejected its compiled code; undefined without compiled code
 */
async function rejectsCode(flags: readonly string[], from: string): Promise<string> {
  const program = `
    const { loadProgram } = await import(${JSON.stringify(join(ROOT, 'src/boot/built-program.ts'))})
    const { script, run } = loadProgram(${JSON.stringify(from)})
    const code = await run(['--version'])
    console.log(code, script.cachedDataRejected)`
  return (await run([...flags, '--input-type=module', '--eval', program])).stdout
}

t.test('a shell, npm and the image start Node with the options in src/main.ts', async (t) => {
  const options = nodeOptions(SOURCE)
  t.same(nodeOptions(main), options)
  const print = 'data:text/javascript,console.log(JSON.stringify(process.execArgv))'
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`
  for (const program of [SOURCE, main]) {
    const env = { PATH, NODE_OPTIONS: `--import=${print}` }
    const stdout = execFileSync(program, ['--version'], { env, timeout: 60_000, encoding: 'utf8' })
    // A command starts itself again with a smaller heap, so the options are printed twice.
    const [started, , ...printed] = stdout.split('\n')
    t.same([started, ...printed], [JSON.stringify(options), `sidegate ${VERSION}`, ''], program)
  }
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.match(scripts, { start: /exec src\/main.ts serve$/, demo: /exec src\/main.ts demo$/ })
  t.match(scripts, { sidegate: /exec src\/main.ts$/ })
  t.match(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'), '\nENTRYPOINT ["dist/main.js"]\n')
  t.equal(await rejectsCode(options, dist), `sidegate ${VERSION}\n0 false\n`)
})

t.test('the program is compiled when its compiled code is missing, damaged or of another V8', async (t) => {
  const flags = nodeOptions(SOURCE)
  t.equal(await rejectsCode([], dist), `sidegate ${VERSION}\n0 true\n`, 'without the flags')
  const other = t.testdir()
  copyFileSync(programFile(dist), programFile(other))
  t.equal(await rejectsCode(flags, other), `sidegate ${VERSION}\n0 undefined\n`, 'none')
  copyFileSync(codeFile(dist), codeFile(other))
  t.equal(
    await rejectsCode(flags, other),
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
    t.equal(await rejectsCode(flags, other), `sidegate ${VERSION}\n0 true\n`, what)
  }
  rmSync(codeFile(other))
})

const RULES = Array.from(
  { length: 1000 },
  (_, n) => `  - { name: rule-${n}, type: keyword_block, pattern: word${n}x, action: block }`,
)
const MANY_RULES = `rules:\n${RULES.join('\n')}\n`

t.test('the programs that the built program starts run from its own folder', async (t) => {
  const options = { program: main, rules: MANY_RULES }
  const { upstream, gateway: first, key } = await deployProgram(t, undefined, options)
  t.equal((await first.chat(key, prompt('word999x'))).status, 403, 'the reader of large rule files')
  t.equal((await first.chat(key, prompt('Hello'))).status, 200)
  t.match((await first.api('POST', '/audit/verify')).body, { result: { ok: true } }, 'the check of the log')
  await first.kill('SIGKILL')
  const second = await startProgram({ ...options, upstreamUrl: upstream.baseUrl, folder: first.folder })
  t.teardown(() => discard(second))
  t.pass('the inspection of a store that was not closed')
})

t.test('the built program reports errors of files like its source', async (t) => {
  const config = 'upstream: { baseUrl: "http://localhost/v1" }\nrules: { path: rules.yaml }\n'
  const files = { 'rules.yaml': BAD_RULES, 'bad.yaml': BAD_CONFIG, 'good.yaml': config }
  const deployment = t.testdir(files)
  for (const [file, error] of [
    ['bad.yaml', /upstream\.retries\.attempts/],
    ['good.yaml', /rules\[1\]\.match\.direction/],
  ] as const) {
    const args = ['check', '--config', join(deployment, file), '--format', 'json']
    const [built, source] = await Promise.all([main, SOURCE].map((program) => run([program, ...args])))
    t.match(source, { code: 1, stdout: error })
    t.same(built, source)
  }
})

t.test('the built demo starts, and ends on Ctrl-C', async (t) => {
  const [command, ...args] = [...NODE, main, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0']
  const demo = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => demo.kill('SIGKILL'))
  const exited = once(demo, 'exit')
  t.match(String(await inTime('the demo prints', once(demo.stdout, 'data'))), /Sidegate is running/)
  demo.kill('SIGINT')
  t.same(await inTime('the demo exits', exited), [0, null])
})
