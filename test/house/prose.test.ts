import t from 'tap'
import { PHRASES } from './phrases.ts'
import { findProseBreaches, isMessage } from './prose.ts'
import { parseSource } from './sources.ts'

const places = (path: string, text: string): string[] =>
  findProseBreaches(parseSource(path, text)).map(({ line, message }) => `${line} ${message}`)

t.test('each phrase is found in its sentence and not in plain English', async (t) => {
  for (const { pattern, banned, plain, write } of PHRASES) {
    for (const text of [`// ${banned}\n`, `/** ${banned} */\n`, `const a = "x: ${banned}"\n`]) {
      const found = places('src/core/a.ts', text)
      t.ok(found.length === 1 && found[0]!.endsWith(write), `${pattern}: ${found.join()}`)
    }
    t.same(
      places('src/core/a.ts', `// ${plain}\nconst a = "x: ${plain}"\n`),
      [],
      `${pattern} passes: ${plain}`,
    )
  }
})

t.test('a phrase is found across lines, on the line where it begins', async (t) => {
  t.match(places('src/core/a.ts', '// Head.\n\n// Kinds that are looked\n// for here.\n'), [
    /^3 says "looked for"/,
  ])
  t.match(places('src/core/a.ts', `const a = \`One of \${\n  b\n} goes on\`\n`), [/^3 says "goes on"/])
})

t.test('phrases in code, in quoted code and in data pass', async (t) => {
  t.same(places('src/core/a.ts', '// Calls `whatever it is`.\nconst told = /let go of it/\n'), [])
  t.same(places('src/core/a.ts', "const a = ['told', 'whatever', 'told whatever']\n"), [], 'words')
  t.same(places('src/core/a.ts', "const a = 'let go|be it so|goes on'\n"), [], 'a pattern')
  t.match(places('src/core/a.ts', "const a = 'it was told then'\n"), [/^1 says "told"/])
})

t.test('a message is a string with three words or more', async (t) => {
  t.ok(isMessage('the file is gone'))
  t.ok(isMessage('… (see below): not found'))
  t.notOk(isMessage('not found'))
  t.notOk(isMessage('a_b c1 = ; x-1 ? y'))
  t.notOk(isMessage('mi n[uú]mero|my own number'))
})

t.test('a comment line ends at column 100', async (t) => {
  const words = 'word '.repeat(30)
  const line = `// ${words}`.slice(0, 99)
  t.same(places('src/core/a.ts', `${line}x\n`), [])
  t.match(places('src/core/a.ts', `${line}xy\n`), [/^1 has a comment line of 101 columns/])
  t.match(places('src/core/a.ts', `const a = 1 ${line}\n`), [/^1 has a comment line of 111 columns/])
  t.match(places('src/core/a.ts', `/**\n * a\n * ${words}\n */\n`), [/^3 has a comment line/])
  t.same(places('src/core/a.ts', `const a = '${words}'\n`), [], 'code')
  t.same(places('src/core/a.ts', `// https://example.com/${'a'.repeat(100)}\n`), [], 'one word')
  t.same(places('src/core/a.ts', `// biome-ignore lint/rule: ${words}\n`), [], 'an instruction')
})

t.test('data tables are exempt, code with the name of one is not', async (t) => {
  const table = `// Words that are looked for.\nexport const A = '${'word '.repeat(30)}'\n`
  for (const name of ['idea-table.ts', 'idea-data.ts', 'weights.ts'])
    t.same(places(`src/detect/${name}`, table), [], name)
  t.equal(places('src/detect/ideas.ts', table).length, 1)
  t.equal(places('src/detect/overweights.ts', table).length, 1)
  const code =
    '// Words that are looked for.\nexport const row = (a: number, b: number): number => a * b + a\n'
  t.equal(places('src/keyword/transition-table.ts', code).length, 1)
})
