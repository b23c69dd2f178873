// Placeholders in the shape of a value: written, read, and restored in prompts and answers.

import fc from 'fast-check'
import t from 'tap'
import { requestTexts } from '../../src/chat/texts.ts'
import { PII_KINDS, type PiiKind } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { shapeBegins, shaped, shapesIn } from '../../src/pipeline/scan/shapes.ts'
import type { ScanRules } from '../../src/pipeline/scan/text-scanner.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, scanPieces, selectRules } from './fixture.ts'

const kinds = fc.constantFrom(...PII_KINDS, 'case_number')
const formOf = (kind: PiiKind, number: number) => `[${kind.toUpperCase()}_${number}]`
/** Separators of values. */
const value = fc.constantFrom('x', 'a b', 'a-b', 'a:b', '2001:db8:1::1')
const number = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 999_999_999 }))

t.test(
  'a shape is read as the form that it was written for, and begins at each of its characters',
  async () => {
    fc.assert(
      fc.property(kinds, number, value, fc.boolean(), (kind, count, text, isNumber) => {
        const form = formOf(kind, count)
        const written = shaped(form, text, isNumber)
        if (written === form) return true
        const found = shapesIn(`see ${written}. And`)
        const begins = [...written].every((_, at) => shapeBegins(`see ${written.slice(0, at + 1)}`) === 4)
        return found.length === 1 && found[0]!.form === form && begins
      }),
      { numRuns: 2000 },
    )
  },
)

const WRITTEN: readonly [kind: PiiKind, value: string, isNumber: boolean, wanted: string][] = [
  ['email', 'ann@example.com', false, 'email-2@redacted.invalid'],
  ['phone', '+4915112345678', false, '+12015550101'],
  ['phone', '+1 415 555 2671', false, '+1 201 555 0101'],
  ['phone', '14155552671', true, '900001000000002'],
  ['us_ssn', '123456789', true, '900003000000002'],
  ['credit_card', '4111-1111-1111-1111', false, '4000-0000-0000-0028'],
  ['credit_card', '4111111111111111', true, '4000000000000028'],
  ['iban', 'DE89370400440532013000', false, 'XX39SGAT0000000002'],
  ['ip_address', '10.1.2.3', false, '192.0.2.2'],
  ['ip_address', 'fe80::1', false, '2001:db8::2'],
  ['mac_address', '0a-1b-2c-3d-4e-5f', false, '00-00-5e-00-53-02'],
  ['us_ssn', '123 45 6789', false, '666-00-0002'],
  ['date_of_birth', '1990-05-01', false, '1800-01-02'],
  ['national_id', '12345678901', true, '900009000000002'],
  ['secret', 'sk-abc', false, 'redacted-secret-2'],
  ['case_number', 'CASE-123456', false, 'redacted-case-number-2'],
  // An open kind has no numbers of its own.
  ['case_number', '123456', true, '[CASE_NUMBER_2]'],
]
t.test('a shape has the form, the separators and the JSON type of its value', async (t) => {
  for (const [kind, text, isNumber, wanted] of WRITTEN)
    t.equal(shaped(formOf(kind, 2), text, isNumber), wanted)
})

t.test('a range that is exhausted gives forms in brackets', async (t) => {
  t.equal(shaped('[MAC_ADDRESS_256]', 'x', false), '[MAC_ADDRESS_256]')
  t.equal(shaped('[IP_ADDRESS_763]', '10.0.0.1', false), '[IP_ADDRESS_763]')
})

t.test('what only looks like a shape is none', async (t) => {
  for (const text of [
    ...['xemail-1@redacted.invalid', 'email-1@redacted.invalid.com', 'email-1@redacted.invalids'],
    ...[
      '192.0.2.255',
      '192.0.2.10.1',
      '1192.0.2.1',
      '+12025550200',
      '4000000000000029',
      'XX40SGAT0000000002',
    ],
    ...['666123456', '666 12 3456', '13015550123', '+86 13215550142', '2001:db8::8a2e:370:7334'],
    ...['email-0@redacted.invalid', '1800-02-30', '40000000000000028', 'email-1@example.com'],
  ])
    t.same(shapesIn(text), [], text)
})

const model = loadInjectionModel()
const rulesFor = (action: 'redact' | 'restore') => [
  rule('all', '*', { type: 'pii', action, placeholders: 'shaped' }),
]
function look(body: JsonObject, action: 'redact' | 'restore' = 'restore') {
  const selection = selectRules(rulesFor(action))
  const inspection = atOnce(
    inspect(atOnce(requestTexts(body)), selection, { kinds: ALL_KINDS, injection: model }),
  )
  return { inspection, selection }
}
const user = (content: string, more: JsonObject = {}): JsonObject => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})

t.test('values of a prompt are replaced in their shape, numbers by numbers', async (t) => {
  const body = user('ann@example.com +1 415-555-2671', {
    metadata: { card: 4111111111111111, note: '{"card":4111111111111111,"to":"ann@example.com"}' },
  })
  look(body)
  t.same(body, {
    model: 'm',
    messages: [
      {
        role: 'user',
        content: 'email-1@redacted.invalid +1 201 555 0100',
      },
    ],
    metadata: {
      card: 4000000000000010,
      note: '{"card":4000000000000010,"to":"email-1@redacted.invalid"}',
    },
  })
})

t.test('shapes that come back are no personal data, and no other value gets their number', async (t) => {
  const history = 'email-1@redacted.invalid 192.0.2.1 4000000000000010 +12015550100 1800-01-01'
  const body: JsonObject = {
    model: 'm',
    messages: [
      { role: 'assistant', content: history },
      { role: 'user', content: 'bob@example.com, born 1990-05-01' },
    ],
  }
  const { inspection } = look(body, 'redact')
  t.same(
    inspection.findings.map(({ kind }) => kind),
    ['email', 'date_of_birth'],
  )
  t.same(
    (body['messages'] as JsonObject[]).map(({ content }) => content),
    [history, 'email-2@redacted.invalid, born 1800-01-02'],
  )
})

t.test('a shape with a sign is left in a prompt', async (t) => {
  const history = '{"a":-4000000000000010,"b":"-4000000000000028"}'
  const body: JsonObject = {
    model: 'm',
    messages: [
      { role: 'tool', tool_call_id: 'c', content: history },
      { role: 'user', content: 'card 4111111111111111' },
    ],
  }
  const { inspection } = look(body, 'redact')
  t.equal(inspection.findings.length, 1)
  t.same(
    (body['messages'] as JsonObject[]).map(({ content }) => content),
    [history, 'card 4000000000000010'],
  )
})

/** The scan of an answer to a prompt. */
function scanOf(prompt: string, action: 'redact' | 'restore') {
  const { inspection, selection } = look(user(prompt), action)
  const rules: ScanRules = {
    kinds: ALL_KINDS,
    decide: (kind) => selection.pii(kind, 'answer'),
    keywords: null,
    credential: null,
    restoration: inspection.restoration,
    shapes: { has: () => true },
  }
  return { rules, placeholders: inspection.placeholders }
}
const PROMPT = 'ann@example.com, "bo b"@example.org, 10.1.2.3, 4111 1111 1111 1111, card 5555555555554444'
const ANSWERS: readonly [what: string, encoding: 'plain' | 'json', answer: string, wanted: string][] = [
  ['in prose', 'plain', 'Ask email-1@redacted.invalid.', 'Ask ann@example.com.'],
  ['several', 'plain', '(email-1@redacted.invalid,192.0.2.1)', '(ann@example.com,10.1.2.3)'],
  [
    'in a link',
    'plain',
    'https://x.example/?to=email-1%40redacted.invalid',
    'https://x.example/?to=ann%40example.com',
  ],
  ['in JSON', 'json', '{"to":"email-1@redacted.invalid"}', '{"to":"ann@example.com"}'],
  ['a number', 'json', '{"card":4000000000000028}', '{"card":5555555555554444}'],
  ['a text for a number', 'json', '{"card":4000000000000010}', '{"card":"4111 1111 1111 1111"}'],
  ['JSON in JSON', 'json', '{"a":"{\\"card\\":4000000000000028}"}', '{"a":"{\\"card\\":5555555555554444}"}'],
  ['with escapes', 'json', '{"to":"email-1\\u0040redacted.invalid"}', '{"to":"ann@example.com"}'],
  ['an unknown number', 'plain', 'email-9@redacted.invalid', 'email-9@redacted.invalid'],
  ['a longer word', 'plain', 'email-1@redacted.invalid-ated', 'email-1@redacted.invalid-ated'],
  ['a value of the answer', 'plain', 'zoe@example.net', 'email-2@redacted.invalid'],
  ['a value of the prompt', 'plain', 'Ask ann@example.com.', 'Ask ann@example.com.'],
  ['a value of the prompt in JSON', 'json', '{"to":"ANN@example.com"}', '{"to":"ann@example.com"}'],
  ['a number of the prompt', 'json', '{"card":5555555555554444}', '{"card":5555555555554444}'],
  ['a negative number', 'json', '{"card":-4000000000000028}', '{"card":-4000000000000028}'],
  ['a negative number of the prompt', 'json', '{"card":-5555555555554444}', '{"card":-5555555555554444}'],
  ['a negative number of the answer', 'json', '{"card":-4012888888881881}', '{"card":-4000000000000036}'],
  ['a fraction', 'json', '{"card":4000000000000028.0}', '{"card":4000000000000028.0}'],
  ['an exponent', 'json', '{"card":-4000000000000028e0}', '{"card":-4000000000000028e0}'],
  ['after a sign in a text', 'json', '{"card":"-4000000000000028"}', '{"card":"-4000000000000028"}'],
  ['after a dot', 'plain', 'see x.4000000000000028 there', 'see x.4000000000000028 there'],
]
for (const [what, encoding, answer, wanted] of ANSWERS)
  t.test(`a shape in an answer is restored, however it is cut: ${what}`, async (t) => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 8 }), (cuts) => {
        const { rules, placeholders } = scanOf(PROMPT, 'restore')
        const { sent } = scanPieces(cutText(answer, cuts), rules, encoding, placeholders.fork())
        t.equal(sent, wanted)
      }),
      { numRuns: 40 },
    )
  })

t.test('a value that is a text and a number is restored as the shape that stands for it', async (t) => {
  const note = '{"card":4111111111111111}'
  for (const prompt of [`card 4111 1111 1111 1111\n${note}`, `${note} card 4111 1111 1111 1111`]) {
    const { inspection, selection } = look({
      model: 'm',
      messages: [
        { role: 'user', content: prompt.replace(note, '') },
        { role: 'tool', tool_call_id: 'c', content: note },
      ],
    })
    const rules = { ...scanOf('x', 'restore').rules, restoration: inspection.restoration }
    t.equal(selection.pii('credit_card', 'answer').action, 'restore')
    for (const [answer, wanted] of [
      ['{"card":4000000000000010}', note],
      ['{"card":"4000 0000 0000 0010"}', '{"card":"4111 1111 1111 1111"}'],
      ['{"card":4111111111111111}', note],
    ])
      t.equal(scanPieces([answer!], rules, 'json', inspection.placeholders.fork()).sent, wanted)
  }
})

t.test('a value where a shape would not be read has a placeholder in brackets', async (t) => {
  for (const text of ['.4111111111111111', '_ann@example.com_', '%20ann@example.com', '-+14155552671']) {
    const body = user(`say ${text} twice`)
    const { inspection } = look(body)
    const { content } = (body['messages'] as { content: string }[])[0]!
    t.match(content, /\[[A-Z_]+_1\]/, text)
    const rules: ScanRules = { ...scanOf('x', 'restore').rules, restoration: inspection.restoration }
    for (const size of [1, 3, 7, 100]) {
      const pieces = content.match(new RegExp(`.{1,${size}}`, 'g'))!
      t.equal(scanPieces(pieces, rules, 'plain', inspection.placeholders.fork()).sent, `say ${text} twice`)
    }
  }
})

t.test('without restore a shape stays, and the log has what the provider wrote', async (t) => {
  const redacted = scanOf(PROMPT, 'redact')
  const answer = 'Ask email-1@redacted.invalid at 192.0.2.1.'
  t.match(scanPieces([answer], redacted.rules, 'plain', redacted.placeholders.fork()), {
    sent: answer,
    logged: answer,
    findings: [],
  })
  const { rules, placeholders } = scanOf(PROMPT, 'restore')
  t.equal(scanPieces([answer], rules, 'plain', placeholders.fork()).logged, answer)
})

t.test('a text without shapes is not held back', async (t) => {
  const { rules } = scanOf('hello', 'restore')
  t.equal(scanPieces(['The answer is 42'], rules, 'plain', new Placeholders()).sent, 'The answer is 42')
})
