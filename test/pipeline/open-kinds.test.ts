// Kinds that rules define, values that they leave alone, and keywords that they replace: in prompts
// and in answers, for every cut.

import fc from 'fast-check'
import t from 'tap'
import { requestTexts } from '../../src/chat/texts.ts'
import type { Finding } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { detect } from '../../src/detect/pii/detect.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { findAnywhere } from '../../src/pipeline/scan/open-kinds.ts'
import type { OutsideValues } from '../../src/pipeline/scan/outside-values.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { rulesOfAnswer } from '../../src/pipeline/scan/rules-of-answer.ts'
import { type ScanRules, TextScanner } from '../../src/pipeline/scan/text-scanner.ts'
import { compileRules, type Selection } from '../../src/policy/compile.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { keyOf } from '../policy/keys.ts'
import { parsed, rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, scanPieces, selectRules } from './fixture.ts'

const injection = loadInjectionModel()

/** For scanners that are given the values of recognisers. */
const NO_VALUES = {} as OutsideValues

const CASES = rule('cases', 'CASE-[0-9]{6}', { type: 'pii_pattern', kind: 'case_number', action: 'redact' })
const STAFF = rule('staff', '[0-9]{5}', {
  ...{ type: 'pii_pattern', kind: 'staff_id', action: 'redact' },
  context: ['staff', 'employee'],
})
const OWN = rule('own', 'email', { type: 'pii', action: 'redact', except: ['[a-z.]+@acme[.]com', 'samples'] })
const CODE = rule('code', 'aurora|borealis', { action: 'redact', placeholder: 'PROJECT' })

const messagesOf = (texts: readonly string[]): JsonObject => ({
  model: 'm',
  messages: texts.map((content) => ({ role: 'user', content })),
})

/** Inspects a prompt of these messages under the rules. */
function look(rules: readonly Rule[], ...texts: string[]) {
  const body = messagesOf(texts)
  const walk = atOnce(requestTexts(body))
  const selection = selectRules(rules)
  const pseudonyms = { key: () => 'a key of pseudonyms for these tests', inEmbeddings: true }
  const inspection = atOnce(inspect(walk, selection, { kinds: ALL_KINDS, injection, pseudonyms }))
  const sent = (body['messages'] as { content: string }[]).map(({ content }) => content)
  const kinds = inspection.findings.map(({ kind }) => kind)
  const { restoration } = inspection
  return { sent, kinds, hits: inspection.keywordHits.map(({ name }) => name), selection, restoration }
}

const scans = new Map<readonly Rule[], ScanRules>()

/** Compiles the rules for answers, once for each list. */
function scanOf(rules: readonly Rule[]): ScanRules {
  const known = scans.get(rules)
  if (known !== undefined) return known
  const made = rulesOfAnswer(selectRules(rules), {
    ...{ kinds: ALL_KINDS, placeholderStyle: 'brackets', credential: null, restoration: null },
  })
  scans.set(rules, made)
  return made
}

/** Scans an answer in pieces under the rules. */
const answer = (rules: readonly Rule[], pieces: readonly string[], encoding: 'plain' | 'json' = 'plain') =>
  scanPieces(pieces, scanOf(rules), encoding)

const PROMPTS: readonly [
  what: string,
  rules: readonly Rule[],
  text: string,
  sent: string,
  kinds: string[],
][] = [
  [
    'a kind of its own, equal values alike',
    [CASES],
    'CASE-123456, case-123456 and CASE-123456',
    '[CASE_NUMBER_1], [CASE_NUMBER_2] and [CASE_NUMBER_1]',
    ['case_number', 'case_number', 'case_number'],
  ],
  ['a value with its word', [STAFF], 'employee 12345', 'employee [STAFF_ID_1]', ['staff_id']],
  [
    'its word in identifiers',
    [STAFF],
    'employee_id: 12345, "the_employee":12346, "employeeId":12347, 12348 staff_no, STAFF_NO 12349',
    'employee_id: [STAFF_ID_1], "the_employee":[STAFF_ID_2], "employeeId":[STAFF_ID_3], [STAFF_ID_4] staff_no, STAFF_NO [STAFF_ID_5]',
    new Array(5).fill('staff_id'),
  ],
  ['a value without its word', [STAFF], 'about 12345 of them', 'about 12345 of them', []],
  ['the built-in kind around a value', [CASES], 'mail CASE-123456@acme.com', 'mail [EMAIL_1]', ['email']],
  [
    'a rule that names the kind',
    [CASES, rule('all', 'case_number', { type: 'pii', action: 'allow' })],
    'CASE-123456',
    '[CASE_NUMBER_1]',
    ['case_number'],
  ],
  [
    'own addresses and samples',
    [OWN],
    'ann@acme.com, ann@example.com, ann@acme.org',
    'ann@acme.com, ann@example.com, [EMAIL_1]',
    ['email'],
  ],
  [
    'private addresses',
    [rule('net', 'ip_address:public', { type: 'pii', action: 'redact' })],
    'from 10.20.30.40 to 81.2.69.142',
    'from 10.20.30.40 to [IP_ADDRESS_1]',
    ['ip_address'],
  ],
  ['keywords', [CODE], 'Aurora is not aurora', '[PROJECT_1] is not [PROJECT_1]', []],
  ['a keyword in an address', [CODE], 'aurora@acme.org aurora', '[EMAIL_1] [PROJECT_1]', ['email']],
]
t.test('prompts are redacted as the rules say', async (t) => {
  for (const [what, rules, text, sent, kinds] of PROMPTS)
    t.match(look(rules, text), { sent: [sent], kinds }, what)
})

const ONE = '[CASE_NUMBER_1]'
const ENCODED = '%5BCASE_NUMBER_1%5D'
const TWICE = '%255BCASE_NUMBER_1%255D'

/** The same value as people, programs and disguises write it. */
const FORMS: readonly [what: string, written: string, sent: string][] = [
  [
    'dashes',
    'CASE\u2010123456 CASE\u2011123456 CASE\u2012123456',
    '[CASE_NUMBER_1] [CASE_NUMBER_2] [CASE_NUMBER_3]',
  ],
  [
    'long dashes',
    'CASE\u2013123456 CASE\u2014123456 CASE\u2015123456',
    '[CASE_NUMBER_1] [CASE_NUMBER_2] [CASE_NUMBER_3]',
  ],
  ['a minus sign', 'CASE\u2212123456', ONE],
  ['full-width characters', 'ＣＡＳＥ－１２３４５６', ONE],
  ['digits of other scripts', 'CASE-١٢३४๕６', ONE],
  ['digits of two units', 'CASE-𝟏𝟐𝟑456', ONE],
  ['letters that look alike', 'CАSE-123456', ONE],
  ['characters of no width', 'C\u00adASE\u200b-123\u2060456', ONE],
  ['percent-encoding', 'CASE%2D123456', ENCODED],
  ['percent-encoding twice', 'CASE%252D123456', TWICE],
  ['percent-encoding of all', '%43%41%53%45%2D%31%32%33456', ENCODED],
  ['in a URL', 'https://a.example/?id=CASE%2D123456&x=1', `https://a.example/?id=${ENCODED}&x=1`],
  ['entities of HTML', 'CASE&#45;123456', ONE],
  ['hexadecimal ones', 'C&#x41;SE&#x2d;123456', ONE],
  ['quoted-printable', 'caf=C3=A9 CASE=2D123456', `caf=C3=A9 ${ONE}`],
  ['escapes of JSON', 'CASE\\u002d12\\u0033456', ONE],
  ['escapes of programs', 'CASE\\x2d123456', ONE],
  ['an escape of Markdown', 'CASE\\-123456', ONE],
  ['after a line end of JSON in a text', 'id\\nCASE-123456\\n', `id\\n${ONE}\\n`],
]
t.test('a value is found in every form in which built-in kinds are, whole and in a stream', async (t) => {
  const rules = [{ ...CASES, pattern: '\\bCASE-[0-9]{6}\\b' } as Rule]
  for (const [what, written, sent] of FORMS) {
    t.match(look(rules, written).sent, [sent], what)
    t.equal(answer(rules, [written]).sent, sent, `${what}, in an answer`)
    t.equal(answer(rules, written.split('')).sent, sent, `${what}, in pieces`)
  }
})

t.test('a pattern with a sign of escapes matches the text as written, too', async (t) => {
  const own = (pattern: string) => [{ ...CASES, pattern } as Rule]
  const check = (pattern: string, written: string, sent: string) => {
    t.match(look(own(pattern), written).sent, [sent])
    t.equal(answer(own(pattern), written.split('')).sent, sent)
  }
  check('share [a-z]+[\\\\][a-z]+', 'share docs\\reports', ONE)
  check('rate%2[0-9]{2}', 'rate%251', ENCODED)
  check('[a-z.%+-]+@corp', 'ann%40corp', ENCODED)
  const { searcher } = selectRules(own('[a-z.%+-]+@corp')).openKinds('request')!
  for (const written of ['ann@corp and bob@corp', 'ann@corp \\"'.repeat(300)]) {
    const found = atOnce(searcher.find(written))
    t.equal(new Set(found.map(({ start }) => start)).size, found.length, 'each is found once')
    const stream = searcher.stream()
    const pieces = [...written.split('').flatMap((one) => stream.push(one)), ...stream.finish()]
    t.equal(pieces.length, found.length, 'in a stream, too')
  }
})

t.test('values that are split over messages are found', async (t) => {
  t.match(look([CASES], 'it is CASE-123', '456 then').sent, ['it is [CASE_NUMBER_1]', ' then'])
})

t.test('answers are redacted as prompts are', async (t) => {
  for (const [what, rules, text, sent] of PROMPTS) t.equal(answer(rules, [text]).sent, sent, what)
})

t.test('a rule on one part, or one direction, finds nothing elsewhere', async (t) => {
  const only = (match: object) => ({ ...CASES, match }) as Rule
  t.same(look([only({ parts: ['tool_result'] })], 'CASE-123456').kinds, [])
  t.same(look([only({ direction: 'response' })], 'CASE-123456').kinds, [])
  t.equal(answer([only({ direction: 'request' })], ['CASE-123456']).sent, 'CASE-123456')
  t.equal(answer([only({ parts: ['assistant'] })], ['CASE-123456']).sent, '[CASE_NUMBER_1]')
})

t.test('a rule that blocks a keyword comes before one that replaces it', async (t) => {
  const block = rule('block', 'project aurora')
  t.same(look([CODE, block], 'project aurora').hits, ['block', 'code'])
  t.match(answer([CODE, block], ['on borealis: project aurora']), { sent: 'on [PROJECT_1]: ', blocked: true })
  t.match(answer([CODE], ['on borealis']), { hits: ['code'], redacted: true })
})

t.test('restored values of an open kind come back', async (t) => {
  const { selection } = look([{ ...CASES, action: 'restore' }], 'CASE-123456')
  t.equal(selection.restores, true)
  t.equal(selection.pii('case_number', 'user').rule?.name, 'cases')
  const SPELLINGS = [
    ['restore', 'CASE-123456, Case-123456, CASE\u2013123456 and CASE%2D123456'],
    ['pseudonym', 'CASE-123456, Case-123456 and CASE%2D123456'],
  ] as const
  for (const [action, written] of SPELLINGS) {
    const rules = [{ ...CASES, action, ...(action === 'pseudonym' && { restore: true }) }]
    const { sent, restoration } = look(rules, written)
    const scan = rulesOfAnswer(selection, {
      ...{ kinds: ALL_KINDS, placeholderStyle: 'brackets', credential: null, restoration },
    })
    t.notMatch(sent[0], /123456/)
    // A URL has the same value with `-` for `%2D`.
    const back = written.replace('%2D', '-')
    t.equal(scanPieces(sent, scan, 'plain').sent, back, `every spelling, by ${action}`)
  }
})

const PARTS = [
  ...[
    'CASE-123456',
    'case-',
    '123',
    '456',
    'staff',
    '12345',
    'employee',
    'aurora',
    'Borea',
    'lis',
    'ann@acme.com',
  ],
  ...['CASE%2D12', '&#45;', '\\u002d', '\\n', 'CASE\u2013', '%2', '=2D', '\\'],
  ...['bob@acme.org', '+1 415 555 2671', '4111 1111 1111 1111', ' ', ' ', '. ', '\n', '\u200b', 'and', 'the'],
]
const text = fc
  .array(fc.tuple(fc.constantFrom(...PARTS), fc.constantFrom(' ', '', ' ')), { maxLength: 25 })
  .map((parts) => parts.flat().join(''))

t.test('a stream gives what the whole gives, for every cut', async (t) => {
  const rules = [CASES, STAFF, OWN, CODE, rule('harbour', 'the harbour|and 123', { action: 'monitor' })]
  const blocking = [...rules, rule('stop', 'employee aurora|456and')]
  const isEqual = (one: object, other: object) => JSON.stringify(one) === JSON.stringify(other)
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 20 }), fc.boolean(), (written, cuts, blocks) => {
      const chosen = blocks ? blocking : rules
      const whole = answer(chosen, [written])
      const json = JSON.stringify({ note: written })
      const cut = answer(rules, cutText(json, cuts), 'json')
      JSON.parse(cut.sent)
      return (
        isEqual(answer(chosen, cutText(written, cuts)), whole) &&
        isEqual(answer(chosen, written.split('')), whole) &&
        isEqual(cut, answer(rules, [json], 'json'))
      )
    }),
    { numRuns: 300 },
  )
  t.pass()
})

const NOTE = rule('note', 'note: .{0,60}', { type: 'pii_pattern', kind: 'note_text', action: 'monitor' })
const MAIL = rule('mail', 'email', { type: 'pii', action: 'redact' })
const ORDER = rule('order', 'order [0-9 ]{5,30}', {
  ...{ type: 'pii_pattern', kind: 'order_number', action: 'redact', except: ['order 4111.+'] },
})
const trial = (declared: Rule): Rule => ({ ...declared, action: 'monitor' })

const OVERLAPPING: readonly [
  what: string,
  rules: readonly Rule[],
  text: string,
  sent: string,
  kinds: string[],
][] = [
  [
    'a value that is only reported',
    [NOTE, MAIL],
    'a note: write ann@acme.org now',
    'a note: write [EMAIL_1] now',
    ['note_text', 'email'],
  ],
  [
    'a value that is an exception',
    [ORDER],
    'order 4111 1111 1111 1111',
    'order [CREDIT_CARD_1]',
    ['credit_card'],
  ],
  [
    'an exception of the whole value, not of its rest',
    [
      { ...ORDER, except: ['order 53'] },
      { ...CASES, pattern: 'my order', kind: 'my_word' },
    ],
    'my order 53 21',
    '[MY_WORD_1][ORDER_NUMBER_1]',
    ['my_word', 'order_number'],
  ],
  [
    'a value that is allowed',
    [{ ...NOTE, action: 'allow' }, MAIL],
    'note: ann@acme.org',
    'note: [EMAIL_1]',
    ['email'],
  ],
  [
    'a keyword in a reported address',
    [CODE, trial(MAIL)],
    'aurora@acme.org',
    '[PROJECT_1]@acme.org',
    ['email'],
  ],
  [
    'a reported value around one that is replaced around one that is reported',
    [NOTE, CASES, trial(MAIL)],
    'note: CASE-123456@acme.org',
    'note: [CASE_NUMBER_1]@acme.org',
    ['note_text', 'case_number'],
  ],
]
t.test('what only reports a value, or leaves it alone, hides no other', async (t) => {
  for (const [what, rules, text, sent, kinds] of OVERLAPPING) {
    const prompt = look(rules, text)
    t.match(prompt, { sent: [sent] }, what)
    t.strictSame(prompt.kinds, kinds, what)
    const answered = answer(rules, [text])
    t.match(answered, { sent, findings: [...kinds].sort() }, what)
    t.match(answer(rules, text.split('')), answered, what)
  }
})

t.test('a block is stronger than what replaces around it', async (t) => {
  const block = rule('stop', '1{4}', { type: 'pii_pattern', kind: 'ones', action: 'block' })
  const rules = [rule('card', 'credit_card', { type: 'pii', action: 'redact' }), block]
  t.strictSame(look(rules, 'card 4111 1111 1111 1111').kinds, ['credit_card', 'ones', 'ones', 'ones'])
  t.match(answer(rules, ['card 4111 1111 1111 1111']), { blocked: true, sent: 'card [CREDIT_CARD_1]' })
})

t.test('split values are judged as values of one text are', async (t) => {
  t.strictSame(look([NOTE, MAIL], 'note: ann@acme', '.org now').sent, ['note: [EMAIL_1]', ' now'])
  const first = look([{ ...CASES, except: ['CASE-123'] }], 'CASE-1234', '56')
  t.strictSame(
    first.sent,
    ['[CASE_NUMBER_1]', '[CASE_NUMBER_1]'],
    'and an exception is one of the whole value',
  )
  t.strictSame(look([{ ...CASES, except: ['case-123456'] }], 'CASE-1234', '56').sent, ['CASE-1234', '56'])
  const name = rule('ann', 'ann', { type: 'pii_pattern', kind: 'my_name', action: 'redact' })
  t.strictSame(look([name, MAIL], 'to ann@acme', '.org now').sent, ['to [MY_NAME_1][EMAIL_1]', ' now'])
  const reported: Rule = { ...trial(MAIL), match: { parts: ['user'] } }
  const messages = [
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: 'ann@acme.org' },
  ]
  const body: JsonObject = { model: 'm', messages }
  atOnce(inspect(atOnce(requestTexts(body)), selectRules([reported]), { kinds: ALL_KINDS, injection }))
  t.match(messages, [{ content: 'hello' }, { content: 'ann@acme.org' }], 'a text ends the one before it')
  t.strictSame(look([CASES, MAIL], 'ann@acme.org', '.uk').sent, ['[EMAIL_1]', '.uk'], 'a text ends its own')
})

t.test('a value that is restored is written anew in what only reports it', async (t) => {
  const restored = rule('back', 'passport', { type: 'pii', action: 'restore' })
  const body: JsonObject = {
    model: 'm',
    messages: [
      { role: 'user', content: 'passport no. C01X00T47' },
      { role: 'assistant', content: 'note: C01X00T47 it is' },
    ],
  }
  const walk = atOnce(requestTexts(body))
  atOnce(inspect(walk, selectRules([NOTE, restored]), { kinds: ALL_KINDS, injection }))
  t.match(body['messages'], [
    { content: 'passport no. [PASSPORT_1]' },
    { content: 'note: [PASSPORT_1] it is' },
  ])
})

const SOME_ACTIONS = ['block', 'redact', 'pseudonym', 'restore', 'monitor', 'allow'] as const
const OWN_KINDS: readonly [kind: string, pattern: string][] = [
  ['note_text', 'note [a-z0-9@. ]{0,20}'],
  ['case_number', 'case[0-9]{1,4}'],
  ['code_word', '[0-9]{2} [a-z]{2,5}'],
]
const WORDS = ['note', 'case12', 'case', '34', '56', 'ann@acme.org', 'bob@acme.com', 'to', 'abc', '. ', 'x']
const written = fc
  .array(fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(' ', '')), { maxLength: 14 })
  .map((parts) => parts.flat().join(''))
const someRules = fc
  .tuple(
    ...OWN_KINDS.map(() => fc.tuple(fc.constantFrom(...SOME_ACTIONS), fc.boolean())),
    fc.option(fc.constantFrom(...SOME_ACTIONS)),
    fc.option(fc.constantFrom(...SOME_ACTIONS)),
  )
  .map((made) => {
    const rules = OWN_KINDS.map(([kind, pattern], index): Rule => {
      const [action, excepts] = made[index] as [(typeof SOME_ACTIONS)[number], boolean]
      const except = excepts ? { except: ['note .*12.*', 'case1.?', '34 abc'] } : {}
      return rule(kind, pattern, { type: 'pii_pattern', kind, action, ...except })
    })
    const [mail, person] = made.slice(-2) as (Rule['action'] | null)[]
    if (mail) rules.push(rule('mail', 'email', { type: 'pii', action: mail, except: ['.*@acme[.]com'] }))
    if (person) rules.push(rule('names', 'place', { type: 'pii', action: person }))
    return rules
  })
const recognised = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 15 })), { maxLength: 3 })

/** Compiles rules where recognisers find the kind `place`. */
const selectWithPlaces = (rules: readonly Rule[]) =>
  compileRules(rules.map(parsed), 'r', ['place']).select(['m'], keyOf('k'))

/** What has to be left of a text: letters and digits that no replaced or blocked value has. */
function leftOf(text: string, selection: Selection, places: readonly Finding[], stops: boolean): string {
  const open = selection.openKinds('response')
  const found = [
    ...(open === null ? [] : atOnce(findAnywhere(open, text))),
    ...detect(text, ALL_KINDS),
    ...places,
  ]
  const left = text.split('')
  let stop = text.length
  for (const { kind, start, end } of found) {
    const { action } = selection.piiValue(kind, 'answer', text.slice(start, end))
    if (action === 'monitor' || action === 'allow') continue
    left.fill('', start, end)
    if (action === 'block' && stops) stop = Math.min(stop, start)
  }
  return left
    .slice(0, stop)
    .join('')
    .replace(/[^a-z0-9]/g, '')
}

t.test('no character leaves of a value that a rule replaces or blocks, for every cut', async (t) => {
  const pseudonymKey = () => 'k'.repeat(32)
  const withoutForms = (sent: string) => sent.replace(/\[[A-Z_]+_[0-9a-z]+\]/g, '').replace(/[^a-z0-9]/g, '')
  fc.assert(
    fc.property(
      written,
      someRules,
      recognised,
      fc.array(fc.nat(), { maxLength: 9 }),
      (text, rules, spans, cuts) => {
        const selection = selectWithPlaces(rules)
        const places = spans
          .map(([at, length]) => ({ kind: 'place', start: at % (text.length + 1), length }))
          .map(({ kind, start, length }) => ({ kind, start, end: Math.min(text.length, start + length) }))
          .filter(({ start, end }) => start < end)
          .sort((a, b) => a.start - b.start)
        const values = places.map((one) => ({ ...one, value: text.slice(one.start, one.end) }))
        const rulesOf = rulesOfAnswer(selection, {
          ...{ kinds: ALL_KINDS, placeholderStyle: 'brackets', credential: null, restoration: null },
          ...{ outside: NO_VALUES },
        })
        const scan = (pieces: readonly string[]) => {
          const placeholders = new Placeholders(null, {}, false, selection.openLabels, pseudonymKey)
          const scanner = new TextScanner(rulesOf, placeholders, 'plain')
          scanner.expect(values)
          const sent = [...pieces.map((piece) => scanner.push(piece)), scanner.finish()].map(
            (one) => one.sent,
          )
          return { sent: sent.join(''), blocked: scanner.blocked, findings: scanner.findings }
        }
        const whole = scan([text])
        t.equal(withoutForms(whole.sent), leftOf(text, selection, places, true), whole.sent)
        for (const pieces of [cutText(text, cuts), text.split('')])
          if (JSON.stringify(scan(pieces)) !== JSON.stringify(whole)) return false
        const body = messagesOf([text])
        const outside = { of: () => values } as unknown as OutsideValues
        const pseudonyms = { key: pseudonymKey, inEmbeddings: false }
        atOnce(
          inspect(atOnce(requestTexts(body)), selection, {
            kinds: ALL_KINDS,
            injection,
            outside,
            pseudonyms,
          }),
        )
        const [message] = body['messages'] as { content: string }[]
        return withoutForms(message!.content) === leftOf(text, selection, places, false)
      },
    ),
    { numRuns: 100 },
  )
  t.pass()
})

t.test('a value of a recogniser that is there twice is found twice, for every cut', async (t) => {
  const whole = 'met bob, ann bob, bob.'
  const values = [...whole.matchAll(/ann bob|bob/g)].map(({ 0: value, index }) => ({
    ...{ kind: 'place', value, start: index, end: index + value.length },
  }))
  const rules = { ...scanOf([NOTE]), outside: NO_VALUES }
  for (let size = 1; size <= whole.length; size++) {
    const scanner = new TextScanner(rules, new Placeholders(), 'plain')
    scanner.expect(values)
    const pieces = whole.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
    const sent = [...pieces.map((piece) => scanner.push(piece)), scanner.finish()].map((one) => one.sent)
    t.equal(sent.join(''), 'met [PLACE_1], [PLACE_2], [PLACE_1].', `pieces of ${size}`)
  }
})
