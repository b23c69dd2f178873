import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { PII_KINDS } from '../../src/core/finding.ts'
import { uuidv5 } from '../../src/core/ids.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { loadRules } from '../../src/rules/load.ts'
import { problemsOf, snapshotOf } from '../../src/rules/snapshot.ts'
import { publish, rulesText, temporaryFolder } from './fixture.ts'

t.test('conditions with an empty or a missing member are errors with their place', async (t) => {
  const folder = temporaryFolder(t)
  const rule = (name: string, condition: string) =>
    `  - {name: ${name}, type: tool_access, pattern: ["!bash"], action: block, arguments: [${condition}]}`
  const lines = ['rules:', rule('a', '{path: /a, pattern: ""}'), rule('b', '{pattern: x}'), rule('c', '')]
  lines.push(rule('d', '').replace('[]', 'x'))
  writeFileSync(join(folder, 'a.yaml'), lines.join('\n'))
  const { problems } = await loadRules(folder)
  t.match(problems.map(formatProblem), [
    /a\.yaml:2:\d+ rules\[0\]\.arguments\[0\]\.pattern: must not be empty/,
    /a\.yaml:3:\d+ rules\[1\]\.arguments\[0\]\.path: is required/,
    /a\.yaml:4:\d+ rules\[2\]\.arguments: must not be empty; write objects with keys: path, pattern/,
    /a\.yaml:5:\d+ rules\[3\]\.arguments: must be an array of objects with keys: path, pattern/,
  ])
})

t.test('a folder gives its rule files in the order of names and nothing else', async (t) => {
  const folder = temporaryFolder(t)
  const files: Record<string, string> = {
    'b.yml': rulesText('beta'),
    'a.yaml': `# comment\n${rulesText('alpha', 'aleph')}`,
    'a_test.yaml': 'not: a rule file',
    '.hidden.yaml': '[',
    '..tmp.yaml': '[',
    'a.yaml~': '[',
    'README.md': '[',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  mkdirSync(join(folder, 'folder.yaml'))
  const { rules, problems, contentHash } = await loadRules(folder)
  t.same(problems, [])
  t.same(
    rules.map(({ rule: { name, path, line } }) => [name, path, line]),
    [
      ['alpha', join(folder, 'a.yaml'), 3],
      ['aleph', join(folder, 'a.yaml'), 4],
      ['beta', join(folder, 'b.yml'), 2],
    ],
  )
  t.match(contentHash, /^[0-9a-f]{64}$/)
})

t.test('a single file loads, and ids depend on names alone', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'my-rules.txt'), rulesText('alpha'))
  const { rules, problems } = await loadRules(join(folder, 'my-rules.txt'))
  t.same(problems, [])
  t.match(rules, [{ rule: { id: uuidv5('alpha'), name: 'alpha', enabled: true, pattern: 'alpha', line: 2 } }])
})

t.test('fields with a default may be missing', async (t) => {
  const { rules, problems } = snapshotOf([
    {
      name: 'a.yaml',
      text: 'rules:\n  - {name: i, type: prompt_injection, action: monitor}\n  - {name: p, type: pii, pattern: "*", action: redact, enabled: false}',
    },
  ])
  t.same(problems, [])
  t.match(rules, [
    { rule: { pattern: '', enabled: true }, pattern: { threshold: null } },
    { rule: { pattern: '*', enabled: false }, pattern: { kinds: '*' } },
  ])
})

t.test('a file with very many errors reports the first and the number of the rest', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'rules.yaml'), `rules:\n${'  - {name: 1}\n'.repeat(45_000)}`)
  const { problems } = await loadRules(folder)
  t.equal(problems.length, 1001)
  t.match(problems[0], { line: 2, path: 'rules', message: /at most 10000 items/ })
  const last = problems.at(-1)
  t.match(last && formatProblem(last), /rules\.yaml:335:5 .*134001 more/)
})

t.test('every error of every file is reported at once, with its position', async (t) => {
  const { problems } = snapshotOf([
    {
      name: 'a.yaml',
      text: `rules:
  - name: one
    type: keyword_block
    pattern: "a|(b"
    action: blok
  - name: two
    type: pii
    pattern: emial
    action: redact
    match:
      directoin: request
`,
    },
    {
      name: 'b.yaml',
      text: `rules:
  - name: three
    type: keyword_block
    pattern: "ok|(b|"
    action: allow
  - {name: four, type: rate_limit, pattern: 5/m, action: block, match: {models: []}}
  - {name: " five", type: pii, pattern: email, action: block}
`,
    },
    { name: 'c.yaml', text: 'rules: [{name: six, name: seven}]' },
    {
      name: 'd.yaml',
      text: 'rules:\n  - {name: six, type: keyword_block, pattern: x*, action: allow}\n  - {name: six, type: pii, pattern: email, action: block}',
    },
  ])
  t.same(problems.map(formatProblem), [
    'a.yaml:4:14 rules[0].pattern: alternative 2 is not a valid RE2 expression: missing closing ): `(b`',
    'a.yaml:5:13 rules[0].action: must be one of: block, remove, redact, restore, pseudonym, monitor, allow (not `blok`); did you mean `block`?',
    `a.yaml:8:14 rules[1].pattern: \`emial\` is not a kind of personal data; did you mean \`email\`? (kinds: ${PII_KINDS.join(', ')})`,
    'a.yaml:11:7 rules[1].match.directoin: is not a known key; did you mean `direction`? (known: models, keys, labels, direction, apis, parts)',
    'b.yaml:4:14 rules[0].pattern: alternative 2 is not a valid RE2 expression: missing closing ): `(b|`',
    'b.yaml:5:13 rules[0].action: `allow` is not allowed for keyword_block rules; use `block`, `redact` or `monitor`',
    'b.yaml:6:45 rules[1].pattern: must be <tokens>/<window>, <n> requests/<window>, <n> tool_calls/<window>, <n> parallel or <amount> USD/<window>, e.g. `60000/1m`, `2M tokens/1d`, `100 requests/1mo`, `50 tool_calls/run`, `5 parallel` or `20 USD/1d` (suffixes k, M; windows s, m, h, d, 1mo and run)',
    'b.yaml:6:81 rules[1].match.models: must not be empty',
    `b.yaml:7:12 rules[2].name: has the wrong format: Unique across all files, ignoring case and Unicode form; shown to clients and in the usage log. It must have no white space at the ends and no characters that nobody sees.`,
    'c.yaml:1:21 duplicate key; remove one of the two',
    'd.yaml:2:47 rules[0].pattern: alternative 1 matches the empty text, so it would match everything',
    'd.yaml:2:59 rules[0].action: `allow` is not allowed for keyword_block rules; use `block`, `redact` or `monitor`',
    'd.yaml:3:12 rules[1].name: the name `six` is taken by d.yaml:2; names are unique across files',
  ])
})

t.test('names that differ only in case or Unicode form are one name', async (t) => {
  const { problems } = snapshotOf([
    { name: 'a.yaml', text: rulesText('Caf\u00e9', 'straße', 'other') },
    { name: 'b.yaml', text: rulesText('Cafe\u0301', 'STRASSE', 'ｏther', 'another') },
  ])
  t.same(problems.map(formatProblem), [
    'b.yaml:2:12 rules[0].name: the name `Cafe\u0301` is taken by a.yaml:2 as `Caf\u00e9`, which differs only in its Unicode form; names are unique across files',
    'b.yaml:3:12 rules[1].name: the name `STRASSE` is taken by a.yaml:3 as `straße`, which differs only in case; names are unique across files',
    'b.yaml:4:12 rules[2].name: the name `ｏther` is taken by a.yaml:4 as `other`, which differs only in its Unicode form; names are unique across files',
  ])
})

t.test('an escape in double quotes is an error that names single quotes', async (t) => {
  const { problems } = snapshotOf([
    {
      name: 'a.yaml',
      text: `rules:
  - {name: art, type: keyword_block, pattern: "\\bart\\b", action: block}
  - {name: ok, type: keyword_block, pattern: '\\bart\\b', action: block}
  - {name: kinds, type: pii, pattern: "\\bemail", action: block}
  - {name: lines, type: keyword_block, pattern: "a\\tb\\nc", action: block}
  - {name: globs, type: keyword_block, pattern: a, action: block, match: {keys: ["\\bteam"]}}
`,
    },
    {
      name: 'b.yaml',
      text: 'rules: [{name: digits, type: keyword_block, pattern: "\\d+", action: block}]',
    },
  ])
  const message =
    'contains the control character U+0008, which `\\b` means in double quotes; use single quotes, or write `\\\\b`'
  t.same(problems.map(formatProblem), [
    `a.yaml:2:47 rules[0].pattern: ${message}`,
    `a.yaml:4:39 rules[2].pattern: ${message}`,
    `a.yaml:6:82 rules[4].match.keys[0]: ${message}`,
    'b.yaml:1:55 is not valid YAML: invalid escape sequence in double quotes; use single quotes, or double each backslash',
  ])
})

t.test('names are unique across files', async (t) => {
  const { problems } = snapshotOf([
    { name: 'a.yaml', text: rulesText('x', 'same') },
    { name: 'b.yaml', text: rulesText('same') },
  ])
  t.same(problems.map(formatProblem), [
    'b.yaml:2:12 rules[0].name: the name `same` is taken by a.yaml:3; names are unique across files',
  ])
})

t.test(
  'a kind that neither a rule nor the configuration defines is an error where it is named',
  async (t) => {
    const text = 'rules:\n  - {name: one, type: pii, pattern: email|ticket, action: block}'
    const snapshot = snapshotOf([{ name: 'a.yaml', text }])
    t.match(problemsOf(snapshot, []).map(formatProblem), [
      /^a\.yaml:2:37 rules\[0\]\.pattern: names a kind that nothing defines: `ticket` is not a kind/,
    ])
    t.same(problemsOf(snapshot, ['ticket']), [])
  },
)

t.test('an error in one field of a rule hides no error in another', async (t) => {
  const { problems, rules } = snapshotOf([
    {
      name: 'a.yaml',
      text: `rules:
  - {name: a, type: keyword_block, pattern: (, action: allow, enabled: maybe}
  - {name: b, type: rate_limit, pattern: 5/m, action: blok, match: {direction: request, keys: []}}
  - {name: c, type: keyword_blok, pattern: (, action: redact}
  - {name: d, type: keyword_block, pattern: 7, action: allow}
  - {name: e, type: keyword_block, enabled: 1}
  - {type: pii, pattern: emial, action: block}
  - {type: prompt_injection, colour: red, pattern: high, action: restore, name: a}
  - a word
`,
    },
  ])
  t.same(
    problems.map(({ line, path }) => `${line} ${path}`),
    [
      '2 rules[0].pattern',
      '2 rules[0].action',
      '2 rules[0].enabled',
      '3 rules[1].pattern',
      '3 rules[1].action',
      '3 rules[1].match.direction',
      '3 rules[1].match.keys',
      '4 rules[2].type',
      '5 rules[3].pattern',
      '5 rules[3].action',
      '6 rules[4].action',
      '6 rules[4].pattern',
      '6 rules[4].enabled',
      '7 rules[5].name',
      '7 rules[5].pattern',
      '8 rules[6].colour',
      '8 rules[6].pattern',
      '8 rules[6].action',
      '9 rules[7]',
      '8 rules[6].name',
    ],
  )
  t.same(rules, [], 'rules with errors are left out')
})

t.test('files that exceed a limit together are refused', async (t) => {
  const many = Array.from({ length: 300 }, (_, index) => `${index}${'x'.repeat(1000)}`)
  const text = (from: number) =>
    `rules: [{name: r${from}, type: keyword_block, action: block, pattern: ${many.slice(from, from + 60).join('|')}}]`
  const files = [0, 60, 120, 180, 240].map((from) => ({ name: `${from}.yaml`, text: text(from) }))
  t.same(snapshotOf(files.slice(0, 4)).problems, [])
  t.match(snapshotOf(files).problems.map(formatProblem), [/all keywords together/])
})

t.test('the content hash depends on names and contents', async (t) => {
  const file = (name: string, text: string) => ({ name, text })
  const hashes = [
    [file('a', 'x')],
    [file('b', 'x')],
    [file('a', 'y')],
    [file('a', 'x'), file('b', '')],
    [file('a', ''), file('b', 'x')],
    [file('ax', '')],
    [],
  ].map((files) => snapshotOf(files).contentHash)
  t.equal(new Set(hashes).size, hashes.length)
  t.equal(snapshotOf([file('a', 'x')]).contentHash, hashes[0])
})

t.test('unreadable files and folders are reported', async (t) => {
  const folder = temporaryFolder(t)
  const problemsOf = async (path: string) => (await loadRules(path)).problems.map(formatProblem)
  t.same(await problemsOf(join(folder, 'gone')), [`${join(folder, 'gone')} cannot be read (ENOENT)`])
  t.match(await problemsOf(folder), [
    /holds no \*\.yaml file; to run without rules, add a file with `rules: \[\]`/,
  ])
  writeFileSync(join(folder, 'large.yaml'), ' '.repeat(1024 * 1024 + 1))
  writeFileSync(join(folder, 'latin1.yaml'), Buffer.from('rules: [] # \xe9', 'latin1'))
  writeFileSync(join(folder, 'marked.yaml'), Buffer.from('\ufeffrules: []', 'utf16le'))
  writeFileSync(join(folder, 'unmarked.yaml'), Buffer.from('rules: []', 'utf16le'))
  symlinkSync('nowhere', join(folder, 'link.yaml'))
  symlinkSync('/dev/null', join(folder, 'pipe.yaml'))
  t.same(await problemsOf(folder), [
    `${join(folder, 'large.yaml')} is larger than 1048576 bytes; split it into smaller files`,
    `${join(folder, 'latin1.yaml')} is not valid UTF-8; save it as UTF-8`,
    `${join(folder, 'link.yaml')} cannot be read (ENOENT)`,
    `${join(folder, 'marked.yaml')} is in UTF-16, not UTF-8; save it as UTF-8`,
    `${join(folder, 'pipe.yaml')} is not a regular file`,
    `${join(folder, 'unmarked.yaml')} is in UTF-16, not UTF-8; save it as UTF-8`,
  ])
  rmSync(join(folder, 'large.yaml'))
  for (let index = 0; index < 1001; index++) writeFileSync(join(folder, `${index}.yaml`), '')
  t.match(await problemsOf(folder), [/holds \d+ rule files; at most 1000 are allowed/])
})

t.test('a ConfigMap gives each file once, through its current link', async (t) => {
  const folder = temporaryFolder(t)
  publish(folder, 'first', { 'a.yaml': rulesText('alpha'), 'b.yaml': rulesText('beta') })
  const first = await loadRules(folder)
  t.same(first.problems, [])
  t.same(
    first.rules.map(({ rule: { name, path } }) => [name, path]),
    [
      ['alpha', join(folder, 'a.yaml')],
      ['beta', join(folder, 'b.yaml')],
    ],
  )
  publish(folder, 'second', { 'a.yaml': rulesText('alpha'), 'b.yaml': rulesText('beta') })
  t.equal((await loadRules(folder)).contentHash, first.contentHash, 'the same content has the same hash')
  publish(folder, 'third', { 'c.yaml': rulesText('gamma') })
  t.same(
    (await loadRules(folder)).rules.map(({ rule }) => rule.name),
    ['gamma'],
  )
})

t.test('files swapped while they are read are never mixed', async (t) => {
  const folder = temporaryFolder(t)
  let moment = 0
  const swap = () => {
    moment++
    const before = `..${moment - 1}`
    publish(folder, String(moment), {
      'a.yaml': rulesText(`a${moment}`),
      'b.yaml': rulesText(`b${moment}`),
      'c.yaml': rulesText(`c${moment}`),
    })
    rmSync(join(folder, before), { recursive: true, force: true })
  }
  swap()
  let reading = true
  let rounds = 0
  const writer = (async () => {
    while (reading) {
      swap()
      // Swaps from within one reading to several readings later.
      for (let turn = (moment * 7) % 60; turn >= 0; turn--) await setImmediate()
      // Now and then a whole reading falls between two swaps, on any machine.
      const rest = rounds + (moment % 10 === 0 ? 2 : 0)
      while (reading && rounds < rest) await setImmediate()
    }
  })()
  let seen = 0
  for (let round = 0; round < 150; round++) {
    const { rules, problems } = await loadRules(folder)
    rounds++
    // Swaps faster than five readings in a row make the folder unreadable.
    if (problems.length > 0) continue
    seen++
    const names = rules.map(({ rule }) => rule.name)
    t.equal(new Set(names.map((name) => name.slice(1))).size, 1, names.join())
    t.equal(rules.length, 3)
  }
  reading = false
  await writer
  t.ok(seen > 0)
})

t.test('the rules of a file with namespaces have them, at a hub', async (t) => {
  const files = [
    { name: 'a.yaml', text: `namespaces: ["shop", "team-*"]\n${rulesText('one', 'two')}` },
    { name: 'b.yaml', text: rulesText('three') },
  ]
  const { rules, problems } = snapshotOf(files)
  t.same(problems, [])
  t.same(
    rules.map(({ rule }) => rule.namespaces),
    [['shop', 'team-*'], ['shop', 'team-*'], undefined],
  )
  t.match(snapshotOf(files, [], { reader: 'gateway' }).problems.map(formatProblem), [
    /^a\.yaml:1:13 namespaces: is for the rule files of a hub/,
  ])
})
