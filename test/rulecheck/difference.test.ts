// What changed between two rule sets.

import t from 'tap'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { compareRuleSets } from '../../src/rulecheck/difference.ts'
import { parsed, rule } from '../policy/rules.ts'

const ENVIRONMENT = {
  kinds: DEFAULT_KINDS,
  injection: loadInjectionModel(),
  binaryParts: 'pass' as const,
  placeholderStyle: 'brackets' as const,
  pseudonyms: { key: () => 'a key', inEmbeddings: true },
}
const LIMIT = rule('r', '5/1m', { type: 'rate_limit', match: { labels: { team: 'a', env: 'b' } } })

/** Declarations that differ in one field, and the field with its values. */
const CHANGES = [
  [rule('r', 'a'), { pattern: 'b' }, ['pattern', 'a', 'b']],
  [rule('r', 'a'), { action: 'monitor' }, ['action', 'block', 'monitor']],
  [rule('r', 'a'), { enabled: false }, ['enabled', 'true', 'false']],
  [rule('r', 'a'), { match: { parts: ['user'] } }, ['match', null, '{"parts":["user"]}']],
  [
    rule('r', 'email', { type: 'pii', action: 'redact' }),
    { placeholders: 'shaped' },
    ['placeholders', null, 'shaped'],
  ],
  [rule('r', 'email', { type: 'pii', action: 'pseudonym' }), { restore: true }, ['restore', null, 'true']],
  [LIMIT, { per: 'all' }, ['per', null, 'all']],
  [
    LIMIT,
    { match: { labels: { env: 'b', team: 'c' } } },
    ['match', '{"labels":{"env":"b","team":"a"}}', '{"labels":{"env":"b","team":"c"}}'],
  ],
  [
    rule('r', ['m'], { type: 'model_access' }),
    { pattern: ['m', 'a,b'] },
    ['pattern', '["m"]', '["m","a,b"]'],
  ],
  [rule('r', ['*', '!a'], { type: 'tool_access' }), { after: ['web_*'] }, ['after', null, '["web_*"]']],
] as const

t.test('each field of a declaration that changed is reported', async (t) => {
  for (const [one, change, [field, old, next]] of CHANGES) {
    const pair = [[parsed(one)], [parsed({ ...one, ...change })]] as const
    const { rules } = await compareRuleSets(...pair, [], ENVIRONMENT)
    t.same(rules, [{ name: 'r', change: 'changed', fields: [{ field, old, new: next }] }])
  }
})

t.test('members of match in another order are no change', async (t) => {
  const other = parsed({ ...LIMIT, match: { labels: { env: 'b', team: 'a' } } })
  t.same((await compareRuleSets([parsed(LIMIT)], [other], [], ENVIRONMENT)).rules, [])
})

t.test('recorded calls with tools are replayed under both rule sets', async (t) => {
  const message = (name: string) => ({
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{"command":"rm"}' } }],
  })
  const exchange = (name: string) => ({
    where: name,
    api: 'chat',
    request: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    key: { name: 'k', labels: {} },
    answer: { choices: [{ index: 0, message: message(name), finish_reason: 'tool_calls' }] },
  })
  const rules = [
    parsed(
      rule('no-rm', ['*', '!bash'], {
        type: 'tool_access',
        arguments: [{ path: '/command', pattern: 'rm' }],
      }),
    ),
  ]
  const { exchanges } = await compareRuleSets([], rules, [exchange('bash'), exchange('read')], ENVIRONMENT)
  t.match(exchanges, [
    { where: 'bash', old: { decision: 'allow' }, new: { decision: 'block', rules: ['no-rm'] } },
  ])
  t.equal(exchanges.length, 1)
})
