// Nothing secret and nothing personal is left anywhere it should not be.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN, discard, startGateway, UPSTREAM_KEY } from './gateway.ts'
import { completion, json, startUpstream, stream } from './upstream.ts'

t.test('logs, metrics, errors, the command line, the store, the upstream', async (t) => {
  const upstream = await startUpstream()
  const rules =
    'rules:\n  - { name: word, type: keyword_block, pattern: "project aurora", action: block, enabled: true }\n'
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const cookie = await gateway.signIn()
  const session = cookie.split('=')[1] ?? ''
  const personal = [
    'alice.secret@example.com',
    '4111 1111 1111 1111',
    'bob.secret@example.org',
    '123-45-6789',
  ]
  const say = (content: string, more: object = {}) => ({
    model: 'm',
    ...more,
    messages: [{ role: 'user', content }],
  })
  const answers: string[] = []
  const ask = async (body: object) => answers.push(await (await gateway.chat(key, body)).text())

  upstream.answer = json(completion(`Ask ${personal[2]}`))
  await ask(say(`I am ${personal[0]}, card ${personal[1]}, SSN ${personal[3]}`))
  upstream.answer = stream(['Ask bob.sec', 'ret@exam', 'ple.org today'])
  await ask(say(`I am ${personal[0]}`, { stream: true }))
  upstream.answer = stream(['You sent ', ...UPSTREAM_KEY, ' to me'])
  await ask(say('hi', { stream: true }))
  const said = [...answers.at(-1)!.matchAll(/"content":("[^"]*")/g)]
    .map(([, text]) => JSON.parse(text!))
    .join('')
  t.equal(said, 'You sent [UPSTREAM_CREDENTIAL] to me')
  upstream.answer = (response) => {
    const body = JSON.stringify(completion(`You sent ${UPSTREAM_KEY}`)).replaceAll('-', '\\u002d')
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  await ask(say('hi'))
  t.match(JSON.parse(answers.at(-1)!).choices[0].message.content, 'You sent [UPSTREAM_CREDENTIAL]')
  upstream.answer = json({ error: { message: `Bad key ${UPSTREAM_KEY} for ${personal[2]}` } }, 401)
  await ask(say('hi'))
  upstream.answer = json(`<html>${UPSTREAM_KEY} ${personal[2]}</html>`, 403)
  await ask(say('hi'))
  await ask(say(`project aurora and ${personal[0]}`))
  await ask({ model: personal[0], messages: [{ role: 'user' }, 5] })
  await (await gateway.chat(`${key.slice(0, -1)}_`, say(personal[0] ?? ''))).text()
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const commandLine = readFileSync(`/proc/${gateway.child.pid}/cmdline`, 'utf8')
  await gateway.stop()

  const data = join(gateway.folder, 'data')
  const store = readdirSync(data)
    .map((name) => readFileSync(join(data, name)).toString('latin1'))
    .join('\n')
  const places: Record<string, string> = {
    logs: gateway.logs.map((line) => JSON.stringify(line)).join('\n'),
    'error output': gateway.stderr.join(''),
    metrics,
    'command line': commandLine,
    answers: answers.join('\n'),
    upstream: upstream.received
      .map(({ body, headers }) => body + JSON.stringify({ ...headers, authorization: '' }))
      .join('\n'),
  }
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [key, ADMIN_TOKEN, UPSTREAM_KEY, session, ...personal])
      t.notOk(text.includes(secret), `${place}: ${secret}`)
  }
  for (const secret of [key, ADMIN_TOKEN, UPSTREAM_KEY, session, personal[1], personal[2], personal[3]]) {
    t.notOk(store.includes(secret ?? ''), `store: ${secret}`)
  }
  t.ok(upstream.received[0]?.headers.authorization === `Bearer ${UPSTREAM_KEY}`)
})

t.test('a credential that is rotated: told, and one that no header can carry stays out', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-test-'))
  mkdirSync(join(folder, 'rules'))
  const file = join(folder, 'credential')
  writeFileSync(file, 'the-first-credential\n')
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    folder,
    rules: 'rules: []\n',
    config: { upstream: { apiKey: { file } } },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  /** Calls until the upstream gets this credential, and the gateway has said so much of it. */
  const until = async (credential: string, said: number) => {
    const told = () => gateway.logs.filter(({ setting }) => setting === 'upstream.apiKey')
    let sent: unknown
    while (sent !== `Bearer ${credential}` || told().length < said) {
      const response = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
      t.equal(response.status, 200)
      await response.text()
      sent = upstream.received.at(-1)?.headers['authorization']
    }
    return told()
  }
  t.same(await until('the-first-credential', 0), [])
  writeFileSync(file, 'the-second\ncredential')
  t.match(await until('the-first-credential', 1), [{ level: 'warn', problem: /no header can carry/ }])
  writeFileSync(file, 'the-third-credential')
  t.match(await until('the-third-credential', 2).then((told) => told[1]), { level: 'info' })
  t.notMatch(JSON.stringify(gateway.logs), /the-(?:first|second|third)/)
})
