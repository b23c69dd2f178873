import t from 'tap'
import { signedThoughts } from '../../src/chat/signed-thoughts.ts'

t.test('signed blocks are found at any depth, however their members are spelt', async (t) => {
  const block = '{"thinking":"a","signature":"s"}'
  for (const json of [block, block.replace('signature', '\\u0073ignature')]) {
    const body = JSON.parse(`{"messages":[{"content":[${json}]}]}`)
    t.match(signedThoughts(body), [{ signature: 's', text: 'a' }])
  }
})

t.test('a block is no signed one without a signature, a text or a list around it', async (t) => {
  for (const body of [
    { content: [{ thinking: 'a' }] },
    { content: [{ thinking: 'a', signature: '' }] },
    { content: [{ signature: 's' }] },
    { thinking: 'a', signature: 's' },
  ]) {
    t.same(signedThoughts(body), [])
  }
})
