// Which stored answers a call may name: those of its key that this gateway or the hub knows.

import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { type NamedAnswer, NOTHING_SHARED, type SharedAnswers } from '../../src/fleet/answer-lookup.ts'
import type { SharedAnswer } from '../../src/fleet/stored-protocol.ts'
import type { StoredAnswer } from '../../src/keys/stored-answer.ts'
import { KnownAnswers, knownAnswers } from '../../src/pipeline/owned-answers.ts'
import { newCall } from './fixture.ts'

const call = newCall()
const { line } = call.key
const answer = (changes: Partial<StoredAnswer> = {}): StoredAnswer => ({
  ...{ keyId: line, upstream: 'default', createdAtMs: 0, isItem: false, models: ['m'], asksForJson: false },
  ...{ isCounted: false, promptTokens: 3, numbers: {}, readNumbers: { EMAIL: 1, PHONE: 3 } },
  ...changes,
})
const others = answer({ keyId: 'another line' })
const storedIn = (local: StoredAnswer | null) => ({ find: () => local, claim: () => null })

for (const [what, local, shared, own, isForeign] of [
  ['nobody knows', null, null, null, false],
  ['only this gateway knows', answer(), null, { answer: answer(), isElsewhere: false }, false],
  ['only the hub knows', null, answer(), { answer: answer(), isElsewhere: true }, false],
  ['another key made here', others, null, null, true],
  ['another key made elsewhere', null, 'foreign', null, true],
  ['another sidecar removed', answer(), 'removed', null, false],
  [
    'another sidecar has read since',
    answer(),
    answer({ isCounted: true, readNumbers: { EMAIL: 4 } }),
    { answer: answer({ isCounted: true, readNumbers: { EMAIL: 4, PHONE: 3 } }), isElsewhere: false },
    false,
  ],
] as [string, StoredAnswer | null, SharedAnswer, object | null, boolean][])
  t.test(`an answer that ${what}`, async (t) => {
    const known = new KnownAnswers({ stored: storedIn(local) }, call, { of: () => shared, isAway: false })
    t.strictSame(known.own('resp_1'), own)
    t.equal(known.isForeign('resp_1'), isForeign)
  })

t.test('a miss says when no hub answers', async (t) => {
  const missing = (shared: SharedAnswers) =>
    new KnownAnswers({ stored: storedIn(null) }, call, shared).missing(
      new GatewayError('not_found', 'Response not found.', { param: 'input', extra: { code: null } }),
    )
  t.match(missing(NOTHING_SHARED), { message: 'Response not found.' })
  t.match(missing({ ...NOTHING_SHARED, isAway: true }), {
    message: /^Response not found\. No hub answers .+; try again\.$/,
    ...{ code: 'not_found', param: 'input', extra: { code: null } },
  })
})

t.test(
  'the hub is asked for what this gateway does not know, and for news of what is continued',
  async (t) => {
    const asked: (readonly NamedAnswer[])[] = []
    const sharedAnswers = {
      find: async (_: unknown, named: readonly NamedAnswer[]) => {
        asked.push(named)
        return NOTHING_SHARED
      },
      claim: async () => true,
      sealed: () => {},
    }
    const stored = { ...storedIn(null), find: (id: string) => (id.startsWith('known') ? answer() : null) }
    const ids = (...names: string[]) =>
      names.map((id) => ({ id, notFound: () => new GatewayError('not_found', id) }))
    const ask = (continued: string | null, items: string[], repeated: string[]) =>
      knownAnswers({ stored, sharedAnswers }, call, {
        ...{ continued: continued === null ? null : { id: continued }, items: ids(...items) },
        repeated: ids(...repeated),
      })
    t.notOk(ask(null, ['known_1'], ['known_2', 'not an id']) instanceof Promise)
    t.strictSame(asked, [])
    await ask('known_3', ['known_1', 'msg_1', 'msg_2'], ['known_2', 'msg_2', 'msg_3'])
    t.strictSame(asked, [
      [
        { id: 'msg_2', isKnown: false, isRepeated: false },
        { id: 'msg_3', isKnown: false, isRepeated: true },
        { id: 'msg_1', isKnown: false, isRepeated: false },
        { id: 'known_3', isKnown: true, isRepeated: false },
      ],
    ])
    const alone = knownAnswers({ stored, sharedAnswers: null }, call, {
      ...{ continued: { id: 'resp_1' }, items: [], repeated: [] },
    })
    t.notOk(alone instanceof Promise, 'without a hub nothing waits')
  },
)
