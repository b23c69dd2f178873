// What a sidecar asks a hub about answers that other sidecars made, how long a call waits for it, and
// what it remembers.

import t from 'tap'
import {
  AnswerLookup,
  MAXIMUM_ASKS,
  type NamedAnswer,
  type SharedAnswers,
} from '../../src/fleet/answer-lookup.ts'
import { HubRefusal, HubUnreachable } from '../../src/fleet/hub-requests.ts'
import { hashesIn, keyLineQuery, MAXIMUM_ASKED_ANSWERS, storedPath } from '../../src/fleet/stored-protocol.ts'
import { answerHash, type StoredAnswer } from '../../src/keys/stored-answer.ts'
import { VirtualTime } from './lease-hub.ts'

const KEY = { id: 'k', line: 'line 1' }
const ANSWER: StoredAnswer = {
  keyId: 'line 1',
  upstream: 'default',
  createdAtMs: 1.5,
  isItem: false,
  models: ['m'],
  asksForJson: false,
  isCounted: true,
  promptTokens: 3,
  numbers: {},
  readNumbers: { EMAIL: 1 },
}
const hashOf = (id: string) => answerHash(id).toString('base64url')

/** A hub that answers after some time, and a sidecar of it. */
class Fleet {
  readonly time = new VirtualTime()
  /** By hash. */
  readonly known = new Map<string, unknown>()
  readonly asked: (readonly string[])[] = []
  readonly claims: object[] = []
  isConnected = true
  answersAfterMs = 5
  /** In place of an answer. */
  error: Error | null = null
  claimed: unknown = true
  atOnce = 0
  mostAtOnce = 0
  readonly sidecar: AnswerLookup

  constructor() {
    const { time } = this
    this.sidecar = new AnswerLookup({
      ...{ clock: time, timers: time },
      isConnected: () => this.isConnected,
      isHubKey: (id) => id === KEY.id,
      get: async (path, timeoutMs) => {
        this.atOnce++
        this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce)
        await new Promise<void>((resolve) => time.set(resolve, Math.min(timeoutMs, this.answersAfterMs)))
        this.atOnce--
        const [before = ''] = path.split('?')
        const hashes = hashesIn(before) ?? []
        this.asked.push(hashes)
        if (this.answersAfterMs > timeoutMs) throw new HubUnreachable(new Error('late'))
        if (this.error !== null) throw this.error
        t.ok(path.endsWith(keyLineQuery(KEY.line)))
        return JSON.stringify({ answers: hashes.map((hash) => this.known.get(hash) ?? null) })
      },
      post: async (path, body) => {
        this.claims.push({ path, ...body })
        if (this.error !== null) throw this.error
        return JSON.stringify({ claimed: this.claimed })
      },
    })
  }

  /** Asks, and moves the time until there is a result. */
  async find(named: readonly NamedAnswer[], key = KEY): Promise<SharedAnswers & { readonly ms: number }> {
    const startMs = this.time.monotonic()
    let result: SharedAnswers | null = null
    void this.sidecar.find(key, named).then((shared) => {
      result = shared
    })
    for (let step = 0; step < 200 && result === null; step++) await this.time.advance(5)
    return { ...result!, ms: this.time.monotonic() - startMs }
  }
}

const named = (id: string, more: Partial<NamedAnswer> = {}): NamedAnswer => ({
  ...{ id, isKnown: false, isRepeated: false },
  ...more,
})

t.test('an answer of another sidecar is found by its hash, and the id never leaves', async (t) => {
  const fleet = new Fleet()
  fleet.known.set(hashOf('resp_1'), ANSWER)
  const shared = await fleet.find([named('resp_1')])
  t.strictSame(shared.of('resp_1'), ANSWER)
  t.equal(shared.of('resp_2'), null)
  t.notOk(shared.isAway)
  t.strictSame(fleet.asked, [[hashOf('resp_1')]])
  t.strictSame((await fleet.find([named('resp_1')], { id: 'own', line: 'line 1' })).of('resp_1'), null)
  t.equal(fleet.asked.length, 1, 'a hub knows the answers of its own keys only')
})

t.test('a call waits half a second for an answer that is on its way, and no longer', async (t) => {
  const fleet = new Fleet()
  fleet.time.set(() => fleet.known.set(hashOf('resp_1'), ANSWER), 300)
  const arriving = await fleet.find([named('resp_1')])
  t.strictSame(arriving.of('resp_1'), ANSWER)
  t.ok(arriving.ms <= 500)
  t.equal(fleet.asked.length, 3)
  const missing = await fleet.find([named('resp_2'), named('resp_1')])
  t.equal(missing.of('resp_2'), null)
  t.ok(missing.ms <= 500)
  t.notOk(missing.isAway)
  const asked = fleet.asked.length
  t.ok((await fleet.find([named('resp_2')])).ms <= 5, 'a miss is remembered for a moment')
  t.equal(fleet.asked.length, asked)
  await fleet.time.advance(300)
  fleet.known.set(hashOf('resp_2'), ANSWER)
  t.strictSame((await fleet.find([named('resp_2')])).of('resp_2'), ANSWER, 'and no longer')
})

t.test('what need not exist is not waited for', async (t) => {
  const fleet = new Fleet()
  const shared = await fleet.find([named('msg_1', { isRepeated: true }), named('resp_1', { isKnown: true })])
  t.equal(fleet.asked.length, 1)
  t.ok(shared.ms <= 10)
  await fleet.time.advance(10_000)
  await fleet.find([named('msg_1', { isRepeated: true })])
  t.equal(fleet.asked.length, 1, 'that nobody has a repeated item is remembered')
})

t.test('what others may change is asked again soon, and what they cannot is remembered', async (t) => {
  const fleet = new Fleet()
  for (const [id, answer] of Object.entries({
    resp_1: ANSWER,
    msg_1: { ...ANSWER, isItem: true },
    resp_2: 'removed',
    resp_3: 'foreign',
  }))
    fleet.known.set(hashOf(id), answer)
  const all = ['resp_1', 'msg_1', 'resp_2', 'resp_3'].map((id) => named(id))
  const shared = await fleet.find(all)
  t.strictSame([shared.of('resp_2'), shared.of('resp_3')], ['removed', 'foreign'])
  await fleet.time.advance(300)
  await fleet.find(all)
  t.strictSame(fleet.asked.at(-1), [hashOf('resp_1')])
  fleet.sidecar.sealed(KEY, [{ type: 'remove', id: 'resp_1' }])
  t.equal((await fleet.find(all)).of('resp_1'), 'removed', 'what was removed here is gone at once')
})

t.test('without a hub no call waits twice', async (t) => {
  const fleet = new Fleet()
  fleet.known.set(hashOf('resp_1'), ANSWER)
  fleet.answersAfterMs = 10_000
  const late = await fleet.find([named('resp_1')])
  t.ok(late.isAway)
  t.ok(late.ms <= 505)
  t.match(await fleet.find([named('resp_1')]), { isAway: true, ms: 5 })
  fleet.answersAfterMs = 5
  await fleet.time.advance(1000)
  t.strictSame((await fleet.find([named('resp_1')])).of('resp_1'), ANSWER)
  fleet.isConnected = false
  await fleet.time.advance(300)
  t.match(await fleet.find([named('resp_1')]), { isAway: true, ms: 5 })
})

t.test('a call waits less for news of an answer that is known here', async (t) => {
  const fleet = new Fleet()
  fleet.known.set(hashOf('resp_2'), ANSWER)
  fleet.answersAfterMs = 300
  const known = await fleet.find([named('resp_1', { isKnown: true })])
  t.ok(known.isAway)
  t.ok(known.ms <= 105)
  t.strictSame((await fleet.find([named('resp_2')])).of('resp_2'), ANSWER, 'and the hub is asked for others')
})

t.test('a hub that is too slow to be asked again is not away', async (t) => {
  const fleet = new Fleet()
  fleet.answersAfterMs = 200
  const missing = await fleet.find([named('resp_1')])
  t.notOk(missing.isAway)
  t.ok(missing.ms <= 505)
  fleet.known.set(hashOf('resp_2'), ANSWER)
  t.strictSame((await fleet.find([named('resp_2')])).of('resp_2'), ANSWER)
})

t.test('a connection that was closed meanwhile is opened once more', async (t) => {
  const fleet = new Fleet()
  fleet.known.set(hashOf('resp_1'), ANSWER)
  fleet.error = new HubUnreachable(new Error('closed'))
  fleet.time.set(() => {
    fleet.error = null
  }, 8)
  t.strictSame((await fleet.find([named('resp_1')])).of('resp_1'), ANSWER)
  t.equal(fleet.asked.length, 2)
})

t.test('a hub of an older release knows nothing, which is no failure', async (t) => {
  const fleet = new Fleet()
  fleet.error = new HubRefusal(404, '{}')
  t.match(await fleet.find([named('resp_1')]), { isAway: false, ms: 5 })
  t.match(await fleet.find([named('resp_2')]), { isAway: false })
  t.equal(fleet.asked.length, 1)
  t.equal(await fleet.sidecar.claim(KEY, 'resp_1', 'call'), true)
})

t.test('many answers are asked for in few requests, some at a time', async (t) => {
  const fleet = new Fleet()
  const ids = Array.from({ length: 2 * MAXIMUM_ASKED_ANSWERS + 1 }, (_, n) => `msg_${n}`)
  for (const id of ids) fleet.known.set(hashOf(id), { ...ANSWER, isItem: true })
  const shared = await fleet.find(ids.map((id) => named(id)))
  t.ok(ids.every((id) => shared.of(id) !== null))
  t.strictSame(
    fleet.asked.map(({ length }) => length),
    [MAXIMUM_ASKED_ANSWERS, MAXIMUM_ASKED_ANSWERS, 1],
  )
  t.ok(storedPath(fleet.asked[0]!).length < 8192, 'which the head of a request takes')
  const found = Promise.all(
    Array.from({ length: 3 * MAXIMUM_ASKS }, (_, n) =>
      fleet.sidecar.find(KEY, [named(`x${n}`, { isKnown: true })]),
    ),
  )
  await fleet.time.advance(100)
  t.equal((await found).length, 3 * MAXIMUM_ASKS)
  t.equal(fleet.mostAtOnce, MAXIMUM_ASKS)
})

t.test('tokens are claimed at the hub, and counted when it does not answer', async (t) => {
  const fleet = new Fleet()
  t.equal(await fleet.sidecar.claim(KEY, 'resp_1', 'call 1'), true)
  t.strictSame(fleet.claims, [{ path: storedPath([hashOf('resp_1')]), key_line: 'line 1', call: 'call 1' }])
  fleet.claimed = false
  t.equal(await fleet.sidecar.claim(KEY, 'resp_1', 'call 2'), false)
  fleet.claimed = null
  t.equal(await fleet.sidecar.claim(KEY, 'resp_1', 'call 3'), true, 'which does not know the answer yet')
  fleet.error = new HubUnreachable(new Error('gone'))
  t.equal(await fleet.sidecar.claim(KEY, 'resp_1', 'call 4'), true)
  t.equal(await fleet.sidecar.claim({ ...KEY, id: 'own' }, 'resp_1', 'call 5'), true)
  t.equal(fleet.claims.length, 4)
})

t.test('an answer that a hub sends in another form is none', async (t) => {
  const fleet = new Fleet()
  for (const wrong of [{ ...ANSWER, upstream: 7 }, 'other', [], { ...ANSWER, text: 'Hello.' }]) {
    fleet.known.set(hashOf('resp_1'), wrong)
    t.equal((await fleet.find([named('resp_1', { isKnown: true })])).of('resp_1'), null)
    await fleet.time.advance(300)
  }
})
