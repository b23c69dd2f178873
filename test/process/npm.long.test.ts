// The scripts of package.json as npm runs them: signals, and versions of Node that are too old.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../rules/fixture.ts'
import { ADMIN_TOKEN, UPSTREAM_KEY, writeDeployment } from './gateway.ts'
import { runCommand } from './run-command.ts'
import { inTime, until } from './until.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The processes below one, itself excluded. */
function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.map(Number).flatMap((child) => [child, ...descendants(child)])
}

const upstreamUrl = 'http://127.0.0.1:1/v1'
const file = (t: Test) =>
  writeDeployment({ upstreamUrl, folder: temporaryFolder(t), rules: 'rules: []\n' }).file

const SCRIPTS: readonly (readonly [script: string, args: (t: Test) => string[], ready: RegExp])[] = [
  ['start', (t) => ['--config', file(t)], /"msg":"listening"/],
  ['demo', () => ['--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'], /grep \^sidegate_/],
  ['sidegate', (t) => ['serve', '--config', file(t)], /"msg":"listening"/],
]
for (const [script, args, ready] of SCRIPTS) {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    t.test(`${signal} to npm run ${script} stops the gateway and leaves no process`, async (t) => {
      const { NODE_OPTIONS: _, ...env } = process.env
      const npm = spawn('npm', ['run', script, '--', ...args(t)], {
        cwd: ROOT,
        env: { ...env, ADMIN_TOKEN, UPSTREAM_KEY },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exited = new Promise((resolve) => npm.once('exit', resolve))
      t.teardown(() => npm.kill('SIGKILL'))
      let isReady = false
      createInterface({ input: npm.stdout }).on('line', (line) => {
        isReady ||= ready.test(line)
      })
      await until('the gateway listens', () => isReady)
      const started = descendants(npm.pid ?? 0)
      t.teardown(() => {
        for (const pid of started) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
      })
      t.ok(started.length > 0)
      npm.kill(signal)
      await inTime('npm exits', exited)
      t.same(started.filter(isRunning), [], 'nothing is orphaned')
    })
  }
}

/** A module that makes the process believe that it runs on another Node. */
const pretend = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`

/** Runs the check of the version as npm does. */
const check = (version: string, event: string, isGlobal = false) =>
  runCommand(
    [
      'env',
      '-u',
      'NODE_OPTIONS',
      `npm_lifecycle_event=${event}`,
      `npm_config_global=${isGlobal ? 'true' : ''}`,
    ].concat(process.execPath, '--import', pretend(version), '.require-node.cjs'),
    { cwd: ROOT },
  )

t.test('scripts and global installations refuse an old Node with one sentence', async (t) => {
  const [, least] = /^>=(\d+\.\d+)$/.exec(PACKAGE.engines.node) ?? []
  for (const old of ['16.20.2', '20.20.2', '22.21.9']) {
    const start = await check(old, 'start')
    t.match(start, { code: 2, stdout: '', stderr: /^sidegate needs Node 22\.22 .* Run `npm ci`.*\n$/ }, old)
    const global = await check(old, 'preinstall', true)
    t.match(
      global,
      { code: 1, stdout: '', stderr: /^sidegate needs Node 22\.22 .*`nvm install 24`.*\n$/ },
      old,
    )
    const local = await check(old, 'preinstall')
    t.match(local, { code: 0, stdout: '', stderr: /^sidegate needs Node 22\.22 .*use `npm start`.*\n$/ }, old)
  }
  for (const version of [`${least}.0`, '24.0.0']) {
    t.match(await check(version, 'start'), { code: 0, stdout: '', stderr: '' }, version)
    t.match(await check(version, 'preinstall', true), { code: 0, stdout: '', stderr: '' }, version)
  }
})

t.test('every script that runs the program checks Node, and none leaves a shell above it', async (t) => {
  const scripts: Record<string, string> = PACKAGE.scripts
  const running = Object.entries(scripts).filter(([, line]) => line.includes('src/main.ts'))
  t.same(
    running.map(([name]) => name),
    ['start', 'demo', 'sidegate'],
  )
  for (const [name, line] of running)
    t.match(line, /^node \.require-node\.cjs &&( node \.build-console\.ts &&)? exec src\/main\.ts/, name)
  t.equal(scripts['preinstall'], 'node .require-node.cjs')
  t.ok(PACKAGE.files.includes('.require-node.cjs'))
})
