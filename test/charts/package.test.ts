// The package as npm would publish it: its files, and that its program runs with the declared
// dependencies.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'

t.setTimeout(120_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Runs a command without the NODE_OPTIONS of the test runner. */
const run = (cwd: string, ...command: string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile('env', ['-u', 'NODE_OPTIONS', ...command], { cwd }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${command.join(' ')}: ${stdout}${stderr}`)),
    )
  })

t.test('the npm package holds only what runs and documents, and its program starts', async (t) => {
  const folder = t.testdir({ checkout: {}, installed: {} })
  const checkout = join(folder, 'checkout')
  for (const file of ['package.json', 'README.md', '.build.ts', '.build-console.ts'])
    copyFileSync(join(ROOT, file), join(checkout, file))
  for (const source of ['src', 'config'])
    cpSync(join(ROOT, source), join(checkout, source), { recursive: true })
  // Does what `prepack` does, with the project's tools.
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  await run(checkout, process.execPath, '.build.ts')
  const packed = JSON.parse(await run(checkout, 'npm', 'pack', '--ignore-scripts', '--json'))
  // npm 11 prints a list of packages, later versions an object.
  const [{ filename, files }] = Object.values(packed) as [{ filename: string; files: { path: string }[] }]

  t.same(
    files
      .map(({ path }) => path)
      .filter(
        (path) =>
          !/^(dist\/(.*\.(js|cjs|code)|console\/[\w.]+|package\.json)|config\/.*\.(yaml|json|md|service)|src\/.*\.md|README\.md|package\.json)$/.test(
            path,
          ),
      ),
    [],
    'only the built program, the configuration and documents',
  )
  t.ok(files.some(({ path }) => path === 'dist/main.js'))

  await run(folder, 'tar', '-xzf', join(checkout, filename), '-C', 'installed')
  const main = join(folder, 'installed/package/dist/main.js')
  t.equal(await run(folder, process.execPath, main, '--version'), `sidegate ${VERSION}\n`)
  const demo = spawn(
    'env',
    [
      '-u',
      'NODE_OPTIONS',
      process.execPath,
      main,
      'demo',
      '--gateway',
      '127.0.0.1:0',
      '--ops',
      '127.0.0.1:0',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  t.match(String(await once(demo.stdout, 'data')), /Sidegate is running/)
  demo.kill('SIGINT')
  t.same(await once(demo, 'exit'), [0, null])
})
