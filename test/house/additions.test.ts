// What it takes to add a fact: the lists in src/README.md are those of recorded changes, which fit the
// files as they are. additions.long.test.ts makes them.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { RULE_TYPE_NAMES } from '../../src/policy/rule-types.ts'
import { ADDITIONS, insert } from './additions.ts'
import { ROOT } from './sources.ts'

const MAXIMUM_PLACES = 9

const README = readFileSync(join(ROOT, 'src/README.md'), 'utf8')
const PATH = /(a file such as )?`((?:\.github|charts|config|src|test)\/[^` ]+)`/g

for (const { title, insertions, generated } of ADDITIONS) {
  t.test(`src/README.md lists the places of ${title.toLowerCase()}, at most ${MAXIMUM_PLACES}`, async (t) => {
    const [, list = ''] = new RegExp(`^- \\*\\*${title}\\*\\*(.*)$`, 'm').exec(README) ?? []
    const listed = [...list.matchAll(PATH)].map(([, example, path]) => ({
      path: path!,
      isExample: !!example,
    }))
    const paths = (isExample: boolean) =>
      listed.filter((one) => one.isExample === isExample).map(({ path }) => path)
    const changed = new Set([
      ...insertions.filter(({ before }) => before !== null).map(({ path }) => path),
      ...generated,
    ])
    t.strictSame(paths(false).sort(), [...changed].sort())
    const created = insertions.filter(({ before }) => before === null)
    t.strictSame(
      paths(true).map(dirname),
      created.map(({ path }) => dirname(path)),
    )
    t.ok(listed.length <= MAXIMUM_PLACES)
    for (const { path } of listed) t.ok(existsSync(join(ROOT, path)), path)
  })

  t.test(`the record of ${title.toLowerCase()} fits the files`, async (t) => {
    const files = new Map<string, string | null>()
    for (const insertion of insertions) {
      const { path, before } = insertion
      const file = files.get(path) ?? (before === null ? null : readFileSync(join(ROOT, path), 'utf8'))
      t.doesNotThrow(() => files.set(path, insert(file, insertion)), path)
      if (before === null) t.notOk(existsSync(join(ROOT, path)), path)
    }
  })
}

t.test('src/README.md names every file that knows a rule type by name', async (t) => {
  const comparison = new RegExp(`type [!=]== '(${RULE_TYPE_NAMES.join('|')})'`)
  const knowing = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && comparison.test(readFileSync(join(ROOT, 'src', path), 'utf8')))
    .map((path) => path.replace(/\.tsx?$/, ''))
  const [sentence = ''] = /Elsewhere a rule type is known by name only to [^.]*\./.exec(README) ?? []
  const named = [...sentence.matchAll(/`([^`]+)`/g)].map(([, path]) => path)
  t.strictSame(named.sort(), knowing.sort())
})
