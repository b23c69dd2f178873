// The keys of an issuer at a URL, as the program follows them: a rotation, and an issuer that is away.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { keySetOf, newKey, signed } from '../hub/tokens.ts'
import { discard, prompt } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { eventually } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const [FIRST, SECOND, THIRD] = [newKey('one', 'RS256'), newKey('two'), newKey('three', 'EdDSA')]

t.test('a rotation at a URL is followed with the first token of it, in bounds', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  t.teardown(() => upstream.close())
  let answer: string | null = null
  let asked = 0
  const issuer = createServer((_, response) => {
    asked++
    response.writeHead(answer === null ? 500 : 200).end(answer ?? 'out of order')
  })
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
  t.teardown(() => issuer.close())
  const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks`
  const claims = { repository: 'acme/*' }
  const jwt = { issuer: 'https://ci.example', jwks: { url }, audience: 'sidegate', claims }
  const gateway = await startProgram({
    upstreamUrl: upstream.baseUrl,
    config: { keys: [{ name: 'ci', jwt }] },
  })
  t.teardown(() => discard(gateway))
  const tokenOf = (key = FIRST) =>
    signed(
      {
        iss: 'https://ci.example',
        aud: 'sidegate',
        exp: Math.floor(Date.now() / 1000) + 600,
        repository: 'acme/a',
      },
      key,
    )
  const status = async (token: string) => {
    const response = await gateway.chat(token, prompt('hello'))
    await response.text()
    return response.status
  }
  const accepted = (what: string, token: string) =>
    eventually(
      what,
      () => status(token),
      (one) => one === 200,
    )
  const [first, second, third] = [await tokenOf(), await tokenOf(SECOND), await tokenOf(THIRD)]

  t.equal(await status(first), 401, 'there are no keys yet')
  answer = keySetOf(FIRST)
  await accepted('an issuer that is back', first)
  t.equal(asked, 2)

  answer = keySetOf(FIRST, SECOND)
  await accepted('the new key', second)
  t.equal(asked, 3, 'one more request, for any number of calls')

  answer = null
  await eventually(
    'a request that fails',
    () => status(third).then(() => asked),
    (count) => count > 3,
  )
  t.same(
    [await status(first), await status(second), await status(third)],
    [200, 200, 401],
    'the last good keys',
  )

  answer = keySetOf(THIRD)
  await accepted('the third key', third)
  t.equal(await status(first), 401, 'a key that is gone')
  t.match(await gateway.metrics(), /sidegate_jwt_key_loads_total\{result="error"\} [1-9]/)
  t.match(gateway.logs.map(({ msg }) => msg).join('\n'), /keys of the issuer cannot be read/)
})
