// The texts of whole answers, grouped as a client reads them.

import t from 'tap'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import { atOnce } from '../../src/core/steps.ts'

const text = (value: string, more = {}) => ({ type: 'text', text: value, ...more })
const groupsOf = ({ answer }: typeof MESSAGES, body: Parameters<typeof answer.texts>[0]) =>
  atOnce(answer.group(answer.texts(body).texts, false)).map((group) => group.text)

t.test('blocks of text that stand next to each other are one text', async (t) => {
  const cited = text('card 4111 1111 ', { citations: [{ cited_text: 'a source' }] })
  const content = [
    cited,
    text('1111 1111.'),
    { type: 'tool_use', id: 't', name: 'f', input: { a: 'b c' } },
    text('Next'),
  ]
  const groups = groupsOf(MESSAGES, { type: 'message', role: 'assistant', content })
  t.strictSame(
    groups.filter((one) => one.includes(' ') || one === 'Next'),
    ['card 4111 1111 1111 1111.', 'a source', 'b c', 'Next'],
  )
})

t.test('an empty block does not part its neighbours', async (t) => {
  const content = [text('4111 1111 '), text(''), text(''), text('1111 1111')]
  t.strictSame(groupsOf(MESSAGES, { type: 'message', role: 'assistant', content }), ['4111 1111 1111 1111'])
  const tool = { type: 'tool_use', id: 't', name: 'f', input: {} }
  t.strictSame(groupsOf(MESSAGES, { content: [text('4111 '), tool, text(''), text('1111')] }), [
    '4111 ',
    'f',
    '1111',
  ])
})

t.test('parts of one output are one text, and those of two are not', async (t) => {
  const message = (...parts: string[]) => ({
    type: 'message',
    role: 'assistant',
    content: parts.map((part) => ({ type: 'output_text', text: part, annotations: [] })),
  })
  const output = [message('4111 1111 ', '', '1111 1111'), message('4111 ')]
  t.strictSame(groupsOf(RESPONSES, { object: 'response', output }), ['4111 1111 1111 1111', '4111 '])
})
