import t from 'tap'
import { checkQuery, cleanQuery } from '../../src/pipeline/call/clean-query.ts'
import { rule } from '../policy/rules.ts'
import { selectRules } from './fixture.ts'

t.test('a query of flags and versions is forwarded as written', async (t) => {
  t.equal(cleanQuery(''), '')
  for (const query of [
    'beta=true',
    'beta',
    'api-version=2024-10-21',
    'a=b%20c&a=d',
    'region=eu-west-1',
    'x=',
  ])
    t.equal(cleanQuery(query), `?${query}`)
})

t.test('a query that nobody has checked is refused, without being repeated', async (t) => {
  for (const [query, message] of [
    ['to=ann@example.com', /personal data/],
    ['to=ann%40example.com', /personal data/],
    ['to=ann%2540example.com', /personal data/],
    ['4111111111111111=x', /personal data/],
    ['card=4111%201111%201111%201111', /personal data/],
    ['ssn=123-45-6789', /personal data/],
    ['a=AKIAIOSFODNN7EXAMPLE', /personal data/],
    ['api_key=x', /credential/],
    ['Api-Key=x', /credential/],
    ['key=x', /credential/],
    ['access_token=x', /credential/],
    ['%6bey=x', /credential/],
    ['model=other', /body/],
    ['models[]=other', /body/],
    ['Max-Tokens=9', /body/],
    ['input=project+aurora', /body/],
    ['previous_response_id=resp_1', /body/],
    ['fallbacks=other', /body/],
    ['n_predict=9', /body/],
    ['fallbacks[0]=other', /body/],
    ['extra_body[model]=other', /body/],
    ['extra_body.model=other', /body/],
    ['extra_body%5Bmodel%5D=other', /body/],
    ['body[model]=other', /body/],
    ['providerOptions[gateway][models][]=other', /body/],
    ['tools[0].model=other', /body/],
    ['a=b;model=other', /percent-encoded/],
    ['a=%zz', /percent-encoded/],
    ['a=b\\c', /percent-encoded/],
    [`a=${'b'.repeat(511)}`, /longer than 512/],
  ] as const) {
    t.throws(() => cleanQuery(query), { code: 'invalid_parameter', message }, query)
  }
})

t.test('a query that holds what a rule blocks or replaces is refused', async (t) => {
  const selection = selectRules([
    rule('cases', 'CASE-\\d{6}', { type: 'pii_pattern', kind: 'case_number', action: 'redact' }),
    rule('sites', 'site-\\d', { type: 'pii_pattern', kind: 'site', action: 'monitor' }),
    rule('fox', 'foxglove'),
    rule('elm', 'elmwood', { action: 'redact', placeholder: 'PROJECT' }),
    rule('oak', 'oakfield', { action: 'monitor' }),
  ])
  for (const query of ['ref=CASE-204711', 'CASE-204711', 'a=1&ref=x%20foxglove', 'ref=elmwood', 'foxglove=1'])
    t.throws(() => checkQuery(query, selection), { code: 'invalid_parameter', message: /a rule/ }, query)
  for (const query of ['', 'beta=true', 'ref=site-1', 'ref=oakfield', 'ref=CASE-20'])
    t.doesNotThrow(() => checkQuery(query, selection), query)
})
