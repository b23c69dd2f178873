import t from 'tap'
import { removeThoughts, signedThoughts } from '../../src/chat/signed-thoughts.ts'
import type { JsonValue } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

t.test('signed blocks are found at any depth, however their members are spelt', async (t) => {
  const block = '{"thinking":"a","signature":"s"}'
  for (const json of [block, block.replace('signature', '\\u0073ignature')]) {
    const body = JSON.parse(`{"messages":[{"content":[${json}]}]}`)
    t.match(atOnce(signedThoughts(body)), [{ signature: 's', text: 'a' }])
  }
})

t.test('a block is no signed one without a signature, a text or a list around it', async (t) => {
  for (const body of [
    { content: [{ thinking: 'a' }] },
    { content: [{ thinking: 'a', signature: '' }] },
    { content: [{ signature: 's' }] },
    { thinking: 'a', signature: 's' },
  ]) {
    t.same(atOnce(signedThoughts(body)), [])
  }
})

t.test('a hundred thousand blocks are found in steps and removed in one pass', async (t) => {
  const content = Array.from({ length: 100_000 }, (_, at) => ({ thinking: `t${at}`, signature: 's' }))
  const list: unknown[] = [...content, { type: 'text', text: 'kept' }]
  const steps = signedThoughts(JSON.parse('[]').concat([list]))
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) pauses++
  t.ok(pauses > 5)
  t.equal(step.value.length, 100_000)
  const removed = removeThoughts(step.value).get(list as JsonValue[])
  t.equal(removed?.size, 100_000)
  t.notOk(removed?.has(100_000))
  t.strictSame(list, [{ type: 'text', text: 'kept' }])
})
