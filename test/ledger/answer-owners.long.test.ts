// Whose the answers are that providers keep, in PostgreSQL: written with the entries of their calls,
// of one key each, once counted, and removed when their time is over.

import t from 'tap'
import { checkArrival } from '../../src/audit/arrival.ts'
import { atOnce } from '../../src/core/steps.ts'
import { answerHash, type SharedChange, type StoredAnswer } from '../../src/keys/stored-answer.ts'
import { AnswerOwners } from '../../src/ledger/answer-owners.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import { ShippedLogs } from '../../src/ledger/shipped-logs.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { id } from '../store/fixture.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const { owner, hub } = await fleetDatabase()
const database = openDatabase(t, hub)
const owners = new AnswerOwners(database)
const logs = new ShippedLogs(database, 'off')
const elsewhere = new ShippedLogs(openDatabase(t, hub), 'off')
for (const [key, line] of [
  ['k1', 'k1'],
  ['k1-new', 'k1'],
  ['k2', 'k2'],
])
  await run(
    owner,
    `insert into sidegate.api_key (id, sha256, name, line, terms, created_at, rev)
     values ($1, sha256(convert_to($1, 'UTF8')), $1, $2, '{}', now(), 0)`,
    [key, line],
  )

const answer = (changes: Partial<StoredAnswer> = {}): StoredAnswer => ({
  ...{ keyId: 'k1', upstream: 'default', createdAtMs: Date.now(), isItem: false, models: ['m'] },
  ...{ asksForJson: false, isCounted: true, promptTokens: 3, numbers: { EMAIL: 1 } },
  ...{ readNumbers: { EMAIL: 1 }, ...changes },
})
const hashOf = (name: string) => answerHash(name).toString('base64url')
const keep = (name: string, changes: Partial<StoredAnswer> = {}): SharedChange => ({
  ...{ type: 'keep', hashes: [hashOf(name)], answer: answer(changes) },
})
const update = (name: string, isCounted: boolean, readNumbers = {}): SharedChange => ({
  ...{ type: 'update', hashes: [hashOf(name)], isCounted, readNumbers },
})
const remove = (name: string): SharedChange => ({ type: 'remove', hashes: [hashOf(name)] })

let logsMade = 0
/** A sidecar whose calls change stored answers. */
class Sidecar {
  readonly #log = new SidecarLog(id(++logsMade))
  readonly #changes: (readonly SharedChange[])[] = [[]]
  #shipped = 0

  add(key: string, ...changes: SharedChange[]): this {
    this.#log.add(requestDraft({ key_id: key }))
    this.#changes.push(changes)
    return this
  }

  async ship(to = logs, from = this.#shipped) {
    const sent = this.#log.entries
      .map((entry, seq) => ({ ...entry, stored: this.#changes[seq]! }))
      .slice(from)
    const { log } = this.#log
    const entries = atOnce(checkArrival(log, sent, COLUMN_READER))
    if ('reason' in entries) throw new Error(entries.reason)
    this.#shipped = this.#log.entries.length
    const [result] = await to.store([
      { ...{ log, name: 'shop/web', sidecar: 'one', entries }, beginning: null },
    ])
    return result
  }
}
const find = async (line: string, ...names: string[]) => owners.find(line, names.map(hashOf))

t.test('the owner of an answer arrives with the entry, for the line of its key only', async (t) => {
  const made = answer({ reserved: { tokens: 9, cost: 1 } })
  const own = { type: 'keep', hashes: [hashOf('a'), hashOf('a-item')], answer: made } as const
  await new Sidecar().add('k1', own).ship()
  t.strictSame(await find('k1', 'a', 'unknown', 'a-item'), [made, null, made])
  t.strictSame(await find('k2', 'a'), ['foreign'])
  const [row] = await run(owner, `select * from sidegate.stored_answer where id_hash = $1`, [answerHash('a')])
  t.notMatch(JSON.stringify(row), /"a"/)
})

t.test('no key takes an answer over, changes it, or removes it', async (t) => {
  await new Sidecar().add('k1', keep('b')).ship()
  const other = new Sidecar().add(
    'k2',
    keep('b', { keyId: 'k2' }),
    update('b', true, { EMAIL: 9 }),
    remove('b'),
  )
  await other.add('k2', keep('forged', { keyId: 'k1' })).ship()
  t.match(await find('k1', 'b', 'forged'), [{ readNumbers: { EMAIL: 1 } }, null])
  await new Sidecar().add('of a file', keep('own', { keyId: 'of a file' })).ship()
  t.strictSame(await find('of a file', 'own'), [null], 'a hub knows the answers of its own keys')
})

t.test('changes of one shipment count in their order, those of a successor of the key too', async (t) => {
  const sidecar = new Sidecar()
    .add('k1', keep('c', { isCounted: false, readNumbers: { EMAIL: 1 } }))
    .add('k1-new', update('c', true, { EMAIL: 3, PHONE: 1 }))
    .add('k1', update('c', false, { EMAIL: 2 }))
    .add('k1', keep('d'))
    .add('k1', remove('d'), update('d', true))
  await sidecar.ship()
  t.match(await find('k1', 'c'), [{ isCounted: true, readNumbers: { EMAIL: 3, PHONE: 1 } }])
  t.strictSame(await find('k1', 'd'), ['removed'], 'what was removed stays so')
  await new Sidecar().add('k1', remove('c')).ship()
  t.strictSame(await find('k1', 'c'), ['removed'], 'at another sidecar')
  await sidecar.add('k1', update('c', true)).ship()
  t.strictSame(await find('k1', 'c'), ['removed'])
})

t.test('entries that are sent again change nothing again', async (t) => {
  const sidecar = new Sidecar().add('k1', keep('e'))
  await sidecar.ship()
  await new Sidecar().add('k1', remove('e')).ship()
  t.match(await sidecar.ship(logs, 0), { added: 0 })
  t.strictSame(await find('k1', 'e'), ['removed'])
})

t.test('two hubs that write the same answers do not stop each other', async (t) => {
  const names = Array.from({ length: 50 }, (_, n) => `f-${n}`)
  const at = (one: number, order: string[]) =>
    order.reduce((sidecar, name) => sidecar.add('k1', keep(name, { promptTokens: one })), new Sidecar())
  await Promise.all([at(1, names).ship(), at(2, names.toReversed()).ship(elsewhere)])
  t.ok((await find('k1', ...names)).every((one) => one !== null))
})

t.test('one call claims the tokens of an answer, until an entry has them', async (t) => {
  const claim = (line: string, call: string, claimMs = 60_000) =>
    owners.claim(line, hashOf('g'), call, claimMs)
  t.equal(await claim('k1', 'one'), null, 'the hub does not know it yet')
  await new Sidecar().add('k1', keep('g', { isCounted: false })).ship()
  const claims = await Promise.all(['one', 'two', 'three', 'four'].map((call) => claim('k1', call)))
  t.equal(claims.filter((one) => one === true).length, 1)
  const winner = ['one', 'two', 'three', 'four'][claims.indexOf(true)]!
  t.equal(await claim('k1', winner), true, 'which may ask again')
  t.equal(await claim('k2', 'five'), null)
  await new Sidecar().add('k1', update('g', false, { EMAIL: 2 })).ship()
  t.equal(await claim('k1', 'five'), false, 'also after others have read it')
  t.equal(await claim('k1', 'five', 0), true, 'a call that never ended loses its claim')
  await new Sidecar().add('k1', update('g', true)).ship()
  t.equal(await claim('k1', 'five', 0), false)
})

t.test('rows are there for the time of an answer, and are removed then', async (t) => {
  const day = 86_400_000
  const sidecar = new Sidecar()
    .add('k1', keep('h', { createdAtMs: Date.now() - 31 * day }))
    .add('k1', keep('i', { createdAtMs: Date.now() - 29 * day }))
    .add('k1', keep('j', { createdAtMs: Date.now() + 400 * day }))
  await sidecar.ship()
  t.match(await find('k1', 'h', 'i', 'j'), [null, { keyId: 'k1' }, { keyId: 'k1' }])
  await owners.sweep()
  const rows = async () =>
    (await run(owner, 'select expires_at from sidegate.stored_answer where id_hash = any($1)', [
      ['h', 'i', 'j'].map(answerHash),
    ])) as { expires_at: Date }[]
  t.equal((await rows()).length, 2)
  t.ok(
    (await rows()).every(({ expires_at: at }) => at.getTime() <= Date.now() + 30 * day),
    'also of a clock that is ahead',
  )
})
