// Rule files change under a running gateway: what takes effect, what does not, and how soon.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN, discard, runCli, startGateway, type TestGateway, UPSTREAM_KEY } from './gateway.ts'
import { chunk, completion, delta, event, finish, json, startUpstream } from './upstream.ts'

const rule = (pattern: string, enabled = true) =>
  `rules:\n  - { name: word, type: keyword_block, pattern: "${pattern}", action: block, enabled: ${enabled} }\n`
/** The contract's bound from change to effect; generous for a busy machine. */
const SOON_MS = 5000

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

/** Polls until the revision is another one; fails when that takes too long. */
async function changed(gateway: TestGateway, change: () => void): Promise<any> {
  const before = (await gateway.api('GET', '/rules')).body
  const startMs = performance.now()
  change()
  for (;;) {
    const { body } = await gateway.api('GET', '/rules')
    if (body.revision !== before.revision || body.errors.length !== before.errors.length) return body
    if (performance.now() - startMs > SOON_MS) throw new Error('the change was not noticed')
  }
}

/** An expression that fills nearly a quarter of what all rules together may have. */
const large = (letter: string) => [1, 2, 3].map((n) => `${letter}${n}[ab]{800}`).join('|')

const reloads = async (gateway: TestGateway, result: 'ok' | 'error') => {
  const page = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  return Number(new RegExp(`sidegate_rule_reloads_total\\{result="${result}"\\} (\\d+)`).exec(page)?.[1])
}

const asks = async (gateway: TestGateway, key: string, word: string) =>
  (await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: `about ${word}` }] })).status

t.test('a folder as editors and people change it', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  const file = join(gateway.folder, 'rules/rules.yaml')
  t.equal(await asks(gateway, key, 'alpha'), 403)

  await changed(gateway, () => writeFileSync(file, rule('beta')))
  t.same(
    [await asks(gateway, key, 'alpha'), await asks(gateway, key, 'beta')],
    [200, 403],
    'written in place',
  )

  await changed(gateway, () => {
    writeFileSync(`${file}.tmp`, rule('gamma'))
    renameSync(`${file}.tmp`, file)
  })
  t.equal(await asks(gateway, key, 'gamma'), 403, 'renamed over')

  const bad = await changed(gateway, () =>
    writeFileSync(file, rule('gamma').replace('action: block', 'action: explode')),
  )
  t.match(bad, { errors: [{ file: /rules\.yaml$/, line: 2, path: 'rules[0].action' }] })
  t.equal(await asks(gateway, key, 'gamma'), 403, 'the last good rules stay')
  t.match(await (await fetch(`${gateway.opsUrl}/readyz`)).json(), {
    ready: true,
    rule_errors: [/explode|action/],
  })
  t.match(
    await (await fetch(`${gateway.opsUrl}/metrics`)).text(),
    /sidegate_rule_reloads_total\{result="error"\} 1/,
  )
  t.ok(gateway.logs.some(({ level, errors }) => level === 'error' && String(errors).includes('rules.yaml:2')))

  await changed(gateway, () => writeFileSync(file, rule('gamma')))
  await changed(gateway, () => rmSync(join(gateway.folder, 'rules'), { recursive: true }))
  t.equal(await asks(gateway, key, 'gamma'), 403, 'a folder that is gone takes nothing along')
  const back = await changed(gateway, () => {
    mkdirSync(join(gateway.folder, 'rules'))
    writeFileSync(file, rule('delta'))
  })
  t.same(back.errors, [])
  t.equal(await asks(gateway, key, 'delta'), 403, 'and back')

  const id = back.rules[0].id
  t.equal((await gateway.api('PATCH', `/rules/${id}`, { enabled: false })).body.enabled, false)
  const again = await changed(gateway, () => writeFileSync(file, rule('delta|epsilon')))
  t.match(
    again.rules[0],
    { id, enabled: true, override: null },
    'an override ends when the file changes that rule',
  )

  const before = await reloads(gateway, 'ok')
  gateway.child.kill('SIGHUP')
  const startMs = performance.now()
  while ((await reloads(gateway, 'ok')) === before) {
    if (performance.now() - startMs > SOON_MS) throw new Error('SIGHUP was not heard')
  }
  t.equal(await asks(gateway, key, 'delta'), 403, 'the same rules, read again because somebody said so')
})

t.test('files that are too much beside the rules of the API', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  for (const name of ['u', 'v', 'w', 'x']) {
    const declaration = { type: 'keyword_block', action: 'block', enabled: true, pattern: large(name) }
    t.equal((await gateway.api('POST', '/rules', { name, ...declaration })).status, 201)
  }
  const file = join(gateway.folder, 'rules/rules.yaml')
  const refused = await changed(gateway, () => writeFileSync(file, rule(`alpha|${large('y')}`)))
  t.match(refused.errors, [{ message: /all expressions together/ }])
  t.equal(await asks(gateway, key, 'alpha'), 403, 'the last good rules stay')
  t.equal(await reloads(gateway, 'error'), 1, 'and it counts as a failure')
  t.ok(gateway.logs.some(({ level, errors }) => level === 'error' && /together/.test(String(errors))))
  await gateway.stop()

  const config = join(gateway.folder, 'sidegate.yaml')
  const { code, stdout, stderr } = await runCli(['serve', '--config', config], {
    ADMIN_TOKEN,
    UPSTREAM_KEY,
  })
  t.equal(code, 2, 'there are no last good rules at a start: without any, everything would pass')
  t.match(stderr, /rules\.yaml all expressions together.*set rules\.apiWrites to readonly/)
  t.notMatch(stdout, 'listening')
  const files = await startGateway({
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    config: { rules: { apiWrites: 'readonly' } },
  })
  t.equal(await asks(files, key, 'alpha'), 403, 'what the message advises works')
  await files.stop()
})

t.test('files that were too much come in force as soon as the API gives them room', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  const declaration = { type: 'keyword_block', action: 'block', enabled: true }
  const ids: string[] = []
  for (const name of ['u', 'v', 'w', 'x']) {
    const { body } = await gateway.api('POST', '/rules', { name, ...declaration, pattern: large(name) })
    ids.push(body.id)
  }
  const file = join(gateway.folder, 'rules/rules.yaml')
  await changed(gateway, () => writeFileSync(file, rule(`beta|${large('y')}`)))
  t.equal(await asks(gateway, key, 'beta'), 200)
  const before = await reloads(gateway, 'ok')
  t.equal((await gateway.api('DELETE', `/rules/${ids[0]}`)).status, 200)
  const startMs = performance.now()
  while ((await asks(gateway, key, 'beta')) === 200) {
    if (performance.now() - startMs > SOON_MS) throw new Error('the files are not in force')
  }
  t.same((await gateway.api('GET', '/rules')).body.errors, [])
  t.equal(await reloads(gateway, 'ok'), before + 1)
  await gateway.stop()
})

t.test('a ConfigMap volume, swapped as the kubelet does', async (t) => {
  const volume = mkdtempSync(join(tmpdir(), 'sidegate-volume-'))
  t.teardown(() => rmSync(volume, { recursive: true, force: true }))
  const publish = (version: string, text: string) => {
    mkdirSync(join(volume, `..${version}`))
    writeFileSync(join(volume, `..${version}`, 'rules.yaml'), text)
    symlinkSync(`..${version}`, join(volume, '..data_tmp'))
    renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
  }
  publish('1', rule('one'))
  symlinkSync('..data/rules.yaml', join(volume, 'rules.yaml'))
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, config: { rules: { path: volume } } })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  for (const version of ['2', '3', '4']) {
    await changed(gateway, () => publish(version, rule(`word${version}`)))
    t.equal(await asks(gateway, key, `word${version}`), 403)
  }
})

t.test('a call in flight keeps the rules it began with', async (t) => {
  let goOn = () => {}
  const slow = await startUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      event(chunk([{ index: 0, delta: { role: 'assistant', content: 'first ' }, finish_reason: null }])),
    )
    goOn = () => response.end(event(delta('omega last')) + event(finish()) + event('[DONE]'))
  })
  const gateway = await startGateway({ upstreamUrl: slow.baseUrl, rules: rule('alpha') })
  t.teardown(async () => {
    await discard(gateway)
    await slow.close()
  })
  const { key } = await gateway.createKey()
  const arrived = slow.next()
  const response = await gateway.chat(key, {
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  await arrived
  const before = (await gateway.api('GET', '/rules')).body.revision
  await changed(gateway, () => writeFileSync(join(gateway.folder, 'rules/rules.yaml'), rule('omega')))
  goOn()
  t.match(await response.text(), /a last[\s\S]*\[DONE\]/)
  t.equal((await gateway.api('GET', '/usage/logs')).body.logs[0].policy_revision, before)
})
