// The body that the form of a new rule sends.

import t from 'tap'
import { EMPTY_DRAFT, ruleBody } from '../../src/console/rule-draft.ts'

const form = { isList: false, hint: '' }
const LIMIT = {
  name: 'rate_limit',
  actions: ['block'],
  form,
  isCounted: true,
  narrowsTools: false,
  valueFields: [],
  directions: [],
  parts: [],
  placeholders: [],
}
const WORDS = {
  ...{
    name: 'keyword_block',
    actions: ['block'],
    form,
    isCounted: false,
    narrowsTools: false,
    valueFields: [],
  },
  directions: ['request', 'response'],
  parts: ['user', 'assistant'],
  placeholders: ['shaped'],
}

t.test('a body has only the fields that are filled and that its type has', async (t) => {
  const draft = { ...EMPTY_DRAFT, name: 'a', pattern: 'x', placeholders: '' }
  const body = { name: 'a', type: 'keyword_block', pattern: 'x', action: 'block', enabled: true }
  t.strictSame(ruleBody(draft, WORDS, 'block'), body)
  t.strictSame(ruleBody({ ...draft, per: 'all', direction: 'response' }, WORDS, 'block'), {
    ...body,
    match: { direction: 'response' },
  })
  t.match(ruleBody({ ...draft, placeholders: 'shaped' }, WORDS, 'redact'), { placeholders: 'shaped' })
  const limit = { name: 'a', type: 'rate_limit', pattern: 'x', per: 'label:team', enabled: true }
  t.strictSame(ruleBody({ ...draft, per: ' label:team', direction: 'response' }, LIMIT, undefined), limit)
})

t.test('models, keys, labels and parts are lists', async (t) => {
  const draft = {
    ...EMPTY_DRAFT,
    models: 'gpt-*, o?,',
    keys: ' batch one ',
    labels: 'team = search,x=a=b, y',
    parts: 'user, assistant',
  }
  t.match(ruleBody(draft, WORDS, 'block'), {
    match: {
      models: ['gpt-*', 'o?'],
      keys: ['batch one'],
      labels: { team: 'search', x: 'a=b', y: '' },
      parts: ['user', 'assistant'],
    },
  })
  t.notMatch(ruleBody(draft, LIMIT, 'block'), { match: { parts: [] } })
})

t.test('a list is one item a line', async (t) => {
  const draft = { ...EMPTY_DRAFT, pattern: 'gpt-*\n!gpt-secret\n' }
  const type = { ...LIMIT, form: { isList: true, hint: '' } }
  t.match(ruleBody(draft, type, 'block'), { pattern: ['gpt-*', '!gpt-secret'] })
})

t.test('conditions of a rule on tools are lines, globs and a number', async (t) => {
  const tools = { ...WORDS, name: 'tool_access', form: { isList: true, hint: '' }, narrowsTools: true }
  const draft = { ...EMPTY_DRAFT, name: 'a', pattern: '*\n!bash', arguments: '/command rm -rf\n x y\n\n' }
  t.match(ruleBody({ ...draft, after: 'web_*, mcp:*', afterInjection: '0.7' }, tools, 'block'), {
    pattern: ['*', '!bash'],
    arguments: [
      { path: '/command', pattern: 'rm -rf' },
      { path: '', pattern: 'x y' },
    ],
    after: ['web_*', 'mcp:*'],
    afterInjection: 0.7,
  })
  t.notHas(ruleBody(draft, WORDS, 'block'), { arguments: [] })
})
