// Alerts, recording rules and dashboard: they query metrics that exist, pass promtool's unit tests,
// and are shipped unchanged.

import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FLEET_GAUGES } from '../../src/metrics/gauge-table.ts'
import { createHubMetrics } from '../../src/metrics/hub-metrics.ts'
import { pick, prepareCharts } from './helm.ts'
import { ALERTS_FILE, panelQueries, readAlertGroups, readPanels, selectors } from './queries.ts'
import { findTool, missing } from './tools.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const HUB = createHubMetrics('0.1.0', {
  certificates: () => [],
  isConfigStale: () => false,
  areRuleFilesInForce: () => true,
  isPriceFileInForce: () => true,
})
HUB.conflicts.inc({ kind: 'fork' }, 0)
const PAGE = [readFileSync(here('../metrics/metrics.golden.txt'), 'utf8'), await HUB.page()]
  .join('\n')
  .split('\n')

/** Series of the metrics pages and their labels; null if neither page shows a sample. */
const SERIES = new Map<string, string[] | null>([
  ...PAGE.filter((line) => line.startsWith('# TYPE ')).map(
    (line) => [line.split(' ')[2] ?? '', null] as const,
  ),
  ...PAGE.filter((line) => line !== '' && !line.startsWith('#')).map((line) => {
    const [name = '', labels = ''] = line.split(/[{}]/)
    return [name, labels.split(',').map((label) => label.split('=')[0] ?? '')] as const
  }),
  // Only a gateway with a hub shows them.
  ...FLEET_GAUGES.map(([name]): [string, string[]] => [`sidegate_${name}`, []]),
])

/** Labels that a scrape adds. */
const TARGET_LABELS = ['namespace', 'pod', 'instance']

t.test('every query selects series and labels that exist', async (t) => {
  const rules = readAlertGroups().flatMap((group) => group.rules)
  const recorded = rules.map(({ record }) => record)
  const queries = [
    ...rules.map(({ expr }) => expr),
    ...readPanels().flatMap((panel) => panelQueries(panel, '1m')),
  ]
  t.ok(queries.length > 60)
  for (const selector of queries.flatMap(selectors)) {
    const [name = '', matchers = ''] = selector.split(/[{}]/)
    if (name.startsWith('process_') || recorded.includes(name)) continue
    t.ok(SERIES.has(name), `${name} is a metric`)
    const labels = SERIES.get(name) ?? null
    if (labels === null) continue
    for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=~|!=|=)"/g)) {
      t.ok([...TARGET_LABELS, ...labels].includes(label), `${name} has the label ${label}`)
    }
  }
})

t.test('every alert has a runbook and every panel a description', async (t) => {
  for (const { alert, labels, annotations } of readAlertGroups().flatMap(({ rules }) => rules)) {
    if (alert === undefined) continue
    t.match(labels, { severity: /^(warning|critical)$/ }, alert)
    t.match(
      annotations,
      { summary: /\{\{ or \$labels\.pod \$labels\.instance \}\}/, runbook: /\S{3,}/ },
      alert,
    )
  }
  for (const panel of readPanels()) {
    const { type, title, description } = panel
    if (type !== 'row') t.match(description, /\.$/, title)
    t.notMatch(JSON.stringify(panel), /\}\}\{\{/, `${title} separates its labels`)
  }
})

t.test('no two panels overlap', async (t) => {
  const taken = new Set<string>()
  const ids = new Set<number>()
  for (const { id, title, gridPos } of readPanels()) {
    t.notOk(ids.has(id), `${title} has a unique id`)
    ids.add(id)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        if (x >= 24 || taken.has(`${x} ${y}`)) t.fail(`${title} covers another panel at ${x}, ${y}`)
        taken.add(`${x} ${y}`)
      }
    }
  }
})

t.test(
  'promtool accepts the rules and every alert passes its unit tests',
  { skip: missing('promtool') },
  async (t) => {
    const folder = t.testdir()
    copyFileSync(ALERTS_FILE, join(folder, 'alerts.yaml'))
    copyFileSync(here('alerts_test.yaml'), join(folder, 'alerts_test.yaml'))
    const promtool = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(findTool('promtool') ?? '', args, {
        cwd: folder,
        encoding: 'utf8',
      })
      t.equal(status, 0, `${args.join(' ')}\n${stdout}${stderr}`)
    }
    promtool('check', 'rules', 'alerts.yaml')
    promtool('test', 'rules', 'alerts_test.yaml')
    const tested = readFileSync(here('alerts_test.yaml'), 'utf8')
    for (const { alert, record } of readAlertGroups().flatMap(({ rules }) => rules)) {
      t.ok(tested.includes(alert ?? record ?? ''), `${alert ?? record} is tested`)
    }
  },
)

t.test('the chart ships alerts and dashboard unchanged', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  const on = ['--set', 'prometheusRule.enabled=true,dashboard.enabled=true,podMonitor.enabled=true']
  const shipped = (...args: string[]) => charts.render('sidegate', ...on, ...args)
  t.same(pick(shipped(), 'PrometheusRule')['spec'].groups, readAlertGroups(), 'unchanged')
  const dashboard = pick(shipped(), 'ConfigMap', 'sidegate-dashboard')['data']['sidegate.json']
  t.same(JSON.parse(dashboard).panels, readPanels())
  const changed = shipped(
    '--set',
    'prometheusRule.alertLabels.team=a,prometheusRule.disabledAlerts={SidegateOverloaded}',
  )
  const rules: any[] = pick(changed, 'PrometheusRule')['spec'].groups.flatMap((group: any) => group.rules)
  t.notOk(rules.some(({ alert }) => alert === 'SidegateOverloaded'))
  t.ok(
    rules
      .filter(({ alert }) => alert !== undefined)
      .every(({ labels }) => labels.team === 'a' && labels.severity),
  )
  t.ok(rules.filter(({ record }) => record !== undefined).every(({ labels }) => labels === undefined))
})
