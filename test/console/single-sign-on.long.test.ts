// Single sign-on in a real browser, with the provider on another site: a Strict cookie that is set
// while the browser comes from there must still open the console.

import t from 'tap'
import { openGateway } from '../process/gateway.ts'
import { startProxy } from '../process/http-proxy.ts'
import { CLIENT_ID, CLIENT_SECRET, openProvider } from '../process/openid.ts'
import { openBrowser, openConsole } from './browser.ts'

t.setTimeout(300_000)

const provider = await openProvider(t)
const browser = await openBrowser(t)
const gateway = await openGateway(t, {
  upstreamUrl: 'http://127.0.0.1:1/v1',
  config: {
    console: { trustedProxies: ['127.0.0.0/8', '::1'] },
    admin: {
      oidc: {
        issuer: provider.issuer,
        clientId: CLIENT_ID,
        clientSecret: { env: 'OIDC_SECRET' },
        roles: { readers: 'viewer' },
      },
    },
  },
  env: { OIDC_SECRET: CLIENT_SECRET },
})
// The provider is at 127.0.0.1, which is another site than localhost.
const url = gateway.url.replace('127.0.0.1', 'localhost')
provider.serve(url, { 'sub-vera': { groups: ['readers'] }, 'sub-nobody': { groups: ['staff'] } })

t.test('a person signs in at the provider and is back on the page that was asked for', async (t) => {
  provider.person = 'sub-vera'
  const { page } = await openConsole(browser, { url }, '/console/rules')
  await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  t.equal(page.url(), `${url}/console/rules`)
  t.match(await page.locator('.who').innerText(), /sub-vera\s+viewer/)
  const [session] = (await page.context().cookies(url)).filter(({ name }) => name === 'sidegate_session')
  t.match(session, { sameSite: 'Strict', httpOnly: true })
})

t.test('a person in no mapped group gets a page that says so', async (t) => {
  provider.person = 'sub-nobody'
  const { page } = await openConsole(browser, { url })
  await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
  await page.waitForURL(/callback/)
  t.match(await page.locator('body').innerText(), /group/)
  await page.goto(`${url}/console/`)
  await page.getByLabel('Admin token').waitFor()
})

t.test('below a path of a proxy, the page, the API and single sign-on work', async (t) => {
  const base = '/tools/sidegate'
  const outside = await startProxy(t, 'localhost', (path, headers) =>
    path.startsWith(base)
      ? { url: gateway.url + path.slice(base.length), headers: { ...headers, 'x-forwarded-prefix': base } }
      : null,
  )
  provider.serve(outside + base, { 'sub-vera': { groups: ['readers'] } })
  provider.person = 'sub-vera'
  const { page, faults, errors } = await openConsole(browser, { url: outside }, `${base}/console/keys`)
  await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  t.equal(page.url(), `${outside}${base}/console/keys`)
  await page.getByText('There is no key yet.').waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Gateway' }).waitFor()
  t.equal(page.url(), `${outside}${base}/console/overview`)
  t.strictSame([faults.filter((fault) => !fault.startsWith('request: http://127.')), errors], [[], []])
})
