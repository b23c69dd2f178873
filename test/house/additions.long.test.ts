// The recorded additions, made all together in a copy of the working tree: types, generated files and
// tests.

import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADDITIONS, makeAddition } from './additions.ts'
import { ROOT } from './sources.ts'

t.setTimeout(600_000)

const COPIED = [
  ...['src', 'test', 'config', 'charts', '.github', 'package.json', 'package-lock.json', 'tsconfig.json'],
  ...['README.md', '.biome.json', '.gitignore', '.build.ts', '.build-console.ts', '.require-node.cjs'],
]
/** Tests of what the additions change, besides the tests that they change. */
const TESTS = [
  ...['test/audit/entry-fields.test.ts', 'test/audit/readme.test.ts', 'test/charts/values.test.ts'],
  ...['test/chat/request.test.ts', 'test/policy', 'test/process/evaluate.test.ts'],
  ...['test/process/openapi.test.ts', 'test/process/usage-report.test.ts', 'test/rules/samples.test.ts'],
  ...['test/store/call-sums.test.ts', 'test/store/rollups.test.ts', 'test/store/rollup-series.test.ts'],
]

const folder = t.testdir()
for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
for (const { insertions } of ADDITIONS) makeAddition(folder, insertions)

function runNode(...args: string[]): { readonly passes: boolean; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return { passes: status === 0, output: `${stdout}${stderr}` }
}

t.test('the types fit', async (t) => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  for (const project of ['test/tsconfig.json', 'src/console/tsconfig.json']) {
    const { passes, output } = runNode(tsc, '-p', project)
    t.ok(passes, output)
  }
})

t.test('generate.ts changes the files that are listed', async (t) => {
  const { generated } = await import(join(folder, 'test/charts/generate.ts'))
  const changed: string[] = []
  for (const [path, text] of generated() as Map<string, string>) {
    if (text !== readFileSync(join(folder, path), 'utf8')) changed.push(path)
    writeFileSync(join(folder, path), text)
  }
  t.strictSame(changed.sort(), ADDITIONS.flatMap((one) => one.generated).sort())
})

t.test('the tests pass', async (t) => {
  const own = ADDITIONS.flatMap(({ insertions }) => insertions.map(({ path }) => path))
  const changed = own.filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/policy/'))
  const { passes, output } = runNode('test/runner/run.ts', ...TESTS, ...changed)
  t.ok(passes, output)
})
