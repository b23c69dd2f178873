// A value in an encoded text leaves a placeholder that the text may hold, and comes back in the form
// that its place needs.

import fc from 'fast-check'
import t from 'tap'
import { requestTexts } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { PlaceholderStyle } from '../../src/core/placeholder-style.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, decisionOf, scanPieces, selectRules } from './fixture.ts'

const selection = selectRules([rule('back', '*', { type: 'pii', action: 'restore' })])
const injection = loadInjectionModel()

function send(content: string, placeholderStyle: PlaceholderStyle = 'brackets') {
  const body: JsonObject = { model: 'm', messages: [{ role: 'user', content }] }
  const options = { kinds: ALL_KINDS, injection, placeholderStyle }
  const inspection = atOnce(inspect(atOnce(requestTexts(body)), selection, options))
  const answer = (pieces: readonly string[]) => {
    const rules = {
      kinds: ALL_KINDS,
      decide: () => decisionOf('restore'),
      keywords: null,
      credential: null,
      restoration: inspection.restoration,
      shapes: placeholderStyle === 'shaped' ? { has: () => true } : null,
    }
    return scanPieces(pieces, rules, 'plain', inspection.placeholders).sent
  }
  return { sent: (body as any).messages[0].content as string, answer }
}

const TABLE: readonly [what: string, prompt: string, sent: string][] = [
  [
    'a URL',
    'GET /find?phone=%2B14155550187&x=1 and mailto:ann%40example.com',
    'GET /find?phone=%5BPHONE_1%5D&x=1 and mailto:%5BEMAIL_1%5D',
  ],
  ['a form', 'card=4111+1111+1111+1111&x=1', 'card=%5BCREDIT_CARD_1%5D&x=1'],
  ['a URL in a URL', 'next=%2Fa%3Femail%3Dann%2540example.com', 'next=%2Fa%3Femail%3D%255BEMAIL_1%255D'],
  ['HTML', '<td>4111&nbsp;1111&nbsp;1111&nbsp;1111</td>', '<td>[CREDIT_CARD_1]</td>'],
  ['quoted-printable', 'to ann=40example.com, =C3=9F', 'to [EMAIL_1], =C3=9F'],
  ['a soft line break', 'She wrote to ann@exam=\r\nple.com, =C3=9F', 'She wrote to [EMAIL_1], =C3=9F'],
  ['nested JSON', '{"a":"{\\"to\\":\\"ann\\\\u0040example.com\\"}"}', '{"a":"{\\"to\\":\\"[EMAIL_1]\\"}"}'],
]

t.test('a placeholder is written so that the text around it stays readable', async (t) => {
  for (const [what, prompt, sent] of TABLE) t.equal(send(prompt).sent, sent, what)
})

t.test('spellings of one value have one placeholder, and different values have two', async (t) => {
  const { sent } = send(
    'tel +1 415 555 0187, tel=%2B1+415+555+0187&x, tel &#43;1&nbsp;415&nbsp;555&nbsp;0187, ann@example.com, ' +
      'ann%40example.com, ann&commat;example.com, ４１１１ １１１１ １１１１ １１１１, ５５００ ００００ ００００ ０００４',
  )
  t.equal(
    sent,
    'tel [PHONE_1], tel=%5BPHONE_1%5D&x, tel [PHONE_1], [EMAIL_1], %5BEMAIL_1%5D, [EMAIL_1], ' +
      '[CREDIT_CARD_1], [CREDIT_CARD_2]',
  )
})

const ANSWERS: readonly [what: string, prompt: string, answer: string, restored: string][] = [
  ['plain', 'a?t=%2B1+415+555+0187&x', 'Call [PHONE_1].', 'Call +1 415 555 0187.'],
  ['in a URL', 'tel +1 415 555 0187', '/a?t=%5BPHONE_1%5D', '/a?t=%2B1%20415%20555%200187'],
  ['as it was', 'a?e=ann%40example.com', 'a?e=%5BEMAIL_1%5D', 'a?e=ann%40example.com'],
  ['in a URL in a URL', 'ann@example.com', '?n=%252Fa%255BEMAIL_1%255D', '?n=%252Faann%2540example.com'],
  ['in quoted-printable', 'ann@example.com', '=5BEMAIL_1=5D', 'ann@example.com'],
  ['from HTML', 'tel &#43;1&nbsp;415&nbsp;555&nbsp;0187', 'Call [PHONE_1]', 'Call +1 415 555 0187'],
  ['that the model wrote out', 'ann%40example.com', 'a?e=ann%40example.com', 'a?e=ann%40example.com'],
]

t.test('an answer has the value in the form of its place, wherever it is cut', async (t) => {
  for (const [what, prompt, answer, restored] of ANSWERS) {
    const sending = send(prompt)
    t.equal(sending.answer([answer]), restored, what)
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length)), (cuts) => {
        t.equal(sending.answer(cutText(answer, cuts)), restored)
      }),
      { numRuns: 20 },
    )
  }
})

t.test('a shape in a URL is percent-encoded, and read in an answer', async (t) => {
  const { sent, answer } = send('GET /a?e=ann%40example.com&t=%2B1%20415%20555%200187', 'shaped')
  t.equal(sent, 'GET /a?e=email-1%40redacted.invalid&t=%2B12015550100')
  t.equal(answer([sent]), 'GET /a?e=ann%40example.com&t=%2B1%20415%20555%200187')
})
