// Streaming gives the same output as scanning the whole text, for every cut.

import fc from 'fast-check'
import t from 'tap'
import type { PiiKind } from '../../src/core/finding.ts'
import type { RuleAction } from '../../src/core/rule-action.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { type ScanRules, TextScanner } from '../../src/pipeline/scan/text-scanner.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, decisionOf, scanPieces, selectRules } from './fixture.ts'

const rules = (
  actions: Partial<Record<PiiKind, RuleAction>> = {},
  keywords: readonly Rule[] = [],
): ScanRules => ({
  kinds: ALL_KINDS,
  decide: (kind) => decisionOf(actions[kind] ?? 'redact'),
  shapes: null,
  keywords: selectRules(keywords).keywords('response'),
  credential: null,
  restoration: null,
})

const AURORA = rule('aurora', 'project aurora|борей')
const BUDGET = rule('budget', 'bud(?:get|gie)s?', { action: 'monitor' })

const DATA = [
  'alice@example.com',
  'ALICE@EXAMPLE.COM',
  'a.b+c@sub.example.co.uk',
  '4111 1111 1111 1111',
  '4111-1111-1111-1111',
  '+1 415 555 2671',
  '(415) 555-2671',
  '123-45-6789',
  'DE89 3704 0044 0532 0130 00',
  '192.168.12.7',
  '2001:db8::ff00:42:8329',
  'sk-proj-abcDEF123456abcDEF123456abcDEF1234567890',
  'AKIAIOSFODNN7EXAMPL1',
]
const WORDS = [
  'the',
  'plan',
  'of',
  'Project',
  'Aurora',
  'budget',
  'is',
  'ready',
  '10.5',
  '日本語',
  'über',
  '—',
  '.',
  ',',
  '\n',
  '(',
  'v1.2.3',
  '😀',
  'борей',
  '{',
  '"',
  'iban',
  'call',
]

const sentence = fc
  .array(
    fc.tuple(
      fc.constantFrom(...DATA, ...WORDS, ...WORDS, ...WORDS),
      fc.constantFrom(' ', ' ', ' ', '', '\n'),
    ),
    { maxLength: 25 },
  )
  .map((parts) => parts.flat().join(''))
const cuts = fc.array(fc.nat(), { maxLength: 30 })

t.test('plain text gives the same output for every cut', async (t) => {
  const scanRules = rules({ phone: 'monitor', iban: 'allow' }, [AURORA, BUDGET])
  fc.assert(
    fc.property(sentence, cuts, (text, places) => {
      const whole = scanPieces([text], scanRules)
      t.same(scanPieces(cutText(text, places), scanRules), whole)
      t.same(scanPieces(text.split(''), scanRules), whole, 'one at a time')
      t.ok(whole.counted)
    }),
    { numRuns: 300 },
  )
})

t.test('a blocking kind stops the text before the value, for every cut', async (t) => {
  const scanRules = rules({ credit_card: 'block' }, [BUDGET])
  fc.assert(
    fc.property(sentence, cuts, (text, places) => {
      const whole = scanPieces([text], scanRules)
      t.same(scanPieces(cutText(text, places), scanRules), whole)
    }),
    { numRuns: 200 },
  )
})

t.test('arguments give the same output for every cut and stay valid JSON', async (t) => {
  const scanRules = rules({}, [])
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      sentence,
      fc.constant(4111111111111111),
      fc.integer(),
      fc.boolean(),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('to', 'card', 'note', ...DATA), tie('node'), { maxKeys: 3 }),
    ),
  })).node
  const escaped = fc.boolean()
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b', 'phone'), value, { maxKeys: 3 }),
      escaped,
      cuts,
      (object, escapes, places) => {
        const plain = JSON.stringify(object)
        const text = escapes
          ? plain.replace(/[@é日😀]/gu, (c) =>
              [...Array(c.length).keys()]
                .map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`)
                .join(''),
            )
          : plain
        const whole = scanPieces([text], scanRules, 'json')
        t.doesNotThrow(() => JSON.parse(whole.sent), whole.sent)
        t.same(scanPieces(cutText(text, places), scanRules, 'json'), whole)
        t.same(scanPieces(text.split(''), scanRules, 'json'), whole, 'one at a time')
      },
    ),
    { numRuns: 300 },
  )
})

t.test("the upstream's credential is taken out, whatever the pieces and however it is written", async (t) => {
  const credential = 'uk-uk-7f3a9c"21'
  const part = fc.oneof(
    fc.constantFrom(credential, credential.slice(0, 6), credential.slice(0, -1), credential.slice(1), 'uk-'),
    fc.constantFrom(...DATA, ...WORDS),
  )
  const text = fc
    .array(fc.tuple(part, fc.constantFrom('', ' ')), { maxLength: 12 })
    .map((parts) => parts.flat().join(''))
  const scanRules = { ...rules({}, [AURORA, BUDGET]), credential }
  // Findings after a blocking keyword do not count.
  const comparable = (pieces: readonly string[], encoding: 'plain' | 'json' = 'plain') => {
    const result = scanPieces(pieces, scanRules, encoding)
    return { ...result, redacted: result.redacted && !result.blocked }
  }
  const without = { ...scanRules, credential: null }
  fc.assert(
    fc.property(text, cuts, (said, places) => {
      const whole = scanPieces([said], scanRules)
      t.notOk(whole.sent.includes(credential))
      t.equal(whole.sent, scanPieces([said.replaceAll(credential, '[UPSTREAM_CREDENTIAL]')], without).sent)
      t.same(comparable(cutText(said, places)), comparable([said]))
      t.same(comparable(said.split('')), comparable([said]), 'one at a time')
      const json = JSON.stringify({ [said]: [said, 7] }).replaceAll('k', '\\u006b')
      const inJson = scanPieces([json], scanRules, 'json')
      if (!inJson.blocked)
        t.notOk(JSON.stringify(JSON.parse(inJson.sent)).includes(JSON.stringify(credential).slice(1, -1)))
      t.same(comparable(json.split(''), 'json'), comparable([json], 'json'))
    }),
    { numRuns: 300 },
  )
  const once = scanPieces([`it is ${credential}.`], scanRules)
  t.match(once, { sent: 'it is [UPSTREAM_CREDENTIAL].', redacted: true, findings: [] })
  const digits = scanPieces(['{"a":99123456789,"b":1}'], { ...scanRules, credential: '12345678' }, 'json')
  t.same(JSON.parse(digits.sent), { a: '[UPSTREAM_CREDENTIAL]', b: 1 })
})

t.test('clean text is released almost at once', async (t) => {
  const text =
    'The committee agreed to postpone the release and to come back with a plan that everyone can read. '.repeat(
      20,
    )
  const scan = new TextScanner(rules({}, [AURORA, BUDGET]), new Placeholders(), 'plain')
  let sent = 0
  let held = 0
  for (let i = 0; i < text.length; i++) {
    sent += scan.push(text[i] ?? '').sent.length
    held += i + 1 - sent
  }
  t.ok(held / text.length < 6, `held back ${held / text.length} characters on average`)
})

t.test('a tool call is released as soon as its JSON is complete', async (t) => {
  const scan = new TextScanner(rules({}, [AURORA]), new Placeholders(), 'json')
  let sent = ''
  for (const character of '{"q":"weather in Oslo today"}') sent += scan.push(character).sent
  t.equal(sent, '{"q":"weather in Oslo today"}')
})

t.test('text before a blocked value is released, the value is not', async (t) => {
  const blocked = scanPieces(['Pay with card 4111 1111 1111 1111 now'], rules({ credit_card: 'block' }))
  t.match(blocked, { sent: 'Pay with card ', blocked: true, findings: ['credit_card'] })
})

t.test('nothing is released after a block', async (t) => {
  const scan = new TextScanner(rules({}, [AURORA]), new Placeholders(), 'plain')
  const sent =
    ['all about project aurora and more ', 'and more'].map((piece) => scan.push(piece).sent).join('') +
    scan.finish().sent
  t.equal(sent, 'all about ')
  t.ok(scan.blocked)
})

t.test('a monitored keyword releases nothing that may still be blocked', async (t) => {
  const far = rule('far', 'secret.{0,80}plan')
  const watched = rule('watched', 'budget', { action: 'monitor' })
  const text = 'so the secret for our budget is part of the plan today'
  for (const restoration of [null, new Restoration(new Map([['[EMAIL_1]', 'a@example.com']]))]) {
    const scanRules = { ...rules({}, [far, watched]), restoration }
    for (const pieces of [[text], text.split(''), text.split(/(?<= )/)]) {
      t.match(scanPieces(pieces, scanRules), { sent: 'so the ', blocked: true, hits: ['far', 'watched'] })
    }
  }
})

t.test('nothing is released after a block, also when arguments end in the same piece', async (t) => {
  const text = '{"q":"all about project aurora and the other things that go on here and there"}'
  const whole = scanPieces([text], rules({}, [AURORA]), 'json')
  t.match(whole, { sent: '{"q":"all about ', blocked: true })
  t.same(scanPieces(text.split(''), rules({}, [AURORA]), 'json'), whole)
})
