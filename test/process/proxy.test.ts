// Calls to the upstream through an HTTP proxy.

import t, { type Test } from 'tap'
import { startProxy } from '../upstream/proxy.ts'
import { prompt } from './gateway.ts'
import { deployProgram } from './gateway-process.ts'
import { completion, json, stream } from './upstream.ts'

const PASSWORD = 'a-password-for-tests'
const PROMPT = 'I am alice@example.com'

/**
 * Starts a proxy and a gateway until the end of the test.
 * @param isConfigured whether the configuration names the proxy, or only the environment
 */
async function deployWithProxy(t: Test, isConfigured: boolean, status?: (number: number) => number) {
  const proxy = await startProxy(status)
  t.teardown(() => proxy.close())
  const url = proxy.url.replace('//', `//user:${PASSWORD}@`)
  const { upstream, gateway, key } = await deployProgram(t, json(completion('Hello [EMAIL_1].')), {
    config: isConfigured ? { upstream: { proxy: { env: 'HTTPS_PROXY' }, retries: { attempts: 0 } } } : {},
    env: { HTTPS_PROXY: url, HTTP_PROXY: url, https_proxy: url, http_proxy: url },
  })
  return { upstream, proxy, gateway, ask: (more = {}) => gateway.chat(key, prompt(PROMPT, more)) }
}

t.test('calls go through the proxy that the configuration names', async (t) => {
  const { upstream, proxy, ask } = await deployWithProxy(t, true)
  t.match(await (await ask()).json(), { choices: [{ message: { content: 'Hello [EMAIL_1].' } }] })
  upstream.answer = stream(['Ask bob@exam', 'ple.org today'])
  t.match(await (await ask({ stream: true })).text(), /\[EMAIL_\d\][\s\S]*\[DONE\]/)
  t.equal(upstream.received.length, 2)
  t.ok(proxy.tunnels.length > 0)
  for (const { target } of proxy.tunnels) t.equal(target, new URL(upstream.baseUrl).host)
})

t.test('a proxy that only the environment names is not used', async (t) => {
  const { proxy, ask } = await deployWithProxy(t, false)
  t.equal((await ask()).status, 200)
  t.same([...proxy.tunnels, ...proxy.others], [])
})

t.test('a refusal of the proxy is in the log, and its password nowhere', async (t) => {
  const { upstream, gateway, ask } = await deployWithProxy(t, true, () => 407)
  const response = await ask()
  t.equal(response.status, 502)
  const text = await response.text()
  t.match(text, /upstream_unavailable/)
  t.same(upstream.received, [])
  const metrics = await gateway.metrics()
  const logs = await gateway.api('GET', '/usage/logs')
  await gateway.stop()
  t.match(gateway.logs.find(({ msg }) => msg === 'call failed')?.['cause'], /407/)
  t.notMatch(JSON.stringify([text, gateway.logs, gateway.stderr, metrics, logs.body]), PASSWORD)
  t.notMatch(text, /407/)
})
