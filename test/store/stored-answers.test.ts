import t from 'tap'
import { answerHash, STORED_MS, type StoredAnswer, type StoredChange } from '../../src/keys/stored-answer.ts'
import type { Environment } from '../../src/store/environment/journaled.ts'
import { requestDraft } from '../audit/drafts.ts'
import { bytesOf, id, openTestStore, START_MS, type TestStore } from './fixture.ts'

const MINUTE_MS = 60_000

const answer = (changes: Partial<StoredAnswer> = {}): StoredAnswer => ({
  keyId: 'k1',
  upstream: 'default',
  createdAtMs: START_MS,
  isItem: false,
  models: ['m'],
  asksForJson: false,
  isCounted: true,
  promptTokens: 3,
  numbers: { EMAIL: 2 },
  readNumbers: { EMAIL: 2 },
  ...changes,
})

let calls = 0
/** Seals a call with these changes. */
const seal = ({ store }: TestStore, ...stored: StoredChange[]) =>
  store.log.append(requestDraft({ id: id(++calls) }), { stored })

const keep = (name: string, changes: Partial<StoredAnswer> = {}): StoredChange => ({
  type: 'keep',
  id: name,
  answer: answer(changes),
})

const known = ({ store }: TestStore, names: readonly string[]) =>
  names.filter((name) => store.stored.find(name) !== null)

t.test('an answer is found until it is removed, also after a restart', async (t) => {
  const test = openTestStore(t)
  await seal(test, keep('resp_1'), keep('resp_2', { keyId: 'k2' }))
  t.strictSame(test.store.stored.find('resp_1'), answer())
  t.match(test.store.stored.find('resp_2'), { keyId: 'k2' })
  t.equal(test.store.stored.find('resp_3'), null)
  const again = await test.reopen()
  t.strictSame(again.store.stored.find('resp_1'), answer())
  await seal(again, { type: 'remove', id: 'resp_1' }, { type: 'remove', id: 'unknown' })
  t.equal(again.store.stored.find('resp_1'), null)
})

t.test('no id is stored', async (t) => {
  const test = openTestStore(t)
  await seal(test, keep('resp_67ccd2bed1ec8190'))
  t.notOk(bytesOf(test.path).includes('resp_67ccd2bed1ec8190'))
})

t.test('an entry that is not sealed changes nothing', async (t) => {
  const test = openTestStore(t)
  await t.rejects(
    test.store.log.append(requestDraft({ id: id(++calls), latency_ms: 0.5 }), { stored: [keep('resp_1')] }),
  )
  t.equal(test.store.stored.find('resp_1'), null)
})

t.test('an answer is found for 30 days, and its row is removed then', async (t) => {
  const test = openTestStore(t)
  await seal(test, keep('resp_1'))
  test.clock.advance(STORED_MS - 1)
  await test.store.stored.sweep()
  t.ok(test.store.stored.find('resp_1'))
  test.clock.advance(1)
  t.equal(test.store.stored.find('resp_1'), null)
  await test.store.stored.sweep()
  test.clock.advance(-MINUTE_MS)
  t.equal(test.store.stored.find('resp_1'), null)
})

t.test('the oldest rows go above the limit', async (t) => {
  // The limit is a share of the store.
  const test = openTestStore(t, { maxBytes: 512 * 20 * 300 })
  const names = Array.from({ length: 1000 }, (_, n) => `resp_${n}`)
  const rows = names.map((name, n) => keep(name, { createdAtMs: START_MS + n }))
  for (let first = 0; first < rows.length; first += 50) await seal(test, ...rows.slice(first, first + 50))
  t.strictSame(known(test, names), names.slice(700))
  await seal(test, { type: 'remove', id: 'resp_999' }, keep('resp_998', { createdAtMs: START_MS + 2000 }))
  await seal(test, keep('resp_a', { createdAtMs: START_MS + 3000 }))
  t.equal(known(test, names).length, 299, 'a removed row makes room')
  await seal(test, keep('resp_b', { createdAtMs: START_MS + 3001 }))
  t.equal(known(test, names).length, 298)
})

t.test('an update counts tokens once and only raises numbers', async (t) => {
  const test = openTestStore(t)
  await seal(test, keep('resp_1', { isCounted: false }))
  const update = (isCounted: boolean, EMAIL: number): StoredChange => ({
    type: 'update',
    id: 'resp_1',
    isCounted,
    readNumbers: { EMAIL, PHONE: 1 },
  })
  await seal(test, update(true, 5), update(false, 4))
  const numbers = { isCounted: true, numbers: { EMAIL: 2 }, readNumbers: { EMAIL: 5, PHONE: 1 } }
  t.strictSame(test.store.stored.find('resp_1'), answer(numbers))
  await seal(test, { type: 'remove', id: 'resp_1' })
  await seal(test, update(true, 5))
  t.equal(test.store.stored.find('resp_1'), null, 'a removed answer stays removed')
})

t.test('one call at a time claims the tokens of an answer', async (t) => {
  const test = openTestStore(t)
  const { stored } = test.store
  await seal(test, keep('resp_1', { isCounted: false }), keep('resp_2'))
  t.equal(stored.claim('resp_2'), null, 'counted already')
  t.equal(stored.claim('resp_3'), null, 'unknown')
  const release = stored.claim('resp_1')
  t.equal(stored.claim('resp_1'), null)
  release?.()
  const again = stored.claim('resp_1')
  await seal(test, { type: 'update', id: 'resp_1', isCounted: true, readNumbers: {} })
  again?.()
  t.equal(stored.claim('resp_1'), null)
})

t.test('what a call changes for the fleet is kept with its entry and goes with it', async (t) => {
  const shipping = { sendsContent: true, sendsClear: false, onUnshippable: 'continue' } as const
  let environment: Environment | null = null
  const wrap = (opened: Environment) => {
    environment = opened
    return opened
  }
  const test = openTestStore(t, { shipping, wrap })
  const { store } = test
  const item = { isItem: true, models: [] }
  const keeps = [keep('resp_1'), keep('msg_1', item), keep('msg_2', item)]
  const changes: StoredChange[] = [
    { type: 'update', id: 'resp_0', isCounted: true, readNumbers: { EMAIL: 3 } },
  ]
  const { seq } = await seal(test, ...keeps)
  await seal(test, ...changes, { type: 'remove', id: 'resp_1' })
  await seal(test)
  const hashOf = (name: string) => answerHash(name).toString('base64url')
  const sent = (n: number) => store.shipping!.read(n, false)?.stored
  t.strictSame(sent(seq), [
    { type: 'keep', hashes: [hashOf('resp_1')], answer: answer() },
    { type: 'keep', hashes: [hashOf('msg_1'), hashOf('msg_2')], answer: answer(item) },
  ])
  t.strictSame(sent(seq + 1), [
    { type: 'update', hashes: [hashOf('resp_0')], isCounted: true, readNumbers: { EMAIL: 3 } },
    { type: 'remove', hashes: [hashOf('resp_1')] },
  ])
  t.notOk('stored' in store.shipping!.read(seq + 2, false)!)
  const rows = () => environment!.tables.storedchanges.keys({ limit: 10 }).length
  t.equal(rows(), 2)
  await store.log.dropOldest(seq + 1)
  t.equal(rows(), 1)
  const alone = await test.reopen({ shipping: null })
  const { seq: unshared } = await seal(alone, keep('resp_3'))
  const again = await alone.reopen({ shipping })
  t.notOk('stored' in again.store.shipping!.read(unshared, false)!, 'without a hub nothing is kept for one')
})

t.test('changes of one call that are too many stay here', async (t) => {
  const test = openTestStore(t, {
    shipping: { sendsContent: true, sendsClear: false, onUnshippable: 'continue' },
  })
  const { seq } = await seal(test, ...Array.from({ length: 1025 }, (_, n) => keep(`msg_${n}`)))
  t.notOk('stored' in test.store.shipping!.read(seq, false)!)
  t.ok(test.store.stored.find('msg_1024'))
})

t.test('an answer that another gateway made is known here once a call has counted it', async (t) => {
  const test = openTestStore(t)
  const { stored } = test.store
  const made = answer({ isCounted: false })
  const release = stored.claim('resp_1', made)
  t.equal(stored.claim('resp_1', made), null)
  const readNumbers = { EMAIL: 5 }
  await seal(test, { type: 'update', id: 'resp_1', isCounted: true, readNumbers, made })
  release?.()
  t.strictSame(stored.find('resp_1'), answer({ readNumbers }))
  t.equal(stored.claim('resp_1', made), null)
})
