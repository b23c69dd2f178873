// What is captured of calls: by configuration, by rule, in streams, and what the log says of it.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openAi, readText } from './client.ts'
import { deploy, openGateway, prompt, writtenBy } from './gateway.ts'
import { runProgram } from './run-command.ts'
import { completion, json, stream as streamed } from './upstream.ts'

const VERIFY_PY = fileURLToPath(new URL('../audit/verify.py', import.meta.url))
const QUIET = `rules:
  - { name: quiet, type: capture, pattern: metadata, match: { models: ["hr/*"] } }
  - { name: loud, type: capture, pattern: full }
`

const { upstream, gateway, key } = await deploy(t, json(completion('a zinnia answer')), { rules: QUIET })
const file = join(gateway.folder, 'sidegate.yaml')
const newest = async () => {
  const { id } = await gateway.newestEntry()
  return (await gateway.api('GET', `/usage/logs/${id}`)).body
}

t.test('a metadata rule stores no text, in answers and streams, and the entry says so', async (t) => {
  const kept = await gateway.chat(key, prompt('a marigold prompt'))
  await kept.text()
  const full = await newest()
  t.match(full, { request: { model: 'm' }, content_hash: /^sha256:/ })
  t.notOk('captured' in full)

  await (await gateway.chat(key, prompt('a heliotrope prompt', { model: 'hr/m' }))).text()
  const expected = { captured: false, content_hash: null, request: null, response: null, erased: false }
  t.match(await newest(), { ...expected, model: 'hr/m', total_tokens: 21 })

  upstream.answer = streamed(['a snapdragon ', 'answer'])
  const stream = await openAi(gateway, key).chat.completions.create({
    ...{ model: 'hr/m', stream: true },
    messages: [{ role: 'user', content: 'a heliotrope prompt' }],
  })
  t.match(await readText(stream), { text: 'a snapdragon answer', error: null })
  t.match(await newest(), { ...expected, stream: true })
  upstream.answer = json(completion('a zinnia answer'))

  const listed = (await gateway.api('GET', '/usage/logs?limit=3')).body.logs
  t.same(
    listed.map(({ captured }: { captured?: boolean }) => captured),
    [false, false, undefined],
  )
})

t.test('a rule made through the API has no action and takes effect at once', async (t) => {
  const rule = { name: 'all', type: 'capture', pattern: 'metadata' }
  t.match(await gateway.api('POST', '/rules', { ...rule, action: 'block' }), {
    status: 400,
    body: { error: { param: 'action', message: 'action must be removed: capture rules have no action.' } },
  })
  const { status, body } = await gateway.api('POST', '/rules', rule)
  t.equal(status, 201)
  t.notOk('action' in body)
  await (await gateway.chat(key, prompt('a heliotrope prompt'))).text()
  t.match(await newest(), { captured: false, request: null })
  const { body: yaml } = await gateway.api('GET', '/rules?format=yaml')
  t.match(yaml, / {2}- name: all\n {4}type: capture\n {4}pattern: metadata\n {4}enabled: true\n/)
  const { revision } = (await gateway.api('GET', '/rules')).body
  const { body: set } = await gateway.api('GET', `/rules/revisions/${revision}`)
  t.strictSame(set.rules[2], { id: body.id, ...rule, enabled: true })
  t.equal((await gateway.api('DELETE', `/rules/${body.id}`)).status, 200)
})

t.test('the log verifies, also in plain Python, and holds no text of those calls', async (t) => {
  const { stdout } = await runProgram(['audit', 'export', '--exchanges', '--config', file])
  const path = join(gateway.folder, 'log.jsonl')
  writeFileSync(path, stdout)
  t.equal(spawnSync('python3', [VERIFY_PY, path]).status, 0)
  t.equal((await runProgram(['audit', 'verify', '--config', file])).code, 0)
  await gateway.stop()
  const { store } = writtenBy(gateway)
  t.ok(store.includes('marigold'))
  for (const text of ['heliotrope', 'snapdragon']) t.notOk(store.includes(text), text)
})

t.test('metadata of the configuration wins over a full rule', async (t) => {
  const config = { audit: { capture: 'metadata' } }
  const own = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: QUIET, config })
  const { key: ownKey } = await own.createKey()
  await (await own.chat(ownKey, prompt('a heliotrope prompt'))).text()
  await (await own.chat(ownKey, { model: 'm' })).text()
  const { logs } = (await own.api('GET', '/usage/logs')).body
  t.match(logs, [
    { outcome: 'invalid_request', captured: false },
    { outcome: 'ok', captured: false },
  ])
  await own.stop()
  t.notOk(writtenBy(own).store.includes('heliotrope'))
})

t.test('check names the line and the allowed form of a wrong capture', async (t) => {
  const folder = t.testdir({
    'sidegate.yaml':
      'upstream: {baseUrl: "http://127.0.0.1:1/v1"}\naudit:\n  capture: none\nrules: {path: rules.yaml}\n',
    'rules.yaml':
      'rules:\n  - {name: a, type: capture, pattern: some, action: block}\n  - {name: b, type: pii, pattern: email}\n',
  })
  const { code, stdout, stderr } = await runProgram(['check', '--config', join(folder, 'sidegate.yaml')])
  t.equal(code, 1)
  const output = stdout + stderr
  t.match(output, /sidegate\.yaml:3:12 audit\.capture: must be one of: full, metadata/)
  t.match(output, /rules\.yaml:2:\d+ rules\[0\]\.action: must be removed: capture rules have no action/)
  t.match(output, /rules\.yaml:2:\d+ rules\[0\]\.pattern: must be `full` or `metadata`/)
  t.match(output, /rules\.yaml:3:\d+ rules\[1\]\.action: is required; use `redact`, /)
})
