// End users of calls: kept as a hash, in clear or not at all; found, and erased, by their names.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAi, readText } from './client.ts'
import { deploy, openGateway, prompt, type TestGateway, writtenBy } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { completion, json, stream as streamed } from './upstream.ts'

const CUSTOMER = 'customer-4711-heliotrope'
const HASH = /^[0-9a-f]{32}$/

const { upstream, gateway, key } = await deploy(t, json({ ...completion('Hello.'), user: CUSTOMER }))
const file = join(gateway.folder, 'sidegate.yaml')
const callFor = async (on: TestGateway, apiKey: string, named: object) => {
  const response = await on.chat(apiKey, prompt('hello', named))
  const body: any = await response.json()
  const { body: entry } = await on.api('GET', `/usage/logs/${response.headers.get('x-request-id')}`)
  return { body, entry, sent: JSON.parse(upstream.received.at(-1)!.body) }
}
const found = async (on: TestGateway, user: string) =>
  (await on.api('GET', `/usage/logs?user=${encodeURIComponent(user)}`)).body.logs.map(
    ({ id }: { id: string }) => id,
  )

t.test('a user is forwarded as named, and only its hash is kept', async (t) => {
  const { body, entry, sent } = await callFor(gateway, key, { user: CUSTOMER })
  t.equal(sent.user, CUSTOMER)
  t.equal(body.user, CUSTOMER, 'what the provider repeats reaches the client')
  t.match(entry, { user: HASH, request: { user: '[USER]' }, response: { user: '[USER]' } })
  t.same(await found(gateway, CUSTOMER), [entry.id])
  t.same(await found(gateway, entry.user), [entry.id])
  t.same(await found(gateway, 'customer-4712'), [])
  const { entry: other } = await callFor(gateway, key, {})
  t.equal(other.user, null)
})

t.test('the official client names the user in a stream, in any of the fields', async (t) => {
  upstream.answer = streamed(['Hel', 'lo.'])
  const stream = await openAi(gateway, key).chat.completions.create({
    ...{ model: 'm', stream: true, safety_identifier: CUSTOMER },
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.match(await readText(stream), { text: 'Hello.', error: null })
  upstream.answer = json({ ...completion('Hello.'), user: CUSTOMER })
  const { entry } = await callFor(gateway, key, { metadata: { user_id: CUSTOMER, trace: 'kept' } })
  t.match(entry, { request: { metadata: { user_id: '[USER]', trace: 'kept' } } })
  const three = await found(gateway, CUSTOMER)
  t.equal(three.length, 3)
  t.match((await gateway.api('GET', `/usage/logs/${three[1]}`)).body, {
    stream: true,
    request: { safety_identifier: '[USER]' },
  })
  const first = await callFor(gateway, key, { user: '', safety_identifier: 'b', metadata: { user_id: 'c' } })
  t.same(await found(gateway, 'b'), [first.entry.id], 'the first field that holds a text counts')
  t.same(await found(gateway, 'c'), [])
})

t.test('a user that is personal data is read before it is redacted', async (t) => {
  const ann = await callFor(gateway, key, { user: 'ann@example.com' })
  const ben = await callFor(gateway, key, { user: 'ben@example.com' })
  t.equal(ann.sent.user.slice(0, 3), 'id-')
  t.same(await found(gateway, 'ann@example.com'), [ann.entry.id])
  t.not(ann.entry.user, ben.entry.user)
})

t.test('a restart keeps the key, which only its owner can read', async (t) => {
  const keyFile = join(gateway.folder, 'data/user-key')
  t.equal(statSync(keyFile).mode & 0o777, 0o600)
  const before = readFileSync(keyFile, 'latin1')
  await gateway.stop()
  const again = await openProgram(t, { upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.equal(readFileSync(keyFile, 'latin1'), before)
  t.equal((await found(again, CUSTOMER)).length, 3)

  const { code, stdout } = await runProgram(['audit', 'erase', '--config', file, '--user', CUSTOMER])
  t.same([code, JSON.parse(stdout)], [0, { erased: 3, entries: 1 }])
  t.same(await found(again, CUSTOMER), [])
  t.match(await again.api('POST', '/audit/erase', { user: 'ann@example.com' }), {
    status: 200,
    body: { erased: 1, entries: 1 },
  })
  t.same(await found(again, 'ann@example.com'), [])
  t.equal((await found(again, 'ben@example.com')).length, 1)
  t.match(await again.api('POST', '/audit/erase', { user: 'nobody' }), { body: { erased: 0, entries: 0 } })
  t.match(await again.api('POST', '/audit/erase', { user: '' }), {
    status: 400,
    body: { error: { param: 'user' } },
  })
  t.equal((await runProgram(['audit', 'verify', '--config', file])).code, 0)
  const metrics = await again.metrics()
  await again.stop()
  const { store, logs } = writtenBy(again)
  for (const user of [CUSTOMER, 'ann@example.com', 'ben@example.com'])
    for (const text of [store, logs, again.stderr.join(''), metrics, writtenBy(gateway).logs])
      t.notOk(text.includes(user), user)
})

t.test('clear text is kept if it is asked for, and erased with the calls', async (t) => {
  const config = { audit: { user: 'clear' } }
  const own = await openGateway(t, { upstreamUrl: upstream.baseUrl, config })
  const { key: ownKey } = await own.createKey()
  const { entry } = await callFor(own, ownKey, { user: CUSTOMER })
  t.match(entry, { user: CUSTOMER, request: { user: CUSTOMER } })
  t.same(await found(own, CUSTOMER), [entry.id])
  const long = 'x'.repeat(257)
  upstream.answer = json(completion('Hello.'))
  t.match((await callFor(own, ownKey, { user: long })).entry.user, HASH)
  t.equal((await found(own, long)).length, 1)
  t.match((await own.api('POST', '/audit/erase', { user: CUSTOMER })).body, { erased: 1 })
  t.match((await own.api('GET', `/usage/logs/${entry.id}`)).body, { user: null, erased: true })
  await own.stop()
  const copy = join(own.folder, 'copy')
  const settings = join(own.folder, 'sidegate.yaml')
  t.equal((await runProgram(['audit', 'compact', '--config', settings, '--to', copy])).code, 0)
  t.notOk(readFileSync(join(copy, 'data.mdb')).includes(CUSTOMER))
  t.same(
    readFileSync(join(copy, 'user-key'), 'latin1'),
    readFileSync(join(own.folder, 'data/user-key'), 'latin1'),
  )
  const exported = await runProgram(['audit', 'export', '--exchanges', '--config', settings])
  t.notOk(exported.stdout.includes(CUSTOMER))
})

t.test('off keeps nothing of a user', async (t) => {
  const config = { audit: { user: 'off' } }
  const own = await openGateway(t, { upstreamUrl: upstream.baseUrl, config })
  const { key: ownKey } = await own.createKey()
  const { entry } = await callFor(own, ownKey, { user: CUSTOMER })
  t.match(entry, { user: null, request: { user: '[USER]' } })
  t.same(await found(own, CUSTOMER), [])
  await own.stop()
  t.notOk(readdirSync(join(own.folder, 'data')).includes('user-key'))
  const { stdout } = await runProgram(['audit', 'export', '--config', join(own.folder, 'sidegate.yaml')])
  t.notOk(stdout.includes('has_user'))
  t.notOk(writtenBy(own).store.includes(CUSTOMER))
})

t.test('only the configured fields name a user', async (t) => {
  const config = { audit: { userFields: ['metadata.tenant.user'] } }
  const own = await openGateway(t, { upstreamUrl: upstream.baseUrl, config })
  const { key: ownKey } = await own.createKey()
  t.equal((await callFor(own, ownKey, { user: 'ann' })).entry.user, null)
  const { entry } = await callFor(own, ownKey, { metadata: { tenant: { user: 'ann' } } })
  t.same(await found(own, 'ann'), [entry.id])
})

t.test('check names the line and the allowed form of wrong settings', async (t) => {
  const folder = t.testdir({
    'sidegate.yaml': `upstream: {baseUrl: "http://127.0.0.1:1/v1"}
rules: {path: rules.yaml}
audit:
  user: plain
  userFields: [user, "a..b"]
`,
    'rules.yaml': 'rules: []\n',
  })
  const { code, stdout, stderr } = await runProgram(['check', '--config', join(folder, 'sidegate.yaml')])
  t.equal(code, 1)
  t.match(stdout + stderr, /sidegate\.yaml:4:9 audit\.user: must be one of: hash, clear, off/)
  t.match(
    stdout + stderr,
    /sidegate\.yaml:5:22 audit\.userFields\[1\]: has the wrong format: A member, such as/,
  )
})
