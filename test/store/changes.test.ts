// The list of entries that are not calls.

import t from 'tap'
import { MAXIMUM_READ_ENTRIES } from '../../src/store/log/changes.ts'
import { requestDraft } from '../audit/drafts.ts'
import { id, openTestStore } from './fixture.ts'

const ALL = { limit: 1000, beforeSeq: null, actor: null, type: null }

t.test('changes are listed newest first, with their actors and without calls', async (t) => {
  const { store } = openTestStore(t)
  const { record } = await store.keys.create('batch', 'vera')
  // A name cannot pass for the type of a call.
  await store.keys.create('"type":"request"', 'ed')
  for (let n = 0; n < 600; n++) await store.log.append(requestDraft({ id: id(n) }))
  await store.keys.revoke(record.id, 'cli:root')
  const { changes, next_before } = await store.log.listChanges(ALL)
  t.match(changes, [
    { type: 'key_revoked', actor: 'cli:root', key_id: record.id, key_name: 'batch', seq: 603 },
    { type: 'key_created', actor: 'ed', key_name: '"type":"request"', seq: 2 },
    { type: 'key_created', actor: 'vera', key_name: 'batch', seq: 1 },
    { type: 'genesis', actor: 'gateway', seq: 0 },
  ])
  t.equal(changes.length, 4)
  t.equal(next_before, undefined)
  t.match(changes[0], { created_at: /^2026-03-01T/, hash: /^sha256:/ })
  t.strictSame(await store.log.listChanges({ ...ALL, type: 'key_revoked' }), { changes: changes.slice(0, 1) })
  t.strictSame(await store.log.listChanges({ ...ALL, actor: 'vera' }), { changes: changes.slice(2, 3) })
  t.strictSame(await store.log.listChanges({ ...ALL, actor: 'nobody' }), { changes: [] })
  for (const about of [record.id, 'batch'])
    t.strictSame((await store.log.listChanges({ ...ALL, about })).changes, [changes[0], changes[2]], about)
  t.strictSame(await store.log.listChanges({ ...ALL, about: 'vera' }), { changes: [] })
  const paged: unknown[] = []
  let beforeSeq: number | null = null
  do {
    const page = await store.log.listChanges({ ...ALL, limit: 1, beforeSeq })
    paged.push(...page.changes)
    beforeSeq = page.next_before ?? null
  } while (beforeSeq !== null)
  t.strictSame(paged, changes, 'the pages have every change once')
})

t.test('a page is bounded by what it reads, and says where to continue', async (t) => {
  const { store } = openTestStore(t)
  await store.keys.create('early', 'vera')
  // The log refuses many more at once.
  for (let from = 0; from < MAXIMUM_READ_ENTRIES; from += 1000) {
    const drafts = Array.from({ length: 1000 }, (_, n) => requestDraft({ id: id(from + n) }))
    await Promise.all(drafts.map((draft) => store.log.append(draft)))
  }
  const first = await store.log.listChanges(ALL)
  t.strictSame(first.changes, [])
  const rest = await store.log.listChanges({ ...ALL, beforeSeq: first.next_before ?? null })
  t.match(rest.changes, [{ type: 'key_created', actor: 'vera' }, { type: 'genesis' }])
  t.equal(rest.next_before, undefined)
})

t.test('an entry without an actor is listed with null, and declarations of rules are left out', async (t) => {
  const { store } = openTestStore(t)
  const { actor: _, ...old } = { type: 'stop', version: '1', actor: '' } as const
  await store.log.append(old as typeof old & { actor: string })
  await store.policies.seal('0123456789abcdef', [])
  const { changes } = await store.log.listChanges(ALL)
  t.match(changes, [
    { type: 'rules_loaded', actor: 'gateway', revision: '0123456789abcdef' },
    { type: 'stop', actor: null },
  ])
  t.notOk('declarations' in (changes[0] ?? {}))
})
