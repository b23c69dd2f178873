// The configuration of a hub: its sample, its schema, and the place of every error.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { parseHubConfig, readHubConfig } from '../../src/core/hub-config.ts'
import { HUB_SCHEMA } from '../../src/core/hub-schema.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { keySetOf, newKey } from '../hub/tokens.ts'
import { makeCertificate, selfSigned } from '../server/certificate.ts'

const CONFIG = fileURLToPath(new URL('../../config', import.meta.url))
const ENV = {
  SIDEGATE_DATABASE_URL: 'postgres://sidegate_hub@db/x',
  SIDEGATE_ADMIN_TOKEN: 'sixteen letters!',
}
const GOOD = `listen: { hub: '127.0.0.1:0' }
database: { url: { env: SIDEGATE_DATABASE_URL } }
audit: { signingKey: { env: SIDEGATE_DATABASE_URL } }
`

const problemsOf = (text: string, env: Record<string, string> = ENV) =>
  parseHubConfig(text, '/etc/hub.yaml', env, systemClock).problems.map((problem) => formatProblem(problem))

t.test('the sample is valid but for its key, and the schema for editors is the schema', async (t) => {
  const { problems } = readHubConfig(resolve(CONFIG, 'hub.yaml'), ENV, systemClock)
  t.match(problems, [{ path: 'audit.signingKey', message: /hub\.pem cannot be used/ }])
  const schema = JSON.parse(readFileSync(resolve(CONFIG, 'hub.schema.json'), 'utf8'))
  t.same(schema, JSON.parse(JSON.stringify(HUB_SCHEMA)))
})

t.test('the sample of join is valid but for the keys of its cluster', async (t) => {
  const sample = readFileSync(resolve(CONFIG, 'hub.yaml'), 'utf8')
  const text = GOOD + sample.slice(sample.indexOf('# join:')).replace(/^# /gm, '')
  t.match(problemsOf(text), [/:9:\d+ .*jwks: file jwks\.json cannot be used \(ENOENT\).*kubectl get/])
})

t.test('every error of join has its line and its key', async (t) => {
  const folder = t.testdir({
    'jwks.json': keySetOf(newKey()),
    'empty.json': '{"keys": []}',
    'text.json': 'x',
    'list.json': '{"keys": ["x"]}',
  })
  const cluster = (change: object = {}) => ({
    name: 'prod',
    issuer: 'https://kubernetes.default.svc',
    jwks: { file: resolve(folder, 'jwks.json') },
    allow: [{ namespace: 'shop', serviceAccount: 'web' }],
    ...change,
  })
  // A line for each cluster, from the sixth on.
  const problems = (...clusters: object[]) =>
    problemsOf(
      `${GOOD}join:\n  clusters:\n${clusters.map((one) => `    - ${JSON.stringify(one)}\n`).join('')}`,
    )
  t.same(problems(cluster(), cluster({ name: 'test' })), [])
  const allow = (change: object) => [{ namespace: 'shop', serviceAccount: 'web', ...change }]
  const cases: [change: object, wanted: RegExp][] = [
    [{ name: 'Prod' }, /:6:\d+ join\.clusters\[0\]\.name: /],
    [{ issuer: '' }, /:6:\d+ join\.clusters\[0\]\.issuer: /],
    [{ jwks: undefined }, /:6:\d+ join\.clusters\[0\].*jwks.* is required/],
    [{ jwks: { env: 'KEYS' } }, /:6:\d+ join\.clusters\[0\]\.jwks/],
    [{ jwks: { file: 'none.json' } }, /:6:\d+ .*jwks: file none\.json cannot be used \(ENOENT\); .*kubectl/],
    [{ jwks: { file: resolve(folder, 'empty.json') } }, /:6:\d+ .*jwks: has no keys; .*kubectl get --raw/],
    [{ jwks: { file: resolve(folder, 'list.json') } }, /:6:\d+ .*jwks: has no keys; /],
    [{ jwks: { file: resolve(folder, 'text.json') } }, /:6:\d+ .*jwks: is not JSON; /],
    [{ allow: [] }, /:6:\d+ join\.clusters\[0\]\.allow: /],
    [{ allow: allow({ namespace: 'Shop' }) }, /:6:\d+ .*allow\[0\]\.namespace: /],
    [{ allow: allow({ serviceAccount: undefined }) }, /:6:\d+ .*allow\[0\].*serviceAccount.* is required/],
    [{ allow: allow({ pod: 'a' }) }, /:6:\d+ .*allow\[0\]\.pod: /],
  ]
  for (const [change, wanted] of cases)
    t.match(problems(cluster(change), cluster({ name: 'test' })), [wanted], String(wanted))
  t.match(problems(cluster(), cluster()), [/:7:\d+ join\.clusters\[1\]\.name: is the name of another/])
  t.match(problemsOf(`${GOOD}join: { audience: '' }\n`), [/:4:\d+ join\.audience: /])
})

t.test('defaults are filled in', async (t) => {
  const { config, problems } = parseHubConfig(GOOD, '/etc/hub.yaml', ENV, systemClock)
  t.same(problems, [])
  t.match(config, {
    listen: { hub: { port: 0 }, ops: { host: '127.0.0.1', port: 9494 }, tls: null },
    database: { connections: 10 },
    admin: { tokens: [], oidc: null, sessionTtlSeconds: 28_800 },
    log: { level: 'info' },
  })
})

t.test('every wrong value is an error with its line, its key and the allowed form', async (t) => {
  const cases: [text: string, wanted: RegExp][] = [
    [
      GOOD.replace('127.0.0.1', '10.0.0.1'),
      /:1:\d+ listen\.hub: is not a loopback address and needs listen\.tls/,
    ],
    [GOOD.replace('database', 'databank'), /databank.*database/],
    [
      GOOD.replace('SIDEGATE_DATABASE_URL }', 'NONE }'),
      /:2:\d+ database\.url: environment variable NONE is not set; set it to a URL like/,
    ],
    [GOOD.replace('url: {', 'connections: 1, url: {'), /:2:\d+ database\.connections: /],
    [GOOD.replace('audit', '# audit'), /audit: /],
  ]
  for (const [text, wanted] of cases) t.match(problemsOf(text).join('\n'), wanted, text)
  const other = { ...ENV, SIDEGATE_DATABASE_URL: 'mysql://root:secret@db' }
  t.match(problemsOf(GOOD, other), [/database\.url: is not the URL of a PostgreSQL database/])
  t.notMatch(problemsOf(GOOD, other).join(), /secret/)
})

t.test('every key of the schema has a description', async (t) => {
  const visit = (schema: any, path: string) => {
    for (const [name, child] of Object.entries<any>(schema.properties ?? {})) {
      t.ok(child.description?.length > 10, `${path}${name}`)
      visit(child, `${path}${name}.`)
    }
  }
  visit(HUB_SCHEMA, '')
})

t.test('a certificate that cannot be served has its line', async (t) => {
  const { certificate, key } = makeCertificate({ untilMs: Date.now() - 1000 })
  const folder = t.testdir({ 'tls.crt': certificate, 'tls.key': key, 'other.key': selfSigned().key })
  const problems = (name: string) => {
    const tls = { certificate: { file: resolve(folder, 'tls.crt') }, key: { file: resolve(folder, name) } }
    return problemsOf(GOOD.replace(/^.*/, `listen: { hub: '127.0.0.1:0', tls: ${JSON.stringify(tls)} }`))
  }
  const expired = /:1:\d+ listen\.tls\.certificate: expired at /
  t.match(problems('tls.key'), [expired])
  t.match(problems('other.key'), [expired, /:1:\d+ listen\.tls\.key: is not the key of the certificate/])
})
