// A network that lets calls out through a proxy only.

import t from 'tap'
import { startProxy } from '../upstream/proxy.ts'
import { discard, startGateway } from './gateway.ts'
import { completion, json, startUpstream, stream } from './upstream.ts'

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

const PASSWORD = 'a-password-for-tests'
const body = { model: 'm', messages: [{ role: 'user', content: 'I am alice@example.com' }] }

/** @param configured whether the configuration names the proxy, or the environment alone */
async function deploy(t: T, configured: boolean, answer?: (number: number) => number) {
  const upstream = await startUpstream(json(completion('Hello [EMAIL_1].')))
  const proxy = await startProxy(answer)
  const url = proxy.url.replace('//', `//user:${PASSWORD}@`)
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    config: configured ? { upstream: { proxy: { env: 'HTTPS_PROXY' }, retries: { attempts: 0 } } } : {},
    env: { HTTPS_PROXY: url, HTTP_PROXY: url, https_proxy: url, http_proxy: url },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
    proxy.close()
  })
  const { key } = await gateway.createKey()
  return { upstream, proxy, gateway, ask: (more = {}) => gateway.chat(key, { ...body, ...more }) }
}

t.test('calls go through the proxy that the configuration names', async (t) => {
  const { upstream, proxy, ask } = await deploy(t, true)
  t.match(await (await ask()).json(), { choices: [{ message: { content: 'Hello [EMAIL_1].' } }] })
  upstream.answer = stream(['Ask bob@exam', 'ple.org today'])
  t.match(await (await ask({ stream: true })).text(), /\[EMAIL_\d\][\s\S]*\[DONE\]/)
  t.equal(upstream.received.length, 2)
  t.ok(proxy.tunnels.length > 0)
  for (const { target } of proxy.tunnels) t.equal(target, new URL(upstream.baseUrl).host)
})

t.test('one that only the environment names is not asked', async (t) => {
  const { proxy, ask } = await deploy(t, false)
  t.equal((await ask()).status, 200)
  t.same([...proxy.tunnels, ...proxy.others], [])
})

t.test('what it refuses is told to the operator, and its password to nobody', async (t) => {
  const { upstream, gateway, ask } = await deploy(t, true, () => 407)
  const response = await ask()
  t.equal(response.status, 502)
  const said = await response.text()
  t.match(said, /upstream_unavailable/)
  t.same(upstream.received, [])
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const logs = await gateway.api('GET', '/usage/logs')
  await gateway.stop()
  t.match(gateway.logs.find(({ msg }) => msg === 'call failed')?.['cause'], /407/)
  t.notMatch(JSON.stringify([said, gateway.logs, gateway.stderr, metrics, logs.body]), PASSWORD)
  t.notMatch(said, /407/)
})
