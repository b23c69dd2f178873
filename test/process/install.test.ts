// The workflow, the compose file, the chart values and the unit that `sidegate init` writes work as
// they stand.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { EXTRAS } from '../../src/cli/init-files.ts'
import { prepareCharts } from '../charts/helm.ts'
import { missing } from '../charts/tools.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { ADMIN_TOKEN, UPSTREAM_KEY } from './gateway.ts'
import { programArgs, SIDEGATE } from './program.ts'
import { runCli, runCommand } from './run-command.ts'
import { fetchInTime, inTime } from './until.ts'

const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  OPENROUTER_API_KEY: UPSTREAM_KEY,
  SIDEGATE_ADMIN_TOKEN: ADMIN_TOKEN,
}

/** An empty folder by its real path, as the commands print it. */
const emptyFolder = (t: Test): string => realpathSync(temporaryFolder(t))

/** A folder for PATH with a program of this name that runs Sidegate with the arguments after `skip`. */
function programOnPath(t: Test, name: string, skip = 0): NodeJS.ProcessEnv {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, name), `#!/bin/sh\nshift ${skip}\nexec ${SIDEGATE} "$@"\n`, { mode: 0o755 })
  return { ...ENVIRONMENT, PATH: `${folder}:${ENVIRONMENT['PATH'] ?? ''}` }
}

t.test('each step of the workflow runs as it stands', async (t) => {
  const folder = emptyFolder(t)
  const repository = join(folder, 'repository')
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main']
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: repository, encoding: 'utf8' })
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  }
  mkdirSync(repository)
  git('init')
  t.match(await runCli(['init', '--github'], {}, repository), { code: 0 })
  git('add', '.')
  git('commit', '-m', 'first')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  const rule = '\n  - {name: no-zenith, type: keyword_block, pattern: zenith, action: block}\n'
  writeFileSync(join(repository, 'rules/50-zenith.yaml'), `rules:${rule}`)
  const workflow = parse(readFileSync(join(repository, EXTRAS.github.target), 'utf8'))
  const uses = workflow.jobs.rules.steps.flatMap((step: { uses?: string }) => step.uses ?? [])
  for (const action of uses) t.match(action, /@[0-9a-f]{40}$/, 'pinned')
  const summary = join(folder, 'summary.md')
  const env = {
    ...programOnPath(t, 'npx', 2),
    ...workflow.env,
    ...{
      SIDEGATE: 'a-package',
      GITHUB_BASE_REF: 'main',
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_ACTIONS: 'true',
    },
  }
  for (const { name, run } of workflow.jobs.rules.steps.filter((step: { run?: string }) => step.run)) {
    const ended = await runCommand(['bash', '-e', '-c', run], { cwd: repository, env })
    t.match(ended, { code: 0 }, `${name}: ${ended.stdout}${ended.stderr}`)
  }
  t.match(readFileSync(summary, 'utf8'), /no-zenith/)
  t.equal(workflow.env.SIDEGATE, '', 'nobody else owns the package that a checkout names')
  const [first] = workflow.jobs.rules.steps.filter((step: { run?: string }) => step.run)
  const unnamed = await runCommand(['bash', '-e', '-c', first.run], {
    cwd: repository,
    env: { SIDEGATE: '' },
  })
  t.match(unnamed, { code: 1, stdout: /^::error .*names no package/ })
})

/** Starts a gateway by a line, asks whether it is ready, and stops it. */
async function runsReady(
  t: Test,
  line: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const child = spawn(line[0] ?? '', line.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const listening = new Promise<{ gateway: string[]; ops: string[] }>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      const entry = JSON.parse(text)
      if (entry.msg === 'listening') resolve(entry)
    })
    void exited.then((code) => reject(new Error(`it ended with ${code}`)))
  })
  const { ops } = await inTime('it listens', listening)
  t.equal((await fetchInTime(`http://${ops[0]}/readyz`)).status, 200)
  child.kill('SIGTERM')
  t.equal(await inTime('it stops', exited), 0)
}

/** Addresses with any free port. */
const FREE_PORTS = ['--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'] as const

t.test('the service of compose.yaml runs, with its files where it mounts them', async (t) => {
  const folder = emptyFolder(t)
  t.match(await runCli(['init', folder, '--compose']), { code: 0 })
  const { services } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'))
  const { command, volumes, environment, ports } = services.sidegate
  t.same(Object.keys(environment), ['OPENROUTER_API_KEY', 'SIDEGATE_ADMIN_TOKEN'])
  for (const port of ports) t.match(port, /^127\.0\.0\.1:/, 'published on this machine only')
  const container = emptyFolder(t)
  mkdirSync(join(container, 'app'))
  for (const volume of volumes) {
    const [source, target] = volume.split(':')
    if (source.startsWith('./')) symlinkSync(join(folder, source), join(container, target))
    else mkdirSync(join(container, target))
  }
  t.same(command.slice(3), ['--gateway', '0.0.0.0:8484', '--ops', '0.0.0.0:9484'])
  const args = command.map((word: string) => word.replace('/app', join(container, 'app')))
  await runsReady(t, ['env', ...programArgs([...args, ...FREE_PORTS])], container, ENVIRONMENT)
  t.ok(existsSync(join(container, 'app/data/data.mdb')), 'the log is in the volume')
})

t.test('the chart accepts values.yaml', { skip: missing('helm') }, async (t) => {
  const folder = emptyFolder(t)
  t.match(await runCli(['init', folder, '--helm']), { code: 0 })
  const charts = prepareCharts()
  t.teardown(() => charts.remove())
  const prices = `prices.file=${join(folder, 'prices.yaml')}`
  const all = charts.text('sidegate', '-f', join(folder, 'values.yaml'), '--set-file', prices)
  t.match(all, /image: "?registry\.example\.com\/platform\/sidegate/)
  t.match(all, /name: "?sidegate-team-rules/)
  writeFileSync(join(folder, 'all.yaml'), all)
  t.match(await runCli(['check', 'all.yaml'], {}, folder), { code: 0 })
})

/** Most exposure that systemd may find, in tenths; 100 without any hardening. */
const MAXIMUM_EXPOSURE = 20

t.test('systemd accepts the unit and finds it hardened', async (t) => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
  if (!hasSystemd) {
    t.pass('the unit', { skip: 'NOT TESTED: systemd-analyze is not installed' })
    return
  }
  const folder = emptyFolder(t)
  t.match(await runCli(['init', folder, '--systemd']), { code: 0 })
  const unit = join(folder, 'sidegate.service')
  t.match(await runCommand(['systemd-analyze', 'verify', unit]), { code: 0, stderr: '' })
  const security = ['systemd-analyze', 'security', '--offline=true', `--threshold=${MAXIMUM_EXPOSURE}`, unit]
  const found = await runCommand(security)
  t.equal(found.code, 0, found.stdout)
})

t.test('the command of the unit runs in its folder', async (t) => {
  const folder = emptyFolder(t)
  t.match(await runCli(['init', folder, '--systemd']), { code: 0 })
  const unit = readFileSync(join(folder, 'sidegate.service'), 'utf8')
  const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  t.equal(settingOf('EnvironmentFile'), join(folder, 'sidegate.env'))
  t.equal(settingOf('ReadWritePaths'), join(folder, 'data'))
  const line = [...settingOf('ExecStart').split(' '), ...FREE_PORTS]
  await runsReady(t, line, settingOf('WorkingDirectory'), programOnPath(t, 'sidegate'))
  t.ok(existsSync(join(folder, 'data/data.mdb')))
})
