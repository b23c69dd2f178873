import t from 'tap'
import { findAllBreaches, findFileBreaches, formatBreach } from './floors.ts'
import { parseSource, readSources } from './sources.ts'

const HEAD = '// Owns a thing.\n'
const LONG_DATA = `export const A = [${'\n'.repeat(301)}'${'a'.repeat(99)}']`

const find = (path: string, text: string): string[] =>
  findFileBreaches(parseSource(`src/${path}`, text)).map(formatBreach)

t.test('the sources keep to the floors', async (t) => {
  const sources = readSources()
  t.ok(sources.length > 40, 'the walk finds the sources')
  t.same(findAllBreaches(sources).map(formatBreach), [])
})

/** Path, text after the head, and what the only breach says after its line. */
const BREACHES: readonly (readonly [string, string, number, RegExp])[] = [
  ['chat/a.ts', "import { x } from '../detect/b.ts'", 2, /from the same floor/],
  ['chat/a.ts', "import type { X } from '../policy/rule.ts'", 2, /from a higher floor/],
  ['policy/a.ts', "import {\n  x,\n} from '../store/log/log.ts'", 4, /from a higher floor/],
  ['keyword/a.ts', "export { x } from '../policy/rule.ts'", 2, /from a higher floor/],
  ['cli/a.ts', "const x = await import('../gateway/b.ts')", 2, /from the same floor/],
  ['gateway/a.ts', "import { x } from '../program.ts'", 2, /from a higher floor/],
  ['core/a.ts', "import { x } from '../hub/b.ts'", 2, /from a higher floor/],
  ['boot/a.ts', "import { x } from '../server/b.ts'", 2, /boot\/ may import only core/],
  ['console/a.ts', "import { x } from '../core/b.ts'", 2, /shares no file with the server/],
  ['console/a.ts', "import { x } from '../audit/entry-fields.ts'", 2, /shares no file with the server/],
  ['console/a.ts', "import type { X } from '../audit/entry.ts'", 2, /shares no file with the server/],
  ['console/a.ts', "import fs from 'node:fs'", 2, /runs in the browser/],
  ['console/a.ts', "import { parse } from 'yaml'", 2, /runs in the browser/],
  ['server/a.ts', "import { x } from '../console/b.ts'", 2, /shares no file with the server/],
  ['main.ts', "import { x } from './console/b.ts'", 2, /shares no file with the server/],
  ['pipeline/a.ts', "import { open } from 'lmdb'", 2, /only store may/],
  ['policy/a.ts', "import { RE2JS } from 're2js'", 2, /only keyword may/],
  ['core/a.ts', "import x from 'left-pad'", 2, /has no adapter/],
  ['detect/a.ts', 'const t = Date.now()', 2, /uses time, randomness/],
  ['policy/a.ts', `const t = \`\${Math.random()}\``, 2, /uses time, randomness/],
  ['keyword/a.ts', 'const t = process.env', 2, /uses time, randomness/],
  ['audit/a.ts', "import fs from 'node:fs'", 2, /imports node:fs; take/],
  ['policy/a.ts', "import type { X } from 'node:http'", 2, /imports node:http; take/],
  ['pipeline/a.ts', 'function f() {\n  function* g() {}\n}', 3, /generator inside/],
  ['pipeline/a.ts', 'const p = x as unknown as Permit', 2, /casts to Permit/],
  ['upstream/a.ts', 'const r = usePermit(p)', 2, /uses a permit/],
  [
    'pipeline/a.ts',
    "import {\n  decide,\n} from '../policy/decide.ts'",
    2,
    /imports decide; only .* ask for a permit/,
  ],
  ['core/utils.ts', '', 1, /a name that fits any content/],
  ['core/a.ts', '\n'.repeat(450), 1, /has 451 lines/],
  ['core/a-table.ts', `${'const a = f(b)\n'.repeat(450)}`, 1, /has 451 lines/],
  ['lib/a.ts', '', 1, /no floor/],
  ['store/lib/a.ts', '', 1, /no floor/],
  ['store/journal/a.ts', "import { x } from '../environment/b.ts'", 2, /from a higher floor/],
  ['store/keys/a.ts', "import type { X } from '../sessions/b.ts'", 2, /from the same floor/],
  ['store/log/a.ts', "import { x } from '../store.ts'", 2, /from a higher floor/],
  ['pipeline/scan/a.ts', "import { x } from '../prompt/b.ts'", 2, /from a higher floor/],
  ['pipeline/answer/a.ts', "import { x } from '../pipeline.ts'", 2, /from a higher floor/],
]

/** Correct neighbours of the breaches above. */
const PASSES: readonly (readonly [string, string])[] = [
  ['chat/a.ts', "import { x } from '../core/b.ts'\nimport { y } from './b.ts'"],
  ['policy/a.ts', "import { x } from '../keyword/b.ts'\nimport { y } from '../detect/pii/b.ts'"],
  ['store/log/a.ts', "import { x } from '../../policy/b.ts'\nimport { y } from '../tables/table.ts'"],
  ['store/store.ts', "import { x } from './opening/b.ts'"],
  ['chat/messages/a.ts', "import { x } from '../payload.ts'"],
  ['pipeline/answer/a.ts', "import { x } from '../record/b.ts'"],
  ['cli/a.ts', "import { x } from '../rulecheck/b.ts'"],
  ['hub/a.ts', "import { x } from '../server/b.ts'"],
  ['main.ts', "import { x } from './boot/b.ts'\nimport { y } from './program.ts'"],
  ['boot/a.ts', "import { x } from '../core/b.ts'\nimport fs from 'node:fs'\nimport './b.ts'"],
  ['console/a.ts', "import { x } from './b.ts'"],
  ['console/a.ts', "import type {\n  X,\n} from '../audit/entry-fields.ts'"],
  ['console/a.ts', "import { useState } from 'preact/hooks'"],
  ['store/a.ts', "import { open } from 'lmdb'"],
  ['keyword/a.ts', "import { RE2JS } from 're2js'\nimport { createHash } from 'node:crypto'"],
  ['upstream/a.ts', "import { x } from 'undici/lib/x.js'\nconst t = Date.now()"],
  ['detect/a.ts', '// Date.now() is not used.\nconst t = "Math.random"\nconst d = new Date(0)'],
  ['core/a.ts', 'const t = Date.now()\nimport fs from "node:fs"'],
  ['pipeline/a.ts', 'function* g() {}\n// \n  // function* h'],
  ['core/utilisation.ts', ''],
  ['core/a.ts', '\n'.repeat(299)],
  ['core/a-table.ts', LONG_DATA],
  ['detect/a-data.ts', LONG_DATA],
  ['detect/injection/weights.ts', LONG_DATA],
  ['server/openapi.ts', '\n'.repeat(400)],
]

t.test('breaches are found', async (t) => {
  for (const [path, text, line, expected] of BREACHES) {
    const found = find(path, HEAD + text)
    t.equal(found.length, 1, `${path}: ${found.join()}`)
    const [breach = ''] = found
    t.ok(breach.startsWith(`src/${path}:${line} `), breach)
    t.match(breach, expected)
  }
})

t.test('correct files pass', async (t) => {
  for (const [path, text] of PASSES) t.same(find(path, HEAD + text), [], `${path}: ${text.slice(0, 60)}`)
})

t.test('a file begins with a comment that says what it owns', async (t) => {
  t.match(find('core/a.ts', 'export const a = 1\n'), [/^src\/core\/a.ts:1 has no head/])
  t.match(find('main.ts', '#!/usr/bin/env node\nexport const a = 1\n'), [/has no head/])
  t.same(find('main.ts', `#!/usr/bin/env node\n${HEAD}`), [])
})
