import t from 'tap'
import { readSourceText } from './source-text.ts'

t.test('comments, strings and code are separated', async (t) => {
  const text = [
    '#!/usr/bin/env node',
    '// One',
    '// two',
    "const a = 'it\\'s // no comment' // three",
    '/**',
    ' * four',
    ' */',
    `const b = \`x \${f({ y: \`in \${a} ner\` })} z\``,
    '',
  ].join('\n')
  const source = readSourceText(text)
  t.same(source.comments, [
    { line: 2, text: ' One\n two' },
    { line: 4, text: ' three' },
    { line: 5, text: '\n four\n' },
  ])
  t.same(source.strings, [
    { line: 4, text: 'it…s // no comment' },
    { line: 8, text: 'in … ner' },
    { line: 8, text: 'x … z' },
  ])
  t.same(source.commentLines, [2, 3, 4, 5, 6, 7])
  t.equal(source.code.length, text.length)
  t.match(
    source.code,
    /^ +\n +\n +\nconst a = '_+' +\n +\n +\n +\nconst b = `__\$\{f\(\{ y: `___\$\{a\}____` \}\)\}__`\n$/,
  )
})

t.test('a slash begins a regular expression where no operand precedes it', async (t) => {
  for (const code of [
    "x = /'/",
    "return /[/']/.test(y)",
    "if (x) /'/.test(y)",
    "f(/'/)",
    "!/'/.test(y)",
    "a || /'/u",
    "typeof /\\/'/",
  ]) {
    const { strings } = readSourceText(`${code}\n'end'`)
    t.same(strings, [{ line: 2, text: 'end' }], code)
  }
})

t.test('a slash divides after an operand', async (t) => {
  for (const code of ['a / b', 'f(x) / 2', 'a[0] / 2', 'i++ / 2', 'x! / 2', '2 / 3', "'a' / 2", 'a.of / 2']) {
    const { strings } = readSourceText(`${code} + 'one' / 2`)
    t.match(strings.at(-1), { line: 1, text: 'one' }, code)
  }
})

t.test('a comment across the substitution of a template keeps the lines', async (t) => {
  const { strings, comments } = readSourceText(`\`a \${\n  // note\n  b\n} told\``)
  t.same(strings, [{ line: 1, text: 'a …\n\n\n told' }])
  t.same(comments, [{ line: 2, text: ' note' }])
})

t.test('text that ends inside a literal or a comment is read to its end', async (t) => {
  for (const text of ["'a", '`a', '`a ${b', '/* a', '// a', "'a\\", '`a\\'])
    t.equal(readSourceText(text).code.length, text.length, text)
})

t.test('the time grows with the length of the text, not faster', async (t) => {
  const parts = ["'", '`', '${', '/', '/*', '*', ' ', '(', '\\', '\n', 'a /', '`${']
  for (const part of parts) {
    const started = performance.now()
    readSourceText(part.repeat(50_000))
    t.ok(performance.now() - started < 2_000, JSON.stringify(part))
  }
})
