// Builds the console into the given folder: one script, one style sheet, the page and its icon,
// each also in gzip. Alone, `node .build-console.ts` writes dist/console/, which a gateway that
// runs from source serves.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { APIS } from './src/chat/apis.ts'
import type { GatewayFacts } from './src/console/gateway-facts.ts'
import { PII_KINDS } from './src/core/finding.ts'
import { MAXIMUM_TRIED_CALLS } from './src/pipeline/record/rule-trials.ts'
import { RULE_TYPES } from './src/policy/rule-types.ts'
import { ruleFormFields } from './src/rules/rule-form.ts'

const SOURCE = join(import.meta.dirname, 'src/console')
const CHART_STYLE = join(import.meta.dirname, 'node_modules/uplot/dist/uPlot.min.css')
const COPIED = ['index.html', 'icon.svg']

/** What the page knows of the gateway, which is code that no browser runs. */
const FACTS: GatewayFacts = {
  ruleTypes: RULE_TYPES.map(({ name, form, isCounted = false }) => ({ name, form, isCounted })),
  ruleFields: ruleFormFields(),
  piiKinds: PII_KINDS,
  maximumTriedCalls: MAXIMUM_TRIED_CALLS,
  apiPaths: Object.fromEntries(APIS.map(({ name, target }) => [name, `/v1${target}`])),
}

export async function buildConsole(folder: string): Promise<void> {
  const build = await rolldown({
    cwd: import.meta.dirname,
    input: join(SOURCE, 'main.tsx'),
    platform: 'browser',
    tsconfig: false,
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      target: 'es2023',
      define: { GATEWAY_FACTS: JSON.stringify(FACTS) },
    },
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
  }
  write('console.js', output[0].code)
  const read = (path: string) => readFileSync(path, 'utf8')
  write('console.css', read(CHART_STYLE) + read(join(SOURCE, 'console.css')))
  for (const name of COPIED) write(name, read(join(SOURCE, name)))
}

if (import.meta.main) await buildConsole(join(import.meta.dirname, 'dist/console'))
