import t from 'tap'
import { lintRules } from '../../src/rulecheck/lint.ts'
import { filesIn } from '../../src/rulecheck/rule-sources.ts'
import { snapshotOf } from '../../src/rules/snapshot.ts'

const rule = (name: string, type: string, pattern: string, action: string, more = '') =>
  `  - { name: ${name}, type: ${type}, pattern: '${pattern}', action: ${action}${more} }\n`
const file = (...rules: string[]) => ({ name: 'r.yaml', text: `rules:\n${rules.join('')}` })
const DISABLED = ', kind: case_id, enabled: false'
const CONTEXT = { keyNames: ['batch', 'web'], kinds: ['email' as const], namesPseudonymKey: false }

const WARNED: readonly [name: string, rules: string[], message: RegExp, line: number][] = [
  ['one letter', [rule('a', 'keyword_block', 'e', 'block')], /alternative 1 occurs in nearly every/, 2],
  ['any character', [rule('a', 'keyword_block', 'aurora|.', 'block')], /alternative 2 occurs/, 2],
  ['a space', [rule('a', 'keyword_block', 'uno-a | dos-b', 'block')], /alternative 1 ends with white/, 2],
  ['a space', [rule('a', 'keyword_block', 'uno-a| dos-b', 'block')], /alternative 2 .*: write `dos-b`/, 2],
  [
    'a line end',
    ['  - name: a\n    type: keyword_block\n    action: block\n    pattern: >\n      uno-a|dos-b\n'],
    /alternative 2 ends with a line end .*write `dos-b`; YAML adds no line end after `>-`/,
    5,
  ],
  ['a class', [rule('a', 'keyword_block', '[a-z]+', 'monitor')], /alternative 1 occurs/, 2],
  [
    'the same word in two rules',
    [rule('a', 'keyword_block', 'aurora', 'block'), rule('b', 'keyword_block', 'Aurora', 'block')],
    /adds nothing to `a` \(r\.yaml:2\)/,
    3,
  ],
  [
    'monitor under block',
    [rule('a', 'keyword_block', 'x-one', 'monitor'), rule('b', 'keyword_block', 'x-one|x-two', 'block')],
    /contradicts `b`/,
    2,
  ],
  [
    'a rule whose kinds are all overruled',
    [
      rule('a', 'pii', 'email|phone', 'redact'),
      rule('b', 'pii', 'email', 'block'),
      rule('c', 'pii', 'phone', 'block'),
    ],
    /never decides: `b` \(r\.yaml:3\), `c`/,
    2,
  ],
  [
    'a rule whose parts another covers',
    [
      rule('a', 'keyword_block', 'aurora', 'block', ', match: { parts: [user, system] }'),
      rule('b', 'keyword_block', 'aurora', 'block', ', match: { parts: [user] }'),
    ],
    /adds nothing to `a`/,
    3,
  ],
  [
    'an API without those that take the same prompts',
    [rule('a', 'keyword_block', 'aurora', 'block', ', match: { apis: [chat, responses, compact] }')],
    /leaves out `input_tokens`/,
    2,
  ],
  ['a rule that allows everything', [rule('a', 'pii', '*', 'allow')], /lets every kind/, 2],
  [
    'a kind whose definition is disabled',
    [rule('a', 'pii', 'case_id', 'redact'), rule('b', 'pii_pattern', 'C-[0-9]+', 'redact', DISABLED)],
    /names `case_id`, which nothing finds: `b` \(r\.yaml:3\) is disabled/,
    2,
  ],
  [
    'an exception of all that another rule finds',
    [
      rule('a', 'pii', 'case_id', 'redact', ", except: ['c-[0-9]{1,9}']"),
      rule('b', 'pii_pattern', 'C-[0-9]{4}', 'redact', ', kind: case_id'),
    ],
    /matches every value of `case_id`/,
    2,
  ],
  ['pseudonyms without a shared key', [rule('a', 'pii', 'email', 'pseudonym')], /pii\.pseudonymKey/, 2],
  ['a low threshold', [rule('a', 'prompt_injection', 'score>=0.1', 'block')], /ordinary prompts/, 2],
  [
    'blocking below what is fair to each language',
    [rule('a', 'prompt_injection', 'score>=0.4', 'block')],
    /more than 1 % of innocent texts in .*\bnl\b.*; use score>=0\.\d+ or `monitor`/,
    2,
  ],
  [
    'blocking at the threshold of the model',
    [rule('a', 'prompt_injection', '', 'block')],
    /more than 1 % of innocent texts in .*\buk\b/,
    2,
  ],
  [
    'a threshold above that of another rule',
    [
      rule('a', 'prompt_injection', 'score>=0.5', 'block'),
      rule('b', 'prompt_injection', 'score>=0.9', 'block'),
    ],
    /adds nothing to `a`/,
    3,
  ],
  [
    'a limit that another covers',
    [rule('a', 'rate_limit', '1000/1h', 'block'), rule('b', 'rate_limit', '5000/1m', 'block')],
    /adds nothing to `a`/,
    3,
  ],
  [
    'a capture rule that says what holds anyway',
    ['  - { name: a, type: capture, pattern: full }\n'],
    /changes nothing: text is captured unless/,
    2,
  ],
  [
    'a capture rule that another covers',
    [
      '  - { name: a, type: capture, pattern: metadata }\n',
      '  - { name: b, type: capture, pattern: metadata, match: { models: [m] } }\n',
    ],
    /adds nothing to `a`/,
    3,
  ],
  [
    'an expression as a glob',
    [rule('a', 'pii', '*', 'redact', ', match: { models: ["gpt.*"] }')],
    /globs know only/,
    2,
  ],
  ...[
    ['match: { keys: ["^web"] }', /globs know only/],
    ['match: { keys: ["web|api"] }', /globs know only/],
    ['match: { keys: ["web.+"] }', /globs know only/],
    ['match: { keys: ["we\\u200bb"] }', /nobody sees, as in `we‹200B›b`/],
    ['match: { keys: ["web "] }', /white space at its ends.* write `web`/],
    ['match: { models: ["gpt\\u3164"] }', /nobody sees, as in `gpt‹3164›`/],
    ['match: { models: [" gpt-4o "] }', /white space at its ends.* write `gpt-4o`/],
    ['match: { labels: { team: "a\\u3164" } }', /matches no key: a label must have/],
  ].map(([more, message]): (typeof WARNED)[number] => [
    `a rule with ${more}`,
    [rule('a', 'pii', '*', 'redact', `, ${more}`)],
    message as RegExp,
    2,
  ]),
  ...[
    ['gpt-.*', /item 2 looks like a regular expression/],
    ['!^gpt', /item 2 looks like a regular expression/],
    [' gpt-4o', /item 2 has white space at its ends.* write `gpt-4o`/],
    ['! gpt-4o', /item 2 has white space at its ends.* write `gpt-4o`/],
    ['gpt\\u200b-4o', /item 2 has characters that nobody sees, as in `gpt‹200B›-4o`/],
  ].map(([glob, message]): (typeof WARNED)[number] => [
    `models of access such as ${glob}`,
    [`  - { name: a, type: model_access, pattern: [m, "${glob}"], action: block }\n`],
    message as RegExp,
    2,
  ]),
  [
    'an unknown key',
    [rule('a', 'pii', '*', 'redact', ', match: { keys: [bacth] }')],
    /no key of the config.*batch, web/,
    2,
  ],
  ['a kind that is not detected', [rule('a', 'pii', 'iban', 'redact')], /`iban` is not detected/, 2],
  [
    'a pattern near its limit',
    [rule('a', 'keyword_block', 'abcdefgh'.repeat(100).concat('|').repeat(80).concat('zzzz'), 'block')],
    /split the rule/,
    2,
  ],
]

for (const [name, rules, message, line] of WARNED) {
  t.test(`lint warns about ${name}`, async (t) => {
    const files = [file(...rules)]
    t.same(snapshotOf(files).problems, [])
    const warnings = lintRules(files, CONTEXT)
    const found = warnings.find((warning) => message.test(warning.message))
    t.equal(found?.line, line, JSON.stringify(warnings))
  })
}

const SILENT: readonly [name: string, rules: string[]][] = [
  ['words', [rule('a', 'keyword_block', 'project aurora|\\bacme\\b', 'block')]],
  [
    'the same words in other directions',
    [
      rule('a', 'keyword_block', 'aurora', 'block', ', match: { direction: request }'),
      rule('b', 'keyword_block', 'aurora', 'block', ', match: { direction: response }'),
    ],
  ],
  [
    'the same words in other parts',
    [
      rule('a', 'keyword_block', 'aurora', 'block', ', match: { parts: [user] }'),
      rule('b', 'keyword_block', 'aurora', 'block', ', match: { parts: [tool_result, system] }'),
    ],
  ],
  [
    'kinds that are overruled in some parts only',
    [
      rule('a', 'pii', 'email', 'redact'),
      rule('b', 'pii', 'email', 'block', ', match: { parts: [user, system, tool_result] }'),
    ],
  ],
  [
    'a rule for what another leaves alone',
    [rule('a', 'pii', 'email', 'redact', ', except: [samples]'), rule('b', 'pii', 'email', 'monitor')],
  ],
  ['a kind next to `*`', [rule('a', 'pii', '*', 'redact'), rule('b', 'pii', 'email', 'block')]],
  [
    'a stricter rule for some models',
    [rule('a', 'pii', '*', 'redact'), rule('b', 'pii', '*', 'block', ', match: { models: ["gpt-*"] }')],
  ],
  [
    'limits of two windows',
    [rule('a', 'rate_limit', '20M/1d', 'block'), rule('b', 'rate_limit', '500k/1m', 'block')],
  ],
  [
    'a monitor rule wider than a block rule',
    [rule('a', 'keyword_block', 'one-x', 'block'), rule('b', 'keyword_block', 'one-x|two-x', 'monitor')],
  ],
  ['a high score that blocks', [rule('a', 'prompt_injection', 'score>=0.9', 'block')]],
  ['a low score that monitors', [rule('a', 'prompt_injection', 'score>=0.4', 'monitor')]],
  [
    'a key with brackets, and one whose name is like an expression',
    [rule('a', 'pii', '*', 'redact', ', match: { keys: ["*ch", "we*", "batch"] }')],
  ],
  [
    'a list of models',
    ['  - { name: a, type: model_access, pattern: ["gpt-4.1*", "!o?-*"], action: block }\n'],
  ],
  ['a disabled rule', [rule('a', 'keyword_block', 'e', 'block', ', enabled: false')]],
]

for (const [name, rules] of SILENT) {
  t.test(`lint does not warn about ${name}`, async (t) => {
    const files = [file(...rules)]
    t.same(snapshotOf(files).problems, [])
    t.same(lintRules(files, CONTEXT), [])
  })
}

t.test('errors in a ConfigMap have positions in the manifest', async (t) => {
  const text = [
    '# rules of the team',
    '---',
    'apiVersion: v1',
    'kind: ConfigMap',
    'metadata: { name: rules }',
    'data:',
    '  readme.txt: "no rules: [}"',
    '  a_test.yaml: "no rules either"',
    '  a.yaml: |',
    '    rules:',
    '      - name: one',
    '        type: pii',
    '        pattern: emial',
    '        action: block',
    '',
  ].join('\n')
  const files = filesIn({ name: 'map.yaml', text })
  t.equal(files.length, 1)
  const { problems } = snapshotOf(files)
  t.match(problems, [{ file: 'map.yaml', line: 13, column: 18, path: 'rules[0].pattern', message: /email/ }])
})

t.test('the configuration of the gateway in a manifest is not read as rules', async (t) => {
  const map = (name: string, ...lines: string[]) =>
    ['---', 'kind: ConfigMap', 'data:', `  ${name}: |`, ...lines.map((line) => `    ${line}`), ''].join('\n')
  const config = map('sidegate.yaml', 'rules:', '  path: ../rules', 'upstream:', '  baseUrl: https://h')
  const rules = map('a.yaml', 'rules: []')
  t.match(filesIn({ name: 'all.yaml', text: config + rules }), [{ text: /^\n+ {4}rules: \[\]\n$/ }])
  t.same(filesIn({ name: 'all.yaml', text: config }), [])
  const mixed = map('sidegate.yaml', 'rules: []', 'upstream: {}')
  t.match(snapshotOf(filesIn({ name: 'all.yaml', text: mixed })).problems, [{ path: 'upstream' }])
})

t.test('reading a stream takes time linear in its documents', async (t) => {
  const timeOf = (documents: number) => {
    const others = '---\nkind: Service\n'.repeat(documents)
    const text = `${others}---\nkind: ConfigMap\ndata:\n  a.yaml: |\n    rules: []\n`
    const start = process.threadCpuUsage()
    t.same(filesIn({ name: 'all.yaml', text }), [
      { name: 'all.yaml', text: `${'\n'.repeat(2 * documents + 4)}    rules: []\n` },
    ])
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1000
  }
  timeOf(100)
  const shortMs = Math.min(timeOf(200), timeOf(200))
  const longMs = Math.min(timeOf(3200), timeOf(3200))
  t.ok(longMs < 16 * 4 * shortMs, `${longMs} ms for 16 times the documents of ${shortMs} ms`)
})

t.test('a file without a ConfigMap is a rule file', async (t) => {
  const plain = { name: 'r.yaml', text: 'rules: []\n' }
  t.same(filesIn(plain), [plain])
})
