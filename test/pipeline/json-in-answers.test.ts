// JSON in an answer stays JSON when its values are redacted or restored, for every cut.

import fc from 'fast-check'
import t from 'tap'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { type ScanRules, TextScanner } from '../../src/pipeline/scan/text-scanner.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, decisionOf, scanPieces, selectRules } from './fixture.ts'

const RULES: ScanRules = {
  kinds: ALL_KINDS,
  decide: () => decisionOf('redact'),
  shapes: null,
  keywords: selectRules([rule('aurora', 'project\\saurora', { action: 'monitor' })]).keywords('response'),
  credential: null,
  restoration: null,
}
const CARD = 4111111111111111
const OTHER = 5555555555554444
const SIGN = '[CREDIT_CARD_1]'

/** JSON in strings in strings. */
const inStrings = (value: unknown, times: number): string =>
  times === 0 ? JSON.stringify(value) : JSON.stringify({ arguments: inStrings(value, times - 1) })

const unicode = (text: string, pattern: RegExp, slashes = '\\') =>
  text.replace(pattern, (c) => `${slashes}u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

const fence = (json: string, mark = '```', name = 'json') =>
  `Here:\n\n${mark}${name}\n${json}\n${mark}\nDone.`

const CARDS: [what: string, text: string, sent: string][] = [
  ['an object', `{"card": ${CARD}}`, `{"card": "${SIGN}"}`],
  ['a list', `[${CARD}, ${OTHER}]`, `["${SIGN}", "[CREDIT_CARD_2]"]`],
  ['an object after a sentence', `Sure: {"card":${CARD}}.`, `Sure: {"card":"${SIGN}"}.`],
  ['an item of a Markdown list', `- {"card":${CARD}}\n- b`, `- {"card":"${SIGN}"}\n- b`],
  ['a list of objects in a sentence', `It is [{"n":${CARD}}] now`, `It is [{"n":"${SIGN}"}] now`],
  ['a list that begins with a string', `It is ["a", ${CARD}]`, `It is ["a", "${SIGN}"]`],
  ['a fence', fence(`{"card": ${CARD}}`), fence(`{"card": "${SIGN}"}`)],
  ['a fence without a name', fence(`{"card": ${CARD}}`, '~~~', ''), fence(`{"card": "${SIGN}"}`, '~~~', '')],
  ['a list in a fence', fence(`[\n  ${CARD},\n  1\n]`), fence(`[\n  "${SIGN}",\n  1\n]`)],
  ['an indented fence', `1. a\n   [${CARD}]`, `1. a\n   ["${SIGN}"]`],
  ['code between backticks', `\`{"card": ${CARD}}\``, `\`{"card": "${SIGN}"}\``],
  ['JSON lines', `{"a": null}\n{"b": ${CARD}}\n`, `{"a": null}\n{"b": "${SIGN}"}\n`],
  ['nested containers', `{"a": [{"b": [1, ${CARD}]}]}`, `{"a": [{"b": [1, "${SIGN}"]}]}`],
  ['white space after the number', `{"a": ${CARD}\r\n\t }`, `{"a": "${SIGN}"\r\n\t }`],
  ['a negative number', `{"a":-${CARD}}`, `{"a":"-${SIGN}"}`],
  ['an object that does not end', `{"a":${CARD}`, `{"a":"${SIGN}"`],
  ['JSON in a string', inStrings({ card: CARD }, 1), inStrings({ card: SIGN }, 1)],
  ['JSON in a string in a string', inStrings({ card: CARD }, 2), inStrings({ card: SIGN }, 2)],
  ['JSON in three strings', inStrings([CARD, 1], 3), inStrings([SIGN, 1], 3)],
  ['JSON in six strings', inStrings({ card: CARD }, 5), inStrings({ card: SIGN }, 5)],
  ['one JSON string', JSON.stringify(inStrings({ card: CARD }, 0)), JSON.stringify(`{"card":"${SIGN}"}`)],
  [
    'escaped JSON in a sentence',
    `call f '{\\"card\\": ${CARD}}' with "x"`,
    `call f '{\\"card\\": \\"${SIGN}\\"}' with "x"`,
  ],
  [
    'a number with escaped digits',
    `{"a":"{\\"n\\":\\u0034${CARD % 10 ** 15}}"}`,
    `{"a":"{\\"n\\":\\"${SIGN}\\"}"}`,
  ],
  // The text before the number is not JSON.
  ['a number alone', `${CARD}`, SIGN],
  ['groups in braces', 'Use {4111 1111 1111 1111}', `Use {${SIGN}}`],
  ['groups in brackets', '[4111 1111 1111 1111] is it', `[${SIGN}] is it`],
  ['a number in brackets in a sentence', `see [${CARD}]`, `see [${SIGN}]`],
  ['a Python dictionary', `{'card': ${CARD}}`, `{'card': ${SIGN}}`],
  ['code with a bracket and a quote', `["a\n" ${CARD}`, `["a\n" ${SIGN}`],
  ['a broken object', `{"a":1,} ${CARD}`, `{"a":1,} ${SIGN}`],
]
for (const [what, text, sent] of CARDS) {
  t.test(`a redacted number: ${what}`, async (t) => {
    for (const pieces of [[text], text.split('')]) t.equal(scanPieces(pieces, RULES).sent, sent)
    for (let at = 1; at < text.length; at++)
      t.equal(scanPieces([text.slice(0, at), text.slice(at)], RULES).sent, sent)
  })
}

const EMAIL = 'jane@example.com'
const ESCAPED: [what: string, text: string, sent: string][] = [
  ['once', unicode(EMAIL, /@/g), '[EMAIL_1]'],
  ['in quotes', `"${unicode(EMAIL, /@/g)}"`, '"[EMAIL_1]"'],
  ['twice', unicode(EMAIL, /@/g, '\\\\'), '[EMAIL_1]'],
  ['three times', unicode(EMAIL, /[@.e]/g, '\\\\\\\\'), '[EMAIL_1]'],
  ['in JSON', `{"to":"${unicode(EMAIL, /./g)}"}`, '{"to":"[EMAIL_1]"}'],
  [
    'in JSON in a string',
    inStrings({ to: 'a\nX' }, 1).replace('X', EMAIL),
    inStrings({ to: 'a\n[EMAIL_1]' }, 1),
  ],
  [
    'in JSON in two strings',
    inStrings({ to: 'a\n"X' }, 2).replace('X', unicode(EMAIL, /@/g, '\\'.repeat(4))),
    inStrings({ to: 'a\n"[EMAIL_1]' }, 2),
  ],
]
for (const [what, text, sent] of ESCAPED) {
  for (const encoding of ['plain', 'json'] as const) {
    t.test(`an escaped address: ${what}, ${encoding}`, async (t) => {
      for (const pieces of [[text], text.split('')]) t.equal(scanPieces(pieces, RULES, encoding).sent, sent)
      for (let at = 1; at < text.length; at++)
        t.equal(scanPieces([text.slice(0, at), text.slice(at)], RULES, encoding).sent, sent)
    })
  }
}

t.test('a keyword is found through the escapes of a fence', async (t) => {
  for (const word of ['project\\naurora', 'project \\u0061urora', 'proj\\u0065ct\\taurora']) {
    const text = fence(`{"note": "the ${word}"}`)
    t.same(scanPieces([text], RULES).hits, ['aurora'])
    t.same(scanPieces(text.split(''), RULES).hits, ['aurora'])
  }
})

const VALUE = 'a"b\\c\nd'
const RESTORING: ScanRules = {
  ...RULES,
  decide: () => decisionOf('restore'),
  shapes: null,
  restoration: new Restoration(
    new Map([
      ['[SECRET_1]', VALUE],
      ['[CREDIT_CARD_1]', '4111 1111 1111 1111'],
    ]),
  ),
}

t.test('a restored value is escaped once for each string around it', async (t) => {
  const strings = [0, 1, 2, 3].map((times) => [
    inStrings({ to: '[SECRET_1]' }, times),
    inStrings({ to: VALUE }, times),
  ])
  const cases = [
    ...strings,
    [fence(inStrings({ '[SECRET_1]': 1 }, 0)), fence(inStrings({ [VALUE]: 1 }, 0))],
    ['to [SECRET_1] or {"to": "[SECRET_1]"}', `to ${VALUE} or {"to": ${JSON.stringify(VALUE)}}`],
    [`{"card": "[CREDIT_CARD_1]"}`, `{"card": "4111 1111 1111 1111"}`],
    [
      'x = "{\\"to\\": \\"[SECRET_1]\\"}" [SECRET_1]',
      `x = ${JSON.stringify(JSON.stringify({ to: VALUE }).replace(':', ': '))} ${VALUE}`,
    ],
  ] as [string, string][]
  for (const [text, sent] of cases) {
    const whole = scanPieces([text], RESTORING)
    t.equal(whole.sent, sent)
    t.equal(whole.logged, text)
    for (let at = 1; at < text.length; at++)
      t.same(scanPieces([text.slice(0, at), text.slice(at)], RESTORING), whole)
  }
})

t.test('a number that the model writes is restored as a string', async (t) => {
  const placeholders = new Placeholders()
  placeholders.for('credit_card', `${CARD}`)
  const scanner = new TextScanner(RESTORING, placeholders, 'plain')
  t.equal(
    scanner.push(`{"card": ${CARD}, "n": 1}`).sent + scanner.finish().sent,
    '{"card": "4111 1111 1111 1111", "n": 1}',
  )
})

const leaf = fc.oneof(
  fc.constantFrom(CARD, OTHER, EMAIL, 'call +1 415 555 2671', 'C:\\new', '"quoted"', '[x]', '{', '\u2028'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const json = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'card', EMAIL, 'x"y'), tie('node'), { maxKeys: 3 }),
    tie('node').map((value) => JSON.stringify(value)),
  ),
})).node

t.test('any JSON stays JSON with the same values, in any text and for every cut', async (t) => {
  const around = fc.constantFrom(['', ''], ['```json\n', '\n```'], ['Here {you} go [1]:\n', '\nDone "x".'])
  const cuts = fc.array(fc.nat(), { maxLength: 20 })
  const root = fc.dictionary(fc.constantFrom('a', 'b'), json, { minKeys: 1, maxKeys: 3 })
  fc.assert(
    fc.property(root, around, fc.constantFrom(0, 1), cuts, (value, [before, after], space, places) => {
      const text = `${before}${JSON.stringify(value, null, space)}${after}`
      const whole = scanPieces([text], RULES)
      const written = whole.sent.slice(before!.length, whole.sent.length - after!.length)
      t.doesNotThrow(() => JSON.parse(written))
      t.notMatch(whole.sent, /4111111111111111|5555555555554444|jane@/)
      t.ok(hasSameShape(JSON.parse(written), value))
      t.same(scanPieces(text.split(''), RULES), whole)
      t.same(scanPieces(cutText(text, places), RULES), whole)
    }),
    { numRuns: 300 },
  )
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Reports whether JSON in JSON strings is JSON in both. */
function hasSameShape(one: unknown, other: unknown): boolean {
  if (typeof other === 'string') {
    const inside = parsed(other)
    if (typeof inside !== 'object' || inside === null) return typeof one === 'string'
    return typeof one === 'string' && hasSameShape(parsed(one), inside)
  }
  if (typeof other !== 'object' || other === null) return typeof one !== 'object' || one === null
  if (typeof one !== 'object' || one === null || Array.isArray(one) !== Array.isArray(other)) return false
  const values = Object.values(one)
  return Object.values(other).every((value, index) => hasSameShape(values[index], value))
}

t.test('JSON in more than six strings is refused', async (t) => {
  const deepest = unicode(EMAIL, /@/g, '\\'.repeat(63))
  t.equal(scanPieces([deepest], RULES).sent, '[EMAIL_1]')
  for (const text of [
    inStrings({ to: EMAIL }, 6),
    unicode(EMAIL, /@/g, '\\'.repeat(127)),
    unicode(EMAIL, /@/g, '\\'.repeat(5000)),
  ]) {
    for (const pieces of [[text], text.split('')])
      t.throws(() => scanPieces(pieces, RULES), { code: 'upstream_unavailable' })
  }
})
