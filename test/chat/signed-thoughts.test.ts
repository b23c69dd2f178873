import t from 'tap'
import { mayHaveThoughts, signedThoughts } from '../../src/chat/signed-thoughts.ts'

t.test('a text whose body has signed blocks is never passed over', async (t) => {
  const block = '{"thinking":"a","signature":"s"}'
  for (const json of [block, block.replace('signature', '\\u0073ignature')]) {
    const text = `{"content":[${json}]}`
    t.ok(mayHaveThoughts(Buffer.from(text)), text)
    t.match(signedThoughts(JSON.parse(text)), [{ signature: 's', text: 'a' }])
  }
})

t.test('a text without the name needs no walk', async (t) => {
  const json = JSON.stringify({ content: [{ type: 'text', text: 'a "signature" in a text' }] })
  t.notOk(mayHaveThoughts(Buffer.from(json)))
})
