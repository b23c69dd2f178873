// Single sign-on through an address behind which two hubs take turns: what one begins the other ends,
// and a session of one is a session of both.

import t from 'tap'
import { fleetDatabase } from '../ledger/postgres.ts'
import { startProxy } from '../process/http-proxy.ts'
import { Browser, CALLBACK, CLIENT_ID, CLIENT_SECRET, openProvider, START } from '../process/openid.ts'
import { fetchInTime } from '../process/until.ts'
import { startHub } from './fixture.ts'

t.setTimeout(120_000)

const provider = await openProvider(t)
const database = await fleetDatabase()
const config = {
  admin: {
    oidc: {
      issuer: provider.issuer,
      clientId: CLIENT_ID,
      clientSecret: { file: 'oidc.secret' },
      roles: { readers: 'viewer' },
    },
  },
}
const files = { 'oidc.secret': CLIENT_SECRET }
const hubs = [await startHub(t, database, config, files), await startHub(t, database, config, files)]

/** Hub and path of each request, in order. */
const seen: string[] = []
const url = await startProxy(t, '127.0.0.1', (path, headers) => {
  const index = seen.length % hubs.length
  seen.push(`${index} ${new URL(path, 'http://x').pathname}`)
  return { url: hubs[index]!.url + path, headers }
})
provider.serve(url, { 'sub-vera': { groups: ['readers'] } })

t.test('a sign-on begun at one hub ends at the other, and its session opens and ends at both', async (t) => {
  provider.person = 'sub-vera'
  const browser = new Browser()
  const page = await browser.open(url + START)
  t.equal(page.status, 200)
  t.strictSame(seen, [`0 ${START}`, `1 ${CALLBACK}`])
  for (const { url: hub } of hubs) {
    const { status, text } = await browser.get(`${hub}/api/v1/session`)
    t.match({ status, ...JSON.parse(text) }, { status: 200, name: 'sub-vera', role: 'viewer' })
  }
  const again = await browser.get(page.url)
  t.equal(again.status, 200, 'the answer of the provider is reloaded at the first hub')
  t.match(seen.at(-1), `0 ${CALLBACK}`)
  const outside = await new Browser().get(page.url)
  t.equal(outside.status, 400, 'no other browser can end the sign-on')
  const cookie = browser.cookiesFor('/')
  const ended = await fetchInTime(`${hubs[1]!.url}/api/v1/session`, { method: 'DELETE', headers: { cookie } })
  t.equal(ended.status, 200)
  t.equal((await browser.get(`${hubs[0]!.url}/api/v1/session`)).status, 401)
})
