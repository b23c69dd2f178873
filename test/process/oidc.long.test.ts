// Single sign-on with a real OpenID Connect provider over real sockets: roles of groups, the actor of
// changes, every way in which a sign-in fails, and the sessions that a changed configuration ends.

import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  ADMIN_TOKEN,
  discard,
  type GatewayOptions,
  openGateway,
  startGateway,
  type TestGateway,
  writtenBy,
} from './gateway.ts'
import { Browser, CALLBACK, CLIENT_ID, CLIENT_SECRET, openProvider, type Page, START } from './openid.ts'
import { eventually, fetchInTime } from './until.ts'

const PEOPLE = {
  'sub-vera': { groups: ['staff', 'readers'], preferred_username: 'vera' },
  'sub-ed': { groups: ['readers', 'staff', 'writers'], preferred_username: 'ed' },
  'sub-nobody': { groups: ['staff', '<b>bold</b>'] },
  'sub-alone': {},
  'sub-key': { realm_access: { roles: ['writers'] } },
  'sub-many': { _claim_names: { groups: 'src1' } },
  admin: { groups: ['writers'] },
  аdmin: { groups: ['writers'] },
  'cli:root': { groups: ['writers'] },
}
/** Waits of a throttled sign-in. */
const MAXIMUM_WAITS = 30
const ROLES = { readers: 'viewer', writers: 'editor' }

const oidcOf = (issuer: string, more: object = {}) => ({
  issuer,
  clientId: CLIENT_ID,
  clientSecret: { env: 'OIDC_SECRET' },
  roles: ROLES,
  ...more,
})
const optionsOf = (oidc: object, more: Partial<GatewayOptions> = {}): GatewayOptions => ({
  upstreamUrl: 'http://127.0.0.1:1/v1',
  config: { admin: { oidc } },
  env: { OIDC_SECRET: CLIENT_SECRET },
  ...more,
})

const BY_TOKEN = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ token: ADMIN_TOKEN }),
}

const provider = await openProvider(t)
const gateway = await openGateway(t, optionsOf(oidcOf(provider.issuer)))
const { url } = gateway

/** Does what may be throttled; waits as long as the answer says, and does it again. */
async function throttled<T extends { readonly page: Page }>(attempt: () => Promise<T>): Promise<T> {
  let result = await attempt()
  for (let count = 0; result.page.status === 429 && count < MAXIMUM_WAITS; count++) {
    await delay(Number(result.page.headers.get('retry-after')) * 1000)
    result = await attempt()
  }
  return result
}

/** Signs a person in. */
function signIn(person: string | null, at = url, query = ''): Promise<{ browser: Browser; page: Page }> {
  provider.person = person
  return throttled(async () => {
    const browser = new Browser()
    return { browser, page: await browser.open(`${at}${START}${query}`) }
  })
}

/** Signs a person in up to the answer of the provider, which the browser does not open yet. */
async function answerFor(person: string): Promise<{ browser: Browser; answer: URL }> {
  provider.person = person
  const browser = new Browser()
  const { url: answer } = await browser.open(`${url}${START}`, (one) => one.startsWith(`${url}${CALLBACK}`))
  return { browser, answer: new URL(answer) }
}

async function sessionOf(browser: Browser, at = url): Promise<{ status: number; body: any }> {
  const { status, text } = await browser.get(`${at}/api/v1/session`)
  return { status, body: JSON.parse(text) }
}

const changes = async (query: string): Promise<any[]> =>
  (await gateway.api('GET', `/audit/changes?limit=1000${query}`)).body.changes

/** The sealed failures with this result. */
const failures = async (result: string): Promise<any[]> =>
  (await changes('&type=sign_in')).filter((one) => one.result === result)

/** Waits for a line about a refused sign-in with the reason. */
const refusal = (of: TestGateway, reason: RegExp) =>
  eventually(
    `a line with the reason ${reason}`,
    () =>
      of.logs.findLast((line) => line['msg'] === 'sign-in refused' && reason.test(String(line['reason']))),
    (line) => line !== undefined,
  )

function refused(t: Test, page: Page, status: number, text: RegExp): void {
  t.equal(page.status, status)
  t.match(page.text, text)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.equal(page.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.notMatch(page.headers.getSetCookie().join(), 'sidegate_session')
  t.notMatch(page.text, /<script|<b>/)
}

t.test('a gateway starts while the provider is down, and asks it again at later sign-ins', async (t) => {
  const early = await openGateway(t, optionsOf(oidcOf(provider.issuer)))
  t.equal(provider.discoveries, 0, 'nothing is asked before somebody signs in')
  const { page } = await signIn('sub-vera', early.url)
  refused(t, page, 502, /cannot be reached/)
  t.match(await refusal(early, /^unreachable: status_503$/), { result: 'oidc_failed', via: 'oidc' })
  provider.serve(early.url, PEOPLE)
  await eventually(
    'the provider is asked again',
    () => signIn('sub-vera', early.url),
    ({ page }) => page.status === 200,
  )
  t.equal(provider.discoveries, 2)
  await signIn('sub-vera', early.url)
  t.equal(provider.discoveries, 2, 'its metadata is remembered')
  provider.serve(url, PEOPLE)
})

t.test('a person signs in at the provider and returns to the console', async (t) => {
  const { browser, page } = await signIn('sub-vera', url, '?return=/console/log%3Fmodel=a%26key=b')
  t.equal(page.status, 200)
  t.match(page.text, '<meta http-equiv="refresh" content="0;url=/console/log?model=a&amp;key=b">')
  t.match(page.text, '<a href="/console/log?model=a&amp;key=b">')
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.equal(page.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
  t.equal(page.headers.get('cache-control'), 'no-store')
  const [session = '', login = ''] = page.headers.getSetCookie()
  t.match(session, /^sidegate_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=28800$/)
  t.match(
    login,
    /^sidegate_oidc_[\w-]{12}=; HttpOnly; SameSite=Lax; Path=\/api\/v1\/session\/oidc; Max-Age=0$/,
  )
  const { status, body } = await sessionOf(browser)
  t.match([status, body], [200, { name: 'sub-vera', role: 'viewer', via: 'oidc', user: 'sub-vera' }])
  const [asked = ''] = browser.visited.filter((one) => one.startsWith(`${provider.issuer}/auth`))
  const { searchParams } = new URL(asked)
  t.match(Object.fromEntries(searchParams), {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: `${url}${CALLBACK}`,
    scope: 'openid profile groups',
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
  })
})

t.test('the highest role of the groups counts, and changes are sealed with the subject', async (t) => {
  const { browser } = await signIn('sub-ed')
  t.match((await sessionOf(browser)).body, { name: 'sub-ed', role: 'editor', via: 'oidc' })
  const made = await fetchInTime(`${url}/api/v1/keys`, {
    method: 'POST',
    headers: { cookie: browser.cookiesFor('/'), 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'by-ed' }),
  })
  t.equal(made.status, 201)
  t.match(await changes('&actor=sub-ed'), [
    { type: 'key_created', key_name: 'by-ed', actor: 'sub-ed' },
    { type: 'sign_in', result: 'ok', via: 'oidc', actor: 'sub-ed' },
  ])
  const { status, text } = await browser.get(`${url}/api/v1/sessions`)
  t.equal(status, 403)
  t.match(
    JSON.parse(text).error.message,
    /needs the role admin, and your role is editor\. admin\.oidc\.roles/,
  )
  t.match((await gateway.api('GET', '/session')).body, { name: 'admin', via: 'token' })
  t.match(
    gateway.logs.find(({ actor, msg }) => actor === 'sub-ed' && msg === 'sign-in'),
    { via: 'oidc' },
  )
})

t.test('a person in no mapped group gets a page with what to ask for, and a sealed failure', async (t) => {
  const { page } = await signIn('sub-nobody')
  refused(t, page, 403, /Ask an administrator of this gateway to map one of your groups to a role/)
  t.match(page.text, 'staff, &lt;b&gt;bold&lt;/b&gt;')
  refused(t, (await signIn('sub-alone')).page, 403, /named no groups of yours in the claim groups/)
  t.match(await failures('no_role'), [
    { via: 'oidc', actor: 'unknown' },
    { via: 'oidc', actor: 'unknown' },
  ])
  t.match(await gateway.metrics(), /^sidegate_sign_ins_total\{result="no_role"\} 2$/m)
})

t.test('a subject with the name of another actor is refused', async (t) => {
  for (const person of ['admin', 'аdmin', 'cli:root']) {
    refused(t, (await signIn(person)).page, 403, /The log could not name you: the claim sub/)
  }
  t.match(await failures('unfit_name'), Array(3).fill({ actor: 'unknown' }))
})

t.test('a refusal of the provider is a page without its texts', async (t) => {
  const { page } = await signIn(null)
  refused(t, page, 403, /did not sign you in/)
  t.notMatch(page.text, 'alert')
  t.ok(await refusal(gateway, /^denied: access_denied$/))
})

t.test('an answer that does not belong to the sign-in of this browser is refused', async (t) => {
  const { browser, answer } = await answerFor('sub-vera')
  const notBegun = /did not begin in this browser/
  refused(t, await new Browser().get(answer.href), 400, notBegun)
  const forged = new URL(answer)
  forged.searchParams.set('state', 'A'.repeat(43))
  refused(t, await browser.get(forged.href), 400, notBegun)
  const { browser: another } = await answerFor('sub-vera')
  refused(t, await another.get(answer.href), 400, notBegun)
  forged.searchParams.delete('state')
  refused(t, await browser.get(forged.href), 400, notBegun)
  refused(t, await browser.get(`${url}${CALLBACK}`), 400, notBegun)
  const { page } = await throttled(async () => ({ page: await browser.get(answer.href) }))
  t.equal(page.status, 200, 'the right answer still works')
})

t.test('an answer works once', async (t) => {
  const { browser, answer } = await answerFor('sub-vera')
  const cookie = browser.cookiesFor(CALLBACK)
  const { page: first } = await throttled(async () => ({ page: await browser.get(answer.href) }))
  t.equal(first.status, 200)
  t.match(browser.cookiesFor('/'), /sidegate_session/)
  const reloaded = await browser.get(answer.href)
  t.equal(reloaded.status, 200, 'a reload in the browser that is signed in leads to the console')
  t.match(reloaded.text, 'content="0;url=/console/">')
  t.strictSame(reloaded.headers.getSetCookie(), [])
  const { page: again } = await throttled(async () => ({
    page: await new Browser().get(answer.href, { cookie }),
  }))
  refused(t, again, 400, /does not belong to this sign-in, or was used already/)
  t.ok(await refusal(gateway, /^foreign: invalid_grant$/))
})

t.test('sign-ins that began in two tabs both end', async (t) => {
  provider.person = 'sub-vera'
  const browser = new Browser()
  const isEnd = (one: string) => one.startsWith(`${url}${CALLBACK}`)
  const tabs: string[] = []
  for (let tab = 0; tab < 2; tab++) {
    const { headers } = await browser.get(`${url}${START}`)
    // The provider forgets the first tab when the same browser signs in again there.
    tabs.push((await new Browser().open(headers.get('location') ?? '', isEnd)).url)
  }
  for (const answer of tabs) {
    const { page } = await throttled(async () => ({ page: await browser.get(answer) }))
    t.equal(page.status, 200)
    t.match(page.text, 'Signed in')
  }
  t.match((await sessionOf(browser)).body, { name: 'sub-vera' })
})

t.test('groups may be at a path, and a list that the provider left out is explained', async (t) => {
  const nested = await openGateway(
    t,
    optionsOf(oidcOf(provider.issuer, { groupsClaim: 'realm_access.roles' })),
  )
  provider.serve(nested.url, PEOPLE)
  const { browser } = await signIn('sub-key', nested.url)
  t.match((await sessionOf(browser, nested.url)).body, { name: 'sub-key', role: 'editor' })
  provider.serve(url, PEOPLE)
  refused(
    t,
    (await signIn('sub-many')).page,
    403,
    /You are in too many groups .*admin\.oidc\.groupsClaim to roles/,
  )
})

t.test('attempts are throttled with those by token', async (t) => {
  const { browser, answer } = await answerFor('sub-vera')
  answer.searchParams.set('code', 'guess')
  const cookie = browser.cookiesFor(CALLBACK)
  const guesses = await Promise.all(
    Array.from({ length: 12 }, () => new Browser().get(answer.href, { cookie })),
  )
  const late = guesses.filter(({ status }) => status === 429)
  t.ok(late.length >= 6)
  for (const page of late) {
    refused(t, page, 429, /Too many sign-ins/)
    t.equal(page.headers.get('retry-after'), '1')
    t.equal(page.headers.get('set-cookie'), null, 'and the sign-in can still end')
  }
  // A permit is free again each second, so one of these may pass; with permits of their own all would.
  const byToken = await Promise.all(
    Array.from({ length: 4 }, () => fetchInTime(`${url}/api/v1/session`, BY_TOKEN)),
  )
  t.ok(byToken.some(({ status }) => status === 429))
})

t.test('the page to return to is one of the console', async (t) => {
  for (const path of [
    '//evil.example/console/',
    'https://evil.example/console/',
    '/console/../api/v1/keys',
  ]) {
    const { page } = await signIn('sub-vera', url, `?return=${encodeURIComponent(path)}`)
    t.match(page.text, 'content="0;url=/console/">', path)
  }
})

t.test('over TLS both cookies are Secure and the provider leads back over TLS', async (t) => {
  const { headers } = await new Browser().get(`${url}${START}`, { 'x-forwarded-proto': 'https' })
  t.match(headers.get('set-cookie'), /^sidegate_oidc_[\w-]{12}=.*; Max-Age=600; Secure$/)
  const { searchParams } = new URL(headers.get('location') ?? '')
  t.equal(searchParams.get('redirect_uri'), `${url.replace('http:', 'https:')}${CALLBACK}`)
})

t.test('the ways to sign in are public, and single sign-on is off by default', async (t) => {
  const methods = async (at: string) => (await fetchInTime(`${at}/api/v1/session/methods`)).json()
  t.strictSame(await methods(url), { token: true, oidc: true, session: null })
  const off = await openGateway(t, optionsOf({}, { config: {} }))
  t.strictSame(await methods(off.url), { token: true, oidc: false, session: null })
  for (const path of [START, CALLBACK])
    refused(t, await new Browser().get(`${off.url}${path}`), 404, /Single sign-on is off/)
})

t.test('a changed mapping, or a token with the name, ends sessions of the provider only', async (t) => {
  let old = await startGateway(optionsOf(oidcOf(provider.issuer)))
  t.teardown(() => discard(old))
  provider.serve(old.url, PEOPLE)
  const { browser, page } = await signIn('sub-vera', old.url)
  t.equal(page.status, 200)
  const byToken = await old.signIn()
  const { issuer } = provider
  const reordered = { writers: 'editor', readers: 'viewer' }
  const tokens = [{ name: 'Sub-Vera', role: 'viewer', token: { env: 'VERA' } }]
  const cases: [string, number, object][] = [
    ['nothing', 200, { oidc: oidcOf(issuer) }],
    ['the order of groups', 200, { oidc: oidcOf(issuer, { roles: reordered }) }],
    ['the role of the group', 401, { oidc: oidcOf(issuer, { roles: { ...ROLES, readers: 'admin' } }) }],
    ['another group', 401, { oidc: oidcOf(issuer, { roles: { ...ROLES, more: 'viewer' } }) }],
    ['the issuer', 401, { oidc: oidcOf('https://other.example') }],
    ['the client', 401, { oidc: oidcOf(issuer, { clientId: 'other' }) }],
    ['no single sign-on', 401, {}],
    ['a token with the name', 401, { oidc: oidcOf(issuer), tokens }],
    ['nothing, again', 200, { oidc: oidcOf(issuer) }],
  ]
  for (const [change, status, admin] of cases) {
    await old.stop()
    const env = { OIDC_SECRET: CLIENT_SECRET, VERA: 'the-token-of-vera-for-tests' }
    old = await startGateway(optionsOf({}, { config: { admin }, folder: old.folder, env }))
    t.equal((await sessionOf(browser, old.url)).status, status, change)
    const headers = { cookie: byToken }
    t.equal((await fetchInTime(`${old.url}/api/v1/session`, { headers })).status, 200, `${change}: by token`)
  }
})

t.test('another claim can name people, also one that only userinfo has', async (t) => {
  const oidc = oidcOf(provider.issuer, { actorClaim: 'preferred_username' })
  const named = await openGateway(t, optionsOf(oidc))
  provider.serve(named.url, PEOPLE, false)
  const { browser } = await signIn('sub-vera', named.url)
  t.match((await sessionOf(browser, named.url)).body, { name: 'vera', role: 'viewer' })
  const { page } = await signIn('admin', named.url)
  refused(t, page, 403, /the claim preferred_username of the identity provider is missing/)
})

t.test('a wrong secret of the client is refused by the provider, and the log says so', async (t) => {
  const wrong = await openGateway(t, optionsOf(oidcOf(provider.issuer), { env: { OIDC_SECRET: 'wrong' } }))
  provider.serve(wrong.url, PEOPLE)
  const { page } = await signIn('sub-vera', wrong.url)
  refused(t, page, 502, /refused the sign-in/)
  t.ok(await refusal(wrong, /^refused: \w+$/))
})

t.test('the built program signs people in', async (t) => {
  const built = await openGateway(t, optionsOf(oidcOf(provider.issuer), {}))
  provider.serve(built.url, PEOPLE)
  const { browser, page } = await signIn('sub-ed', built.url)
  t.equal(page.status, 200)
  t.match((await sessionOf(browser, built.url)).body, { name: 'sub-ed', role: 'editor', via: 'oidc' })
})

t.test('no secret of a sign-in is written anywhere', async (t) => {
  const own: TestGateway = await startGateway(optionsOf(oidcOf(provider.issuer)))
  t.teardown(() => discard(own))
  provider.serve(own.url, PEOPLE)
  const { browser, page } = await signIn('sub-vera', own.url)
  t.equal(page.status, 200)
  const answer = new URL(browser.visited.at(-1) ?? '')
  const session = /sidegate_session=([^;]+)/.exec(browser.cookiesFor('/'))?.[1]
  const secrets = [CLIENT_SECRET, session, ...['code', 'state'].map((name) => answer.searchParams.get(name))]
  await own.stop()
  for (const [place, text] of Object.entries(writtenBy(own)))
    for (const secret of secrets) t.notOk(text.includes(String(secret)), place)
})
