// What is shipped is compiled: it has to compile, to start on the Node it is for, and to say so on one it is not for.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/** `node`, as an operator has it: what the test runner loads into every Node would be in the way of the compiler. */
const NODE = ['-u', 'NODE_OPTIONS', process.execPath] as const

const run = (args: readonly string[]) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile('env', [...NODE, ...args], { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** Makes the process believe that it runs on another Node, before the program begins. */
const pretend = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`

t.test('the compiled program', async (t) => {
  // As it is installed: `dist` beside `config`.
  const folder = t.testdir({ dist: {} })
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  const main = join(folder, 'dist/main.js')
  t.match(await run([TSC, '-p', 'tsconfig.json', '--outDir', join(folder, 'dist')]), { code: 0, stdout: '' })
  t.match(await run([main, '--version']), { code: 0, stdout: `sidegate ${VERSION}\n`, stderr: '' })
  t.match(await run([main, 'serve', '--config', 'nowhere.yaml']), {
    code: 2,
    stderr: /nowhere\.yaml.*ENOENT/,
  })
  for (const version of ['18.20.8', '20.20.2', '22.18.0']) {
    const { code, stdout, stderr } = await run(['--import', pretend(version), main, '--version'])
    t.equal(code, 2, version)
    t.equal(stdout, '')
    t.match(stderr, /^sidegate needs Node 22\.19 or later.*\n$/, 'one line')
  }
  for (const version of ['22.19.0', '24.0.0'])
    t.equal((await run(['--import', pretend(version), main, '--version'])).code, 0, version)
  const demo = spawn('env', [...NODE, main, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.match(String(await once(demo.stdout, 'data')), /Sidegate is running/)
  demo.kill('SIGINT')
  t.same(await once(demo, 'exit'), [0, null])
})
