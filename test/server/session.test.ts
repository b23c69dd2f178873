// Access to the management API: hosts, origins, sign-ins, sessions. Tests advance the clock.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ADMIN_ROLES } from '../../src/core/admin-role.ts'
import type { AdminToken } from '../../src/core/admin-tokens.ts'
import { fixedSecret, type Secret } from '../../src/core/secret.ts'
import { Gatekeeper } from '../../src/server/session.ts'
import { SignInJournal } from '../../src/server/sign-in-journal.ts'
import { openTestStore } from '../store/fixture.ts'

/** Fields an error must have. */
const like = (fields: object) => fields as Error

const TOKEN = 'the right token'

type HeldToken = Pick<AdminToken, 'name' | 'role' | 'token'>
const UNSAFE = ['POST', 'PATCH', 'DELETE', 'PUT', 'ANYTHING']

/** @param token of the administrator `admin`, or all tokens; null for none */
function setting(
  t: Test,
  token: Secret | readonly HeldToken[] | null = fixedSecret(TOKEN),
  allowedHosts: readonly string[] = [],
) {
  const { store, clock } = openTestStore(t)
  const lines: { level: string; fields: object; message: string }[] = []
  const counted: string[] = []
  const log = (level: string) => (fields: object, message: string) => lines.push({ level, fields, message })
  const journal = new SignInJournal({
    log: store.log,
    logger: { info: log('info'), warn: log('warn') },
    metrics: { signIns: { inc: ({ result }: { result: string }) => counted.push(result) } as any },
    clock,
  })
  const tokens =
    token === null ? [] : 'current' in token ? [{ name: 'admin', role: 'admin' as const, token }] : token
  const options = {
    sessions: store.sessions,
    clock,
    tokens,
    oidc: null,
    sessionTtlSeconds: 600,
    allowedHosts,
    journal,
  }
  const gatekeeper = new Gatekeeper(options)
  const sealed = () =>
    store.log
      .records(0, 1000)
      .map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
      .filter(({ type }) => type === 'sign_in')
  return { gatekeeper, clock, lines, counted, sealed }
}

const HERE = { address: '127.0.0.1', headers: {} }
const OVER_TLS = { 'x-forwarded-proto': 'https' }

/** The cookie that a browser would return. */
const sentBack = (setCookie: string) => setCookie.split(';', 1)[0] ?? ''

t.test('only loopback and allowed hosts are served', async (t) => {
  const { gatekeeper } = setting(t, null, [
    'Gateway.Example',
    '10.0.0.7',
    '2001:db8:0:0::7',
    '[FD00::8]',
    'dotted.example.',
  ])
  const served = [
    'localhost',
    'LocalHost:8484',
    '127.0.0.1',
    '127.0.0.1:80',
    '127.8.9.10:1',
    '[::1]',
    '[::1]:8484',
    'gateway.example',
    'GATEWAY.example:443',
    '10.0.0.7:8484',
    'localhost.',
    'localhost.:8484',
    'gateway.example.',
    'Gateway.Example.:443',
    'localhost:',
    '[0:0:0:0:0:0:0:1]:8484',
    '[2001:db8::7]',
    '[2001:DB8:0::7]:8484',
    '[fd00::8]:1',
    'dotted.example',
  ]
  for (const host of served) t.doesNotThrow(() => gatekeeper.checkOrigin('GET', { host }), host)
  const foreign = [
    '',
    'evil.example',
    'localhost.evil.example',
    'evil-localhost',
    'localhost..',
    '.',
    'localhost@evil.example',
    'evil.example:localhost',
    '127.0.0.1.evil.example',
    '128.0.0.1',
    '127.0.0.1:80:80',
    '0.0.0.0',
    '[::]',
    '::1',
    '[::ffff:127.0.0.1]',
    'sub.gateway.example',
    'gateway.example.evil',
    'gatewayxexample',
    '10.0.0.77',
    'localhost:80a',
    ' localhost',
  ]
  for (const host of foreign) {
    t.throws(() => gatekeeper.checkOrigin('GET', { host }), like({ code: 'misdirected_request' }), host)
  }
  t.throws(() => gatekeeper.checkOrigin('GET', {}), like({ code: 'misdirected_request' }), 'none at all')
})

t.test('unsafe requests are accepted from the same origin only', async (t) => {
  const { gatekeeper } = setting(t, null, ['gateway.example'])
  const host = 'gateway.example:8484'
  const cases: [boolean, Record<string, string>][] = [
    [true, {}],
    [true, { origin: 'http://gateway.example:8484' }],
    [true, { origin: 'https://GATEWAY.example:8484' }],
    [true, { 'sec-fetch-site': 'same-origin' }],
    [true, { 'sec-fetch-site': 'same-origin', origin: 'https://gateway.example:8484' }],
    [true, { 'sec-fetch-site': 'none' }],
    [true, { origin: 'http://gateway.example.:8484' }],
    [false, { origin: 'https://evil.example' }],
    [false, { origin: 'http://gateway.example' }],
    [false, { origin: 'http://gateway.example:8485' }],
    [false, { origin: 'http://gateway.example:8484@evil.example' }],
    [false, { origin: 'null' }],
    [false, { origin: '' }],
    [false, { origin: 'not a url' }],
    [false, { 'sec-fetch-site': 'cross-site' }],
    [false, { 'sec-fetch-site': 'same-site' }],
    [false, { 'sec-fetch-site': '' }],
    [false, { 'sec-fetch-site': 'same-origin, cross-site' }],
    [false, { 'sec-fetch-site': 'cross-site', origin: 'http://gateway.example:8484' }],
  ]
  for (const [allowed, headers] of cases) {
    for (const method of UNSAFE) {
      const check = () => gatekeeper.checkOrigin(method, { host, ...headers })
      const name = `${method} ${JSON.stringify(headers)}`
      if (allowed) t.doesNotThrow(check, name)
      else t.throws(check, like({ code: 'cross_site' }), name)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      t.doesNotThrow(() => gatekeeper.checkOrigin(method, { host, ...headers }), `${method} changes nothing`)
    }
  }
})

t.test('a default port may be left out in either Host or Origin', async (t) => {
  const { gatekeeper } = setting(t, null, ['gateway.example', '2001:db8::7'])
  const cases: [boolean, string, string][] = [
    [true, 'gateway.example:443', 'https://gateway.example'],
    [true, 'gateway.example', 'https://gateway.example:443'],
    [true, 'gateway.example:80', 'http://gateway.example'],
    [true, 'gateway.example.:443', 'https://gateway.example'],
    [true, 'gateway.example', 'https://gateway.example.'],
    [true, '[2001:DB8::7]:443', 'https://[2001:db8::7]'],
    [false, 'gateway.example:443', 'http://gateway.example'],
    [false, 'gateway.example:80', 'https://gateway.example'],
    [false, 'gateway.example', 'https://gateway.example:8443'],
  ]
  for (const [allowed, host, origin] of cases) {
    const check = () => gatekeeper.checkOrigin('POST', { host, origin })
    if (allowed) t.doesNotThrow(check, `${host} ${origin}`)
    else t.throws(check, like({ code: 'cross_site' }), `${host} ${origin}`)
  }
})

t.test('no other origin passes, even one that looks similar', async (t) => {
  const { gatekeeper } = setting(t, null)
  const piece = fc.constantFrom(
    'http://',
    'localhost',
    ':8484',
    '@',
    '.evil.example',
    '/',
    '\\',
    '#',
    '%00',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const origin = pieces.join('')
      const passes = URL.parse(origin)?.host === 'localhost:8484'
      try {
        gatekeeper.checkOrigin('POST', { host: 'localhost:8484', origin })
        return passes
      } catch {
        return !passes
      }
    }),
  )
})

t.test('the right token opens a session until it expires', async (t) => {
  const { gatekeeper, clock } = setting(t)
  const { cookie, session } = await gatekeeper.signIn(TOKEN, HERE)
  const { expiresAtMs } = session
  t.equal(expiresAtMs, clock.now() + 600_000)
  t.match(
    cookie,
    /^sidegate_session=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=600$/,
    'and not Secure, which a browser would drop without TLS',
  )
  t.match((await gatekeeper.signIn(TOKEN, { ...HERE, headers: OVER_TLS })).cookie, /; Secure$/)
  const mine = sentBack(cookie)
  t.equal((await gatekeeper.require({ cookie: mine }, 'viewer')).expiresAtMs, expiresAtMs)
  clock.advance(599_999)
  t.equal((await gatekeeper.require({ cookie: mine }, 'viewer')).expiresAtMs, expiresAtMs)
  clock.advance(1)
  await t.rejects(gatekeeper.require({ cookie: mine }, 'viewer'), like({ code: 'session_required' }), 'over')
})

t.test('the session cookie is found among others and in any position', async (t) => {
  const { gatekeeper } = setting(t)
  const mine = sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie)
  for (const cookie of [mine, `a=b; ${mine}`, `${mine};c=d`, `  ${mine}  `, `a; ${mine}`, `=; ${mine}`]) {
    t.ok(await gatekeeper.require({ cookie }, 'viewer'), cookie.replace(mine, 'ours'))
  }
  const id = mine.split('=')[1] ?? ''
  const wrong = [
    '',
    'sidegate_session=',
    `x${mine}`,
    `Sidegate_Session=${id}`,
    `sidegate_session="${id}"`,
    `sidegate_session=${id}x`,
    `sidegate_session=${id.slice(1)}`,
    `sidegate_session=${'A'.repeat(43)}`,
    `other=${id}`,
    id,
  ]
  for (const cookie of wrong) {
    await t.rejects(
      gatekeeper.require({ cookie }, 'viewer'),
      like({ code: 'session_required' }),
      cookie.replace(id, 'id'),
    )
  }
  await t.rejects(gatekeeper.require({}, 'viewer'), like({ code: 'session_required' }))
})

t.test('over TLS the cookie is one that no other host of the domain can set', async (t) => {
  const { gatekeeper } = setting(t)
  const { cookie } = await gatekeeper.signIn(TOKEN, { ...HERE, headers: OVER_TLS })
  t.match(
    cookie,
    /^__Host-sidegate_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=600; Secure$/,
  )
  const mine = sentBack(cookie)
  t.ok(await gatekeeper.require({ ...OVER_TLS, cookie: mine }, 'viewer'))
  t.ok(await gatekeeper.require({ cookie: mine }, 'viewer'), 'a proxy that does not report TLS')
  const plain = sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie)
  const refusal = like({ code: 'session_required' })
  await t.rejects(gatekeeper.require({ ...OVER_TLS, cookie: plain }, 'viewer'), refusal, 'without the prefix')
  t.match(await gatekeeper.signOut({ ...OVER_TLS, cookie: mine }), /^__Host-sidegate_session=; .*; Secure$/)
  await t.rejects(gatekeeper.require({ cookie: mine }, 'viewer'), refusal)
})

t.test('two cookies of the name are refused, in any order', async (t) => {
  const { gatekeeper } = setting(t)
  const mine = sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie)
  const other = `sidegate_session=${'A'.repeat(43)}`
  for (const cookie of [`${mine}; ${other}`, `${other}; ${mine}`, `${mine}; ${mine}`])
    await t.rejects(gatekeeper.require({ cookie }, 'viewer'), like({ code: 'session_required' }))
})

t.test('a sign-in ends the session whose cookie comes with it', async (t) => {
  const { gatekeeper } = setting(t)
  const first = { cookie: sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie) }
  const second = { cookie: sentBack((await gatekeeper.signIn(TOKEN, { ...HERE, headers: first })).cookie) }
  await t.rejects(gatekeeper.require(first, 'viewer'), like({ code: 'session_required' }))
  t.ok(await gatekeeper.require(second, 'viewer'))
  await t.rejects(gatekeeper.signIn('guess', { ...HERE, headers: second }))
  t.ok(await gatekeeper.require(second, 'viewer'), 'one that fails ends none')
})

t.test('signing out ends the session', async (t) => {
  const { gatekeeper } = setting(t)
  const mine = { cookie: sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie) }
  const other = { cookie: sentBack((await gatekeeper.signIn(TOKEN, HERE)).cookie) }
  t.match(await gatekeeper.signOut(mine), /^sidegate_session=; .*Path=\/; Max-Age=0$/)
  await t.rejects(gatekeeper.require(mine, 'viewer'), like({ code: 'session_required' }))
  t.ok(await gatekeeper.require(other, 'viewer'), 'the other session stays')
  await t.resolves(gatekeeper.signOut({}), 'without a session')
})

const throttled = like({ code: 'too_many_attempts', status: 429, headers: { 'retry-after': '1' } })
const isWrong = like({ code: 'invalid_token' })
const from = (address: string) => ({ address, headers: {} })

t.test('an address may try five times at once, and once a second after that', async (t) => {
  const { gatekeeper, clock } = setting(t)
  for (let i = 0; i < 5; i++) await t.rejects(gatekeeper.signIn('guess', HERE), isWrong)
  await t.rejects(gatekeeper.signIn('guess', HERE), throttled)
  for (let i = 0; i < 5; i++) await t.resolves(gatekeeper.signIn(TOKEN, HERE), 'right ones are counted apart')
  await t.rejects(gatekeeper.signIn(TOKEN, HERE), throttled)
  clock.advance(999)
  for (const token of [TOKEN, 'guess']) await t.rejects(gatekeeper.signIn(token, HERE), throttled)
  clock.advance(1)
  await t.resolves(gatekeeper.signIn(TOKEN, HERE))
  await t.rejects(gatekeeper.signIn('guess', HERE), isWrong)
  for (let second = 0; second < 120; second++) {
    clock.advance(1000)
    await t.rejects(gatekeeper.signIn('guess', HERE), isWrong)
    await t.rejects(gatekeeper.signIn('guess', HERE), throttled)
  }
  clock.advance(1000)
  await t.resolves(gatekeeper.signIn(TOKEN, HERE), 'nobody is ever locked out')
})

t.test('wrong tokens every 30 ms keep nobody out who comes from the same address', async (t) => {
  const { gatekeeper, clock } = setting(t)
  for (let round = 0; round < 8; round++) {
    for (let at = 0; at < 1050; at += 30) {
      clock.advance(30)
      await gatekeeper.signIn('guess', HERE).catch(() => null)
    }
    await t.resolves(gatekeeper.signIn(TOKEN, HERE), `round ${round}`)
    await t.resolves(gatekeeper.countPerson(HERE.address), 'nor by single sign-on')
    clock.advance(1000)
  }
})

t.test('guesses are compared 200 times a second for an address, and 1000 times for all', async (t) => {
  const { gatekeeper, clock } = setting(t)
  const guess = (address: string) => gatekeeper.signIn('guess', from(address)).catch(() => null)
  for (let i = 0; i < 200; i++) await guess('10.0.0.1')
  await t.rejects(gatekeeper.signIn(TOKEN, from('10.0.0.1')), throttled)
  clock.advance(5)
  await t.resolves(gatekeeper.signIn(TOKEN, from('10.0.0.1')))
  clock.advance(1000)
  for (let i = 0; i < 1000; i++) await guess(`10.0.1.${i % 10}`)
  await t.rejects(gatekeeper.signIn(TOKEN, from('10.0.0.2')), throttled)
  clock.advance(1)
  await t.resolves(gatekeeper.signIn(TOKEN, from('10.0.0.2')))
})

t.test('wrong tokens of one address keep no other address out', async (t) => {
  const { gatekeeper } = setting(t)
  for (let i = 0; i < 100; i++) await t.rejects(gatekeeper.signIn('guess', from('10.0.0.1')))
  await t.resolves(gatekeeper.signIn(TOKEN, from('10.0.0.2')))
})

t.test('all addresses together may try 20 wrong tokens a second, and as many right ones', async (t) => {
  const { gatekeeper, clock } = setting(t)
  for (let i = 0; i < 20; i++) await t.rejects(gatekeeper.signIn('guess', from(`10.0.0.${i}`)), isWrong)
  await t.rejects(gatekeeper.signIn('guess', from('10.0.1.1')), throttled)
  for (let i = 0; i < 20; i++) await t.resolves(gatekeeper.signIn(TOKEN, from(`10.0.0.${i}`)))
  await t.rejects(gatekeeper.signIn(TOKEN, from('10.0.1.1')), throttled)
  clock.advance(50)
  await t.rejects(gatekeeper.signIn('guess', from('10.0.1.1')), isWrong)
  await t.resolves(gatekeeper.signIn(TOKEN, from('10.0.1.1')))
})

t.test('concurrent guesses are counted one by one', async (t) => {
  const { gatekeeper } = setting(t)
  const guesses = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => gatekeeper.signIn(`guess ${i}`, HERE)),
  )
  const codes = guesses.map((guess) => (guess.status === 'rejected' ? guess.reason.code : 'in'))
  t.equal(codes.filter((code) => code === 'invalid_token').length, 5)
  t.equal(codes.filter((code) => code === 'too_many_attempts').length, 45)
})

t.test('only the exact token is accepted', async (t) => {
  for (const guess of ['', TOKEN.slice(1), `${TOKEN} `, TOKEN.toUpperCase(), `${TOKEN}\0`]) {
    const { gatekeeper } = setting(t)
    await t.rejects(gatekeeper.signIn(guess, HERE), like({ code: 'invalid_token' }), JSON.stringify(guess))
  }
})

t.test('without an admin token nobody can sign in', async (t) => {
  const { gatekeeper } = setting(t, null)
  const refusal = like({ code: 'invalid_token', message: /no admin token .*admin\.token/i })
  for (const guess of ['', 'null', 'undefined', 'a', 'b']) {
    await t.rejects(gatekeeper.signIn(guess, HERE), refusal, 'every guess gets the same answer')
  }
  const cookie = `sidegate_session=${'A'.repeat(43)}`
  await t.rejects(gatekeeper.require({ cookie }, 'viewer'), like({ code: 'session_required' }))
})

t.test('a changed admin token ends the sessions of the old one', async (t) => {
  let value = 'first'
  const { gatekeeper } = setting(t, { current: () => value, onTurn: () => {} })
  const first = { cookie: sentBack((await gatekeeper.signIn('first', HERE)).cookie) }
  value = 'second'
  await t.rejects(gatekeeper.require(first, 'viewer'), like({ code: 'session_required' }))
  await t.rejects(gatekeeper.signIn('first', HERE), like({ code: 'invalid_token' }))
  t.ok(
    await gatekeeper.require(
      { cookie: sentBack((await gatekeeper.signIn('second', HERE)).cookie) },
      'viewer',
    ),
  )
})

t.test('each sign-in has a log line, a count and a sealed entry', async (t) => {
  const { gatekeeper, lines, counted, sealed } = setting(t)
  await t.resolves(gatekeeper.signIn(TOKEN, from('10.0.0.1')))
  await t.rejects(gatekeeper.signIn('guess', from('2001:db8::1')))
  t.strictSame(lines, [
    { level: 'info', fields: { address: '10.0.0.1', result: 'ok', actor: 'admin' }, message: 'sign-in' },
    { level: 'warn', fields: { address: '2001:db8::1', result: 'wrong_token' }, message: 'sign-in refused' },
  ])
  t.strictSame(counted, ['ok', 'wrong_token'])
  t.match(sealed(), [
    { address: '10.0.0.1', result: 'ok', omitted: 0, actor: 'admin' },
    { address: '2001:db8::1', result: 'wrong_token', omitted: 0, actor: 'unknown' },
  ])
})

t.test('of many failures ten a minute are sealed, and the next entry counts the others', async (t) => {
  const { gatekeeper, clock, lines, counted, sealed } = setting(t)
  for (let i = 0; i < 1000; i++) await t.rejects(gatekeeper.signIn('guess', HERE))
  t.equal(counted.length, 1000, 'each is counted in the metric')
  t.equal(lines.length, 20, 'a flood does not fill the process log')
  t.equal(sealed().length, 15, 'five guesses, and ten that were throttled')
  clock.advance(1000)
  await t.resolves(gatekeeper.signIn(TOKEN, HERE))
  t.match(sealed().at(-1), { result: 'ok', omitted: 985 })
  t.match(lines.at(-1)?.fields, { result: 'ok', omitted: 980 })
})

/** An administrator with a token that says their name. */
const held = (name: string, role: AdminToken['role'], token = `token of ${name}`): HeldToken => ({
  name,
  role,
  token: fixedSecret(token),
})

t.test('each token opens a session with its own name and role', async (t) => {
  const { gatekeeper, sealed } = setting(t, [held('vera', 'viewer'), held('ed', 'editor')])
  for (const [name, role] of [
    ['vera', 'viewer'],
    ['ed', 'editor'],
  ] as const) {
    const { session, cookie } = await gatekeeper.signIn(`token of ${name}`, HERE)
    t.match(session, { name, role })
    t.match(await gatekeeper.require({ cookie: sentBack(cookie) }, 'viewer'), session)
  }
  await t.rejects(gatekeeper.signIn('token of nobody', HERE), isWrong)
  t.match(
    sealed().map(({ actor, result }) => [actor, result]),
    [
      ['vera', 'ok'],
      ['ed', 'ok'],
      ['unknown', 'wrong_token'],
    ],
  )
})

t.test('a session does what its role includes, and a refusal names the role needed', async (t) => {
  const { gatekeeper } = setting(
    t,
    ADMIN_ROLES.map((role) => held(role, role)),
  )
  for (const [level, role] of ADMIN_ROLES.entries()) {
    const { cookie } = await gatekeeper.signIn(`token of ${role}`, from(`10.0.0.${level}`))
    const headers = { cookie: sentBack(cookie) }
    for (const [required, needed] of ADMIN_ROLES.entries()) {
      const check = gatekeeper.require(headers, needed)
      if (level >= required) t.ok(await check, `${role} may what needs ${needed}`)
      else
        await t.rejects(
          check,
          like({
            code: 'forbidden',
            status: 403,
            message: new RegExp(`needs the role ${needed},.* ${role}\\.`),
          }),
        )
    }
  }
})

t.test(
  'a session ends when its token is removed, and when its name gets another token or role',
  async (t) => {
    const changes: [string, readonly HeldToken[]][] = [
      ['removed', [held('other', 'admin')]],
      ['another token', [held('vera', 'editor', 'a new token')]],
      ['a lower role', [held('vera', 'viewer')]],
      ['a higher role', [held('vera', 'admin')]],
      ['another name', [held('wanda', 'editor', 'token of vera')]],
      ['unreadable', [{ name: 'vera', role: 'editor', token: null }]],
      ['all removed', []],
    ]
    for (const [change, after] of changes) {
      const tokens = [held('vera', 'editor'), held('ed', 'editor')]
      const { gatekeeper } = setting(t, tokens)
      const mine = { cookie: sentBack((await gatekeeper.signIn('token of vera', HERE)).cookie) }
      const other = { cookie: sentBack((await gatekeeper.signIn('token of ed', HERE)).cookie) }
      tokens.splice(0, 1, ...after)
      await t.rejects(gatekeeper.require(mine, 'viewer'), like({ code: 'session_required' }), change)
      t.ok(await gatekeeper.require(other, 'viewer'), `${change}: the session of another stays`)
    }
  },
)
