// Generates what follows from other files: the schemas for editors in config/, the chart's schema of
// `config` and `rules.inline`, the READMEs' tables of values, and the kustomize component's container.
// `node test/charts/generate.ts` writes them; only the component takes helm. Tests compare.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { HUB_SCHEMA } from '../../src/core/hub-schema.ts'
import { PRICES_SCHEMA } from '../../src/prices/price-schema.ts'
import { CASES_SCHEMA } from '../../src/rulecheck/case-schema.ts'
import { RULES_SCHEMA } from '../../src/rules/schema.ts'
import { CHARTS, type Charts, pick, prepareCharts } from './helm.ts'

interface Schema {
  $schema?: string
  description?: string
  properties?: Record<string, Schema>
  required?: readonly string[] | undefined
  [keyword: string]: unknown
}

const BIOME = fileURLToPath(new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url))

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The schemas for editors. */
const EDITOR_SCHEMAS = {
  'sidegate.schema.json': CONFIG_SCHEMA,
  'hub.schema.json': HUB_SCHEMA,
  'rules.schema.json': RULES_SCHEMA,
  'rules-test.schema.json': CASES_SCHEMA,
  'prices.schema.json': PRICES_SCHEMA,
}

const read = (path: string) => readFileSync(join(CHARTS, path), 'utf8')

/** Keys that the chart sets itself; see `sidegate.config` in _config.tpl. */
const OWNED = [
  'listen.gateway',
  'listen.ops',
  'data',
  'rules.path',
  'prices.path',
  'upstream.apiKey',
  'audit.signingKey',
  'admin.token',
]

/** As OWNED, of the sidegate-hub chart. */
const HUB_OWNED = ['listen', 'database.url', 'audit.signingKey', 'rules', 'prices.path']
/** Keys that need not be among the values of that chart: it fills them in where they are missing. */
const HUB_OPTIONAL = ['database', 'audit', 'join.clusters.items.jwks']

/** Returns the parent of a key and the key's name. */
function parentOf(schema: Schema, path: string): [Schema, string] {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const step = (node: Schema, key: string) =>
    (key === 'items' ? (node['items'] as Schema) : node.properties?.[key]) ?? {}
  return [keys.reduce(step, schema), last]
}

/** Returns the schema of a configuration without the keys that a chart sets itself. */
function configSchema(whole: object, owned: readonly string[], optional: readonly string[] = []): Schema {
  const schema = structuredClone(whole) as Schema
  for (const path of [...owned, ...optional]) {
    const [parent, last] = parentOf(schema, path)
    parent.required = parent.required?.filter((name) => name !== last)
    if (owned.includes(path)) delete parent.properties?.[last]
  }
  const { $schema: _, title: __, ...rest } = schema
  return rest
}

/** JSON formatted by the project's linter. */
const formatted = (json: string): string =>
  execFileSync(process.execPath, [BIOME, 'format', '--stdin-file-path=values.schema.json'], {
    cwd: CHARTS,
    input: json,
    encoding: 'utf8',
  })

function valuesSchema(): string {
  const schema = JSON.parse(read('sidegate/values.schema.json')) as Required<Schema>
  const description = "The gateway's configuration, read at its start."
  schema.properties['config'] = { ...configSchema(CONFIG_SCHEMA, OWNED), description }
  const rules = (RULES_SCHEMA as Schema).properties?.['rules'] ?? {}
  const holder = schema.properties['rules']?.properties ?? {}
  holder['inline'] = { ...rules, description: 'Rules as values; they become the file `values.yaml`.' }
  return formatted(JSON.stringify(schema))
}

function hubValuesSchema(): string {
  const schema = JSON.parse(read('sidegate-hub/values.schema.json')) as Required<Schema>
  const description = "The hub's configuration, read at its start."
  schema.properties['config'] = { ...configSchema(HUB_SCHEMA, HUB_OWNED, HUB_OPTIONAL), description }
  return formatted(JSON.stringify(schema))
}

const cell = (value: unknown): string =>
  value === undefined ? '' : `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``

/** Groups that the tables show as one row; other pages document what is in them. */
const WHOLE = /^(config|container|sidegate-lib)$|^probes\.\w+$/

/** One row per group and per value; a mapping of the operator's own keys is one value. */
function rows(schema: Schema, values: any, path: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const value = values?.[key] ?? child['default']
    const name = path === '' ? key : `${path}.${key}`
    // A value for parent charts.
    if (name === 'enabled') return []
    const row = (shown: string) =>
      `| \`${name}\` | ${shown} | ${(child.description ?? '').replaceAll('|', '\\|')} |`
    if (WHOLE.test(name) || child.properties === undefined || /[sS]elector$/.test(key))
      return [row(cell(value))]
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

/** The table of the values of one chart. */
const table = (chart: string, schemaText: string): string[] =>
  rows(JSON.parse(schemaText) as Schema, parse(read(`${chart}/values.yaml`)), '')

const COMPONENT_HEAD = `# The sidecar and its volumes as the sidegate-lib chart renders them.
# Generated by node test/charts/generate.ts; merged into every workload the component selects.
`

/** The component by its paths in charts/: patches for workloads, each of which takes the name of its target. */
export function component(charts: Charts): Map<string, string> {
  const pod = pick(charts.render('examples/app', '-f', 'kustomize/values.yaml'), 'Deployment').spec.template
    .spec
  const sidecar = pod.initContainers[0]
  const volumes = pod.volumes.filter(({ name }: { name: string }) => name.startsWith('sidegate-'))
  const metadata = { name: 'selected-by-the-component' }
  const template = { spec: { initContainers: [sidecar], volumes } }
  const patches = {
    // Also patches the other kinds with this shape.
    'sidecar.yaml': { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template } },
    'cronjob.yaml': {
      ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata },
      spec: { jobTemplate: { spec: { template } } },
    },
  }
  return new Map(
    Object.entries(patches).map(([file, patch]) => [
      `kustomize/${file}`,
      COMPONENT_HEAD + stringify(patch, { lineWidth: 0 }),
    ]),
  )
}

/** The generated files that take no helm, by their paths, with the texts they should have. */
export function generated(): Map<string, string> {
  const schema = valuesSchema()
  const hubSchema = hubValuesSchema()
  return new Map([
    ...Object.entries(EDITOR_SCHEMAS).map(
      ([name, editor]) => [`config/${name}`, formatted(JSON.stringify(editor, null, 2))] as const,
    ),
    ['charts/sidegate/values.schema.json', schema],
    ['charts/sidegate-hub/values.schema.json', hubSchema],
    ['charts/sidegate-hub/README.md', readme('sidegate-hub', table('sidegate-hub', hubSchema))],
    ['charts/sidegate/README.md', readme('sidegate', table('sidegate', schema))],
    [
      'charts/sidegate-lib/README.md',
      readme('sidegate-lib', table('sidegate-lib', read('sidegate-lib/values.schema.json'))),
    ],
  ])
}

if (import.meta.main) {
  // The schema comes before the component, because rendering validates values against it.
  for (const [path, text] of generated()) writeFileSync(join(ROOT, path), text)
  try {
    const charts = prepareCharts()
    for (const [path, text] of component(charts)) writeFileSync(join(CHARTS, path), text)
    charts.remove()
  } catch (error) {
    console.error(`charts/kustomize/ was not written, everything else was: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
