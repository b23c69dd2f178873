// The documents: their links resolve, the files they name exist, and the README stays short.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { APIS } from '../../src/chat/apis.ts'
import { VERSION } from '../../src/core/version.ts'
import { RULE_TYPES } from '../../src/policy/rule-types.ts'
import { ROOT } from './sources.ts'

const MAXIMUM_README_WORDS = 700
const MAXIMUM_ARCHITECTURE_WORDS = 2300
const MAXIMUM_BENCH_WORDS = 1700
const MAXIMUM_AGENTS_WORDS = 600
const MAXIMUM_CHANGE_CHARACTERS = 200

const DOCUMENTS = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))

/** A relative link, with its anchor apart. */
const LINK = /\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g
/** A file of this repository in backticks. */
const NAMED_FILE = /`((?:src|test|config|charts)\/[\w./-]+\.\w+)`/g
const HEADING = /^#{1,6} +(.+)$/gm

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const wordsOf = (path: string): number => read(path).split(/\s+/).filter(Boolean).length

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  `#${heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')}`

t.test('every relative link leads to a file and a heading that exist', async (t) => {
  for (const document of DOCUMENTS) {
    for (const [link, path = '', anchor] of read(document).matchAll(LINK)) {
      const target = path === '' ? document : join(dirname(document), path)
      t.ok(existsSync(join(ROOT, target)), `${document}: ${link}`)
      if (anchor === undefined || !target.endsWith('.md')) continue
      const anchors = [...read(target).matchAll(HEADING)].map(([, heading = '']) => anchorOf(heading))
      t.ok(anchors.includes(anchor), `${document}: ${link}`)
    }
  }
})

t.test('every file that a document names exists', async (t) => {
  for (const document of DOCUMENTS) {
    for (const [, path = ''] of read(document).matchAll(NAMED_FILE))
      t.ok(existsSync(join(ROOT, path)), `${document}: ${path}`)
  }
})

t.test('the table of rule types in config/README.md has each type with its actions', async (t) => {
  const rows = [...read('config/README.md').matchAll(/^\| `([a-z_]+)` \|.*\| ([^|]+) \|$/gm)]
  const actions = new Map(rows.map(([, name, last]) => [name, last]))
  for (const type of RULE_TYPES) {
    const listed = type.actions.map((action) => `\`${action}\``).join(' ') || 'none'
    t.equal(actions.get(type.name), listed, type.name)
  }
})

t.test('the table of endpoints in config/providers/README.md has each API', async (t) => {
  const table = read('config/providers/README.md')
  for (const { name, target, family } of APIS)
    t.ok(table.includes(`| \`POST /v1${target}\` | \`${name}\` | \`api: ${family}\` |`), name)
})

t.test('the README takes a newcomer three minutes', async (t) => {
  const words = wordsOf('README.md')
  t.ok(words <= MAXIMUM_README_WORDS, `${words} words, at most ${MAXIMUM_README_WORDS}`)
})

t.test('the architecture takes a contributor ten minutes', async (t) => {
  const words = wordsOf('src/README.md')
  t.ok(words <= MAXIMUM_ARCHITECTURE_WORDS, `${words} words, at most ${MAXIMUM_ARCHITECTURE_WORDS}`)
})

t.test('the page of what a call costs has the figures that matter only', async (t) => {
  const words = wordsOf('test/bench/README.md')
  t.ok(words <= MAXIMUM_BENCH_WORDS, `${words} words, at most ${MAXIMUM_BENCH_WORDS}`)
})

t.test('the page for coding agents is read in three minutes', async (t) => {
  const words = wordsOf('config/coding-agents.md')
  t.ok(words <= MAXIMUM_AGENTS_WORDS, `${words} words, at most ${MAXIMUM_AGENTS_WORDS}`)
})

t.test('the changelog has one line an entry, and no section twice', async (t) => {
  const lines = read('.github/CHANGELOG.md').split('\n')
  const seen = new Set<string>()
  let release = ''
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('## ')) release = line
    if (line.startsWith('#')) {
      const section = line.startsWith('###') ? `${release} ${line}` : line
      t.notOk(seen.has(section), `line ${index + 1}: ${line} is there already`)
      seen.add(section)
    } else if (release !== '' && line !== '') {
      t.ok(line.startsWith('- '), `line ${index + 1}: an entry is one line that begins with "- "`)
      t.ok(line.length <= MAXIMUM_CHANGE_CHARACTERS, `line ${index + 1}: ${line.length} characters`)
    }
  }
  t.match(
    lines.find((line) => line.startsWith('## ')),
    `[${VERSION}]`,
    'the version to come is first',
  )
})

t.test('every link of the documents in the npm package leads to a file in it', async (t) => {
  const list = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const [packed] = Object.values(JSON.parse(list)) as {
    readonly files: readonly { readonly path: string }[]
  }[]
  const paths = (packed?.files ?? []).map(({ path }) => path)
  const isPacked = (target: string) => paths.some((path) => path === target || path.startsWith(`${target}/`))
  // npm shows the first. The others are for people who run and check a gateway.
  for (const document of ['README.md', 'config/README.md', 'charts/README.md']) {
    for (const [link, path = ''] of read(document).matchAll(LINK))
      t.ok(path === '' || isPacked(join(dirname(document), path)), `${document}: ${link}`)
  }
})
