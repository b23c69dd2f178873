// Secrets and personal data appear in no log, metric, error, command line, store or upstream
// request.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN, prompt, UPSTREAM_KEY, writtenBy } from './gateway.ts'
import { deployProgram } from './gateway-process.ts'
import { until } from './until.ts'
import { completion, json, stream } from './upstream.ts'

t.test('secrets and personal data are in no log, metric, error, store or command line', async (t) => {
  const rules =
    'rules:\n  - { name: word, type: keyword_block, pattern: "project aurora", action: block, enabled: true }\n'
  const { upstream, gateway, key } = await deployProgram(t, undefined, { rules })
  const cookie = await gateway.signIn()
  const session = cookie.split('=')[1] ?? ''
  const personal = [
    'alice.secret@example.com',
    '4111 1111 1111 1111',
    'bob.secret@example.org',
    '123-45-6789',
  ]
  const answers: string[] = []
  const ask = async (body: object) => answers.push(await (await gateway.chat(key, body)).text())

  upstream.answer = json(completion(`Ask ${personal[2]}`))
  await ask(prompt(`I am ${personal[0]}, card ${personal[1]}, SSN ${personal[3]}`))
  upstream.answer = stream(['Ask bob.sec', 'ret@exam', 'ple.org today'])
  await ask(prompt(`I am ${personal[0]}`, { stream: true }))
  upstream.answer = stream(['You sent ', ...UPSTREAM_KEY, ' to me'])
  await ask(prompt('hi', { stream: true }))
  const streamed = [...answers.at(-1)!.matchAll(/"content":("[^"]*")/g)]
    .map(([, text]) => JSON.parse(text!))
    .join('')
  t.equal(streamed, 'You sent [UPSTREAM_CREDENTIAL] to me')
  upstream.answer = (response) => {
    const body = JSON.stringify(completion(`You sent ${UPSTREAM_KEY}`)).replaceAll('-', '\\u002d')
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  await ask(prompt('hi'))
  t.match(JSON.parse(answers.at(-1)!).choices[0].message.content, 'You sent [UPSTREAM_CREDENTIAL]')
  upstream.answer = json({ error: { message: `Bad key ${UPSTREAM_KEY} for ${personal[2]}` } }, 401)
  await ask(prompt('hi'))
  upstream.answer = json(`<html>${UPSTREAM_KEY} ${personal[2]}</html>`, 403)
  await ask(prompt('hi'))
  await ask(prompt(`project aurora and ${personal[0]}`))
  await ask({ model: personal[0], messages: [{ role: 'user' }, 5] })
  await (await gateway.chat(`${key.slice(0, -1)}_`, prompt(personal[0] ?? ''))).text()
  const metrics = await gateway.metrics()
  const commandLine = readFileSync(`/proc/${gateway.child.pid}/cmdline`, 'utf8')
  await gateway.stop()

  const { store, ...output } = writtenBy(gateway)
  const places: Record<string, string> = {
    ...output,
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

t.test('a rotated credential is used and logged, one that no header can carry is not used', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-test-'))
  const file = join(folder, 'credential')
  writeFileSync(file, 'the-first-credential\n')
  const { upstream, gateway, key } = await deployProgram(t, json(completion('ok')), {
    folder,
    rules: 'rules: []\n',
    config: { upstream: { apiKey: { file } } },
  })
  const lines = () => gateway.logs.filter(({ setting }) => setting === 'upstream.apiKey')
  /** Calls until the upstream gets this credential and the log has this many lines on it. */
  const isUsed = async (credential: string, count: number) => {
    await until(`${credential} is used`, async () => {
      const response = await gateway.chat(key, prompt('hi'))
      t.equal(response.status, 200)
      await response.text()
      const { authorization } = upstream.received.at(-1)?.headers ?? {}
      return authorization === `Bearer ${credential}` && lines().length >= count
    })
    return lines()
  }
  t.same(await isUsed('the-first-credential', 0), [])
  writeFileSync(file, 'the-second\ncredential')
  t.match(await isUsed('the-first-credential', 1), [{ level: 'warn', problem: /a header cannot carry/ }])
  writeFileSync(file, 'the-third-credential')
  t.match((await isUsed('the-third-credential', 2))[1], { level: 'info' })
  t.notMatch(JSON.stringify(gateway.logs), /the-(?:first|second|third)/)
})
