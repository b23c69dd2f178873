// Packages of the charts: their bytes follow from the files alone, and they hold what a registry shows.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { ROOT } from '../house/sources.ts'
import { CHARTS, objects, pick, prepareCharts } from './helm.ts'
import { findTool, missing } from './tools.ts'

const EPOCH = 1_700_000_000

const run = (command: string, args: readonly string[], env: Record<string, string> = {}) => {
  const path = `${dirname(findTool('helm') ?? '')}:${process.env['PATH']}`
  const { GITHUB_REPOSITORY: _, SOURCE_DATE_EPOCH: _1, ...rest } = process.env
  return spawnSync(command, args, { encoding: 'utf8', env: { ...rest, PATH: path, ...env } })
}

t.test('the same files give the same bytes', { skip: missing('helm') }, async (t) => {
  const folder = t.testdir({ first: {}, second: {} })
  const packed = ['first', 'second'].map((name, index) => {
    const charts = join(folder, name, 'charts')
    cpSync(CHARTS, charts, { recursive: true })
    // As another checkout, with another mask, after `helm dependency build`.
    const file = join(charts, 'sidegate/values.yaml')
    utimesSync(file, index * 1000, index * 1000)
    chmodSync(file, index === 0 ? 0o644 : 0o600)
    if (index === 1) {
      mkdirSync(join(charts, 'sidegate/charts'))
      writeFileSync(join(charts, 'sidegate/charts/sidegate-lib-0.0.1.tgz'), 'old')
      writeFileSync(join(charts, 'sidegate/Chart.lock'), 'generated: "2026-01-01T00:00:00Z"\n')
    }
    const out = join(folder, name, 'out')
    const { status, stdout, stderr } = run(join(charts, 'package.sh'), [out], {
      SOURCE_DATE_EPOCH: `${EPOCH}`,
    })
    t.equal(status, 0, stderr)
    const paths = stdout.trim().split('\n')
    t.equal(paths.length, 3)
    for (const path of paths) t.equal(statSync(path).mtimeMs, EPOCH * 1000, 'helm push writes this time')
    return readdirSync(out).map((file) => [file, readFileSync(join(out, file)).toString('base64')])
  })
  t.same(packed[0], packed[1])
})

t.test('a package renders, and names icon and source', { skip: missing('helm') }, async (t) => {
  const out = t.testdir()
  const { status, stderr } = run(join(CHARTS, 'package.sh'), [out], {
    GITHUB_REPOSITORY: 'some-team/gateway',
  })
  t.equal(status, 0, stderr)
  const icon = `data:image/svg+xml;base64,${readFileSync(join(ROOT, 'src/console/icon.svg')).toString('base64')}`
  for (const file of readdirSync(out)) {
    const { stdout } = run('helm', ['show', 'chart', join(out, file)])
    const url = 'https://github.com/some-team/gateway'
    t.match(parse(stdout), { icon, home: url, sources: [url] }, file)
  }
  const chart = readdirSync(out).find((file) => /^sidegate-\d/.test(file)) ?? ''
  const settings = ['--set', 'mode=standalone,container.image.repository=gateway']
  const { stdout, stderr: error } = run('helm', ['template', 'sidegate', join(out, chart), ...settings])
  t.match(pick(objects(stdout), 'Deployment')['spec'].template.spec.containers[0].image, 'gateway:', error)
})

t.test('the dependencies of a checkout can be built', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  for (const chart of ['sidegate', 'sidegate-hub', 'examples/app']) {
    rmSync(join(charts.folder, chart, 'charts'), { recursive: true })
    const { code, stderr } = charts.helm('dependency', 'build', chart)
    t.equal(code, 0, stderr)
    t.equal(charts.helm('template', 'a', chart).code, 0)
  }
})

t.test('a package needs a time', { skip: missing('helm') }, async (t) => {
  const folder = t.testdir({ charts: {} })
  cpSync(join(CHARTS, 'package.sh'), join(folder, 'charts/package.sh'))
  const env = { GIT_CEILING_DIRECTORIES: folder }
  const { status, stderr } = run(join(folder, 'charts/package.sh'), [join(folder, 'out')], env)
  t.equal(status, 1)
  t.match(stderr, /is not in a git repository; set SOURCE_DATE_EPOCH/)
  t.equal(run(join(folder, 'charts/package.sh'), []).status, 2)
})
