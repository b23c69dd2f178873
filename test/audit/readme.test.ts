// src/audit/README.md describes the format for other verifiers, so it must name everything that is
// sealed.

import { readFileSync } from 'node:fs'
import t from 'tap'
import { ENTRY_VERSION, genesis, seal } from '../../src/audit/chain.ts'
import { DRAFTED_FIELDS } from '../../src/audit/entry-fields.ts'
import { MAXIMUM_ENTRY_BYTES } from '../../src/audit/verify.ts'
import { requestDraft } from './drafts.ts'

const README = readFileSync(new URL('../../src/audit/README.md', import.meta.url), 'utf8')
const read = (file: string) => readFileSync(new URL(`../../src/audit/${file}`, import.meta.url), 'utf8')
/** What declares members: of the table of fields, the objects that its values are. */
const SOURCE = read('entry.ts') + read('change-draft.ts') + read('entry-fields.ts').split('declare const')[0]

t.test('the README names every entry type and every member', async (t) => {
  const types = [...SOURCE.matchAll(/readonly type: ((?:'[a-z_]+'(?: \| )?)+)/g)].flatMap(([, list]) =>
    [...(list ?? '').matchAll(/'([a-z_]+)'/g)].map(([, type]) => type as string),
  )
  t.ok(types.length > 10)
  const members = [...SOURCE.matchAll(/readonly ([a-z_]+)\??:/g)].map(([, member]) => member as string)
  t.ok(members.length > 40)
  for (const name of [...types, ...members, ...DRAFTED_FIELDS.map(([name]) => name)]) {
    if (!README.includes(`\`${name}\``)) t.fail(`${name} is not in the README`)
  }
  const head = { log: 'log', seq: 0, hash: 'sha256:' }
  for (const name of Object.keys(seal(head, requestDraft(), 0, null).entry)) {
    if (name !== 'hash' && !README.includes(`\`${name}\``)) t.fail(`${name} is not in the README`)
  }
})

t.test("the README's numbers equal the code's", async (t) => {
  t.ok(README.includes(MAXIMUM_ENTRY_BYTES.toLocaleString('en')))
  t.ok(README.includes(`| \`v\` | \`${ENTRY_VERSION}\`;`))
  const { entry } = genesis(
    'log',
    { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' },
    0,
  )
  t.strictSame([entry.seq, entry.prev], [0, null])
})
