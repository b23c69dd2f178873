// The documentation of values is complete, generated files are up to date, and the kustomize
// component renders the same container as the library chart.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { systemClock } from '../../src/core/clock.ts'
import { parseConfig } from '../../src/core/config.ts'
import { VERSION } from '../../src/core/version.ts'
import { component, generated } from './generate.ts'
import { CHARTS, objects, pick, prepareCharts } from './helm.ts'
import { findTool, missing } from './tools.ts'
import { restrictedViolations, schemaErrors } from './types.ts'

const read = (path: string) => readFileSync(join(CHARTS, path), 'utf8')

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

const CHART_NAMES = ['sidegate', 'sidegate-hub', 'sidegate-lib']

t.test('every value is documented and has a default', async (t) => {
  for (const chart of CHART_NAMES) {
    const walk = (schema: Schema, value: any, path: string) => {
      for (const [key, child] of Object.entries(schema.properties ?? {})) {
        const name = `${path}${key}`
        t.match(child.description, /\S.*\.$/, `${chart} ${name} has a description`)
        // Other charts have their own keys in `global`.
        if (child.properties !== undefined && name !== 'global') {
          t.equal(child.additionalProperties, false, `${chart} ${name} refuses unknown keys`)
        }
        // The gateway has defaults for `config`, and the kubelet for the rest of the probes.
        if (
          /^(enabled$|config|container\.|sidegate-lib$)|probes\..*(timeout|initialDelay)|[sS]elector\./.test(
            name,
          )
        )
          continue
        t.not(value?.[key], undefined, `${chart} ${name} has a default`)
        walk(child, value?.[key], `${name}.`)
      }
    }
    walk(JSON.parse(read(`${chart}/values.schema.json`)), parse(read(`${chart}/values.yaml`)), '')
  }
})

t.test('the charts have the version of the gateway', async (t) => {
  for (const chart of CHART_NAMES) {
    const { version, appVersion } = parse(read(`${chart}/Chart.yaml`))
    t.same([version, appVersion], [VERSION, VERSION], chart)
  }
  for (const chart of ['sidegate', 'sidegate-hub', 'examples/app']) {
    const [{ version }] = parse(read(`${chart}/Chart.yaml`)).dependencies
    t.equal(version, VERSION, `${chart}'s dependency`)
  }
})

t.test('generated files are up to date', async (t) => {
  for (const [path, text] of generated())
    t.equal(read(`../${path}`), text, `${path}; run node test/charts/generate.ts to update it`)
})

t.test('the kustomize component is up to date', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  for (const [path, text] of component(charts))
    t.equal(read(path), text, `charts/${path}; run node test/charts/generate.ts to update it`)
})

t.test(
  'the kustomize component adds the library chart’s container to every labelled workload',
  { skip: missing('helm', 'kubectl') },
  async (t) => {
    const charts = prepareCharts()
    t.teardown(charts.remove)
    const kubectl = findTool('kubectl') ?? ''
    const text = execFileSync(kubectl, ['kustomize', join(charts.folder, 'examples/kustomize')], {
      encoding: 'utf8',
    })
    const all = objects(text)
    for (const object of all) t.equal(await schemaErrors(object), '')
    const { spec: library } = pick(charts.render('examples/app'), 'Deployment')['spec'].template
    const sidecar = {
      ...library.initContainers[0],
      image: `registry.example.com/platform/sidegate:${VERSION}`,
    }
    const app = pick(all, 'Deployment', 'app')['spec'].template.spec
    t.same(app.initContainers[0], sidecar, 'the same container comes first, from the named registry')
    t.equal(app.initContainers[1].name, 'migrate')
    const job = pick(all, 'Job')['spec'].template.spec
    t.same(job.initContainers, [sidecar])
    const cronJob = pick(all, 'CronJob')['spec'].jobTemplate.spec.template.spec
    t.same(cronJob.initContainers, [sidecar])
    for (const spec of [app, job, cronJob]) {
      const config = spec.volumes.find(({ name }: any) => name === 'sidegate-config').configMap.name
      t.match(config, /^sidegate-config-[a-z0-9]+$/, 'a change of the configuration restarts the Pods')
      t.ok(pick(all, 'ConfigMap', config))
      const others = (volumes: any[]) => volumes.filter(({ name }) => name !== 'sidegate-config')
      t.same(others(spec.volumes), others(library.volumes))
      t.same(
        restrictedViolations({ ...spec, containers: [] }).filter((one) => one.startsWith('sidegate')),
        [],
      )
    }
    t.ok(pick(all, 'ConfigMap', 'sidegate-rules'), 'a change of the rules restarts nothing')
    const root = t.testdir({
      config: {},
      secrets: { 'upstream-api-key': 'k', 'admin-token': 't'.repeat(40) },
    })
    const texts = all.flatMap((object) => object['data']?.['sidegate.yaml'] ?? [])
    t.equal(texts.length, 1)
    t.same(parseConfig(texts[0], join(root, 'config/sidegate.yaml'), {}, systemClock).problems, [])
    t.equal(pick(all, 'Deployment', 'untouched')['spec'].template.spec.initContainers, undefined)
  },
)
