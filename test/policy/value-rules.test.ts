// Rules that define kinds of personal data, their exceptions, and rules that replace keywords.

import t from 'tap'
import { type Checksum, checkDigits } from '../../src/detect/pii/pattern-checksums.ts'
import { isPrivateAddress, isPublishedSample } from '../../src/detect/pii/published-samples.ts'
import type { Selection } from '../../src/policy/compile.ts'
import { parseRule } from '../../src/policy/parse-rule.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { ruleTypeOf } from '../../src/policy/rule-types.ts'
import { keyOf } from './keys.ts'
import { compileRules, parsed, rule, select } from './rules.ts'

const own = (pattern: string, more: Partial<Rule> = {}): Rule =>
  rule('r', pattern, { type: 'pii_pattern', kind: 'case_number', action: 'redact', ...more })
const pii = (pattern: string, except?: readonly string[], more: Partial<Rule> = {}): Rule =>
  rule('r', pattern, { type: 'pii', action: 'redact', ...(except && { except }), ...more })

const REFUSED: readonly [what: string, declared: Rule, path: string, message: RegExp][] = [
  ['an expression that is not RE2', own('(?=a)b'), 'pattern', /alternative 1 is not a valid RE2 expression/],
  ['one that matches the empty text', own('[0-9]*'), 'pattern', /matches the empty text/],
  ['one that is too large', own('[a-z]{900}[0-9]{900}'), 'pattern', /is too large: .* at most 1000/],
  ['no kind', rule('r', 'a', { type: 'pii_pattern' }), 'kind', /is required: a lower-case word/],
  ['a built-in kind', own('a', { kind: 'email' }), 'kind', /must not be a built-in kind \(email, /],
  ['a mistyped one', own('a', { kind: 'emial' }), 'kind', /too much like the built-in kind `email`/],
  ['a kind in capitals', own('a', { kind: 'Case' }), 'kind', /must be lower-case letters, with `_`/],
  ['a context word of signs', own('a', { context: ['case', ' '] }), 'context[1]', /must be a word/],
  ['an exception that is not RE2', pii('email', ['(']), 'except[0]', /is not a valid RE2 expression/],
  ['one that matches nothing', pii('email', ['samples', 'x*']), 'except[1]', /matches the empty text/],
  ['one of every value', pii('email', ['.+@.+']), 'except[0]', /every value of `email`.*action `allow`/],
  ['one of every value of a kind', pii('*', ['[-0-9 .+()]+']), 'except[0]', /every value of `phone`/],
  ['one of every value of an own kind', own('a[0-9]', { except: ['.+'] }), 'except[0]', /`case_number`/],
  [
    'one of all that its pattern finds',
    own('a[0-9]{3}', { except: ['A[0-9]+'] }),
    'except[0]',
    /`case_number`/,
  ],
  ['one of all capitals', own('Straße [A-Z]+', { except: ['straße .+'] }), 'except[0]', /`case_number`/],
  ['several of every value', own('a[0-9]+', { except: ['a[0-4].*', 'a[5-9].*'] }), 'except', /`case_number`/],
  [
    'an exception of another type',
    rule('r', 'a', { except: ['b'] }),
    'except',
    /pii and pii_pattern rules only/,
  ],
  ['a kind of another type', pii('email', undefined, { kind: 'x' }), 'kind', /pii_pattern rules only/],
  [
    'a placeholder without redact',
    rule('r', 'a', { placeholder: 'NAME' }),
    'placeholder',
    /action `redact` only/,
  ],
  [
    'a placeholder in small letters',
    rule('r', 'a', { action: 'redact', placeholder: 'name' }),
    ...(['placeholder', /must be capitals/] as const),
  ],
  [
    'a placeholder of a built-in kind',
    rule('r', 'a', { action: 'redact', placeholder: 'EMAIL' }),
    ...(['placeholder', /no built-in kind/] as const),
  ],
]
t.test('what a rule cannot mean is an error at its field', async (t) => {
  for (const [what, declared, path, message] of REFUSED)
    t.match(parseRule(declared), { problems: [{ path, message }] }, what)
  t.match(parsed(own('a[0-9]', { context: ['Fall'], checksum: 'luhn' })).pattern, { context: ['fall'] })
})

t.test('an exception of every value is an error in any spelling', async (t) => {
  for (const spelling of [
    ...['.+', '.+?', '(?:.)+', '(a|.)+', '(.|\\n)+', '[\\s\\S]+', '(?s).+', '.{1,300}', '[^ ]{1,99}', '\\S+'],
    ...['\\PZ+', '[^x]+|.*x.*', '.*[a-z0-9].*', '\\A.+\\z', '(?i)[ -~ü]+'],
  ]) {
    const declared = [pii('email', [spelling]), own('CASE-[0-9]{6}', { except: [spelling] })]
    for (const one of declared)
      t.match(parseRule(one), { problems: [{ path: /^except/, message: /matches/ }] }, spelling)
  }
  for (const narrow of ['.+@acme[.]com', '[^@]+@(.+[.])?acme[.](com|org)', '.*[.]io', 'x.+'])
    t.notOk('problems' in parseRule(pii('email', [narrow])), narrow)
  for (const narrow of ['CASE-0.+', 'case-[0-9]*7', 'CASE-(000001|123456)'])
    t.notOk('problems' in parseRule(own('CASE-[0-9]{6}', { except: [narrow] })), narrow)
})

const AS_WRITTEN: readonly [except: string, value: string, isExcepted: boolean][] = [
  ['[a-z.]+@acme[.]com', 'ann@acme.com', true],
  ['[a-z.]+@acme[.]com', 'Ann@ACME.com', true],
  ['[a-z.]+@acme[.]com', 'ann@\u0430cme.com', false],
  ['[a-z.]+@acme[.]com', 'ann@\uff41cme.com', false],
  ['[a-z.]+@acme[.]com', 'ann@ac\u200bme.com', false],
  ['[a-z.]+@acme[.]com', 'xann@acme.com.evil.io', false],
  ['[a-z]+@kafka[.]com', 'ann@\u212aaf\u212aa.com', false],
  ['[a-z]+@kiss[.]com', 'an\u017f@kiss.com', false],
  ['ann@acme.com|bob@acme.com', 'BOB@acme.com', true],
  ['.+@bücher[.]de', 'ann@BÜCHER.de', true],
  ['.+@bücher[.]de', 'ann@bucher.de', false],
  ['.+@\u0430\u0441\u043c\u0435[.]\u0440\u0444', 'ann@\u0410\u0441\u043c\u0435.\u0440\u0444', true],
  ['.+@\u0430\u0441\u043c\u0435[.]\u0440\u0444', 'ann@acme.pф', false],
  ['\\bann@acme[.]com$', 'ann@acme.com', true],
]
t.test('an exception matches the whole value as it is written, apart from case', async (t) => {
  for (const [except, value, isExcepted] of AS_WRITTEN) {
    const { action } = select([pii('email', [except])]).piiValue('email', 'user', value)
    t.equal(action, isExcepted ? 'allow' : 'redact', `${except} ${value}`)
  }
})

t.test('a match that is cut, and one of nearly every text, have warnings', async (t) => {
  const lint = (declared: Rule) => {
    const one = parsed(declared)
    return (ruleTypeOf('pii_pattern').lint?.(one) ?? []).map(({ message }) => message)
  }
  t.match(lint(own('k[0-9]+')), [/^can match any length; a match is cut at 256 characters, so bound/])
  t.match(lint(own('k[0-9]{300}')), [/^can match 301 characters/])
  t.match(lint(own('[a-z]')), [/^occurs in nearly every text/])
  t.same(lint(own('[a-z]', { context: ['case'] })), [])
  t.same(lint(own('CASE-[0-9]{6}')), [])
})

const CHECKED: readonly [checksum: Checksum, value: string, passes: boolean][] = [
  ['luhn', 'case-7992739871-3', true],
  ['luhn', 'case-79927398714', false],
  ['luhn', 'no digits', false],
  ['mod97', 'de89370400440532013000', true],
  ['mod97', '529900t8bm49aursdo55', true],
  ['mod97', 'id 1234567 06', false],
  ['mod97', 'id 3214282912345698765432161182', true],
  ['mod11', '0-306-40615-2', true],
  ['mod11', '0-8044-2957-x', true],
  ['mod11', '943 476 5919', true],
  ['mod11', '943 476 5918', false],
  ['mod11', 'xx 0-306-40615-2', true],
  ['luhn', '0', false],
]
t.test('check digits are those that the rule names', async (t) => {
  const passesChecksum = (checksum: Checksum, value: string) => {
    const check = checkDigits(checksum)
    for (const one of value) check.add(one.codePointAt(0)!)
    return check.passes
  }
  for (const [checksum, value, passes] of CHECKED) t.equal(passesChecksum(checksum, value), passes, value)
})

/** By kind: values that are published, and values that look like them. */
const SAMPLES: readonly [kind: string, published: readonly string[], others: readonly string[]][] = [
  [
    'email',
    ['ann@example.com', 'Ann@mail.Example.org', 'a.b+c@example.net', 'ann@shop.test', 'ann@a.b.invalid'],
    [
      ...['ann@example.com.evil.org', 'ann@notexample.com', 'ann@example.com.de', 'ann@test.io', 'ann@.test'],
      ...['ann@example.de', 'ann@evil.org@example.com', 'ann@ex\u0430mple.com', 'ann@example.edu'],
    ],
  ],
  [
    'phone',
    [
      ...['+1 (415) 555-0132', '+14155550132', '+1-415-555-0199', '1-212-555-0100', '(415) 555-0132'],
      ...['415.555.0132', '555-0132', '800-555-0199', '415 555 0132'],
    ],
    [
      ...['+354 555 0123', '+49 415 555 0132', '+1 415 555 2671', '+1 415 555 01321', '98555 50123'],
      ...['9855550123', '14155550132', '+44 1632 555 0132', '555 0123', '5550132', '+555-0132', '555-0200'],
      ...['800-555-0132', '+1 415 555 0132 x12', '115-555-0132', '0415 555 0132'],
    ],
  ],
  [
    'credit_card',
    ['4242 4242 4242 4242', '4111-1111-1111-1111', '378282246310005'],
    ['4539 1488 0343 6467', '4242 4242 4242 4242 4', '4242 4242 4242 4242\u0664', '4242 4242 4242 424'],
  ],
  [
    'ip_address',
    [
      ...['192.0.2.7', '198.51.100.255', '203.0.113.0/24', '2001:db8::1', '2001:0DB8:1::', '[2001:db8::1]'],
      ...['3fff::1', '3fff:fff:1::', '2001:db8::/32', '3fff::/20'],
    ],
    [
      ...['192.0.20.7', '192.0.2.0.5', '192.0.2.0/16', '192.0.2.256', '1.192.0.2.7', '::ffff:192.0.2.1'],
      ...['64:ff9b::192.0.2.1', '2001:db80::1', '2001:db8::/31', '3fff:1000::1', '3fff::/16', '2001:d::b8'],
      ...['12001:db8::1', '::2001:db8:1'],
    ],
  ],
  [
    'mac_address',
    ['00-00-5E-00-53-01', '0000.5e00.53ff', '01:00:5e:90:10:00'],
    ['00-00-5E-00-54-01', '00-00-5E-00-53-01-02', '01:00:5e:90:11:00'],
  ],
  [
    'secret',
    ['AKIAIOSFODNN7EXAMPLE', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    [
      ...['AKIAIOSFODNN7EXAMPL1', 'AKIAQ3EGFXAMPEXAMPLE', 'AKIAIOSFODNN7EXAMPLE:x'],
      ...['wJalrXUtnFEMI/K7MDENG/bPxRfiCYABCDEFGHIJ', 'QJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ],
  ],
  ['iban', ['gb82 west 1234 5698 7654 32'], ['DE44500105175407324931', 'GB82 WEST 1234 5698 7654 32 1']],
  ['us_ssn', ['078-05-1120', '219 09 9999'], ['536-22-1234', '078-05-11200']],
]
t.test('samples are the published values, and addresses are private in the private ranges', async (t) => {
  for (const [kind, published, others] of SAMPLES) {
    for (const value of published) t.equal(isPublishedSample(kind, value), true, value)
    for (const value of others) t.equal(isPublishedSample(kind, value), false, value)
  }
  for (const address of [
    '10.1.2.3',
    '172.31.0.1/12',
    '192.168.1.1',
    '::ffff:10.0.0.1',
    'fd00::1',
    'fe80::1%eth0',
  ])
    t.equal(isPrivateAddress(address), true, address)
  for (const address of ['172.32.0.1', '100.128.0.1', '8.1.2.3', '2a00:1450::8a', '::10.0.0.1'])
    t.equal(isPrivateAddress(address), false, address)
})

t.test('exceptions count where their rule decides', async (t) => {
  const named = (name: string, declared: Rule): Rule => ({ ...declared, id: name, name })
  const isAllowed = (selection: Selection, value = 'ann@acme.com') =>
    selection.piiValue('email', 'user', value).action === 'allow'
  const excepts = (...rules: readonly Rule[]) => isAllowed(select(rules))
  const mild = named('mild', pii('email', ['.*@acme[.]com']))
  t.equal(excepts(mild), true)
  t.equal(
    excepts(named('all', pii('*', undefined, { action: 'block' })), mild),
    true,
    'a kind comes before *',
  )
  t.equal(excepts(mild, named('strict', pii('email', undefined, { action: 'block' }))), false)
  t.equal(excepts({ ...mild, match: { direction: 'response' } }), false)
  t.equal(isAllowed(select([mild]), 'ann@acme.com.evil.io'), false, 'the whole value')
  t.equal(select([]).hasExceptions, false)
  const set = compileRules([{ ...mild, match: { models: ['a'] } }, named('b', pii('email'))], 'r')
  t.equal(isAllowed(set.select(['a', 'b'], keyOf('k'))), false, 'every model')
})

t.test('an exception of one rule does not free a value from another', async (t) => {
  const named = (
    name: string,
    action: Rule['action'],
    except?: readonly string[],
    more: Partial<Rule> = {},
  ) => ({ ...pii('email', except, more), id: name, name, action }) as Rule
  const own = ['.*@acme[.]com']
  const decide = (rules: readonly Rule[], value: string) => {
    const { action, rule: by } = select(rules).piiValue('email', 'user', value)
    return `${action} by ${by?.name ?? 'none'}`
  }
  const two = [named('a', 'redact', own), named('b', 'redact')]
  t.equal(decide(two, 'ann@acme.com'), 'redact by b')
  t.equal(decide([...two].reverse(), 'ann@acme.com'), 'redact by b')
  const strict = [named('a', 'block', own), named('b', 'monitor')]
  t.equal(decide(strict, 'ann@acme.com'), 'monitor by b')
  t.equal(decide(strict, 'ann@acme.org'), 'block by a')
  t.equal(decide([named('a', 'redact', own), named('b', 'block', own)], 'ann@acme.com'), 'allow by none')
  t.equal(select(strict).pii('email', 'user').action, 'block', 'a value that is not known')
  const all = named('all', 'block', undefined, { pattern: '*' })
  t.equal(decide([all, named('a', 'redact', own)], 'ann@acme.com'), 'allow by none', 'a kind comes before *')
})

t.test('a kind is searched for wherever a rule decides on it', async (t) => {
  const cases: Rule = { ...own('CASE-[0-9]', { match: { parts: ['tool_result'] } }), id: 'own', name: 'own' }
  const naming = (pattern: string, more: Partial<Rule> = {}): Rule => ({
    ...pii(pattern, undefined, { action: 'monitor' }),
    id: 'n',
    name: 'n',
    ...more,
  })
  const placesOf = (...rules: readonly Rule[]) => {
    const selection = select(rules)
    const parts = selection.openKinds('request')?.parts[0] ?? []
    return [...parts, ...(selection.openKinds('response') === null ? [] : ['answer'])].join(' ')
  }
  t.equal(placesOf(cases), 'tool_result')
  t.equal(placesOf(cases, naming('case_number')), 'user system tool_result assistant answer')
  t.equal(placesOf(cases, naming('*')), 'user system tool_result assistant answer')
  t.equal(placesOf(cases, naming('email')), 'tool_result')
  t.equal(placesOf(cases, naming('case_number', { match: { parts: ['user'] } })), 'user tool_result')
  t.equal(placesOf(cases, naming('*', { match: { direction: 'response' } })), 'tool_result answer')
  t.equal(
    placesOf({ ...cases, match: { keys: ['other'] } }, naming('case_number')),
    'user system tool_result assistant answer',
  )
  t.equal(placesOf({ ...cases, match: { keys: ['other'] } }, naming('email')), '')
  t.equal(
    placesOf({ ...cases, enabled: false }, naming('case_number')),
    '',
    'a disabled rule defines nothing',
  )
  const { action, rule: by } = select([cases, naming('*')]).pii('case_number', 'user')
  t.equal(`${action} by ${by?.name}`, 'monitor by n')
})

t.test('a rule that defines a kind decides on it as one that names it', async (t) => {
  const decide = (...rules: readonly Rule[]) => {
    const { action, rule: by } = select(rules).pii('case_number', 'user')
    return `${action} by ${by?.name ?? 'none'}`
  }
  const cases: Rule = { ...own('CASE-1'), id: 'cases', name: 'cases' }
  t.equal(decide(cases), 'redact by cases')
  t.equal(decide(cases, pii('*', undefined, { name: 'all', id: 'all', action: 'block' })), 'redact by cases')
  t.equal(
    decide(cases, pii('case_number', undefined, { name: 'one', id: 'one', action: 'block' })),
    'block by one',
  )
  t.equal(decide(pii('*', undefined, { name: 'all', id: 'all', action: 'monitor' })), 'redact by none')
  t.same([...select([cases, rule('k', 'a', { action: 'redact' })]).openLabels], ['CASE_NUMBER', 'KEYWORD'])
})

t.test('match.apis narrows rules of every type', async (t) => {
  const set = compileRules(
    [
      rule('words', 'a', { match: { apis: ['embeddings'] } }),
      rule('limit', '5/1m', { type: 'rate_limit', match: { apis: ['chat', 'messages'] } }),
      { ...own('b1', { match: { apis: ['embeddings'] } }), id: 'own', name: 'own' },
    ],
    'r',
  )
  const seen = (api?: string) => {
    const selection = set.select(['m'], keyOf('k'), api)
    const words = selection.keywords('request') === null ? [] : ['words']
    const limits = selection.limits.map(({ rule }) => rule.name)
    return [...words, ...limits, ...(selection.openKinds('request') === null ? [] : ['own'])].join(' ')
  }
  t.equal(seen('embeddings'), 'words own')
  t.equal(seen('messages'), 'limit')
  t.equal(seen('moderations'), '')
  t.equal(seen(), 'words limit own', 'an API that is not known')
})
