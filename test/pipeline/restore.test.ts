// Redacted values return in the answer in their exact places, for every cut of the answer.

import fc from 'fast-check'
import t from 'tap'
import type { PiiKind } from '../../src/core/finding.ts'
import { atOnce } from '../../src/core/steps.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration, TextRestorer } from '../../src/pipeline/scan/restore.ts'
import { plainSpan } from '../../src/pipeline/scan/spans.ts'
import { TextEdits } from '../../src/pipeline/scan/text-edits.ts'
import { type ScanRules, TextScanner } from '../../src/pipeline/scan/text-scanner.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, decisionOf, scanPieces, selectRules } from './fixture.ts'

/** One value must be escaped in JSON; the last one looks like a placeholder. */
const VALUES = new Map([
  ['[EMAIL_1]', 'alice@example.com'],
  ['[EMAIL_2]', 'bob@example.org'],
  ['[EMAIL_12]', 'carol@example.net'],
  ['[EMAIL_5]', 'd_e*f@example.com'],
  ['[US_SSN_1]', '123-45-6789'],
  ['[SECRET_1]', 'a"b\\c\nd😀'],
  ['[SECRET_2]', '[EMAIL_1]'],
])
const restoration = new Restoration(VALUES)

const rules = (keywords: readonly Rule[] = [], undo: Restoration | null = restoration): ScanRules => ({
  kinds: ALL_KINDS,
  decide: () => decisionOf('restore'),
  shapes: null,
  keywords: selectRules(keywords).keywords('response'),
  credential: null,
  restoration: undo,
})

/** The numbering of a call that gave out the placeholders of VALUES. */
function numbering(): Placeholders {
  const placeholders = new Placeholders()
  for (const form of VALUES.keys()) placeholders.avoid(form)
  return placeholders
}

const run = (pieces: readonly string[], scanRules = rules(), encoding: 'plain' | 'json' = 'plain') =>
  scanPieces(pieces, scanRules, encoding, numbering())

/** Restores without the code under test. */
const restoreWhole = (text: string, encode: (value: string) => string = (value) => value): string =>
  text.replace(/\[(?:EMAIL_(?:1|2|5|12)|US_SSN_1|SECRET_[12])\]/g, (form) => encode(VALUES.get(form) ?? ''))

const escaped = (value: string) => JSON.stringify(value).slice(1, -1)
const unicode = (text: string) =>
  [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')

const TABLE: [what: string, text: string, sent: string][] = [
  ['a placeholder', 'Ask [EMAIL_1] now.', 'Ask alice@example.com now.'],
  ['two that touch', '[EMAIL_1][US_SSN_1]', 'alice@example.com123-45-6789'],
  ['one number that begins as another', '[EMAIL_12] [EMAIL_1]', 'carol@example.net alice@example.com'],
  ['a number not given out', '[EMAIL_9] [EMAIL_11] [EMAIL_123]', '[EMAIL_9] [EMAIL_11] [EMAIL_123]'],
  ['a kind not given out', '[PHONE_1]', '[PHONE_1]'],
  ['one that does not end', 'Ask [EMAIL_1', 'Ask [EMAIL_1'],
  ['one that ends otherwise', '[EMAIL_1) [EMAIL_1 ]', '[EMAIL_1) [EMAIL_1 ]'],
  ['more brackets', '[[EMAIL_1]] [[[EMAIL_2]', '[alice@example.com] [[bob@example.org'],
  ['a beginning before a whole one', '[EMAIL_[EMAIL_1]', '[EMAIL_alice@example.com'],
  ['other cases of letters', '[email_1] [Email_1]', '[email_1] [Email_1]'],
  ['escapes of Markdown', '\\[EMAIL\\_1\\] [EMAIL\\_1]', 'alice@example.com alice@example.com'],
  ['an escaped opening bracket', '\\[EMAIL\\_1] C:\\[EMAIL_1]', 'alice@example.com C:\\alice@example.com'],
  ['escaped brackets', '\\[EMAIL_2\\]', 'bob@example.org'],
  ['a value that Markdown would change', '[EMAIL\\_5] [EMAIL_5]', 'd\\_e\\*f@example.com d_e*f@example.com'],
  [
    'percent-encoding',
    '?to=%5BEMAIL_1%5D&b=%5bEMAIL%5f1%5d',
    '?to=alice%40example.com&b=alice%40example.com',
  ],
  ['percent-encoding of a value', '%5BSECRET_1%5D', 'a%22b%5Cc%0Ad%F0%9F%98%80'],
  ['HTML', '&#91;SECRET_1&#x5d; &lbrack;EMAIL&lowbar;2&rsqb;', 'a&#34;b\\c\nd😀 bob@example.org'],
  ['JSON', '"\\u005bSECRET_1\\u005D"', '"a\\"b\\\\c\\nd😀"'],
  ['two ways of escaping', '%5BEMAIL\\_1%5D', '%5BEMAIL\\_1%5D'],
  ['one bracket of two', '%5BEMAIL_1] [EMAIL_1%5D [EMAIL_1\\]', '%5BEMAIL_1] [EMAIL_1%5D [EMAIL_1\\]'],
  ['an escaped one that does not end', '%5BEMAIL_1', '%5BEMAIL_1'],
  ['a beginning before an escaped one', '[EMAIL\\[EMAIL_1\\]', '[EMAILalice@example.com'],
  ['beginnings of escapes', '%5 %5%5BEMAIL_1%5D & &# \\', '%5 %5alice%40example.com & &# \\'],
  ['digits of another script', '[EMAIL_１]', '[EMAIL_１]'],
  ['a zero-width character inside', '[EMAIL_\u200b1]', '[EMAIL_\u200b1]'],
  ['a leading zero', '[EMAIL_01]', '[EMAIL_01]'],
  ['a link', '[mail](mailto:[EMAIL_1])', '[mail](mailto:alice@example.com)'],
  ['a value that looks like a placeholder', '[SECRET_2]', '[EMAIL_1]'],
  ['nothing', '', ''],
]
for (const [what, text, sent] of TABLE) {
  t.test(what, async (t) => {
    const whole = run([text])
    t.match(whole, {
      sent,
      logged: text,
      blocked: false,
      redacted: sent !== text,
      findings: [],
      counted: true,
    })
    t.same(run(text.split('')), whole, 'one character at a time')
    for (let at = 1; at < text.length; at++) t.same(run([text.slice(0, at), text.slice(at)]), whole)
  })
}

const parts = fc.constantFrom(
  ...VALUES.keys(),
  '[EMAIL_9]',
  '[EMAIL_1',
  'EMAIL_1]',
  '[',
  '[[',
  ']',
  '[EM',
  'AIL_',
  '1',
  '_',
  'the ',
  'budget ',
  'Ask ',
  '\n',
  '😀',
  '日本',
  "',",
  '\\',
)
/** Without escaped closing brackets, which the simple restoration does not know. */
const answer = fc
  .array(parts, { maxLength: 20 })
  .map((some) => some.join(''))
  .filter((text) => !text.includes('\\]'))
const cuts = fc.array(fc.nat(), { maxLength: 30 })

t.test('restoring gives the same text for every cut', async (t) => {
  fc.assert(
    fc.property(answer, cuts, (text, places) => {
      const wanted = restoreWhole(text)
      for (const pieces of [[text], text.split(''), cutText(text, places)]) {
        const { sent, logged, counted } = run(pieces)
        t.equal(sent, wanted)
        t.equal(logged, text)
        t.ok(counted)
      }
    }),
    { numRuns: 400 },
  )
})

t.test('restored arguments stay valid JSON for every cut and escape', async (t) => {
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      answer,
      fc.integer({ min: -9999, max: 9999 }),
      fc.boolean(),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.constantFrom('to', 'note'), answer), tie('node'), { maxKeys: 3 }),
    ),
  })).node
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b'), value, { maxKeys: 3 }),
      fc.boolean(),
      cuts,
      (object, escapes, places) => {
        const plain = JSON.stringify(object)
        const text = escapes ? plain.replace(/\[(?=[A-Z])|_|😀/gu, unicode) : plain
        const whole = run([text], rules(), 'json')
        t.equal(JSON.stringify(JSON.parse(whole.sent)), restoreWhole(plain, escaped))
        t.equal(whole.logged, text)
        t.same(run(text.split(''), rules(), 'json'), whole)
        t.same(run(cutText(text, places), rules(), 'json'), whole)
      },
    ),
    { numRuns: 300 },
  )
})

t.test('restores in arguments with escapes and in malformed ones', async (t) => {
  const cases: [text: string, sent: string][] = [
    ['{"to":"\\u005bEMAIL_1]"}', '{"to":"alice@example.com"}'],
    ['{"to":"[EMAIL\\u005f1\\u005D"}', '{"to":"alice@example.com"}'],
    ['{"key":"[SECRET_1]"}', `{"key":"${escaped(VALUES.get('[SECRET_1]') ?? '')}"}`],
    ['{"[EMAIL_1]":1}', '{"alice@example.com":1}'],
    ['{"to":"\\\\[EMAIL_1]"}', '{"to":"\\\\alice@example.com"}'],
    ['{"a":["[EMAIL_1]",["[EMAIL_2]"]]}', '{"a":["alice@example.com",["bob@example.org"]]}'],
    ['mail [EMAIL_1] {', 'mail alice@example.com {'],
    ['[EMAIL_1]', 'alice@example.com'],
  ]
  for (const [text, sent] of cases) {
    t.equal(run([text], rules(), 'json').sent, sent)
    t.equal(run(text.split(''), rules(), 'json').sent, sent)
  }
})

t.test('holds back only what may become a placeholder', async (t) => {
  const restoring = new TextRestorer(restoration, null, new TextEdits())
  const steps: [piece: string, sent: string][] = [
    ['see the [', 'see the '],
    ['1] note ', '[1] note '],
    ['and [EMA', 'and '],
    ['IL_', ''],
    ['9 or ', '[EMAIL_9 or '],
    ['to [EMAIL_1', 'to '],
    ['] ', 'alice@example.com '],
  ]
  for (const [piece, sent] of steps) t.equal(restoring.push([plainSpan(piece)]), sent, piece)
})

t.test('structured output in plain text stays valid JSON', async (t) => {
  const text = '\n {"key": "[SECRET_1]", "to": "[EMAIL_1]"}'
  const object = { key: VALUES.get('[SECRET_1]'), to: VALUES.get('[EMAIL_1]') }
  t.same(JSON.parse(run([text]).sent), object)
  t.same(JSON.parse(run(text.split('')).sent), object)
  t.equal(run(['a {[SECRET_1]}']).sent, `a {${VALUES.get('[SECRET_1]')}}`)
  t.equal(run(['[SECRET_1] {']).sent, `${VALUES.get('[SECRET_1]')} {`)
})

t.test('a restored value is not redacted again; a new value is redacted', async (t) => {
  const answered = run(['Write to [EMAIL_1], not to dave@example.com today.'])
  t.match(answered, {
    sent: 'Write to alice@example.com, not to [EMAIL_3] today.',
    logged: 'Write to [EMAIL_1], not to [EMAIL_3] today.',
    findings: ['email'],
  })
})

t.test('a value of the prompt that the model writes out is logged as its placeholder', async (t) => {
  const placeholders = new Placeholders()
  t.equal(placeholders.for('email', 'alice@example.com'), '[EMAIL_1]')
  const scan = new TextScanner(rules(), placeholders.fork(), 'plain')
  t.same(atOnce(scan.allSteps('It is ALICE@example.com indeed')), {
    sent: 'It is alice@example.com indeed',
    logged: 'It is [EMAIL_1] indeed',
  })
  t.ok(scan.redacted)
})

t.test('keywords match the logged text and the text the client reads', async (t) => {
  const undo = new Restoration(
    new Map([
      ['[EMAIL_1]', 'aurora@example.com'],
      ['[SECRET_1]', 'my project'],
    ]),
  )
  const cases: [what: string, text: string, pattern: string, sent: string, logged: string][] = [
    ['the end in a value', 'The project [EMAIL_1] is on', 'project aurora', 'The ', 'The '],
    ['the beginning in a value', 'All of [SECRET_1] aurora is', 'project aurora', 'All of ', 'All of '],
    ['all of it over two values', '[SECRET_1] [EMAIL_1] is', 'project aurora', '', ''],
    ['within a value', 'Ask [EMAIL_1] now', 'aurora@', 'Ask ', 'Ask '],
    ['only next to a value', 'my aurora[SECRET_1] is', '\\baurora\\b', 'my ', 'my '],
    ['the name of a placeholder', 'Ask [EMAIL_1] now', 'email_1', 'Ask [', 'Ask ['],
    ['elsewhere', '[EMAIL_1] of project aurora', 'project aurora', 'aurora@example.com of ', '[EMAIL_1] of '],
  ]
  for (const [what, text, pattern, sent, logged] of cases) {
    const scanRules = rules([rule('word', pattern)], undo)
    const whole = run([text], scanRules)
    t.match(whole, { sent, logged, blocked: true, hits: ['word'] }, what)
    t.same(run(text.split(''), scanRules), whole, what)
  }
  const watched = run(
    ['The project [EMAIL_1] is'],
    rules([rule('word', 'project aurora', { action: 'monitor' })], undo),
  )
  t.match(watched, { sent: 'The project aurora@example.com is', blocked: false, hits: ['word'] })
})

t.test('keywords and restoring give the same text for every cut', async (t) => {
  const scanRules = rules([
    rule('example', 'ask bob|example.net the', { action: 'block' }),
    rule('budget', 'budget alice|1 the', { action: 'monitor' }),
    rule('form', 'il_2', { action: 'monitor' }),
  ])
  fc.assert(
    fc.property(
      answer,
      cuts,
      fc.constantFrom('plain' as const, 'json' as const),
      (text, places, encoding) => {
        const input = encoding === 'json' ? JSON.stringify({ q: text }) : text
        const look = (pieces: readonly string[]) => {
          const { hits, ...seen } = run(pieces, scanRules, encoding)
          // Monitored keywords next to the blocking one may have been reached or not.
          return seen.blocked ? seen : { ...seen, hits }
        }
        const whole = look([input])
        t.same(look(cutText(input, places)), whole)
        t.same(look(input.split('')), whole)
      },
    ),
    { numRuns: 400 },
  )
})

t.test('an answer that restoring makes too long is refused', async (t) => {
  const undo = new Restoration(new Map([['[SECRET_1]', 'k'.repeat(16_000)]]))
  const scan = new TextScanner(rules([], undo), new Placeholders(), 'plain')
  t.throws(() => atOnce(scan.allSteps('[SECRET_1]\n'.repeat(1100))), { code: 'upstream_unavailable' })
  t.doesNotThrow(() => run(['[EMAIL_1]\n'.repeat(1100)]))
})

t.test('many placeholders and many beginnings of one take linear time', async (t) => {
  const many = new Map(
    Array.from({ length: 20_000 }, (_, i) => [`[EMAIL_${i + 1}]`, `user${i + 1}@example.com`] as const),
  )
  const undo = new Restoration(many)
  const scan = new TextScanner({ ...rules([], undo), kinds: kindSet([]) }, new Placeholders(), 'plain')
  const text = '[EMAIL_[EMAIL_1999[EMAIL_20000]'.repeat(5000)
  t.equal(atOnce(scan.allSteps(text)).sent, '[EMAIL_[EMAIL_1999user20000@example.com'.repeat(5000))
})

t.test('an address that the model writes follows the rule for answers', async (t) => {
  const selection = selectRules([
    rule('back', 'email', { type: 'pii', action: 'restore' }),
    rule('own', 'email', { type: 'pii', action: 'allow', match: { direction: 'response' } }),
  ])
  const scan = { ...rules(), decide: (kind: PiiKind) => selection.pii(kind, 'answer') }
  const text = '{"to":"dave@example.net","from":"[EMAIL_1]"}'
  const sent = '{"to":"dave@example.net","from":"alice@example.com"}'
  for (const pieces of [[text], text.split('')]) t.equal(run(pieces, scan, 'json').sent, sent)
})
