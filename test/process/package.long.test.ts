// The package as npm would publish it: its files, and that its program runs with the declared
// dependencies.

import { execFile, spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { installBlock } from './install-page.ts'
import { fetchInTime, inTime, until } from './until.ts'

t.setTimeout(300_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** Runs a command without the NODE_OPTIONS of the test runner. */
const run = (cwd: string, ...command: string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile('env', ['-u', 'NODE_OPTIONS', ...command], { cwd }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${command.join(' ')}: ${stdout}${stderr}`)),
    )
  })

/** From npx on an empty cache to a redacted answer. */
const MAXIMUM_FIRST_ANSWER_MS = 20_000

/** A relative link of a document. */
const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)/g

t.test('the npm package holds only what runs and documents, and its program starts', async (t) => {
  const folder = t.testdir({ checkout: {}, installed: {} })
  const checkout = join(folder, 'checkout')
  for (const file of ['README.md', '.build.ts', '.build-console.ts', '.pack.ts', '.require-node.cjs'])
    copyFileSync(join(ROOT, file), join(checkout, file))
  for (const source of ['src', 'config', 'charts', 'test/audit', 'test/bench', '.github'])
    cpSync(join(ROOT, source), join(checkout, source), { recursive: true })
  // With the project's tools; the types are checked elsewhere, and tap is built.
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const { prepare: _, ...scripts } = PACKAGE.scripts
  const written = `${JSON.stringify({ ...PACKAGE, scripts: { ...scripts, build: 'node .build.ts' } }, null, 2)}\n`
  writeFileSync(join(checkout, 'package.json'), written)
  const readme = readFileSync(join(checkout, 'src/README.md'), 'utf8')
  const output = await run(checkout, 'npm', 'pack', '--json', '--loglevel=silent')
  const packed = JSON.parse(output.slice(output.search(/^[[{]/m)))
  // npm 11 prints a list of packages, later versions an object.
  const [{ filename, files }] = Object.values(packed) as [{ filename: string; files: { path: string }[] }]
  t.equal(readFileSync(join(checkout, 'package.json'), 'utf8'), written, 'the folder is as before')
  t.equal(readFileSync(join(checkout, 'src/README.md'), 'utf8'), readme)
  t.notOk(existsSync(join(checkout, '.packing')))

  t.same(
    files
      .map(({ path }) => path)
      .filter(
        (path) =>
          !/^(dist\/(.*\.(js|cjs|code)|console\/[\w.]+|package\.json)|config\/.*\.(yaml|json|md|service)|charts\/.*|src\/.*\.md|test\/.*\.(md|py)|\.github\/\w+\.(md|png)|README\.md|package\.json)$/.test(
            path,
          ),
      ),
    [],
    'only the built program, the configuration and documents',
  )
  t.ok(files.some(({ path }) => path === 'dist/main.js'))

  await run(folder, 'tar', '-xzf', join(checkout, filename), '-C', 'installed')
  const installed = join(folder, 'installed/package')
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  t.same(manifest.dependencies, { lmdb: PACKAGE.dependencies.lmdb })
  t.same(Object.keys(manifest.scripts), ['postpack'], 'which npm runs for no consumer')
  t.notOk(manifest.devDependencies)
  t.match(manifest, { name: 'sidegate', version: VERSION, bin: PACKAGE.bin, engines: PACKAGE.engines })
  for (const { path } of files.filter(({ path }) => path.endsWith('.md'))) {
    for (const [link, target = ''] of readFileSync(join(installed, path), 'utf8').matchAll(LINK))
      t.ok(existsSync(join(installed, dirname(path), target)), `${path}: ${link}`)
  }
  const main = join(installed, 'dist/main.js')
  t.equal(await run(folder, process.execPath, main, '--version'), `sidegate ${VERSION}\n`)
  await t.test('npx runs the demo from the package in an empty folder', async (t) => {
    // Outside of this project, whose own program npx would run.
    const empty = temporaryFolder(t)
    mkdirSync(join(empty, 'work'))
    const fromPackage = ['--yes', '--package', join(checkout, filename), 'sidegate']
    const npm = { ...process.env, NODE_OPTIONS: '', npm_config_cache: join(empty, 'cache') }
    const ping = spawnSync('npm', ['ping', '--fetch-retries=0', '--fetch-timeout=5000'], { env: npm })
    if (ping.status !== 0) {
      t.pass('npx', { skip: 'NOT TESTED: no registry of npm can be reached' })
      return
    }
    const startedMs = performance.now()
    const line = [...fromPackage, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0']
    const demo = spawn('npx', line, {
      cwd: join(empty, 'work'),
      env: npm,
      stdio: ['ignore', 'pipe', 'inherit'],
      // A group of its own, which ends as by Ctrl-C on a terminal.
      detached: true,
    })
    const exited = new Promise((resolve) => demo.once('exit', resolve))
    t.teardown(() => {
      if (demo.exitCode === null && demo.signalCode === null) process.kill(-(demo.pid ?? 0), 'SIGKILL')
    })
    let printed = ''
    demo.stdout.on('data', (data) => {
      printed += data
    })
    await until(
      'the demo prints its last command',
      () => /grep \^sidegate_\n/.test(printed) || demo.exitCode !== null,
    )
    const [, base = ''] = /base URL +(\S+)\/v1/.exec(printed) ?? []
    const [, key = ''] = /API key +(\S+)/.exec(printed) ?? []
    const answer = await fetchInTime(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'demo/echo',
        messages: [{ role: 'user', content: 'Ask bob@example.com.' }],
      }),
    })
    t.match(await answer.text(), /Ask \[EMAIL_1\]/)
    t.match(await (await fetchInTime(`${base}/console/`)).text(), /<title>/)
    const took = performance.now() - startedMs
    t.ok(took < MAXIMUM_FIRST_ANSWER_MS, `${Math.round(took)} ms`)
    process.kill(-(demo.pid ?? 0), 'SIGINT')
    await inTime('the demo stops', exited)
    const init = spawnSync('npx', ['--offline', ...fromPackage, 'init', '--helm'], {
      cwd: join(empty, 'work'),
      env: npm,
      encoding: 'utf8',
    })
    t.equal(init.status, 0, init.stderr)
    t.ok(existsSync(join(empty, 'work/values.yaml')))
    await t.test('the commands of the installation page lead to a key that works', async (t) => {
      const ports = '--gateway 127.0.0.1:0 --ops 127.0.0.1:0'
      const script = installBlock('npm').replace('serve &', `serve ${ports} > serve.log &`)
      const steps = spawn('bash', ['-euo', 'pipefail', '-c', `${script}\nwait`], {
        cwd: temporaryFolder(t),
        env: { ...npm, PACKAGE: join(checkout, filename), OPENROUTER_API_KEY: 'none' },
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      })
      const ended = new Promise((resolve) => steps.once('exit', resolve))
      t.teardown(async () => {
        if (steps.exitCode === null) process.kill(-(steps.pid ?? 0), 'SIGTERM')
        await inTime('the gateway stops', ended)
      })
      let output = ''
      steps.stdout.on('data', (data) => {
        output += data
      })
      await until('a key is made', () => /"key":/.test(output) || steps.exitCode !== null, 60_000)
      t.match(output, /"key": ?"sgate_live_\w{49}"/)
      t.equal(steps.exitCode, null, 'the gateway runs')
    })
  })
})
