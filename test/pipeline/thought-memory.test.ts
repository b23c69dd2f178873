import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { ThoughtMemory } from '../../src/pipeline/answer/thought-memory.ts'

const thought = (signature: string, text: string) => ({ signature, text })
const bodyWith = (...thoughts: readonly (readonly [signature: string, text: string])[]): JsonObject => ({
  messages: [
    { content: thoughts.map(([signature, thinking]) => ({ type: 'thinking', thinking, signature })) },
  ],
})
const textsOf = (body: JsonObject) => (body as any).messages[0].content.map((block: any) => block.thinking)

const restore = (memory: ThoughtMemory, ...args: Parameters<ThoughtMemory['restore']>) =>
  atOnce(memory.restore(...args))

t.test('an altered block gets its original back, or leaves', async (t) => {
  const memory = new ThoughtMemory()
  memory.keep('key', thought('s1', 'ask bob@example.com'), 'ask [EMAIL_1]')
  memory.keep('key', thought('s2', 'nothing'), 'nothing')
  memory.keep('key', thought('s3', 'ask [EMAIL_7]'), 'ask [EMAIL_7]')
  const body = bodyWith(
    ['s1', 'ask [EMAIL_1]'],
    ['s2', 'nothing'],
    ['s3', 'ask [EMAIL_1]'],
    ['s4', '[PHONE_1]'],
  )
  const received = textsOf(body)
  t.match(restore(memory, 'key', received, body), { changed: true, dropped: 1 })
  t.same(textsOf(body), ['ask bob@example.com', 'nothing', 'ask [EMAIL_7]'])
  const other = bodyWith(['s1', 'ask [EMAIL_1]'])
  t.match(restore(memory, 'other', textsOf(other), other), { changed: true, dropped: 1 })
  const clean = bodyWith(['s2', 'nothing'])
  t.match(restore(memory, 'key', ['nothing'], clean), { changed: false, dropped: 0 })
})

t.test('memory is bounded by the text of a key and by the number of keys', async (t) => {
  const memory = new ThoughtMemory(25, 2)
  const remembers = (key: string, signature: string) => {
    const body = bodyWith([signature, '[EMAIL_1]'])
    return restore(memory, key, ['[EMAIL_1]'], body).dropped === 0
  }
  for (const signature of ['s1', 's2', 's3']) memory.keep('a', thought(signature, 'ten letter'), '')
  t.same(
    ['s1', 's2', 's3'].map((signature) => remembers('a', signature)),
    [false, true, true],
    'the oldest goes first',
  )
  memory.keep('a', thought('s2', 'new'), '')
  memory.keep('a', thought('s4', 'ten letter'), '')
  t.same(
    ['s2', 's3', 's4'].map((signature) => remembers('a', signature)),
    [true, true, true],
  )
  memory.keep('a', thought('s5', 'x'.repeat(26)), '')
  t.notOk(remembers('a', 's5'), 'a text longer than all is not kept')
  memory.keep('b', thought('s1', 'b'), '')
  t.ok(remembers('a', 's4'))
  memory.keep('c', thought('s1', 'c'), '')
  t.same([remembers('a', 's4'), remembers('b', 's1'), remembers('c', 's1')], [true, false, true])
})
