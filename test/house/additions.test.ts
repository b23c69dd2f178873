// What it takes to add a fact: the lists in src/README.md are those of changes that were made and
// passed the tests.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RULE_TYPE_NAMES } from '../../src/policy/rule-types.ts'
import { ROOT } from './sources.ts'

const MAXIMUM_PLACES = 9

/**
 * Files of a finished change by what it added, from `git diff --name-only`. A file that it created
 * is named by a neighbour that is there.
 */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  /** The tokens of a prompt that the provider had in its cache. */
  'A field of an entry': [
    '.github/CHANGELOG.md',
    'src/audit/README.md',
    'src/audit/entry-fields.ts',
    'src/console/pages/entry-drawer.tsx',
    'src/pipeline/record/entry-draft.ts',
    'test/process/openai.test.ts',
  ],
  /** `prompt_length`, which bounds the characters of a prompt. */
  'A rule type': [
    '.github/CHANGELOG.md',
    'charts/sidegate/values.schema.json',
    'config/README.md',
    'config/rules.schema.json',
    'src/pipeline/prompt/inspect.ts',
    'src/policy/rule-type.ts',
    'src/policy/rule-types.ts',
    'src/policy/types/prompt-injection.ts',
    'test/policy/rule-types.test.ts',
  ],
  /** `/v1/rerank`, which orders documents by a query. */
  'An API': [
    '.github/CHANGELOG.md',
    'config/providers/README.md',
    'src/chat/apis.ts',
    'src/chat/embeddings-api.ts',
    'src/chat/vocabulary.ts',
    'src/demo/stand-in-server.ts',
    'test/chat/api-bodies.ts',
    'test/process/inputs.test.ts',
  ],
}

const README = readFileSync(join(ROOT, 'src/README.md'), 'utf8')

for (const [what, files] of Object.entries(RECORDED)) {
  t.test(`src/README.md lists the places of ${what.toLowerCase()}, at most ${MAXIMUM_PLACES}`, async (t) => {
    const [, list = ''] = new RegExp(`^- \\*\\*${what}\\*\\*(.*)$`, 'm').exec(README) ?? []
    const paths = [...list.matchAll(/`((?:\.github|charts|config|src|test)\/[^` ]+)`/g)].map(
      ([, path]) => path!,
    )
    t.strictSame(paths.sort(), [...files].sort())
    t.ok(files.length <= MAXIMUM_PLACES)
    for (const path of files) t.ok(existsSync(join(ROOT, path)), path)
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
