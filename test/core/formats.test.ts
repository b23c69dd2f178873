// A text of a wrong form: the error says which form is right, and no other check meets the value.

import t from 'tap'
import { parseConfig } from '../../src/core/config.ts'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { PRICES_SCHEMA } from '../../src/prices/price-schema.ts'
import { CASES_SCHEMA } from '../../src/rulecheck/case-schema.ts'
import { RULES_SCHEMA } from '../../src/rules/schema.ts'

const clock = { now: () => 0, monotonic: () => 0 }
const parse = (text: string) => parseConfig(text, '/etc/sidegate/sidegate.yaml', {}, clock)
const problems = (text: string) => parse(text).problems.map(formatProblem)

/** Parts of the schema that have a pattern, by their paths. */
function patterned(schema: any, path: string): [string, any][] {
  const own: [string, any][] = typeof schema.pattern === 'string' ? [[path, schema]] : []
  const inner = Object.entries(schema).filter(([, child]) => typeof child === 'object' && child !== null)
  return [...own, ...inner.flatMap(([key, child]) => patterned(child, `${path}.${key}`))]
}

t.test('each part of a schema with a form describes it', async (t) => {
  for (const [name, schema] of Object.entries({ CONFIG_SCHEMA, RULES_SCHEMA, PRICES_SCHEMA, CASES_SCHEMA }))
    for (const [path, { description }] of patterned(schema, name)) t.type(description, 'string', path)
})

const UPSTREAM = 'upstream: { baseUrl: http://h }\n'
const KEY = `name: a, sha256: '${'0'.repeat(64)}'`

t.test('a value of the right type and the wrong form has an error that says the form', async (t) => {
  const cases: [string, RegExp][] = [
    ['listen: { gateway: no-port }', /listen\.gateway: .*`host:port`/],
    ['passThrough: [{ path: "/images/*", methods: [POST] }]', /:2:\d+ passThrough\[0\]\.path: .*`\/v1\/`/],
    ['passThrough: [{ path: "v1/images/*", methods: [POST] }]', /passThrough\[0\]\.path: .*`\/v1\/`/],
    [`keys: [{ name: a, sha256: 'A' }]`, /keys\[0\]\.sha256: .*64 lower-case hexadecimal digits/],
    ['audit: { userFields: [a..b] }', /audit\.userFields\[0\]: .*with a dot between/],
    ['audit: { signingKey: { env: a-b } }', /audit\.signingKey\.env: .*letters, digits and `_`/],
    ['admin: { allowedHosts: ["*.a"] }', /admin\.allowedHosts\[0\]: .*without scheme, port or wildcard/],
    [`keys: [{ ${KEY}, models: ["!!a"] }]`, /keys\[0\]\.models\[0\]: .*printable.*one `!`/],
    [`keys: [{ ${KEY}, owner: "\\0" }]`, /keys\[0\]\.owner: .*Printable characters/],
    [`keys: [{ ${KEY}, labels: { team: " a" } }]`, /keys\[0\]\.labels\.team: .*no white space at the ends/],
    [`keys: [{ ${KEY}, labels: { " a": b } }]`, /keys\[0\]\.labels\. a: .*no white space at the ends/],
  ]
  for (const [text, problem] of cases) t.match(problems(`${UPSTREAM}${text}`), [problem], text)
  const upstreams: [string, RegExp][] = [
    ['baseUrl: h/v1', /baseUrl: .*`http:\/\/` or `https:\/\/`/],
    ['baseUrl: http://h, query: { "a b": c }', /query\.a b: .*A-Z a-z 0-9/],
    ['baseUrl: http://h, auth: { header: API-Key }', /auth\.header: .*lower case/],
    ['baseUrl: http://h, headers: { X-A: b }', /headers\.X-A: .*lower case/],
    ['baseUrl: http://h, headers: { a: "ü" }', /headers\.a: .*printable ASCII/],
    ['baseUrl: http://h, forwardHeaders: [X-A]', /forwardHeaders\[0\]: .*lower case/],
  ]
  for (const [text, problem] of upstreams)
    t.match(problems(`upstream: { ${text} }`).join('\n'), problem, text)
  t.match(problems('upstreams: [{ name: a b, baseUrl: http://h }]'), [/upstreams\[0\]\.name: .*A-Z a-z 0-9/])
})

t.test('what stands after an item with an error has its own errors, in its own place', async (t) => {
  const text = `upstreams:
  - { name: a b, baseUrl: http://a, models: [x] }
  - { name: c }
  - { name: d, baseUrl: http://d, fallback: [a], models: [y], tls: { ca: none.pem } }
  - { name: e, baseUrl: http://e, fallback: [c] }
passThrough:
  - 7
  - { path: /images, methods: [GET] }
  - { path: /v1/images, methods: [GET], upstream: c }
keys:
  - { name: k }
  - { name: k, sha256: '${'0'.repeat(64)}', expiresAt: never }
`
  const { problems: found, partial } = parse(text)
  t.same(
    found.map(({ line, path }) => `${line} ${path}`),
    [
      '2 upstreams[0].name',
      '3 upstreams[1].baseUrl',
      '7 passThrough[0]',
      '8 passThrough[1].path',
      '4 upstreams[2].tls.ca',
      '11 keys[0].sha256',
      '12 keys[1].expiresAt',
    ],
  )
  t.match(partial?.upstreams.at(-1)?.declaredAt, ['upstreams', 3])
  t.match(partial?.passThrough, [{ declaredAt: ['passThrough', 2], path: '/v1/images' }])
})
