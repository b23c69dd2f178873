import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { LogprobGate } from '../../src/pipeline/logprobs.ts'

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

t.test('entries leave with the text they repeat', async (t) => {
  const gate = new LogprobGate()
  let sent = 0
  const step = (body: JsonObject, sentNow: number, finished: number[] = []) => {
    sent += sentNow
    const changed = gate.apply(body, () => ({ sentCharacters: sent, redacted: false }), finished)
    return [tokens(body), changed]
  }
  t.same(step(chunk('Hel', 'lo'), 3), [['Hel'], true])
  t.same(step(chunk(' wor'), 3), [['lo'], true])
  t.same(step(chunk('ld'), 5), [[' wor', 'ld'], true])
  t.same(step(chunk(' now'), 4), [[' now'], false], 'nothing held, nothing changed')
  t.same(step(chunk('!'), 0), [[], true])
  t.same(step(chunk(), 1, [0]), [['!'], true], 'the last of them at the end')
})

t.test('once something was replaced none leave', async (t) => {
  const gate = new LogprobGate()
  const body = chunk('a@b', '.co')
  t.ok(gate.apply(body, () => ({ sentCharacters: 0, redacted: false }), []))
  const next = chunk(' and')
  t.ok(gate.apply(next, () => ({ sentCharacters: 9, redacted: true }), []))
  t.equal(tokens(next), null)
  const end = chunk()
  gate.apply(end, () => ({ sentCharacters: 20, redacted: true }), [0])
  t.equal(tokens(end), null)
})

t.test('what cannot be matched to text waits for the end', async (t) => {
  const gate = new LogprobGate()
  const body: JsonObject = {
    choices: [null, { delta: {} }, { index: 1, delta: {}, logprobs: { content: [{ odd: 1 }] } }],
  }
  t.ok(gate.apply(body, () => ({ sentCharacters: 1e9, redacted: false }), []))
  t.same((body as any).choices[2].logprobs.content, [])
  t.equal(
    gate.apply({}, () => null, []),
    false,
  )
})

t.test('numbers of tokens spell the text, and cannot be held back with it', async (t) => {
  const apply = (choice: JsonObject) => {
    const body = { choices: [choice] }
    const changed = new LogprobGate().apply(body, () => ({ sentCharacters: 9, redacted: false }), [])
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

t.test(
  'tokens without text: however many there are, they take linear time and are dropped in the end',
  async (t) => {
    const gate = new LogprobGate()
    const progress = () => ({ sentCharacters: 1, redacted: false })
    let left = 0
    for (let n = 0; n < 30_000; n++) {
      const body = chunk('ab', 'cd')
      gate.apply(body, progress, [])
      left += tokens(body).length
    }
    t.equal(left, 0)
    const more = chunk(...Array<string>(10_000).fill('x'))
    gate.apply(more, progress, [])
    const end = chunk('end')
    gate.apply(end, progress, [0])
    t.same(tokens(end), [])
  },
)
