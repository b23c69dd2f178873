// The form of a new rule: its fields, which the schema of rules gives, the body that it sends, and
// the YAML to commit.

import t from 'tap'
import { parse } from 'yaml'
import { type RuleDraft, ruleBody, ruleYaml } from '../../src/console/rule-draft.ts'
import { RULE_TYPES } from '../../src/policy/rule-types.ts'
import { ruleFormFields } from '../../src/rules/rule-form.ts'
import { RULE_SCHEMA } from '../../src/rules/schema.ts'

const FIELDS = ruleFormFields()
const typeOf = (name: string) => {
  const { form, isCounted = false } = RULE_TYPES.find((type) => type.name === name)!
  return { name, form, isCounted }
}
const bodyOf = (draft: RuleDraft, type: string) => ruleBody(draft, typeOf(type), FIELDS)
const WORDS = { name: 'a', pattern: 'x', action: 'block' }
const BODY = { name: 'a', type: 'keyword_block', pattern: 'x', action: 'block', enabled: true }

t.test('the form has every field of the schema that its type can have', async (t) => {
  const { match, type, pattern, enabled, ...own } = RULE_SCHEMA.properties
  t.strictSame(
    FIELDS.map(({ path }) => path),
    [...Object.keys(own), ...Object.keys(match.properties).map((name) => `match.${name}`)],
  )
  t.ok([type, pattern, enabled].every((one) => one !== undefined))
  for (const { path, form, types } of FIELDS) {
    t.not(form, 'json', `${path} is asked for in a form of its own`)
    t.ok(Object.keys(types).length > 0, path)
  }
  const typesOf = (path: string) => Object.keys(FIELDS.find((field) => field.path === path)!.types)
  t.strictSame(typesOf('per'), ['rate_limit'])
  t.strictSame(typesOf('arguments'), ['tool_access'])
  t.notOk(typesOf('action').includes('capture'))
})

t.test('a body has only the fields that are filled and that its type has', async (t) => {
  const rows: [RuleDraft, object][] = [
    [{}, {}],
    [{ per: 'all', arguments: '/x y' }, {}],
    [{ description: ' for audits ' }, { description: 'for audits' }],
    [{ 'match.direction': 'response' }, { match: { direction: 'response' } }],
    [
      { 'match.models': 'gpt-*, o?,', 'match.keys': ' batch one ' },
      { match: { models: ['gpt-*', 'o?'], keys: ['batch one'] } },
    ],
    [
      { 'match.labels': 'team = search,x=a=b, y' },
      { match: { labels: { team: 'search', x: 'a=b', y: '' } } },
    ],
    [{ 'match.parts': 'user, assistant' }, { match: { parts: ['user', 'assistant'] } }],
  ]
  for (const [draft, more] of rows)
    t.strictSame(bodyOf({ ...WORDS, ...draft }, 'keyword_block'), { ...BODY, ...more }, JSON.stringify(draft))
  t.strictSame(bodyOf({ name: 'a', pattern: '9/1m', per: ' label:team ', action: 'block' }, 'rate_limit'), {
    ...{ name: 'a', type: 'rate_limit', pattern: '9/1m', per: 'label:team', action: 'block', enabled: true },
  })
  t.match(bodyOf({ name: 'a', pattern: '*', action: 'pseudonym', restore: 'false' }, 'pii'), {
    restore: false,
  })
})

t.test('lists, places and numbers are read as their type has them', async (t) => {
  const draft = { name: 'a', pattern: '*\n!bash\n', arguments: '/command rm -rf\n x y\n\n', action: 'block' }
  t.match(bodyOf({ ...draft, after: 'web_*, mcp:*', afterInjection: '0.7' }, 'tool_access'), {
    pattern: ['*', '!bash'],
    arguments: [
      { path: '/command', pattern: 'rm -rf' },
      { path: '', pattern: 'x y' },
    ],
    after: ['web_*', 'mcp:*'],
    afterInjection: 0.7,
  })
})

t.test('the YAML of a rule is that rule, with any text', async (t) => {
  const texts = ['x: y # z', '"quoted"\n- line', '\u2028', '*', '@at', '{a}', 'no', '‮']
  for (const [index, text] of texts.entries()) {
    const body = bodyOf({ ...WORDS, name: text, pattern: text, 'match.keys': 'a b, c' }, 'keyword_block')
    t.strictSame(parse(ruleYaml(body)), [body], `text ${index}`)
  }
})
