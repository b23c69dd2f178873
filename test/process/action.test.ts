// The action for repositories of rules: what its file declares, and the comment that it keeps.
// action.long.test.ts runs its steps on rules.

import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { keepComment } from '../../.github/actions/check/comment.ts'
import { temporaryFolder } from '../rules/fixture.ts'
import { ACTION, ACTION_FOLDER, PULL_REQUEST, type StandInApi, startApi, TOKEN } from './action-steps.ts'
import { ROOT } from './program.ts'

const REPORT = '### Policy rules\n\nRules: 1 added.\n'
/** What GitHub takes. */
const MAXIMUM_COMMENT_CHARACTERS = 65_536

t.test('no expression is in a script, and each action used is pinned by its commit', async (t) => {
  for (const { name, run, uses, 'working-directory': folder = '' } of ACTION.runs.steps) {
    t.notMatch(run ?? '', /\$\{\{/, `${name} takes values from the environment`)
    if (uses !== undefined) t.match(uses, /@[0-9a-f]{40}$/, name)
    t.match(folder, /^(|\$\{\{ inputs\.working-directory \}\})$/, name)
  }
})

t.test('the steps use each input that the action declares, and no other', async (t) => {
  const used = [...JSON.stringify(ACTION.runs.steps).matchAll(/inputs\.([\w-]+)/g)].map(([, name]) => name)
  t.same([...new Set(used)].sort(), Object.keys(ACTION.inputs).sort())
})

t.test('each script that a hook or a step names can be executed', async (t) => {
  const hooks: readonly { entry: string }[] = parse(
    readFileSync(join(ROOT, '.pre-commit-hooks.yaml'), 'utf8'),
  )
  for (const { entry } of hooks) accessSync(join(ROOT, entry.split(' ')[0] ?? ''), constants.X_OK)
  const scripts = ACTION.runs.steps.flatMap(({ run = '' }) => [...run.matchAll(/PATH\/([\w-]+\.sh)/g)])
  for (const [, script = ''] of scripts) accessSync(join(ACTION_FOLDER, script), constants.X_OK)
  t.equal(hooks.length, 3)
})

/** Keeps the comment as the step does. @returns what it printed */
async function comment(
  t: Test,
  api: StandInApi,
  report: string,
  given: Readonly<Record<string, string>> = {},
): Promise<string> {
  const file = join(temporaryFolder(t), 'report.md')
  writeFileSync(file, report)
  const printed = await keepComment({
    ...{ GITHUB_API_URL: api.url, GITHUB_REPOSITORY: 'acme/rules', GITHUB_RUN_ID: '42' },
    ...{ GITHUB_SERVER_URL: 'https://github.example', FOLDER: '.', RULES: 'rules' },
    ...{ REPORT: file, TOKEN, PULL_REQUEST: String(PULL_REQUEST), ...given },
  })
  t.notMatch(printed, /\n|token-of-the-job/)
  return printed
}

t.test('one comment is created at the first difference and replaced from then on', async (t) => {
  const api = await startApi(t)
  t.match(await comment(t, api, ''), 'there is no comment')
  t.equal(api.comments.length, 0)
  await comment(t, api, REPORT)
  await comment(t, api, `${REPORT}again\n`)
  t.match(api.comments, [{ body: /^<!-- sidegate diff .* -->\n### Policy rules[\s\S]*again\n$/ }])
  await comment(t, api, '')
  t.match(api.comments, [{ body: /No difference/ }])
  await comment(t, api, REPORT, { RULES: 'other --> rules' })
  t.equal(api.comments.length, 2, 'other rules have a comment of their own')
  t.notMatch(api.comments[1]?.body, 'other -->')
})

t.test('a copy of the marker by somebody without rights is left alone', async (t) => {
  const api = await startApi(t)
  await comment(t, api, REPORT)
  const [own] = api.comments
  const copy = { id: 9, body: own?.body ?? '', user: { type: 'User' }, author_association: 'CONTRIBUTOR' }
  api.comments.unshift(copy)
  await comment(t, api, `${REPORT}again\n`)
  t.equal(copy.body, `${own?.body.replace('again\n', '')}`)
  t.match(own?.body, 'again')
  t.equal(api.comments.length, 2)
})

t.test('a long report is cut at the end of a line', async (t) => {
  const api = await startApi(t)
  await comment(t, api, '| rule | changed |\n'.repeat(10_000))
  const body = api.comments[0]?.body ?? ''
  t.ok(body.length < MAXIMUM_COMMENT_CHARACTERS, `${body.length} characters`)
  const end =
    /\| changed \|\n\nThe rest is in .*https:\/\/github.example\/acme\/rules\/actions\/runs\/42\)\.\n$/
  t.match(body, end)
})

t.test('a comment on a later page is found, and none is made where not all can be read', async (t) => {
  const api = await startApi(t)
  const other = (id: number) => ({ id, body: 'hello', user: { type: 'User' }, author_association: 'NONE' })
  api.comments.push(...Array.from({ length: 150 }, (_, index) => other(index + 1)))
  await comment(t, api, REPORT)
  await comment(t, api, `${REPORT}again\n`)
  t.match(api.comments[150]?.body, 'again')
  api.comments.unshift(...Array.from({ length: 900 }, (_, index) => other(index + 1000)))
  t.match(await comment(t, api, REPORT), /^::warning::.*first 1000 comments/)
  t.equal(api.comments.length, 1051)
})

t.test('a refused comment fails nothing, and says where the difference is', async (t) => {
  const api = await startApi(t)
  api.refusal = 403
  t.match(await comment(t, api, REPORT), /^::notice::The token may not comment .*403.*summary of the run/)
  api.refusal = 500
  t.match(await comment(t, api, REPORT), /^::warning::.*500/)
  t.match(await comment(t, { ...api, url: 'http://127.0.0.1:1' }, REPORT), /^::warning::/)
})
