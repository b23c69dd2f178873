import t from 'tap'
import { formatBreach } from './floors.ts'
import { parseSource } from './sources.ts'
import { findTreeBreaches } from './tree.ts'

const find = (files: Record<string, string>): string[] =>
  findTreeBreaches(Object.entries(files).map(([path, text]) => parseSource(`src/${path}`, text))).map(
    formatBreach,
  )

t.test('two files of one base name within a folder of a floor are a breach', async (t) => {
  t.same(find({ 'core/json.ts': '', 'core/deep/json.ts': '' }), [
    'src/core/deep/json.ts:1 has the base name of src/core/json.ts; rename one of them',
  ])
  t.same(find({ 'core/json.ts': '', 'core/deep/json-text.ts': '' }), [])
  t.same(find({ 'chat/json.ts': '', 'core/json.ts': '' }), [], 'two floors')
  t.same(find({ 'server/routes/json.ts': '', 'server/json.ts': '' }), [], 'routes/ is exempt')
  t.same(find({ 'keyword/index.ts': '', 'keyword/deep/index.ts': '' }), [], 'index.ts is exempt')
})

t.test('two exported types of one name are a breach', async (t) => {
  const declarations = [
    'interface Run {}',
    'type Run = 1',
    'type Run<T> = T',
    'class Run {}',
    'abstract class Run {}',
    'declare class Run {}',
    'enum Run {}',
    'const enum Run {}',
    'default class Run {}',
  ]
  for (const one of declarations) {
    t.same(
      find({ 'core/a.ts': 'export interface Run {}', 'core/b.ts': `\nexport ${one}` }),
      ['src/core/b.ts:2 exports a type Run, as src/core/a.ts:1 does; rename one of them'],
      one,
    )
  }
  const others = [
    'type Run = 1',
    'export const Run = 1',
    "export type { Run } from './a.ts'",
    '// export type Run',
    'const a = `\nexport type Run = 1`',
  ]
  for (const one of others)
    t.same(find({ 'core/a.ts': 'export interface Run {}', 'core/b.ts': one }), [], one)
})

t.test('a circle of imports of any kind is a breach with its path', async (t) => {
  const kinds = [
    "import { x } from './b.ts'",
    "import type { X } from './b.ts'",
    "import {\n  x,\n} from './b.ts'",
    "import './b.ts'",
    "export * from './b.ts'",
    "export type { X } from './b.ts'",
    "const x = await import('./b.ts')",
    "let x: import('./b.ts').X",
  ]
  for (const kind of kinds) {
    const found = find({
      'core/a.ts': kind,
      'core/b.ts': "import { y } from '../chat/c.ts'",
      'chat/c.ts': "import '../core/a.ts'",
    })
    t.equal(found.length, 1, kind)
    t.match(
      found[0],
      / imports itself: src\/chat\/c.ts → src\/core\/a.ts → src\/core\/b.ts → src\/chat\/c.ts; move/,
      kind,
    )
  }
  t.match(find({ 'core/a.ts': "\nimport './a.ts'" }), [
    /^src\/core\/a.ts:2 imports itself: src\/core\/a.ts → src\/core\/a.ts;/,
  ])
})

t.test('each group of circles is one breach, with the size of a larger group', async (t) => {
  const found = find({
    'core/a.ts': "import './b.ts'",
    'core/b.ts': "import './a.ts'\nimport './c.ts'",
    'core/c.ts': "import './b.ts'",
    'core/d.ts': "import './e.ts'",
    'core/e.ts': "import './d.ts'\nimport './a.ts'",
  })
  t.match(found.sort(), [
    /core\/a.ts → src\/core\/b.ts → src\/core\/a.ts \(3 files import each other\)/,
    /core\/d.ts → src\/core\/e.ts → src\/core\/d.ts;/,
  ])
})

t.test('imports without a circle pass', async (t) => {
  t.same(
    find({
      'core/a.ts': "import './b.ts'\nimport './c.ts'\nimport 'node:fs'\nimport 'lmdb'",
      'core/b.ts': "import './c.ts'",
      'core/c.ts': "// import './a.ts'\nconst x = \"import './a.ts'\"\nArray.from('./a.ts')",
    }),
    [],
  )
})
