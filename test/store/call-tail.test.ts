// Positions of calls in the log, and the calls at them.

import t from 'tap'
import { requestDraft } from '../audit/drafts.ts'
import { id, openTestStore } from './fixture.ts'

t.test('a position is found by sequence number among entries of other types, also pruned ones', async (t) => {
  const { store } = openTestStore(t)
  const { log, tail } = store
  t.match(tail.stored(), { first: 0, end: 0, headSeq: 0 })
  t.equal(tail.positionAfter(0), 0)
  // Sequence 0 is the genesis entry; each even number is a key.
  for (let call = 0; call < 6; call++) {
    await log.append(requestDraft({ id: id(call) }))
    await store.keys.create(`key ${call}`, 'admin')
  }
  t.match(tail.stored(), { first: 0, end: 6, headSeq: 12 })
  const seqAt = (position: number) => tail.call(position)?.seq
  for (let seq = 0; seq <= 14; seq++) {
    const position = tail.positionAfter(seq)
    t.equal(position, Math.min(6, Math.ceil(seq / 2)), `after ${seq}`)
    if (position < 6) t.ok(seqAt(position)! > seq)
  }
  const { logs } = await log.list({ limit: 10, offset: 0 })
  t.strictSame(
    [5, 4, 3, 2, 1, 0].map((position) => tail.call(position)),
    logs,
    'as the list has them',
  )
  t.equal(tail.call(6), null)
  await log.dropOldest(6)
  t.match(tail.stored(), { first: 3, end: 6 })
  t.equal(tail.call(2), null)
  t.equal(tail.positionAfter(1), 3)
  t.equal(seqAt(3), 7)
})
