import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { checkValue, formatPath, printDocument, readDocument } from '../../src/core/document.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { UNQUOTED_ASTERISK } from '../../src/core/yaml-position.ts'
import { PRICES_SCHEMA } from '../../src/prices/price-schema.ts'
import { RULE_SCHEMA, RULES_SCHEMA } from '../../src/rules/schema.ts'

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: {
      description: 'Lower-case letters.',
      type: 'string',
      pattern: '^[a-z]+$',
      minLength: 1,
      maxLength: 8,
    },
    action: { enum: ['block', 'redact', 'monitor'] },
    size: { type: 'integer', minimum: 1, maximum: 9 },
    list: { type: 'array', maxItems: 2, uniqueItems: true, items: { type: 'string' } },
    token: { enum: ['a', 'b'], writeOnly: true },
    reference: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: { env: { type: 'string' }, file: { type: 'string' } },
    },
    nested: {
      type: 'object',
      additionalProperties: false,
      properties: {
        items: { type: 'array', items: { type: 'object', additionalProperties: false, properties: {} } },
      },
    },
    free: {},
  },
}

const problemsOf = (text: string): string[] =>
  readDocument(text, 'f.yaml', SCHEMA).problems.map(formatProblem)

t.test('a problem contains no control characters of the file', async (t) => {
  const [problem = ''] = problemsOf('name: a\naction: "\\n::add-mask::x\\e[31m\\u2028"\n')
  t.match(problem, 'must be one of: block, redact, monitor (not `‹000A›::add-mask::x‹001B›[31m‹2028›`)')
})

t.test('a valid document has a value and a position for every node', async (t) => {
  const { value, problems, locate } = readDocument('name: abc\nlist:\n  - one\n  - two\n', 'f.yaml', SCHEMA)
  t.same(value, { name: 'abc', list: ['one', 'two'] })
  t.same(problems, [])
  t.same(locate(['name']), { line: 1, column: 7 })
  t.same(locate(['list', 1]), { line: 4, column: 5 })
  t.same(
    locate(['list', 7]),
    { line: 3, column: 3 },
    'a missing value has the position of its nearest ancestor',
  )
  t.same(locate(['other', 'deep']), { line: 1, column: 1 })
})

const cases: [title: string, text: string, problems: string[]][] = [
  ['a missing key is required', 'size: 1', ['f.yaml:1:1 name: is required']],
  [
    'an unknown key gets a suggestion',
    'name: a\nactoin: block',
    [
      'f.yaml:2:1 actoin: is not a known key; did you mean `action`? (known: name, action, size, list, token, reference, nested, free)',
    ],
  ],
  [
    'an unknown value of an enumeration gets a suggestion',
    'name: a\naction: blok',
    ['f.yaml:2:9 action: must be one of: block, redact, monitor (not `blok`); did you mean `block`?'],
  ],
  ['a secret value is not repeated', 'name: a\ntoken: hunter2', ['f.yaml:2:8 token: must be one of: a, b']],
  [
    'all errors are reported in document order',
    'size: 10\nname: A\nlist: [x, x, x]',
    [
      'f.yaml:1:7 size: must be from 1 to 9',
      'f.yaml:2:7 name: has the wrong format: Lower-case letters.',
      'f.yaml:3:7 list: must have at most 2 items',
      'f.yaml:3:7 list: must not repeat an item (items 1 and 2)',
    ],
  ],
  ['a value of the wrong type names the right one', 'name: 3', ['f.yaml:1:7 name: must be a string']],
  [
    'a text instead of a reference is rejected without repeating it',
    'name: a\nreference: hunter2',
    ['f.yaml:2:12 reference: must be an object with keys: env, file'],
  ],
  ['an empty text is reported once', 'name: ""', ['f.yaml:1:7 name: must not be empty']],
  [
    'a key without a value has the wrong type',
    'name: a\nreference:',
    ['f.yaml:2:11 reference: must be an object with keys: env, file'],
  ],
  [
    'an empty reference lacks its key',
    'name: a\nreference: {}',
    ['f.yaml:2:12 reference: must have at least 1 of its keys: env, file'],
  ],
  [
    'an error deep in the document has its path',
    'name: a\nnested:\n  items:\n    - {}\n    - {x: 1}',
    ['f.yaml:5:8 nested.items[1].x: is not a known key (known: )'],
  ],
  [
    'a merge key is rejected with an alternative',
    'name: a\nnested: &base {}\nfree: 1\n<<: *base',
    [
      'f.yaml:4:1 <<: is not a key: YAML 1.2 has no merge keys; write the keys out, or use an alias for a whole value',
    ],
  ],
  [
    'an empty file is not an object',
    '',
    ['f.yaml:1:1 must be an object with keys: name, action, size, list, token, reference, nested, free'],
  ],
  [
    'a file with only comments is not an object',
    '# nothing\n',
    ['f.yaml:1:1 must be an object with keys: name, action, size, list, token, reference, nested, free'],
  ],
  [
    'a list is not an object',
    '- a',
    ['f.yaml:1:1 must be an object with keys: name, action, size, list, token, reference, nested, free'],
  ],
  ['a duplicate key is rejected', 'name: a\nname: b', ['f.yaml:2:1 duplicate key; remove one of the two']],
  [
    'a second document is rejected',
    'name: a\n---\nname: b',
    [
      'f.yaml:2:1 a second YAML document begins here, and a file holds one; remove this `---`, or move what follows into a file of its own',
    ],
  ],
  [
    'a custom tag is rejected',
    'name: !secret x',
    [
      'f.yaml:1:7 custom tags are not allowed; remove the tag, or put a text that begins with `!` in single quotes',
    ],
  ],
  ['a key that is not a string is rejected', '? [a]\n: b', ['f.yaml:1:3 keys must be plain strings']],
  ['an alias without an anchor is rejected', 'name: *gone', [`f.yaml:1:7 ${UNQUOTED_ASTERISK}`]],
  ['a lone asterisk needs quotes', 'name: *', [`f.yaml:1:7 ${UNQUOTED_ASTERISK}`]],
  [
    'texts in a list that begin with an asterisk need quotes',
    'name: a\nfree: [*-x, *, "*-y"]',
    [`f.yaml:2:8 ${UNQUOTED_ASTERISK}`, `f.yaml:2:13 ${UNQUOTED_ASTERISK}`],
  ],
  [
    'each text that begins with an asterisk is reported',
    'name: *email\nfree:\n  - *-x\n  - ok',
    [`f.yaml:1:7 ${UNQUOTED_ASTERISK}`, `f.yaml:3:5 ${UNQUOTED_ASTERISK}`],
  ],
  [
    'a text that begins with an at sign needs quotes',
    'name: @team',
    ['f.yaml:1:7 is not valid YAML: put a text that begins with `@` in single quotes'],
  ],
  [
    'a text that begins with a per cent sign needs quotes',
    'name: %d',
    ['f.yaml:1:7 is not valid YAML: put a text that begins with `%` in single quotes'],
  ],
  [
    'a second document without anything in it is rejected',
    'name: a\n---\n',
    [
      'f.yaml:2:1 a second YAML document begins here, and a file holds one; remove this `---`, or move what follows into a file of its own',
    ],
  ],
  [
    'an alias before its anchor is rejected',
    'name: *late\nfree: &late x',
    [`f.yaml:1:7 ${UNQUOTED_ASTERISK}`],
  ],
  [
    'a recursive alias is rejected',
    'name: a\nfree: &f\n  deep: [x, *f]',
    ['f.yaml:3:13 recursive alias: it is inside the value that it refers to'],
  ],
  [
    'duplicate keys are found in flow mappings, in quotes and with anchors',
    'name: a\nfree: {b: 1, "b": 2}\n&n name: c\nname: d',
    [
      'f.yaml:2:14 duplicate key; remove one of the two',
      'f.yaml:3:4 duplicate key; remove one of the two',
      'f.yaml:4:1 duplicate key; remove one of the two',
    ],
  ],
  ['a syntax error is described', 'name: "a', ['f.yaml:1:9 is not valid YAML: Missing closing "quote']],
  ['deep nesting is rejected', `name: ${'['.repeat(50_000)}`, []],
  [
    'exponential aliases are rejected',
    `free:\n  - &a [x, x]\n  - &b [${'*a, '.repeat(20)}]\n  - [${'*b, '.repeat(20)}]\nname: a`,
    ['f.yaml:1:1 expands more than 100 aliases; write some values out'],
  ],
]

for (const [title, text, expected] of cases) {
  t.test(title, async (t) => {
    const problems = problemsOf(text)
    if (expected.length > 0) t.same(problems, expected)
    else t.match(problems, [/nested too deeply/])
  })
}

t.test('the YAML 1.2 core schema reads yes and no as text and 0o17 as a number', async (t) => {
  const { value } = readDocument('name: no\nfree: [yes, 0o17, 012, 2001-01-01]', 'f.yaml', SCHEMA)
  t.same(value, { name: 'no', free: ['yes', 15, 12, '2001-01-01'] })
})

t.test('a document may use aliases', async (t) => {
  const { value } = readDocument('name: &n abc\nlist: [*n]', 'f.yaml', SCHEMA)
  t.same(value, { name: 'abc', list: ['abc'] })
})

t.test('an anchor redefined within its own node refers to the new node', async (t) => {
  const { value } = readDocument('name: a\nfree: &f [1, &f 2, *f]', 'f.yaml', SCHEMA)
  t.same(value, { name: 'a', free: [1, 2, 2] })
})

t.test('the time is linear in the number of keys, valid or not', async (t) => {
  const timeOf = (keys: number) => {
    const text = Array.from({ length: keys }, (_, index) => `key${index}: x`).join('\n')
    const startMs = performance.now()
    t.equal(problemsOf(text).length, keys + 1)
    return performance.now() - startMs
  }
  timeOf(500)
  const shortMs = Math.min(timeOf(1000), timeOf(1000))
  const longMs = timeOf(16_000)
  t.ok(longMs < 16 * 4 * shortMs, `${shortMs} ms for 1,000 keys, ${longMs} ms for 16,000`)
})

t.test('an alias of its own parent ends in an error', async (t) => {
  t.ok(problemsOf('name: a\nlist: &l [*l]').length > 0)
})

t.test('syntax errors repeat no text of the document', async (t) => {
  for (const text of [
    'name: "a" hunter2',
    'name: @hunter2',
    'name: "\\hunter2"',
    'name: [a, b hunter2: c',
    '%hunter2\nname: a',
  ]) {
    const problems = problemsOf(text)
    t.ok(problems.length > 0, text)
    t.notMatch(problems.join('\n'), /hunter2/, text)
  }
})

t.test('any text is read, and every problem has a position', async () => {
  const fragment = fc.constantFrom(
    'name',
    ': ',
    'a',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '&x ',
    '*x',
    '#',
    '|',
    '>',
    '!',
    '\t',
    '%',
    '\u2028',
    '🙂',
  )
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 30 }), (fragments) => {
      const { value, problems } = readDocument(fragments.join(''), 'f', SCHEMA)
      return (
        (value === null) === problems.length > 0 &&
        problems.every(({ line, column }) => line > 0 && column > 0)
      )
    }),
    { numRuns: 300 },
  )
})

t.test('a printed value is read again unchanged', async () => {
  const anything = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(anything, (free) => {
      const { value } = readDocument<{ free: unknown }>(printDocument({ name: 'a', free }), 'f', SCHEMA)
      return JSON.stringify(value?.free) === JSON.stringify(free)
    }),
    { numRuns: 200 },
  )
})

t.test('checkValue reports schema errors of a value without a file', async (t) => {
  t.same(checkValue({ name: 'a' }, SCHEMA), [])
  t.match(checkValue({ action: 'redact' }, SCHEMA), [
    { path: ['name'], missing: true, message: 'is required' },
  ])
  t.equal(formatPath(['rules', 2, 'match', 'models', 0]), 'rules[2].match.models[0]')
})

t.test('our schemas are valid, which reading does not check', async (t) => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false })
  for (const schema of [CONFIG_SCHEMA, PRICES_SCHEMA, RULES_SCHEMA, RULE_SCHEMA])
    t.equal(ajv.validateSchema(schema), true)
})
