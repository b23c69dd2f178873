// The section admin.oidc of the configuration: its defaults, and the place and the next step of each
// error.

import t from 'tap'
import { parseConfig } from '../../src/core/config.ts'
import { testClock } from '../store/fixture.ts'

const MINIMAL = 'issuer: "https://login.example/", clientId: c, clientSecret: { env: SECRET }'
const ROLES = 'roles: { staff: viewer, "Team A/ops": admin }'

const parse = (oidc: string | null, env: Record<string, string> = { SECRET: 'hush' }) => {
  const admin = oidc === null ? '' : `admin:\n  oidc: { ${oidc} }\n`
  return parseConfig(`upstream: { baseUrl: http://h }\n${admin}`, 'sidegate.yaml', env, testClock())
}
const problems = (oidc: string, env?: Record<string, string>) =>
  parse(oidc, env).problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)

t.test('single sign-on is off unless it is configured', async (t) => {
  t.equal(parse(null).config?.admin.oidc, null)
})

t.test('claims have defaults, and groups keep their names', async (t) => {
  const { config } = parse(`${MINIMAL}, ${ROLES}`)
  const { oidc } = config?.admin ?? {}
  t.match(oidc, {
    issuer: 'https://login.example/',
    clientId: 'c',
    groupsClaim: 'groups',
    actorClaim: 'sub',
  })
  t.equal(oidc?.clientSecret?.current(), 'hush')
  t.strictSame(
    [...(oidc?.roles ?? [])],
    [
      ['staff', 'viewer'],
      ['Team A/ops', 'admin'],
    ],
  )
  const named = parse(`${MINIMAL}, ${ROLES}, groupsClaim: roles, actorClaim: preferred_username`)
  t.match(named.config?.admin.oidc, { groupsClaim: 'roles', actorClaim: 'preferred_username' })
})

t.test('every wrong value is an error with its place and the next step', async (t) => {
  const issuer = (text: string) => `issuer: "${text}", clientId: c, clientSecret: { env: SECRET }, ${ROLES}`
  const cases: [string, RegExp][] = [
    [issuer('login.example'), /^3 admin\.oidc\.issuer: is not an https URL; use the issuer .* https:\/\//],
    [issuer('ftp://login.example'), /issuer: is not an https URL/],
    [issuer(''), /issuer: must not be empty/],
    [issuer('https://a:b@login.example'), /issuer: must not carry a credential; put it in admin\.oidc\.cl/],
    [issuer('https://login.example?tenant=1'), /issuer: must have no query/],
    [issuer('https://login.example/.well-known/openid-configuration'), /issuer: must end before \/\.well-/],
    [issuer('http://login.example'), /issuer: must use https, .*http is only for a provider on this machine/],
    [`${MINIMAL}, roles: { staff: boss }`, /^3 admin\.oidc\.roles\.staff: must be one of: viewer, auditor/],
    [`${MINIMAL}, roles: {}`, /^3 admin\.oidc\.roles: is empty, .*; map a group of the provider to a role/],
    [MINIMAL, /admin\.oidc\.roles: is required/],
    [`issuer: "https://a", clientId: c, ${ROLES}`, /admin\.oidc\.clientSecret: is required/],
    [`${MINIMAL.replace('clientId: c', 'clientId: ""')}, ${ROLES}`, /clientId: must not be empty/],
    [`${MINIMAL.replace('{ env: SECRET }', 'plain')}, ${ROLES}`, /clientSecret: must be an object/],
    [`${MINIMAL}, ${ROLES}, scope: openid`, /admin\.oidc\.scope: is not a known key/],
    [`${MINIMAL}, ${ROLES}, actorClaim: ""`, /actorClaim: must not be empty/],
  ]
  for (const [oidc, problem] of cases) t.match(problems(oidc), [problem], oidc)
  t.match(problems(`${MINIMAL}, ${ROLES}`, {}), [
    /^3 admin\.oidc\.clientSecret: environment variable SECRET is not set; set it to the secret that the pr/,
  ])
})

t.test('http is for a provider on this machine', async (t) => {
  for (const host of ['localhost:8080', '127.0.0.1', '[::1]:9000', 'LOCALHOST'])
    t.same(
      problems(`issuer: "http://${host}/realm", clientId: c, clientSecret: { env: SECRET }, ${ROLES}`),
      [],
    )
})
