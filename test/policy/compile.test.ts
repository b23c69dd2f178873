import t from 'tap'
import type { RuleAction } from '../../src/core/rule-action.ts'
import { TEXT_PLACES } from '../../src/core/text-part.ts'
import { keyOf } from './keys.ts'
import { compileRules, fired, firedNames, rule, select, withoutAction } from './rules.ts'

t.test('personal data is redacted when no rule names it', async (t) => {
  t.same(select([]).pii('email', 'user'), {
    action: 'redact',
    rule: null,
    placeholders: null,
    restores: false,
  })
})

const pii = (name: string, pattern: string, action: RuleAction, more = {}) =>
  rule(name, pattern, { type: 'pii', action, ...more })

const decisions: [what: string, rules: ReturnType<typeof pii>[], wins: string | null][] = [
  ['a kind before *', [pii('kind', 'email', 'allow'), pii('all', '*', 'block')], 'kind'],
  ['a kind before *, in any order', [pii('all', '*', 'block'), pii('kind', 'email', 'allow')], 'kind'],
  ['block over redact', [pii('a', 'email', 'redact'), pii('b', 'email|phone', 'block')], 'b'],
  ['block over restore', [pii('a', 'email', 'restore'), pii('b', 'email', 'block')], 'b'],
  ['redact over restore', [pii('a', 'email', 'restore'), pii('b', 'email', 'redact')], 'b'],
  ['restore over monitor', [pii('a', '*', 'monitor'), pii('b', '*', 'restore')], 'b'],
  ['restore over pseudonym', [pii('a', '*', 'pseudonym'), pii('b', '*', 'restore')], 'b'],
  ['pseudonym over monitor', [pii('a', '*', 'monitor'), pii('b', '*', 'pseudonym')], 'b'],
  [
    'a pseudonym over one that is restored',
    [pii('a', '*', 'pseudonym', { restore: true }), pii('b', '*', 'pseudonym')],
    'b',
  ],
  ['a restored kind before a redacted *', [pii('a', '*', 'redact'), pii('b', 'email', 'restore')], 'b'],
  ['redact over monitor', [pii('a', '*', 'monitor'), pii('b', '*', 'redact')], 'b'],
  ['monitor over allow', [pii('a', 'email', 'allow'), pii('b', 'email', 'monitor')], 'b'],
  ['the first of equals', [pii('a', 'email', 'block'), pii('b', 'email', 'block')], 'a'],
  ['no disabled rule', [pii('a', 'email', 'block', { enabled: false })], null],
  [
    'no rule of the other direction',
    [pii('a', 'email', 'block', { match: { direction: 'response' } })],
    null,
  ],
  ['no rule for another model', [pii('a', 'email', 'block', { match: { models: ['claude*'] } })], null],
  ['no rule for another kind', [pii('a', 'phone', 'block')], null],
]
for (const [what, rules, wins] of decisions) {
  t.test(`the pii decision prefers ${what}`, async (t) => {
    t.equal(select(rules).pii('email', 'user').rule?.name ?? null, wins)
  })
}

t.test('model globs ignore case, key globs do not, and one matching glob is enough', async (t) => {
  const set = compileRules(
    [
      rule('models', 'a', { match: { models: ['gpt-4*', 'o?'] } }),
      rule('keys', 'a', { match: { keys: ['batch-*'] } }),
      rule('both', 'a', { match: { models: ['gpt*'], keys: ['batch-*'] } }),
      rule('all', 'a'),
    ],
    'r',
  )
  const names = (model: string, key: string) => firedNames(set.select([model], keyOf(key)), 'a')
  t.same(names('GPT-4o', 'web'), ['models', 'all'])
  t.same(names('o3', 'batch-1'), ['models', 'keys', 'all'])
  t.same(names('gpt-4', 'batch-1'), ['models', 'keys', 'both', 'all'])
  t.same(names('llama', 'Batch-1'), ['all'])
  const fallback = firedNames(set.select(['llama', 'GPT-4o'], keyOf('web')), 'a')
  t.same(fallback, ['models', 'all'], 'a model to fall back to counts')
  const unknown = firedNames(set.select(null, keyOf('batch-1')), 'a')
  t.same(unknown, ['models', 'keys', 'both', 'all'], 'a model that is not known may be any')
})

t.test('with several models the strictest pii decision counts, in any order', async (t) => {
  const set = compileRules(
    [
      pii('all', 'phone', 'block'),
      pii('in house', 'email|phone', 'allow', { match: { models: ['inhouse-*'] } }),
      pii('abroad', 'iban', 'block', { match: { models: ['abroad-*'] } }),
      pii('seen', 'iban', 'monitor', { match: { models: ['inhouse-*'] } }),
      pii('back', 'email', 'restore', { match: { models: ['abroad-*'] } }),
    ],
    'r',
  )
  const decide = (...models: string[]) => {
    const selection = set.select(models, keyOf('k'))
    return (['email', 'phone', 'iban', 'us_ssn'] as const).map((kind) => {
      const { action, rule } = selection.pii(kind, 'user')
      return rule === null ? action : `${action} by ${rule.name}`
    })
  }
  t.same(decide('inhouse-1'), ['allow by in house', 'block by all', 'monitor by seen', 'redact'])
  t.same(decide('other'), ['redact', 'block by all', 'redact', 'redact'])
  t.same(decide('inhouse-1', 'inhouse-2'), decide('inhouse-1'))
  for (const models of [
    ['inhouse-1', 'other'],
    ['other', 'inhouse-1'],
    ['Inhouse-1', 'x', 'other'],
  ])
    t.same(decide(...models), ['redact', 'block by all', 'redact', 'redact'], models.join())
  t.same(decide('abroad-1', 'inhouse-1'), ['restore by back', 'block by all', 'block by abroad', 'redact'])
  t.same(decide('inhouse-1', 'abroad-1', 'other'), ['redact', 'block by all', 'block by abroad', 'redact'])
  t.equal(
    set.select(['inhouse-1', 'other'], keyOf('k')),
    set.select(['other', 'inhouse-9'], keyOf('k')),
    'one selection for both',
  )
})

t.test('keyword rules fire in their direction, unless they are disabled', async (t) => {
  const selection = select([
    rule('in', 'a', { match: { direction: 'request' }, action: 'monitor' }),
    rule('out', 'a', { match: { direction: 'response' } }),
    rule('off', 'a', { enabled: false }),
  ])
  t.same(firedNames(selection, 'a'), ['in'])
  t.same(firedNames(selection, 'a', 'response'), ['out'])
  t.equal(select([rule('off', 'a', { enabled: false })]).keywords('request'), null)
})

t.test('an answer is a text of the assistant', async (t) => {
  const selection = select([
    rule('words', 'a', { match: { parts: ['assistant'] } }),
    rule('users', 'a', { match: { parts: ['user'] } }),
    pii('mail', 'email', 'block', { match: { parts: ['assistant', 'tool_result'] } }),
    pii('number', 'phone', 'block', { match: { parts: ['user'] } }),
  ])
  t.same(firedNames(selection, 'a', 'response'), ['words'])
  const blockedIn = (kind: 'email' | 'phone') =>
    TEXT_PLACES.filter((place) => selection.pii(kind, place).action === 'block')
  t.same(blockedIn('email'), ['tool_result', 'assistant', 'answer'])
  t.same(blockedIn('phone'), ['user'])
})

t.test('a keyword rule that blocks holds back what may begin its match', async (t) => {
  const safe = (action: RuleAction) => {
    const stream = select([rule('r', 'abc', { action })])
      .keywords('response')!
      .matcher.stream()
    stream.push('ab')
    return stream.safe
  }
  t.equal(safe('block'), 0)
  t.equal(safe('monitor'), 2)
})

t.test('the capture rules of any model of a call count, and metadata wins', async (t) => {
  const rules = [
    withoutAction('capture', 'full', 'all'),
    { ...withoutAction('capture', 'metadata', 'hr'), match: { models: ['hr/*'] } },
    { ...withoutAction('capture', 'metadata', 'off'), enabled: false },
  ]
  const set = compileRules(rules, 'test')
  t.equal(set.select(['m'], keyOf('app')).capture, 'full')
  t.equal(set.select(['hr/m'], keyOf('app')).capture, 'metadata')
  t.equal(set.select(['m', 'HR/m'], keyOf('app')).capture, 'metadata')
  t.equal(select([rule('word', 'aurora')]).capture, null)
})

t.test('a selection carries the thresholds and limits of its rules', async (t) => {
  const selection = select([
    rule('own', '', { type: 'prompt_injection' }),
    rule('set', 'score>=0.9', { type: 'prompt_injection', action: 'monitor' }),
    rule('limit', '2k/1m', { type: 'rate_limit' }),
  ])
  t.match(selection.injection, [
    { rule: { name: 'own', action: 'block' }, threshold: null },
    { rule: { name: 'set', action: 'monitor' }, threshold: 0.9 },
  ])
  t.match(selection.limits, [
    {
      rule: { name: 'limit', type: 'rate_limit' },
      scope: 'key',
      unit: 'tokens',
      amount: 2000,
      windowMs: 60_000,
    },
  ])
  t.equal(selection.keywords('request'), null)
  t.equal(selection.revision, 'test')
})

t.test('a call that no rule concerns gets a selection without rules', async (t) => {
  const set = compileRules([rule('r', 'a', { match: { models: ['gpt'] } })], 'r')
  t.not(set.select(['gpt'], keyOf('k')).keywords('request'), null)
  t.equal(set.select(['other'], keyOf('k')).keywords('request'), null)
})

t.test('calls share selections, and the cache of selections is bounded', async (t) => {
  const rules = Array.from({ length: 10 }, (_, bit) =>
    rule(`${bit}`, 'a', { match: { models: [`*${bit}*`] } }),
  )
  const set = compileRules(rules, 'r')
  t.equal(set.select(['1'], keyOf('x')), set.select(['1'], keyOf('y')))
  for (let combination = 0; combination < 1024; combination++) {
    const model = rules.filter((_, bit) => (combination >> bit) % 2 === 1).map(({ name }) => name)
    const names = firedNames(set.select([model.join()], keyOf('k')), 'a')
    if (names.length !== model.length) t.fail(names.join())
  }
  t.not(set.select(['1'], keyOf('x')), undefined)
})

t.test('a rule set is frozen and lists every rule, disabled ones included', async (t) => {
  const rules = [rule('on', 'a'), rule('off', 'b', { enabled: false })]
  const set = compileRules(rules, 'rev')
  t.ok(Object.isFrozen(set))
  t.ok(Object.isFrozen(set.rules))
  t.same(set.rules, rules)
  t.equal(set.revision, 'rev')
})

t.test('all selections use the same reference for a rule', async (t) => {
  const set = compileRules([rule('r', 'a'), rule('other', 'b', { match: { models: ['x'] } })], 'r')
  const [first] = fired(set.select(['x'], keyOf('k')), 'a')
  const [second] = fired(set.select(['y'], keyOf('k')), 'a', 'response')
  t.equal(first, second)
})

t.test('a rule for answers decides on new values before a rule that restores', async (t) => {
  const answers = { match: { direction: 'response' } }
  const cases: [rules: ReturnType<typeof pii>[], action: RuleAction][] = [
    [[pii('a', 'email', 'restore'), pii('b', 'email', 'allow', answers)], 'allow'],
    [[pii('b', 'email', 'monitor', answers), pii('a', 'email', 'restore')], 'monitor'],
    [[pii('a', '*', 'restore'), pii('b', 'email', 'allow', answers)], 'allow'],
    [[pii('a', 'email', 'restore'), pii('b', '*', 'allow', answers)], 'restore'],
    [[pii('a', 'email', 'redact'), pii('b', 'email', 'allow', answers)], 'redact'],
    [[pii('a', 'email', 'pseudonym', { restore: true }), pii('b', 'email', 'allow', answers)], 'allow'],
    [[pii('a', 'email', 'pseudonym'), pii('b', 'email', 'allow', answers)], 'pseudonym'],
    [[pii('a', 'email', 'restore'), pii('b', 'email', 'allow')], 'restore'],
  ]
  for (const [rules, action] of cases) t.equal(select(rules).pii('email', 'answer').action, action)
  t.equal(select(cases[0]![0]).pii('email', 'user').action, 'restore')
})

t.test('a rule with labels applies to keys that have all of them', async (t) => {
  const set = compileRules(
    [rule('team', 'a', { match: { labels: { team: 'search', env: 'test' } } }), rule('all', 'a')],
    'r',
  )
  const names = (labels: Record<string, string>) => firedNames(set.select(['m'], keyOf('k', labels)), 'a')
  t.same(names({ team: 'search', env: 'test', more: 'x' }), ['team', 'all'])
  t.same(names({ team: 'search' }), ['all'])
  t.same(names({ team: 'Search', env: 'test' }), ['all'], 'case counts')
  t.same(names({}), ['all'])
})

t.test('the limits of a key are those that count its calls of any model', async (t) => {
  const limit = (name: string, more: Parameters<typeof rule>[2] = {}) =>
    rule(name, '5 requests/1m', { type: 'rate_limit', ...more })
  const set = compileRules(
    [
      limit('everyone'),
      limit('models', { match: { models: ['gpt-*'] } }),
      limit('keys', { match: { keys: ['batch-*'] }, per: 'all' }),
      limit('labels', { match: { labels: { team: 'search' } } }),
      limit('off', { enabled: false }),
      rule('words', 'aurora'),
    ],
    'r',
  )
  const names = (key: Parameters<typeof set.limits>[0]) => set.limits(key).map(({ rule }) => rule.name)
  t.same(names(null), ['everyone', 'models', 'keys', 'labels'])
  t.same(names(keyOf('batch-1')), ['everyone', 'models', 'keys'])
  t.same(names(keyOf('web', { team: 'search' })), ['everyone', 'models', 'labels'])
})
