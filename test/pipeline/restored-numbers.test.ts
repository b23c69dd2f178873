// Numbers of a prompt that come back in an answer: numbers where they were numbers.

import fc from 'fast-check'
import t from 'tap'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { requestTexts } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, decisionOf, deliverWhole, scanPieces, selectRules } from './fixture.ts'

const selection = selectRules([rule('back', '*', { type: 'pii', action: 'restore' })])
const injection = loadInjectionModel()

/** The scan of an answer to a conversation with these tool results. */
function scanAfter(...results: string[]) {
  const messages = results.map((content) => ({ role: 'tool', tool_call_id: 'c', content }))
  const body: JsonObject = { model: 'm', messages }
  const inspection = atOnce(inspect(atOnce(requestTexts(body)), selection, { kinds: ALL_KINDS, injection }))
  const rules = {
    kinds: ALL_KINDS,
    decide: () => decisionOf('restore'),
    keywords: null,
    credential: null,
    restoration: inspection.restoration,
    shapes: null,
  }
  return { rules, placeholders: inspection.placeholders }
}

const NUMBER = '{"card":4111111111111111,"to":"ann@example.com"}'
const CASES: readonly [what: string, results: string[], answer: string, wanted: string][] = [
  ['a number', [NUMBER], '{"card":"[CREDIT_CARD_1]"}', '{"card":4111111111111111}'],
  [
    'in a list',
    [NUMBER],
    '{"cards":["[CREDIT_CARD_1]" , "[CREDIT_CARD_1]"]}',
    '{"cards":[4111111111111111 , 4111111111111111]}',
  ],
  [
    'beside a text',
    [NUMBER],
    '{"to":"[EMAIL_1]","card":"[CREDIT_CARD_1]"}',
    '{"to":"ann@example.com","card":4111111111111111}',
  ],
  ['in a longer string', [NUMBER], '{"note":"card [CREDIT_CARD_1]"}', '{"note":"card 4111111111111111"}'],
  ['before more of the string', [NUMBER], '{"note":"[CREDIT_CARD_1]!"}', '{"note":"4111111111111111!"}'],
  [
    'before what may begin a placeholder',
    [NUMBER],
    '{"note":"[CREDIT_CARD_1]&"}',
    '{"note":"4111111111111111&"}',
  ],
  [
    'before the beginning of an entity and a line break',
    [NUMBER],
    '{"note":"[CREDIT_CARD_1]&#\\n<b>"}',
    '{"note":"4111111111111111&#\\n<b>"}',
  ],
  [
    'twice in a string',
    [NUMBER],
    '{"note":"[CREDIT_CARD_1][CREDIT_CARD_1]"}',
    '{"note":"41111111111111114111111111111111"}',
  ],
  ['as a name', [NUMBER], '{"[CREDIT_CARD_1]":1}', '{"4111111111111111":1}'],
  [
    'in JSON in a string',
    [NUMBER],
    '{"a":"{\\"card\\":\\"[CREDIT_CARD_1]\\"}"}',
    '{"a":"{\\"card\\":4111111111111111}"}',
  ],
  ['a text', ['{"card":"4111111111111111"}'], '{"card":"[CREDIT_CARD_1]"}', '{"card":"4111111111111111"}'],
  ['both', [NUMBER, 'card 4111111111111111'], '{"card":"[CREDIT_CARD_1]"}', '{"card":"4111111111111111"}'],
  [
    'an empty string before',
    [NUMBER],
    '{"a":"","card":"[CREDIT_CARD_1]"}',
    '{"a":"","card":4111111111111111}',
  ],
  [
    'a negative number',
    ['{"card":-4111111111111111}'],
    '{"card":"-[CREDIT_CARD_1]"}',
    '{"card":"-4111111111111111"}',
  ],
  ['an unknown placeholder', [NUMBER], '{"card":"[CREDIT_CARD_9]"}', '{"card":"[CREDIT_CARD_9]"}'],
]
for (const [what, results, answer, wanted] of CASES)
  t.test(`${what} is restored as it was, however the answer is cut`, async (t) => {
    fc.assert(
      fc.property(fc.array(fc.nat(100), { maxLength: 6 }), (cuts) => {
        const { rules, placeholders } = scanAfter(...results)
        const scanned = scanPieces(cutText(answer, cuts), rules, 'json', placeholders.fork())
        t.equal(scanned.sent, wanted)
        t.equal(scanned.logged, answer)
      }),
      { numRuns: 60 },
    )
  })

/** Texts that may begin an escaped placeholder, or go on after one. */
const PIECES = [
  ...['&', '&amp;', '&#', '&#9', '&lbrac', '=', '=5', '=3D', '%', '%2', '%20', '%255', '\\', '\\\\'],
  ...[
    '[',
    '\\[',
    '%5B',
    '&#91;',
    '[CREDIT',
    '[CREDIT_CARD_',
    ']',
    '_',
    'A',
    '7',
    ' ',
    '\n',
    '"',
    '<b>',
    'é',
    'x',
  ],
]
for (const levels of [1, 2])
  t.test(`text after a number is kept, in ${levels} JSON strings, however it is cut`, async (t) => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }),
        fc.array(fc.nat(100), { maxLength: 6 }),
        (texts, cuts) => {
          const after = texts.join('')
          const inner = JSON.stringify({ card: `[CREDIT_CARD_1]${after}`, to: '' })
          const answer = levels === 1 ? inner : JSON.stringify({ a: inner })
          const { rules, placeholders } = scanAfter(NUMBER)
          const pieces = cutText(answer, cuts)
          const { sent, logged } = scanPieces(pieces, rules, 'json', placeholders.fork())
          const card = after === '' ? 4111111111111111 : `4111111111111111${after}`
          const restored = JSON.parse(sent)
          t.same(levels === 1 ? restored : JSON.parse(restored.a), { card, to: '' }, JSON.stringify(pieces))
          t.equal(logged, answer)
        },
      ),
      { numRuns: 500 },
    )
  })

t.test('a value that the model writes out keeps its type', async (t) => {
  for (const [results, answer] of [
    [[NUMBER], '{"card":4111111111111111}'],
    [[NUMBER], '{"cards":[4111111111111111, 4111111111111111]}'],
    [[NUMBER], '{"cards":[-4111111111111111]}'],
    [['{"card":-4111111111111111}'], '{"card":-4111111111111111}'],
    [[NUMBER, 'card 4111 1111 1111 1111'], '{"card":4111111111111111}'],
    [['card 4111 1111 1111 1111'], '{"card":"4111 1111 1111 1111"}'],
  ] as const) {
    const { rules, placeholders } = scanAfter(...results)
    t.equal(scanPieces([answer], rules, 'json', placeholders.fork()).sent, answer)
  }
})

t.test('a negative number keeps its sign when it is replaced', async (t) => {
  const message: JsonObject = { role: 'tool', tool_call_id: 'c', content: '{"a":-4111111111111111}' }
  const body: JsonObject = { model: 'm', messages: [message] }
  atOnce(inspect(atOnce(requestTexts(body)), selection, { kinds: ALL_KINDS, injection }))
  t.equal(message['content'], '{"a":"-[CREDIT_CARD_1]"}')
  const { rules, placeholders } = scanAfter('hello')
  t.equal(
    scanPieces(['{"a":-4012888888881881}'], rules, 'json', placeholders.fork()).sent,
    '{"a":"-[CREDIT_CARD_1]"}',
  )
})

t.test('prose keeps its quotes', async (t) => {
  const { rules, placeholders } = scanAfter(NUMBER)
  t.equal(
    scanPieces(['Use "[CREDIT_CARD_1]" here'], rules, 'plain', placeholders.fork()).sent,
    'Use "4111111111111111" here',
  )
})

t.test('the input of a tool in a whole answer of Messages gets numbers, its texts do not', async (t) => {
  const { rules, placeholders } = scanAfter(NUMBER)
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'text', text: '[CREDIT_CARD_1]' },
      {
        type: 'tool_use',
        id: 'toolu_1',
        name: 'pay',
        input: {
          card: '[CREDIT_CARD_1]',
          cards: ['[CREDIT_CARD_1]', 4111111111111111],
          debt: -4111111111111111,
          note: 'to [EMAIL_1]',
        },
      },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const text = await deliverWhole(MESSAGES, answer, { scan: rules, selection, placeholders })
  t.match(JSON.parse(text).content, [
    { text: '4111111111111111' },
    {
      input: {
        card: 4111111111111111,
        cards: [4111111111111111, 4111111111111111],
        debt: -4111111111111111,
        note: 'to ann@example.com',
      },
    },
  ])
})
