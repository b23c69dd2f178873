// What of the charts follows from elsewhere: the schema of `config` and `rules.inline`, the READMEs' tables of values,
// the kustomize component's container. `node test/charts/generate.ts` writes it; a test compares.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { RULES_SCHEMA } from '../../src/rules/schema.ts'
import { CHARTS, type Charts, pick, prepareCharts } from './helm.ts'

interface Schema {
  $schema?: string
  description?: string
  properties?: Record<string, Schema>
  [keyword: string]: unknown
}

const BIOME = fileURLToPath(new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url))

const read = (path: string) => readFileSync(join(CHARTS, path), 'utf8')

/** What the chart decides itself: `sidegate.config` in _config.tpl. */
const OWNED = ['listen', 'data', 'rules.path', 'upstream.apiKey', 'audit.signingKey', 'admin.token']

function configSchema(): Schema {
  const schema = structuredClone(CONFIG_SCHEMA) as Schema
  for (const path of OWNED) {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    const parent = keys.reduce<Schema>((node, key) => node.properties?.[key] ?? {}, schema)
    delete parent.properties?.[last]
  }
  const { $schema: _, title: __, ...rest } = schema
  return { ...rest, description: "The gateway's configuration, read at its start." }
}

/** As the project's linter wants it. */
const formatted = (json: string): string =>
  execFileSync(process.execPath, [BIOME, 'format', '--stdin-file-path=values.schema.json'], {
    cwd: CHARTS,
    input: json,
    encoding: 'utf8',
  })

function valuesSchema(): string {
  const schema = JSON.parse(read('sidegate/values.schema.json')) as Required<Schema>
  schema.properties['config'] = configSchema()
  const rules = (RULES_SCHEMA as Schema).properties?.['rules'] ?? {}
  const holder = schema.properties['rules']?.properties ?? {}
  holder['inline'] = { ...rules, description: 'Rules as values; they become the file `values.yaml`.' }
  return formatted(JSON.stringify(schema))
}

const cell = (value: unknown): string =>
  value === undefined ? '' : `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``

/** One row a group and a value; mappings of the operator's own keys are one value. */
function rows(schema: Schema, values: any, path: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const value = values?.[key] ?? child['default']
    const name = path === '' ? key : `${path}.${key}`
    // What is not for this chart to read.
    if (/^(container\.)?(global|enabled)$/.test(name)) return []
    const row = (shown: string) =>
      `| \`${name}\` | ${shown} | ${(child.description ?? '').replaceAll('|', '\\|')} |`
    if (child.properties === undefined || /[sS]elector$/.test(key)) return [row(cell(value))]
    return [row(''), ...rows(child, value, name)]
  })
}

const START = '<!-- values: made by node test/charts/generate.ts -->'
const END = '<!-- /values -->'

function readme(chart: string, table: readonly string[]): string {
  const text = read(`${chart}/README.md`)
  const [before] = text.split(START)
  const [, after] = text.split(END)
  return `${before}${START}\n\n| value | default | meaning |\n|---|---|---|\n${table.join('\n')}\n\n${END}${after}`
}

/** The rows of both READMEs; the application chart's `container` is the library's values with a few of its own. */
function tables(schemaText: string): { readonly application: string[]; readonly library: string[] } {
  const schema = JSON.parse(schemaText) as Schema
  const values = parse(read('sidegate/values.yaml'))
  const librarySchema = JSON.parse(read('sidegate-lib/values.schema.json')) as Schema
  const libraryValues = parse(read('sidegate-lib/values.yaml'))
  const container = { ...schema.properties?.['container'], properties: librarySchema.properties ?? {} }
  return {
    application: rows(
      { ...schema, properties: { ...schema.properties, container } },
      { ...values, container: { ...libraryValues, ...values.container } },
      '',
    ),
    library: rows(librarySchema, libraryValues, ''),
  }
}

const COMPONENT_HEAD = `# The sidecar and its volumes, as the sidegate-lib chart writes them; made by node test/charts/generate.ts.
# Merged into every workload that the component selects; the container comes first.
`

/** Strategic merge patches for workloads, by file; the name is that of whatever one is merged into. */
function component(charts: Charts): [string, string][] {
  const pod = pick(charts.render('examples/app', '-f', 'kustomize/values.yaml'), 'Deployment').spec.template
    .spec
  const sidecar = pod.initContainers[0]
  const volumes = pod.volumes.filter(({ name }: { name: string }) => name.startsWith('sidegate-'))
  const metadata = { name: 'selected-by-the-component' }
  const template = { spec: { initContainers: [sidecar], volumes } }
  const patches = {
    // In place of other kinds of its shape as well.
    'sidecar.yaml': { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template } },
    'cronjob.yaml': {
      ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata },
      spec: { jobTemplate: { spec: { template } } },
    },
  }
  return Object.entries(patches).map(([file, patch]) => [
    `kustomize/${file}`,
    COMPONENT_HEAD + stringify(patch, { lineWidth: 0 }),
  ])
}

/** Every generated file under charts/ with the text it should have; needs helm. */
export function generated(charts: Charts): Map<string, string> {
  const schema = valuesSchema()
  const { application, library } = tables(schema)
  return new Map([
    ['sidegate/values.schema.json', schema],
    ['sidegate/README.md', readme('sidegate', application)],
    ['sidegate-lib/README.md', readme('sidegate-lib', library)],
    ...component(charts),
  ])
}

if (import.meta.main) {
  // The schema first: rendering checks the values against it.
  writeFileSync(join(CHARTS, 'sidegate/values.schema.json'), valuesSchema())
  const charts = prepareCharts()
  for (const [path, text] of generated(charts)) writeFileSync(join(CHARTS, path), text)
  charts.remove()
}
