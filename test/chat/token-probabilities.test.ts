import t from 'tap'
import { LogprobGate } from '../../src/chat/token-probabilities.ts'
import type { JsonObject } from '../../src/core/json.ts'

const entry = (token: string) => ({ token, logprob: -0.1, top_logprobs: [] })
const chunk = (...tokens: string[]): JsonObject => ({
  choices: [
    {
      index: 0,
      delta: { content: tokens.join('') },
      logprobs: tokens.length === 0 ? null : { content: tokens.map(entry), refusal: null },
    },
  ],
})
const tokens = (body: JsonObject) =>
  (body as any).choices[0].logprobs?.content?.map((one: any) => one.token) ?? null

const textOf = (body: JsonObject, choice: number): string =>
  (body as any).choices.find((one: any) => one?.index === choice)?.delta.content ?? ''

/** A gate for one text; `sent` is the number of released characters. */
function setUp() {
  const gate = new LogprobGate()
  let received = 0
  return {
    apply(body: JsonObject, sent: number, finished: number[] = [], redacted = false) {
      received += textOf(body, 0).length
      const progress = () => ({ receivedCharacters: received, sentCharacters: sent, redacted })
      return gate.apply(body, progress, (choice) => textOf(body, choice), finished)
    },
  }
}

t.test('entries are released with the text they repeat', async (t) => {
  const gate = setUp()
  let sent = 0
  const step = (body: JsonObject, sentNow: number, finished: number[] = []) => {
    sent += sentNow
    const changed = gate.apply(body, sent, finished)
    return [tokens(body), changed]
  }
  t.same(step(chunk('Hel', 'lo'), 3), [['Hel'], true])
  t.same(step(chunk(' wor'), 3), [['lo'], true])
  t.same(step(chunk('ld'), 5), [[' wor', 'ld'], true])
  t.same(step(chunk(' now'), 4), [[' now'], false], 'nothing held, nothing changed')
  t.same(step(chunk('!'), 0), [[], true])
  t.same(step(chunk(), 1, [0]), [['!'], true], 'the last of them at the end')
})

t.test('no entry is released after a redaction', async (t) => {
  const gate = setUp()
  const body = chunk('a@b', '.co')
  t.ok(gate.apply(body, 0))
  const next = chunk(' and')
  t.ok(gate.apply(next, 9, [], true))
  t.equal(tokens(next), null)
  const end = chunk()
  gate.apply(end, 20, [0], true)
  t.equal(tokens(end), null)
})

t.test('no entry is released before its text, in any alignment', async (t) => {
  const beside = (content: string, ...spelled: string[]): JsonObject => ({
    choices: [{ index: 0, delta: { content }, logprobs: { content: spelled.map(entry), refusal: null } }],
  })
  const step = (gate: ReturnType<typeof setUp>, body: JsonObject, sent: number) => {
    gate.apply(body, sent)
    return tokens(body)
  }
  const late = setUp()
  t.same(step(late, beside('Please write to '), 16), [], 'a piece without entries')
  t.same(step(late, beside('bob', 'bob'), 16), [])
  t.same(step(late, beside('@exam', '@exam'), 16), [])
  const short = setUp()
  t.same(step(short, beside('', ''), 0), [''])
  t.same(step(short, beside('😀😀', ''), 4), [''], 'shorter than what they say')
  t.same(step(short, beside('bob', 'bob'), 4), [])
  t.same(step(short, beside(' so', ' so'), 10), ['bob', ' so'])
  const mixed = setUp()
  t.same(step(mixed, beside('XXXX bob', 'bob', 'Y'), 5), [], 'in another order')
  const early = setUp()
  t.same(step(early, beside('', 'bob', '@exam'), 0), [], 'ahead of the text')
  t.same(step(early, beside('bob'), 3), ['bob'])
  const elsewhere = setUp()
  t.same(step(elsewhere, beside('a long text'), 11), [])
  t.same(step(elsewhere, beside('', 'bob', '@exam'), 11), [], 'of the arguments of a tool')
})

t.test('an entry that matches no text waits for the end', async (t) => {
  const gate = setUp()
  const body: JsonObject = {
    choices: [null, { delta: {} }, { index: 1, delta: {}, logprobs: { content: [{ odd: 1 }] } }],
  }
  t.ok(gate.apply(body, 1e9))
  t.same((body as any).choices[2].logprobs.content, [])
  t.equal(
    new LogprobGate().apply(
      {},
      () => null,
      () => '',
      [],
    ),
    false,
  )
})

t.test('token ids are dropped, because they spell the text', async (t) => {
  const apply = (choice: JsonObject) => {
    const body = { choices: [choice] }
    const changed = setUp().apply(body, 9)
    return [changed, choice]
  }
  t.same(apply({ token_ids: [1, 2], delta: { content: 'a', token_id: 3 } }), [
    true,
    { token_ids: null, delta: { content: 'a', token_id: null } },
  ])
  t.same(apply({ token_ids: null, delta: { content: 'a' } }), [
    false,
    { token_ids: null, delta: { content: 'a' } },
  ])
})

t.test('tokens without text take linear time and are dropped', async (t) => {
  const gate = setUp()
  let left = 0
  for (let n = 0; n < 30_000; n++) {
    const body = chunk('ab', 'cd')
    gate.apply(body, 1)
    left += tokens(body).length
  }
  t.equal(left, 0)
  const more = chunk(...Array<string>(10_000).fill('x'))
  gate.apply(more, 1)
  const end = chunk('end')
  gate.apply(end, 1, [0])
  t.same(tokens(end), [])
})
