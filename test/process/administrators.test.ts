// Named administrators on the running process: every route with every role, captured texts, the end
// of sessions, and who is sealed as the actor of a change.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ADMIN_ROLES, type AdminRole } from '../../src/core/admin-role.ts'
import { ADMIN_TOKEN, deploy, openGateway, prompt, writeDeployment } from './gateway.ts'
import { runProgram } from './run-command.ts'
import { eventually, fetchInTime } from './until.ts'
import { completion, json } from './upstream.ts'

const VERIFY_PY = fileURLToPath(new URL('../audit/verify.py', import.meta.url))
const RULES =
  'rules:\n  - { name: word, type: keyword_block, pattern: aurora, action: block, enabled: true }\n'

const tokenOf = (name: string): string => `the-token-of-${name}-for-tests`
/** An administrator for each role, with the name of the role and `-1`. */
const NAMES = ADMIN_ROLES.map((role): [string, AdminRole] => [`${role}-1`, role])
const env = Object.fromEntries(NAMES.map(([name, role]) => [`TOKEN_${role.toUpperCase()}`, tokenOf(name)]))
const tokens = NAMES.map(([name, role]) => ({ name, role, token: { env: `TOKEN_${role.toUpperCase()}` } }))
const { upstream, gateway, key } = await deploy(t, json(completion('the answer')), {
  rules: RULES,
  config: { admin: { tokens } },
  env,
})
const file = join(gateway.folder, 'sidegate.yaml')

interface Reply {
  readonly status: number
  readonly body: any
}

async function request(
  cookie: string,
  method: string,
  path: string,
  body?: unknown,
  url = gateway.url,
): Promise<Reply> {
  const response = await fetchInTime(`${url}${path}`, {
    method,
    headers: { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.headers.get('content-type') === 'text/event-stream') {
    // It has no end.
    await response.body?.cancel()
    return { status: response.status, body: null }
  }
  return { status: response.status, body: await response.json().catch(() => null) }
}

/** Signs in, over and over while that is throttled, and returns the cookie. */
async function signIn(token: string, url = gateway.url): Promise<string> {
  const response = await eventually(
    'a sign-in is not throttled',
    () =>
      fetchInTime(`${url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      }),
    ({ status }) => status !== 429,
  )
  if (response.status !== 201) throw new Error(`the sign-in ended with ${response.status}`)
  return (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
}

const cookies = new Map<AdminRole, string>()
for (const [name, role] of NAMES) cookies.set(role, await signIn(tokenOf(name)))
const as = (role: AdminRole, method: string, path: string, body?: unknown) =>
  request(cookies.get(role) ?? '', method, `/api/v1${path}`, body)

/** The newest changes, as the API lists them. */
const changes = async (query = ''): Promise<any[]> =>
  (await as('viewer', 'GET', `/audit/changes?limit=1000${query}`)).body.changes

/** The least role of every route: the table of the documentation. */
const NEEDED: Readonly<Record<string, AdminRole>> = {
  'GET /api/v1/session': 'viewer',
  'DELETE /api/v1/session': 'viewer',
  'GET /api/v1/sessions': 'admin',
  'DELETE /api/v1/sessions/{id}': 'admin',
  'POST /api/v1/keys': 'editor',
  'GET /api/v1/keys': 'viewer',
  'GET /api/v1/keys/{id}': 'viewer',
  'DELETE /api/v1/keys/{id}': 'editor',
  'PATCH /api/v1/keys/{id}': 'editor',
  'POST /api/v1/keys/{id}/rotate': 'editor',
  'GET /api/v1/rules': 'viewer',
  'POST /api/v1/rules': 'editor',
  'GET /api/v1/rules/candidate': 'viewer',
  'GET /api/v1/rules/{id}/history': 'viewer',
  'GET /api/v1/rules/revisions/{revision}': 'viewer',
  'POST /api/v1/rules/evaluate': 'viewer',
  'POST /api/v1/rules/try': 'auditor',
  'PATCH /api/v1/rules/{id}': 'editor',
  'DELETE /api/v1/rules/{id}': 'editor',
  'GET /api/v1/prices': 'viewer',
  'GET /api/v1/status': 'viewer',
  'GET /api/v1/overview': 'viewer',
  'GET /api/v1/config': 'auditor',
  'GET /api/v1/usage/logs': 'viewer',
  'GET /api/v1/usage/logs/live': 'viewer',
  'GET /api/v1/usage/logs/{id}': 'viewer',
  'GET /api/v1/usage/limits': 'viewer',
  'GET /api/v1/usage/report': 'viewer',
  'GET /api/v1/usage/security': 'viewer',
  'GET /api/v1/usage/series': 'viewer',
  'POST /api/v1/audit/erase': 'admin',
  'POST /api/v1/audit/clock': 'admin',
  'GET /api/v1/audit/changes': 'viewer',
  'GET /api/v1/audit/checkpoint': 'viewer',
  'GET /api/v1/audit/export': 'auditor',
  'GET /api/v1/audit/proof': 'viewer',
  'GET /api/v1/audit/receipts/{id}': 'viewer',
  'GET /api/v1/audit/verify': 'viewer',
  'POST /api/v1/audit/verify': 'auditor',
  'DELETE /api/v1/audit/verify': 'auditor',
}

t.test('every route answers the roles that include the one it needs, and refuses all others', async (t) => {
  const { body: document } = await request('', 'GET', '/openapi.json')
  const documented: Record<string, string> = {}
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    for (const [method, { 'x-sidegate-role': role }] of Object.entries<any>(operations))
      if (role !== undefined) documented[`${method.toUpperCase()} ${path}`] = role
  }
  t.strictSame(documented, NEEDED)
  for (const [route, needed] of Object.entries(NEEDED)) {
    const [method = '', path = ''] = route.split(' ')
    const target = path.replace(/\{\w+\}/, 'unknown')
    t.equal((await request('', method, target)).status, 401, `${route} without a session`)
    for (const [level, role] of ADMIN_ROLES.entries()) {
      // Signing out would end the session of the test.
      const cookie =
        route === 'DELETE /api/v1/session' ? await signIn(tokenOf(`${role}-1`)) : (cookies.get(role) ?? '')
      const { status, body } = await request(cookie, method, target)
      if (level >= ADMIN_ROLES.indexOf(needed)) {
        t.ok(![401, 403].includes(status) && status < 500, `${route} as ${role}: ${status}`)
      } else {
        t.match(
          [status, body.error],
          [403, { code: 'forbidden', message: new RegExp(`needs the role ${needed},`) }],
          `${route} as ${role}`,
        )
      }
    }
  }
})

t.test('a session has the name and the role of its token', async (t) => {
  for (const [name, role] of NAMES)
    t.match((await as(role, 'GET', '/session')).body, { name, role, user: name, expires_at: /^20/ })
  t.match((await gateway.api('GET', '/session')).body, { name: 'admin', role: 'admin' }, 'admin.token')
})

t.test('only an auditor sees captured texts', async (t) => {
  const response = await gateway.chat(key, prompt('the question'))
  await response.text()
  const id = response.headers.get('x-request-id') ?? ''
  const seen = await as('viewer', 'GET', `/usage/logs/${id}`)
  t.match([seen.status, seen.body], [200, { id, model: 'm', request: null, response: null, erased: false }])
  t.notMatch(JSON.stringify(seen.body), /the (question|answer)/)
  for (const role of ['auditor', 'editor', 'admin'] as const) {
    const { body } = await as(role, 'GET', `/usage/logs/${id}`)
    t.match(JSON.stringify(body), /the question.*the answer/)
  }
  for (const path of ['/usage/logs', '/usage/security', '/audit/changes', '/keys', '/rules', '/sessions'])
    t.notMatch(
      JSON.stringify((await as('viewer', 'GET', path)).body),
      /the (question|answer)|for-tests/,
      path,
    )
})

t.test('every change names who made it, over REST and by a command', async (t) => {
  await t.rejects(signIn('a-token-of-nobody-at-all'), { message: 'the sign-in ended with 401' })
  const made = (await as('editor', 'POST', '/keys', { name: 'by-editor' })).body
  await as('admin', 'DELETE', `/keys/${made.id}`)
  const rule = (
    await as('editor', 'POST', '/rules', {
      name: 'mine',
      type: 'keyword_block',
      pattern: 'x',
      action: 'block',
    })
  ).body
  await as('admin', 'PATCH', `/rules/${rule.id}`, { enabled: false })
  await as('editor', 'DELETE', `/rules/${rule.id}`)
  const word = (await as('viewer', 'GET', '/rules')).body.rules[0]
  await as('editor', 'PATCH', `/rules/${word.id}`, { enabled: false, reason: 'incident 12' })
  await as('admin', 'PATCH', `/rules/${word.id}`, { enabled: true })
  await as('editor', 'PATCH', `/rules/${word.id}`, { enabled: false })
  // A change of the declaration ends the override; nobody does that by hand.
  writeFileSync(join(gateway.folder, 'rules', 'rules.yaml'), RULES.replace('aurora', 'borealis'))
  await eventually(
    'the override ends',
    () => changes('&type=rule_override_ended'),
    ([newest]) => newest?.cause === 'declaration_changed',
  )
  const { logs } = (await as('viewer', 'GET', '/usage/logs?limit=1')).body
  await as('admin', 'POST', '/audit/erase', { request_id: logs[0].id })
  const ed = await signIn(tokenOf('editor-1'))
  const { sessions } = (await as('admin', 'GET', '/sessions')).body
  t.match((await as('admin', 'DELETE', `/sessions/${sessions[0].id}`)).body, { name: 'editor-1' })
  t.equal((await request(ed, 'GET', '/api/v1/session')).status, 401, 'the session of another has ended')
  await t.rejects(signIn('a guess of somebody'))
  const create = await runProgram(['keys', 'create', '--name', 'by-command', '--config', file])
  const { id } = JSON.parse(create.stdout)
  await runProgram(['keys', 'revoke', id, '--config', file])
  await runProgram(['audit', 'erase', '--before', new Date().toISOString(), '--config', file])

  const user = `cli:${userInfo().username}`
  const all = await changes()
  const made_by = all
    .toReversed()
    .filter(({ type }) => !/^(?:rules_loaded|sign_in|genesis|boot)$/.test(type))
    .map(({ type, actor, key_name }) => [type, actor, key_name].filter(Boolean).join(' '))
  t.strictSame(made_by, [
    'key_created admin app',
    'key_created editor-1 by-editor',
    'key_revoked admin-1 by-editor',
    'rule_created editor-1',
    'rule_changed admin-1',
    'rule_deleted editor-1',
    'rule_override editor-1',
    'rule_override_ended admin-1',
    'rule_override editor-1',
    'rule_override_ended gateway',
    'erase admin-1',
    'session_ended admin-1',
    `key_created ${user} by-command`,
    `key_revoked ${user} by-command`,
  ])
  const actorsOf = (wanted: string) =>
    new Set(all.filter(({ type }) => type === wanted).map(({ actor }) => actor))
  for (const type of ['rules_loaded', 'genesis', 'boot']) t.strictSame([...actorsOf(type)], ['gateway'], type)
  t.strictSame(actorsOf('sign_in'), new Set(['unknown', 'admin', ...NAMES.map(([name]) => name)]))
  t.match(
    all.find(({ type, result }) => type === 'sign_in' && result === 'wrong_token'),
    { actor: 'unknown' },
  )
})

t.test('an export names the actors, and both verifiers accept it', async (t) => {
  const { stdout } = await runProgram(['audit', 'export', '--config', file])
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ seq }) => seq !== undefined)
  t.strictSame(
    entries.filter(({ type, actor }) => (actor === undefined) !== (type === 'request')),
    [],
    'every entry but a call names its actor',
  )
  const path = join(gateway.folder, 'export.jsonl')
  writeFileSync(path, stdout)
  t.equal((await runProgram(['audit', 'verify', '--export', path])).code, 0)
  const python = spawnSync('python3', [VERIFY_PY, path], { encoding: 'utf8' })
  if (python.error === undefined)
    t.match([python.status, python.stdout], [0, /entries from 0 on/], python.stderr)
  else t.pass('the Python verifier', { skip: 'NOT TESTED: this machine has no python3' })
})

t.test('sessions end when their token is removed or its role changes', async (t) => {
  await gateway.stop()
  const again = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    env,
    config: {
      admin: {
        tokens: tokens.flatMap((one) => {
          if (one.role === 'editor') return []
          return one.role === 'auditor' ? [{ ...one, role: 'viewer' }] : [one]
        }),
      },
    },
  })
  const status = async (role: AdminRole) =>
    (await request(cookies.get(role) ?? '', 'GET', '/api/v1/session', undefined, again.url)).status
  t.equal(await status('viewer'), 200, 'the same token and role')
  t.equal(await status('auditor'), 401, 'a lower role')
  t.equal(await status('editor'), 401, 'a removed token')
  await t.rejects(signIn(tokenOf('editor-1'), again.url))
  t.ok(await signIn(ADMIN_TOKEN, again.url))
  t.match(
    (
      await request(
        await signIn(tokenOf('auditor-1'), again.url),
        'GET',
        '/api/v1/session',
        undefined,
        again.url,
      )
    ).body,
    { name: 'auditor-1', role: 'viewer' },
  )
})

t.test('check and serve refuse wrong administrators with file, line and the allowed form', async (t) => {
  const { file: written } = writeDeployment({ upstreamUrl: 'http://127.0.0.1:1/v1' })
  const wrong = (administrators: string) =>
    writeFileSync(
      written,
      `upstream: { baseUrl: "http://127.0.0.1:1/v1" }
rules: { path: rules }
data: { path: data }
admin:
  tokens:
${administrators}`,
    )
  const both = async () => {
    const checked = await runProgram(['check', '--config', written], { A: tokenOf('a'), B: tokenOf('b') })
    const served = await runProgram(['serve', '--config', written], { A: tokenOf('a'), B: tokenOf('b') })
    t.equal(served.stdout, '')
    return [
      [checked.code, checked.stdout],
      [served.code, served.stderr],
    ] as const
  }
  const named = '    - { name: "alice@example.com", token: { env: A }, role: viewer }\n'
  wrong(`${named}    - { name: ed, token: { env: A }, role: editor }\n`)
  for (const [index, [code, text]] of (await both()).entries()) {
    t.equal(code, index + 1)
    t.match(text, /sidegate\.yaml:6:\d+ admin\.tokens\[0\]\.name: must hold no personal data/)
    t.match(text, /sidegate\.yaml:7:\d+ admin\.tokens\[1\]\.token: is also the token of admin\.tokens\[0\]/)
    t.notMatch(text, 'alice')
  }
  wrong('    - { name: vera, token: { env: A }, role: boss }\n')
  for (const [index, [code, text]] of (await both()).entries()) {
    t.equal(code, index + 1)
    t.match(
      text,
      /sidegate\.yaml:6:\d+ admin\.tokens\[0\]\.role: must be one of: viewer, auditor, editor, admin/,
    )
  }
  wrong('    - { name: "vera@example.com", token: { env: NOT_SET }, role: viewer }\n')
  const [[code, text]] = await both()
  t.equal(code, 1)
  t.match(text, /admin\.tokens\[0\]\.name: must hold no personal data/, 'also without the secret')
  t.match(text, /warning.*admin\.tokens\[0\]\.token: environment variable NOT_SET is not set/)
})
