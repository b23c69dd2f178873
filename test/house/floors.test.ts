import t from 'tap'
import { findBreaches, readSources } from './floors.ts'

t.test('the sources keep to the floors', async (t) => {
  const sources = readSources()
  t.ok(sources.length > 40, 'the walk finds the sources')
  t.same(sources.flatMap(findBreaches), [])
})

t.test('breaches are found', async (t) => {
  const head = '// A file.\n'
  const cases: [string, string, RegExp][] = [
    ['chat/a.ts', `${head}import { x } from '../policy/rule.ts'`, /same floor/],
    ['policy/a.ts', `${head}import { x } from '../store/log/log.ts'`, /same floor or a higher/],
    ['pipeline/a.ts', `${head}import { open } from 'lmdb'`, /only store may/],
    ['detect/a.ts', `${head}const t = Date.now()`, /time, randomness/],
    ['audit/a.ts', `${head}import fs from 'node:fs'`, /pure floor/],
    ['core/a.ts', `${head}import x from 'left-pad'`, /no folder is known/],
    ['pipeline/a.ts', `${head}function f() {\n  function* g() {}\n}`, /generator inside/],
    ['core/utils.ts', head, /named after nothing/],
    ['core/a.ts', `${head}${'\n'.repeat(301)}`, /more than 300/],
    ['core/a.ts', 'export const a = 1', /no head/],
    ['lib/a.ts', head, /no floor/],
  ]
  for (const [path, text, expected] of cases) t.match(findBreaches({ path, text }).join('\n'), expected, path)
})
