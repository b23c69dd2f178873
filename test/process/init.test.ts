// `sidegate init`: what it writes passes check and test, and nothing of a user's is lost.
// install.test.ts runs what it writes on request.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { answer } from '../../src/cli/dispatch.ts'
import { COMMANDS } from '../../src/program.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { ADMIN_TOKEN, UPSTREAM_KEY } from './gateway.ts'
import { programArgs, ROOT, SIDEGATE } from './program.ts'
import { type CommandResult, runCli, runCommand, TextSink } from './run-command.ts'

const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  OPENROUTER_API_KEY: UPSTREAM_KEY,
  SIDEGATE_ADMIN_TOKEN: ADMIN_TOKEN,
}

/** An empty folder by its real path, as the commands print it. */
const emptyFolder = (t: Test): string => realpathSync(temporaryFolder(t))

/** Runs a command of the program in a folder. */
const sidegate = (folder: string, ...args: string[]): Promise<CommandResult> =>
  runCommand(['env', ...programArgs(args)], { cwd: folder, env: ENVIRONMENT })

/** As `sidegate`, in this process. */
const sidegateHere = (folder: string, ...args: string[]): Promise<CommandResult> =>
  runCli(args, { OPENROUTER_API_KEY: UPSTREAM_KEY, SIDEGATE_ADMIN_TOKEN: ADMIN_TOKEN }, folder)

/** Everything in a folder but folders, with its text. */
const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => !statSync(join(folder, path)).isDirectory())
      .sort()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  )

const EXTRAS = {
  '--github': '.github/workflows/sidegate.yml',
  '--compose': 'compose.yaml',
  '--helm': 'values.yaml',
  '--systemd': 'sidegate.service',
}

for (const options of [[], ...Object.keys(EXTRAS).map((option) => [option]), Object.keys(EXTRAS)]) {
  t.test(`init ${options.join(' ')} writes what check and test pass`, async (t) => {
    const folder = emptyFolder(t)
    // A process for all of them together: each takes as long as ten commands in this one.
    const run = options.length > 1 ? sidegate : sidegateHere
    const { code, stdout, stderr } = await run(folder, 'init', ...options)
    t.equal(code, 0, stderr)
    const { written, ...rest } = JSON.parse(stdout)
    t.same(rest, { folder, replaced: [] })
    t.same([...written].sort(), Object.keys(contentOf(folder)))
    const extras = Object.entries(EXTRAS).flatMap(([option, path]) =>
      options.includes(option) ? [path] : [],
    )
    t.same(
      written.filter(
        (path: string) =>
          !/^(sidegate\.yaml|prices\.yaml|data\/\.gitignore|(rules|\.sidegate)\/.*)$/.test(path),
      ),
      extras,
    )
    const checked = await run(folder, 'check', '--fail-on', 'warning')
    t.match(checked, { code: 0, stderr: '' }, checked.stdout)
    t.match(await run(folder, 'test'), { code: 0, stdout: /\d+ passed, 0 failed/ })
    for (const [path, text] of Object.entries(contentOf(folder)))
      if (!path.startsWith('.sidegate')) t.notMatch(text, /\{\{|config\/|\.\.\/data/, path)
  })
}

t.test('the configuration and the schemas are those of the package, at paths that fit', async (t) => {
  const folder = join(emptyFolder(t), 'new/one')
  t.match(await runCli(['init', folder]), { code: 0 })
  const written = parse(readFileSync(join(folder, 'sidegate.yaml'), 'utf8'))
  const sample = parse(readFileSync(join(ROOT, 'config/sidegate.yaml'), 'utf8'))
  t.same(written, { ...sample, data: { path: 'data' } })
  const samples = readdirSync(join(ROOT, 'config/rules'))
  t.same(readdirSync(join(folder, 'rules')).sort(), samples.sort())
  for (const [path, text] of Object.entries(contentOf(folder)).filter(([path]) => path.endsWith('.yaml'))) {
    const schema = /\$schema=(\S+)/.exec(text)?.[1] ?? ''
    t.ok(existsSync(join(folder, dirname(path), schema)), `${path}: ${schema}`)
  }
  for (const name of readdirSync(join(folder, '.sidegate')))
    t.equal(
      readFileSync(join(folder, '.sidegate', name), 'utf8'),
      readFileSync(join(ROOT, 'config', name), 'utf8'),
    )
})

t.test('a person on a terminal reads what to do next', async (t) => {
  const folder = join(emptyFolder(t), 'gate')
  const [out, err] = [Object.assign(new TextSink(), { isTTY: true }), new TextSink()]
  t.equal(await answer(['init', folder, '--helm'], COMMANDS, { out, err, env: {} }), 0)
  t.match(out.text, `Wrote into ${folder}:\n  sidegate.yaml\n`)
  for (const next of [
    `  cd ${folder}\n`,
    'sidegate check && sidegate test',
    'sidegate serve',
    'values.yaml say',
  ])
    t.match(out.text, next)
})

t.test('nothing that exists is replaced without --force, and nothing else is written', async (t) => {
  const folder = emptyFolder(t)
  mkdirSync(join(folder, 'rules'))
  writeFileSync(join(folder, 'rules/mine.yaml'), 'rules: []\n')
  writeFileSync(join(folder, 'prices.yaml'), 'mine')
  writeFileSync(join(folder, 'compose.yaml'), 'mine')
  const before = contentOf(folder)
  const refused = await sidegateHere(folder, 'init', '--compose')
  t.match(refused, { code: 1, stdout: '' })
  t.equal(
    refused.stderr,
    `sidegate init: ${folder}/prices.yaml exists; ${folder}/compose.yaml exists; ${folder}/rules has other files (mine.yaml); nothing was written: choose another FOLDER, or replace the files that exist with --force\n`,
  )
  t.same(contentOf(folder), before)
  const forced = await sidegateHere(folder, 'init', '--compose', '--force')
  t.match(forced, { code: 0 })
  t.same(JSON.parse(forced.stdout).replaced, ['prices.yaml', 'compose.yaml'])
  t.equal(contentOf(folder)['rules/mine.yaml'], 'rules: []\n')
  t.match(contentOf(folder)['prices.yaml'], /^prices:$/m)
  t.match(await sidegateHere(folder, 'check'), { code: 0 })
})

t.test('an option adds its file to a folder that is in use, and touches no other', async (t) => {
  const folder = emptyFolder(t)
  t.match(await sidegateHere(folder, 'init'), { code: 0 })
  t.equal(contentOf(folder)['data/.gitignore'], '*\n')
  writeFileSync(join(folder, 'sidegate.yaml'), `${contentOf(folder)['sidegate.yaml']}# mine\n`)
  writeFileSync(join(folder, 'rules/mine.yaml'), 'rules: []\n')
  const before = contentOf(folder)
  const added = await sidegateHere(folder, 'init', '--compose')
  t.match(added, { code: 0 }, added.stderr)
  t.same(JSON.parse(added.stdout), { folder, written: ['compose.yaml'], replaced: [] })
  const { 'compose.yaml': compose, ...others } = contentOf(folder)
  t.same(others, before)
  t.match(await sidegateHere(folder, 'init', '--compose'), { code: 1, stderr: /compose\.yaml exists/ })
  t.match(await sidegateHere(folder, 'init', '--compose', '--force'), { code: 0 })
  t.same(contentOf(folder), { ...before, 'compose.yaml': compose })
  t.match(await sidegateHere(folder, 'init'), { code: 1, stderr: /sidegate\.yaml exists/ })
})

t.test('what cannot be written is named, and nothing is left behind', async (t) => {
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'file'), '')
  mkdirSync(join(folder, 'a/prices.yaml'), { recursive: true })
  writeFileSync(join(folder, 'a/rules'), '')
  const before = contentOf(folder)
  const refuses = async (args: string[], code: number, message: RegExp) => {
    for (const force of [[], ['--force']])
      t.match(await sidegateHere(folder, 'init', ...args, ...force), { code, stdout: '', stderr: message })
  }
  await refuses(['file'], 1, /\/file is not a folder; nothing was written/)
  await refuses(['file/below'], 1, /\/file is not a folder; nothing was written/)
  await refuses(['a'], 1, /\/a\/rules is not a folder; nothing was written/)
  await refuses(['a b', '--systemd'], 2, /a unit file cannot name .*\/a b; choose a folder/)
  await refuses(['a', 'b'], 2, /unexpected argument b/)
  // A file may have 16 KiB, which the schema of the configuration exceeds.
  const line = `ulimit -f 16; exec ${SIDEGATE} init full/new`
  t.match(await runCommand(['bash', '-c', line], { cwd: folder, env: ENVIRONMENT }), {
    code: 1,
    stdout: '',
    stderr: /full\/new\/\.sidegate\/sidegate\.schema\.json cannot be written \(EFBIG\); nothing was changed/,
  })
  t.same(contentOf(folder), before)
  t.same(readdirSync(folder).sort(), ['a', 'file'])
})

t.test('serve without a configuration says to run init, and afterwards finds it', async (t) => {
  const folder = emptyFolder(t)
  const none = await sidegate(folder, 'serve')
  t.match(none, {
    code: 2,
    stderr: /config\/sidegate\.yaml cannot be read \(ENOENT\).*\n.*run: sidegate init\n$/,
  })
  t.match(await sidegateHere(folder, 'check'), { code: 2, stderr: /write one with `sidegate init`/ })
  t.match(await runCli(['serve', '--gateway', '8484'], {}, folder), {
    code: 2,
    stderr: /--gateway takes HOST:PORT, such as 0\.0\.0\.0:8484/,
  })
  t.match(await runCli(['init', folder]), { code: 0 })
  const { code, stderr } = await runCommand(['env', ...programArgs(['serve'])], {
    cwd: folder,
    env: process.env,
  })
  t.equal(code, 2)
  t.match(
    stderr,
    /^sidegate\.yaml:\d+:\d+ upstream\.apiKey: environment variable OPENROUTER_API_KEY is not set/m,
  )
  t.notMatch(stderr, /sidegate init/)
})

t.test('a package without a sample is named, and nothing is written', async (t) => {
  const folder = emptyFolder(t)
  cpSync(join(ROOT, 'dist'), join(folder, 'package/dist'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'))
  mkdirSync(join(folder, 'package/config'))
  const program = join(folder, 'package/dist/main.js')
  const ended = await runCommand(['env', ...programArgs(['init', 'new'], { program })], { cwd: folder })
  t.match(ended, { code: 1, stdout: '', stderr: /package\/config\/rules.*is missing from the package/ })
  t.notOk(existsSync(join(folder, 'new')))
})
