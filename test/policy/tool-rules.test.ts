import t from 'tap'
import { atOnce } from '../../src/core/steps.ts'
import { joinedTool, serverTool, type ToolName, toolNamed } from '../../src/core/tool-name.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { MAXIMUM_ARGUMENT_CHARACTERS, UNREADABLE } from '../../src/policy/tool-arguments.ts'
import { type CallRules, NO_TOOLS, type ToolsInRequest } from '../../src/policy/tool-rules.ts'
import { rule, select } from './rules.ts'

const tools = (name: string, pattern: string[], more: Partial<Rule> = {}) =>
  rule(name, pattern, { type: 'tool_access', ...more })
const bash = toolNamed('bash')
const mail = toolNamed('send_mail')

const judge = (rules: readonly Rule[], said: Partial<ToolsInRequest>, score: number | null = null) =>
  atOnce(select(rules).tools!.judge({ ...NO_TOOLS, ...said }, score))
const names = (hits: readonly { readonly name: string; readonly action: string }[]) =>
  hits.map(({ name, action }) => `${name}:${action}`)

t.test('without rules on tools there is nothing to judge', async (t) => {
  t.equal(select([rule('words', 'x')]).tools, null)
})

t.test('all lists that apply must allow, and the strictest decision holds', async (t) => {
  const rules = [
    tools('seen', ['*', '!bash'], { action: 'monitor' }),
    tools('hidden', ['*', '!bash', '!send_*'], { action: 'remove' }),
    tools('none', ['*', '!bash']),
  ]
  const both = judge(rules, { defined: [bash, mail] })
  t.same(names(both.hits), ['seen:monitor', 'hidden:remove', 'none:block'])
  t.match(both.denied, { rule: { name: 'none' }, tool: 'bash' })
  const one = judge(rules, { defined: [mail] })
  t.equal(one.denied, null)
  t.same([...one.removed], ['send_mail'])
  t.match(one.calls!.named(mail), { refusing: { name: 'hidden' }, needsArguments: false })
  t.match(one.calls!.named(toolNamed('read')), { hits: [], refusing: null })
})

t.test('a tool that cannot leave the request denies it', async (t) => {
  const web = toolNamed('web_search')
  const judged = judge([tools('r', ['*', '!web_*'], { action: 'remove' })], {
    defined: [web],
    fixed: new Set(['web_search']),
  })
  t.match(judged.denied, { tool: 'web_search' })
  t.equal(judged.removed.size, 0)
})

t.test('a rule is asked only on calls that it concerns', async (t) => {
  const rules = [tools('few', ['search'], { match: { models: ['claude-*'] } })]
  t.equal(select(rules, 'gpt-4o').tools, null)
  t.not(select(rules, 'claude-x').tools, null)
})

t.test('a choice of a refused tool is refused as its definition is', async (t) => {
  t.match(judge([tools('r', ['*', '!bash'])], { chosen: [bash] }).denied, { tool: 'bash' })
})

t.test('a name that is written like the names of another tool is judged by itself', async (t) => {
  const calls = judge([tools('r', ['*', '!bash'])], { defined: [serverTool('x', 'bash')] }).calls!
  const odd = toolNamed('[false,"shell","bash"]')
  t.match(calls.named(odd), { refusing: null })
  t.match(calls.named(toolNamed('shell', 'bash')), { refusing: { name: 'r' } })
  t.match(calls.named(odd), { refusing: null })
  t.match(calls.named(joinedTool('[false,"shell",', '"bash"]')), { refusing: null })
})

t.test('a call of an earlier answer is reported and refuses nothing', async (t) => {
  const judged = judge([tools('r', ['*', '!bash'])], { called: [bash, bash] })
  t.same(names(judged.hits), ['r:monitor'])
  t.equal(judged.denied, null)
})

t.test('a rule after results refuses calls, and the definitions that it removes', async (t) => {
  const after = { after: ['web_*', 'mcp:*'] }
  const blocks = [tools('r', ['*', '!send_*'], after)]
  const said = { defined: [mail], results: [toolNamed('web_fetch')] }
  t.equal(judge(blocks, { ...said, results: [bash] }).calls!.named(mail).refusing, null)
  const judged = judge(blocks, said)
  t.equal(judged.denied, null)
  t.match(judged.calls!.named(mail).refusing, { name: 'r' })
  t.equal(judged.calls!.named(bash).refusing, null)
  t.match(judge(blocks, { ...said, chosen: [mail] }).denied, { tool: 'send_mail' })
  for (const result of [serverTool('jira', 'read'), null])
    t.match(
      judge(blocks, { results: [result] }).calls!.named(mail).refusing,
      { name: 'r' },
      'a result of an unknown tool may be any',
    )
  t.same(
    [...judge([tools('r', ['*', '!send_*'], { ...after, action: 'remove' })], said).removed],
    ['send_mail'],
  )
})

t.test('a rule after injection waits for its score', async (t) => {
  const rules = [tools('r', ['*', '!send_*'], { afterInjection: 0.7 })]
  t.equal(select(rules).tools!.asksForScore, true)
  for (const [score, holds] of [
    [0.69, false],
    [0.7, true],
    [null, false],
  ] as const)
    t.equal(judge(rules, {}, score).calls!.named(mail).refusing !== null, holds, String(score))
})

t.test('a result in the answer meets what is missing of a condition', async (t) => {
  const rules = [tools('r', ['*', '!send_*'], { after: ['web_*'], afterInjection: 0.7 })]
  const web = toolNamed('web_search')
  const refuses = (calls: CallRules | null) => calls!.named(mail).refusing !== null
  const { calls } = judge(rules, {}, 0.1)
  t.equal(calls!.asksForScore, true)
  t.equal(refuses(calls!.following([web], 0.1)), false)
  t.equal(refuses(calls!.following([bash], 0.9)), false)
  t.equal(refuses(calls!.following([web], 0.9)), true)
  t.equal(refuses(calls!.following([bash], 0.9).following([null], 0)), true, 'in either order')
  t.equal(refuses(judge(rules, { results: [web] }, 0).calls!.following([bash], 0.7)), true)
  t.equal(calls!.following([bash], 0), calls, 'nothing new')
})

t.test('only globs after ! refuse a name that few clients read', async (t) => {
  const joined = joinedTool('ba', 'sh')
  t.match(judge([tools('r', ['*', '!bash'])], {}).calls!.named(joined).refusing, { name: 'r' })
  t.equal(judge([tools('r', ['ls'])], {}).calls!.named(joined).refusing, null)
})

t.test('a score that only monitoring rules read is made early for tools', async (t) => {
  const watching = rule('i', '', { type: 'prompt_injection', action: 'monitor' })
  t.equal(select([watching]).watchesInjection, true)
  t.equal(select([watching, tools('r', ['*', '!a'], { afterInjection: 0.5 })]).watchesInjection, false)
})

t.test('a rule on arguments judges no definition', async (t) => {
  const rules = [tools('r', ['*', '!bash'], { arguments: [{ path: '/command', pattern: 'rm' }] })]
  const judged = judge(rules, { defined: [bash], chosen: [bash] })
  t.same(judged.hits, [])
  t.match(judged.calls!.named(bash), { refusing: null, needsArguments: true, mayBeRefused: true })
  t.match(judged.calls!.named(mail), { needsArguments: false, mayBeRefused: false })
})

const ROWS: [tests: NonNullable<Rule['arguments']>, value: unknown, isRefused: boolean][] = [
  [[{ path: '/command', pattern: '\\brm\\s+-rf\\s+/' }], { command: 'cd x && RM  -rf /' }, true],
  [[{ path: '/command', pattern: '\\brm\\s+-rf\\s+/' }], { command: 'ls', note: 'rm -rf /' }, false],
  [[{ path: '/command', pattern: 'rm' }], { command: { line: ['rm'] } }, true],
  [[{ path: '', pattern: 'rm' }], { a: [{ b: 'x' }, ['rm']] }, true],
  [[{ path: '', pattern: 'rm' }], { rm: 'x' }, false],
  // A command as a list of its words.
  [[{ path: '/command', pattern: '\\brm\\s+-rf\\s+/' }], { command: ['rm', '-rf', '/'] }, true],
  [[{ path: '', pattern: '^head -n 5$' }], { run: [{ argv: ['head', '-n', 5] }] }, true],
  [[{ path: '/command/*', pattern: 'rm -rf' }], { command: ['rm', '-rf', '/'] }, false],
  [[{ path: '/command', pattern: 'rm -rf' }], { command: ['rm', { a: '-rf' }] }, false],
  [[{ path: '', pattern: 'rm' }], 'rm', true],
  [[{ path: '/files/*/path', pattern: '^/etc' }], { files: [{ path: 'a' }, { path: '/etc/x' }] }, true],
  [[{ path: '/files/*/path', pattern: '^/etc' }], { files: { x: { path: '/etc' } } }, true],
  [[{ path: '/files/1/path', pattern: 'a' }], { files: [{ path: 'a' }, { path: 'b' }] }, false],
  [[{ path: '/n', pattern: '^9' }], { n: 912 }, true],
  [[{ path: '/n', pattern: 'true' }], { n: true }, true],
  [[{ path: '/n', pattern: 'null' }], { n: null }, false],
  [[{ path: '/a~1b', pattern: 'x' }], { 'a/b': 'x' }, true],
  [[{ path: '/c', pattern: 'bash' }], { c: 'ｂa\u200bsh' }, true],
  // JSON in a string, where a pointer leads into it.
  [[{ path: '/command', pattern: 'rm' }], '{"command":"rm"}', true],
  [[{ path: '/command', pattern: 'rm' }], JSON.stringify('{"command":"rm"}'), true],
  [[{ path: '', pattern: '^rm' }], '{"command":"\\u0072m"}', true],
  [[{ path: '/a/command', pattern: 'rm' }], { a: '{"command":"rm"}' }, true],
  [[{ path: '/a/*', pattern: '^rm' }], { a: ' ["rm"]' }, true],
  [[{ path: '/a', pattern: '^rm' }], { a: '{"command":"rm"}' }, false],
  [[{ path: '/a/command', pattern: 'rm' }], { a: '{"command":"ls"}' }, false],
  [[{ path: '/a/command', pattern: 'rm' }], { a: '[rm](x)' }, false],
  [[{ path: '', pattern: 'rm' }], { a: '[x' }, false],
  // All items must match.
  [
    [
      { path: '/a', pattern: 'x' },
      { path: '/b', pattern: 'y' },
    ],
    { a: 'x', b: 'y' },
    true,
  ],
  [
    [
      { path: '/a', pattern: 'x' },
      { path: '/b', pattern: 'y' },
    ],
    { a: 'x', b: 'z' },
    false,
  ],
]
for (const [tests, value, isRefused] of ROWS)
  t.test(
    `${JSON.stringify(tests)} ${isRefused ? 'match' : 'do not match'} ${JSON.stringify(value)}`,
    async (t) => {
      const rules = [
        tools('r', ['*', '!bash'], { arguments: tests }),
        tools('other', ['*', '!bash'], { arguments: [{ path: '/never', pattern: 'never' }] }),
      ]
      const { calls } = judge(rules, {})
      const judged = atOnce(calls!.withArguments(bash, { type: 'json', value: value as never }))
      t.same(
        judged.hits.map(({ name }) => name),
        isRefused ? ['r'] : [],
      )
    },
  )

const refusedBy = (path: string, given: Parameters<typeof withArguments>[1], tool: ToolName = bash) =>
  withArguments([{ path, pattern: 'rm' }], given, tool).refusing !== null
const withArguments = (
  tests: Rule['arguments'],
  given: Parameters<NonNullable<ReturnType<typeof judge>['calls']>['withArguments']>[1],
  tool: ToolName,
) => atOnce(judge([tools('r', ['*', '!bash'], { arguments: tests! })], {}).calls!.withArguments(tool, given))

t.test('arguments that cannot be read match every rule', async (t) => {
  t.ok(refusedBy('/command', UNREADABLE))
  t.notOk(refusedBy('/command', UNREADABLE, mail), 'of tools that it names')
  for (const text of ['{"command":', '{"command":"rm","command":"ls"}', '[{"a":1,"a":2}]'])
    t.ok(refusedBy('/other', { type: 'json', value: text }), text)
  t.ok(refusedBy('/a/b', { type: 'json', value: { a: '{"b":"rm","b":"ls"}' } }))
  let deep = '[]'
  for (let level = 0; level < 10; level++) deep = JSON.stringify(deep)
  t.ok(refusedBy('/a', { type: 'json', value: deep }))
  t.ok(refusedBy('', { type: 'json', value: Array.from({ length: 20_000 }, () => 'x') }))
})

t.test('the text of a tool is one string, into which no pointer leads', async (t) => {
  t.ok(refusedBy('', { type: 'text', text: 'rm -rf' }))
  t.notOk(refusedBy('', { type: 'text', text: 'ls' }))
  t.ok(refusedBy('/command', { type: 'text', text: 'ls' }))
})

t.test('the longest arguments are judged in short steps', async (t) => {
  const value = { command: 'rm'.padStart(MAXIMUM_ARGUMENT_CHARACTERS, 'r ') }
  const rules = [tools('r', ['*', '!bash'], { arguments: [{ path: '/command', pattern: 'x|rm$' }] })]
  const steps = judge(rules, {}).calls!.withArguments(bash, { type: 'json', value })
  let count = 1
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) count++
  t.match(step.value.refusing, { name: 'r' })
  t.ok(count > 4, `${count} steps`)
})

const NO_TYPES = [
  tools('r', ['*', '!computer_use', '!text_editor'], { action: 'monitor' }),
  tools('web', ['*', '!send_*'], { after: ['text_editor'] }),
]
const editor = (...also: string[]) => toolNamed('edit', ...also)

t.test('a call is of the type that its definition has', async (t) => {
  const { calls } = judge(NO_TYPES, { defined: [editor('text_editor'), toolNamed('computer')] })
  t.equal(calls!.named(toolNamed('edit')).hits.length, 1)
  t.equal(calls!.named(toolNamed('other')).hits.length, 0)
  t.equal(calls!.named(toolNamed('computer')).hits.length, 0, 'a function of that name is no computer')
  t.same(names(judge(NO_TYPES, { defined: [editor('text_editor')], called: [editor()] }).hits), ['r:monitor'])
  const only = judge([tools('only', ['text_editor'])], { defined: [editor('text_editor')] })
  t.equal(only.calls!.named(toolNamed('edit')).refusing, null)
})

t.test('a call without a definition is of the type that providers give its name', async (t) => {
  const { calls } = judge(NO_TYPES, {})
  for (const name of ['computer', 'str_replace_editor', 'str_replace_based_edit_tool'])
    t.equal(calls!.named(toolNamed(name)).hits.length, 1, name)
  t.equal(calls!.named(toolNamed('edit')).hits.length, 0)
})

t.test('a result is of the type that its definition has', async (t) => {
  const defined = [editor('text_editor')]
  for (const { calls } of [
    judge(NO_TYPES, { defined, results: [editor()] }),
    judge(NO_TYPES, { results: [toolNamed('str_replace_editor')] }),
  ])
    t.match(calls!.named(mail), { refusing: { name: 'web' } })
  const { calls } = judge(NO_TYPES, { defined })
  t.equal(calls!.named(mail).refusing, null)
  t.match(calls!.following([editor()], 0).named(mail), { refusing: { name: 'web' } })
})
