// The steps of the action and the hooks of pre-commit as they stand, on rules in a repository of
// their own.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { temporaryFolder } from '../rules/fixture.ts'
import { runAction, startApi } from './action-steps.ts'
import { ROOT } from './program.ts'
import { type CommandResult, runCommand } from './run-command.ts'

const RULES = 'rules:\n  - {name: no-zenith, type: keyword_block, pattern: zenith, action: block}\n'
const TESTS = 'tests:\n  - {name: zenith, text: the zenith plan, expect: {decision: block}}\n'

function git(folder: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main']
  const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** An empty repository. */
function emptyRepository(t: Test): string {
  const folder = realpathSync(temporaryFolder(t))
  git(folder, 'init')
  return folder
}

/** A repository whose branch `main` at the origin has rules with their tests. */
function repositoryOfRules(t: Test): string {
  const repository = emptyRepository(t)
  write(repository, 'rules/a.yaml', RULES)
  write(repository, 'rules/a_test.yaml', TESTS)
  git(repository, 'add', '.')
  git(repository, 'commit', '-m', 'rules')
  git(repository, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
  return repository
}

const codes = (steps: Readonly<Record<string, CommandResult>>) =>
  Object.fromEntries(Object.entries(steps).map(([name, { code }]) => [name, code]))

t.test('the first rules of an empty repository pass, and the comment says what they are', async (t) => {
  const repository = emptyRepository(t)
  git(repository, 'commit', '--allow-empty', '-m', 'empty')
  git(repository, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
  write(repository, 'rules/a.yaml', RULES)
  write(repository, 'rules/a_test.yaml', TESTS)
  const api = await startApi(t)
  const { steps, summary } = await runAction(t, { api, repository })
  t.same(codes(steps), { check: 0, test: 0, diff: 0, comment: 0 }, JSON.stringify(steps))
  t.match(api.comments, [{ body: /\| no-zenith \| added \|/ }])
  t.match(summary, 'no-zenith')

  write(repository, 'rules/a.yaml', RULES.replace('action: block', 'action: monitor'))
  const failed = await runAction(t, { api, repository })
  t.same(codes(failed.steps), { check: 0, test: 1, diff: 0, comment: 0 }, JSON.stringify(failed.steps))
  t.match(failed.steps['test']?.stdout, /^::error file=rules\/a_test\.yaml,/m)
  t.equal(api.comments.length, 1, 'the same comment')
})

t.test('a bad rule fails the check at its line, and the comment is brought up to date', async (t) => {
  const repository = repositoryOfRules(t)
  write(repository, 'rules/a.yaml', RULES.replace('action: block', 'action: deny'))
  const api = await startApi(t)
  const { steps } = await runAction(t, { api, repository })
  t.same(codes(steps), { check: 1, diff: 0, comment: 0 }, JSON.stringify(steps))
  t.match(steps['check']?.stdout, /^::error file=rules\/a\.yaml,line=2/m)
  t.match(api.comments, [{ body: /Nothing was compared/ }])
})

t.test('a pull request from a fork passes without a comment', async (t) => {
  const repository = repositoryOfRules(t)
  write(repository, 'rules/b.yaml', RULES.replaceAll('zenith', 'nadir'))
  const api = await startApi(t)
  api.refusal = 403
  const { steps, summary } = await runAction(t, { api, repository })
  t.same(codes(steps), { check: 0, test: 0, diff: 0, comment: 0 }, JSON.stringify(steps))
  t.match(steps['comment']?.stdout, /^::notice::/)
  t.match(summary, 'no-nadir')
})

t.test('a shallow clone, another folder, a configuration and hostile names work', async (t) => {
  const origin = emptyRepository(t)
  const names = { 'working-directory': 'team a', rules: '$(touch pwned) "rules"' }
  const path = (name: string) => join(names['working-directory'], name)
  write(origin, path(`${names.rules}/a.yaml`), RULES)
  write(origin, path(`${names.rules}/a_test.yaml`), TESTS)
  const config = `upstream: {baseUrl: "http://127.0.0.1:9/v1", apiKey: {env: UNSET_KEY}}\nrules: {path: '${names.rules}'}\n`
  write(origin, path('sidegate.yaml'), `${config}data: {path: data}\nadmin: {token: {env: UNSET_TOKEN}}\n`)
  git(origin, 'add', '.')
  git(origin, 'commit', '-m', 'rules')
  git(origin, 'checkout', '-b', 'change')
  write(origin, path(`${names.rules}/b.yaml`), RULES.replaceAll('zenith', 'nadir'))
  git(origin, 'add', '.')
  git(origin, 'commit', '-m', 'change')
  const repository = join(realpathSync(temporaryFolder(t)), 'clone')
  git(origin, 'clone', '--depth', '1', '--branch', 'change', pathToFileURL(origin).href, repository)
  const api = await startApi(t)
  const inputs = { ...names, config: 'sidegate.yaml' }
  const { steps } = await runAction(t, { api, repository, inputs })
  t.same(codes(steps), { check: 0, test: 0, diff: 0, comment: 0 }, JSON.stringify(steps))
  t.match(api.comments, [{ body: /no-nadir \| added/ }])
  t.notMatch(spawnSync('find', [repository, '-name', 'pwned'], { encoding: 'utf8' }).stdout, 'pwned')

  git(repository, 'update-ref', '-d', 'refs/remotes/origin/main')
  git(repository, 'remote', 'set-url', 'origin', '/nowhere')
  const alone = await runAction(t, { api, repository, inputs: { ...inputs, comment: 'false' } })
  t.same(codes(alone.steps), { check: 0, test: 0, diff: 0, comment: 0 })
  t.match(alone.steps['diff']?.stdout, /^::warning::.*fetch-depth: 0/m)
  t.match(api.comments, [{ body: /no-nadir \| added/ }], 'no comment was asked for')
})

t.test('the hooks pass good rules, stop bad ones, and show what a change does', async (t) => {
  const hooks = parse(readFileSync(join(ROOT, '.pre-commit-hooks.yaml'), 'utf8')) as readonly {
    readonly id: string
    readonly entry: string
    readonly args: readonly string[]
    readonly files: string
  }[]
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` }
  /** Runs a script of the clone in the repository, with words and then arguments. */
  const run = async (repository: string): Promise<Record<string, CommandResult>> => {
    const results: Record<string, CommandResult> = {}
    for (const { id, entry, args } of hooks) {
      const [script = '', ...words] = entry.split(' ')
      results[id] = await runCommand([join(ROOT, script), ...words, ...args], { cwd: repository, env })
    }
    return results
  }
  for (const { files } of hooks) t.match('rules/team/a_test.yaml', new RegExp(files))
  const first = emptyRepository(t)
  write(first, 'rules/a.yaml', RULES)
  write(first, 'rules/a_test.yaml', TESTS)
  const passed = await run(first)
  t.same(codes(passed), { 'sidegate-check': 0, 'sidegate-test': 0, 'sidegate-diff': 0 })
  t.equal(passed['sidegate-diff']?.stdout, '', 'nothing to compare with')

  const repository = repositoryOfRules(t)
  write(repository, 'rules/b.yaml', RULES.replaceAll('zenith', 'nadir'))
  t.match((await run(repository))['sidegate-diff'], { code: 0, stdout: '+ no-nadir (added)' })
  write(repository, 'rules/b.yaml', 'rules: [{name: b, type: none}]\n')
  t.same(codes(await run(repository)), { 'sidegate-check': 1, 'sidegate-test': 2, 'sidegate-diff': 2 })
})
