// Changes rule files under a running gateway: good ones take effect soon, bad ones change nothing.

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publish, temporaryFolder } from '../rules/fixture.ts'
import { ADMIN_TOKEN, deploy, openGateway, prompt, type TestGateway, UPSTREAM_KEY } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { eventually, until } from './until.ts'
import {
  type Answer,
  completion,
  delta,
  event,
  finish,
  json,
  opening,
  startUpstream,
  unfinished,
} from './upstream.ts'

const rule = (pattern: string, enabled = true) =>
  `rules:\n  - { name: word, type: keyword_block, pattern: "${pattern}", action: block, enabled: ${enabled} }\n`
/** Limit from a change to its effect, milliseconds: 1 s by contract, longer for a busy machine. */
const SOON_MS = 20_000

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

/**
 * Makes a change and waits until the rules answer as `done` says. A file that is written in place
 * may be read while it is empty, so that an answer between the two states says nothing.
 */
async function after(gateway: TestGateway, change: () => void, done: (now: any, before: any) => boolean) {
  const read = async () => (await gateway.api('GET', '/rules')).body
  const before = await read()
  change()
  return eventually('the change is noticed', read, (now) => done(now, before), SOON_MS)
}

/** Makes a change and waits until its rules are in force. @returns the rules */
const accepted = (gateway: TestGateway, change: () => void): Promise<any> =>
  after(
    gateway,
    change,
    (now, before) =>
      now.errors.length === 0 && (now.revision !== before.revision || before.errors.length > 0),
  )

/** Makes a change and waits until it is refused with an error that `error` matches. @returns the rules */
const refused = (gateway: TestGateway, change: () => void, error: RegExp): Promise<any> =>
  after(gateway, change, (now) => error.test(JSON.stringify(now.errors)))

/** An expression of nearly a quarter of the size that all rules together may have. */
const large = (letter: string) => [1, 2, 3].map((n) => `${letter}${n}[ab]{800}`).join('|')

const reloads = async (gateway: TestGateway, result: 'ok' | 'error') => {
  const page = await gateway.metrics()
  return Number(new RegExp(`sidegate_rule_reloads_total\\{result="${result}"\\} (\\d+)`).exec(page)?.[1])
}

const asks = async (gateway: TestGateway, key: string, word: string) =>
  (await gateway.chat(key, prompt(`about ${word}`))).status

t.test('2,000 rules are in force soon after they are written', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  const { key } = await gateway.createKey()
  const one = (_: unknown, n: number) =>
    `  - {name: rule ${n}, type: keyword_block, pattern: secret ${n}|code ${n}x, action: block}\n`
  const rules = `rules:\n${Array.from({ length: 2000 }, one).join('')}`
  await accepted(gateway, () => writeFileSync(join(gateway.folder, 'rules/rules.yaml'), rules))
  t.same([await asks(gateway, key, 'code 1999x'), await asks(gateway, key, 'alpha')], [403, 200])
})

t.test('good rule files take effect, and broken or removed ones change nothing', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  const { key } = await gateway.createKey()
  const file = join(gateway.folder, 'rules/rules.yaml')
  t.equal(await asks(gateway, key, 'alpha'), 403)

  await accepted(gateway, () => writeFileSync(file, rule('beta')))
  t.same(
    [await asks(gateway, key, 'alpha'), await asks(gateway, key, 'beta')],
    [200, 403],
    'written in place',
  )

  await accepted(gateway, () => {
    writeFileSync(`${file}.tmp`, rule('gamma'))
    renameSync(`${file}.tmp`, file)
  })
  t.equal(await asks(gateway, key, 'gamma'), 403, 'replaced by a rename')

  const bad = await refused(
    gateway,
    () => writeFileSync(file, rule('gamma').replace('action: block', 'action: explode')),
    /action/,
  )
  t.match(bad, { errors: [{ file: /rules\.yaml$/, line: 2, path: 'rules[0].action' }] })
  t.equal(await asks(gateway, key, 'gamma'), 403, 'the last good rules stay')
  t.match((await gateway.readiness()).body, {
    ready: true,
    rule_errors: [/explode|action/],
  })
  t.match(await gateway.metrics(), /sidegate_rule_reloads_total\{result="error"\} 1/)
  t.ok(gateway.logs.some(({ level, errors }) => level === 'error' && String(errors).includes('rules.yaml:2')))

  await accepted(gateway, () => writeFileSync(file, rule('gamma')))
  await refused(gateway, () => rmSync(join(gateway.folder, 'rules'), { recursive: true }), /./)
  t.equal(await asks(gateway, key, 'gamma'), 403, 'the rules of a removed folder stay')
  const back = await accepted(gateway, () => {
    mkdirSync(join(gateway.folder, 'rules'))
    writeFileSync(file, rule('delta'))
  })
  t.same(back.errors, [])
  t.equal(await asks(gateway, key, 'delta'), 403, 'a folder that is back')
})

t.test('an override ends when the file changes its rule, and SIGHUP reads the files again', async (t) => {
  const gateway = await openProgram(t, { upstreamUrl: upstream.baseUrl, rules: rule('delta') })
  const { key } = await gateway.createKey()
  const file = join(gateway.folder, 'rules/rules.yaml')
  const { id } = (await gateway.api('GET', '/rules')).body.rules[0]
  t.equal((await gateway.api('PATCH', `/rules/${id}`, { enabled: false })).body.enabled, false)
  const again = await accepted(gateway, () => writeFileSync(file, rule('delta|epsilon')))
  t.match(
    again.rules[0],
    { id, enabled: true, override: null },
    'an override ends when the file changes that rule',
  )

  const before = await reloads(gateway, 'ok')
  gateway.child.kill('SIGHUP')
  await until('SIGHUP reloads', async () => (await reloads(gateway, 'ok')) !== before, SOON_MS)
  t.equal(await asks(gateway, key, 'delta'), 403, 'the same rules, read again')
})

t.test('files too large next to the rules of the API change nothing, and prevent a start', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  const { key } = await gateway.createKey()
  for (const name of ['u', 'v', 'w', 'x']) {
    const declaration = { type: 'keyword_block', action: 'block', enabled: true, pattern: large(name) }
    t.equal((await gateway.api('POST', '/rules', { name, ...declaration })).status, 201)
  }
  const file = join(gateway.folder, 'rules/rules.yaml')
  const tooLarge = rule(`alpha|${large('y')}`)
  const { errors } = await refused(gateway, () => writeFileSync(file, tooLarge), /together/)
  t.match(errors, [{ message: /all expressions together/ }])
  t.equal(await asks(gateway, key, 'alpha'), 403, 'the last good rules stay')
  t.equal(await reloads(gateway, 'error'), 1, 'and it counts as a failure')
  t.ok(gateway.logs.some(({ level, errors }) => level === 'error' && /together/.test(String(errors))))
  await gateway.stop()

  const config = join(gateway.folder, 'sidegate.yaml')
  const { code, stdout, stderr } = await runProgram(['serve', '--config', config], {
    ADMIN_TOKEN,
    UPSTREAM_KEY,
  })
  t.equal(code, 2, 'a start has no last good rules')
  t.match(stderr, /rules\.yaml all expressions together.*set rules\.apiWrites to readonly/)
  t.notMatch(stdout, 'listening')
  const files = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    config: { rules: { apiWrites: 'readonly' } },
  })
  t.equal(await asks(files, key, 'alpha'), 403, 'the advice of the message works')
})

t.test('files that were too large take effect once a rule of the API is deleted', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: rule('alpha') })
  const { key } = await gateway.createKey()
  const declaration = { type: 'keyword_block', action: 'block', enabled: true }
  const ids: string[] = []
  for (const name of ['u', 'v', 'w', 'x']) {
    const { body } = await gateway.api('POST', '/rules', { name, ...declaration, pattern: large(name) })
    ids.push(body.id)
  }
  const file = join(gateway.folder, 'rules/rules.yaml')
  await refused(gateway, () => writeFileSync(file, rule(`beta|${large('y')}`)), /together/)
  t.equal(await asks(gateway, key, 'beta'), 200)
  const before = await reloads(gateway, 'ok')
  t.equal((await gateway.api('DELETE', `/rules/${ids[0]}`)).status, 200)
  await until('the files take effect', async () => (await asks(gateway, key, 'beta')) !== 200, SOON_MS)
  t.same((await gateway.api('GET', '/rules')).body.errors, [])
  t.equal(await reloads(gateway, 'ok'), before + 1)
  await gateway.stop()
})

t.test('a ConfigMap volume that the kubelet swaps takes effect', async (t) => {
  const volume = temporaryFolder(t)
  publish(volume, '1', { 'rules.yaml': rule('one') })
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, config: { rules: { path: volume } } })
  const { key } = await gateway.createKey()
  for (const version of ['2', '3', '4']) {
    await accepted(gateway, () => publish(volume, version, { 'rules.yaml': rule(`word${version}`) }))
    t.equal(await asks(gateway, key, `word${version}`), 403)
  }
})

t.test('a call in flight keeps the rules of its start', async (t) => {
  let endStream = () => {}
  const answer: Answer = (response) => {
    unfinished(opening('first '))(response)
    endStream = () => response.end(event(delta('omega last')) + event(finish()) + event('[DONE]'))
  }
  const { upstream, gateway, key } = await deploy(t, answer, { rules: rule('alpha') })
  const arrived = upstream.next()
  const response = await gateway.chat(key, prompt('hi', { stream: true }))
  await arrived
  const before = (await gateway.api('GET', '/rules')).body.revision
  await accepted(gateway, () => writeFileSync(join(gateway.folder, 'rules/rules.yaml'), rule('omega')))
  endStream()
  t.match(await response.text(), /a last[\s\S]*\[DONE\]/)
  t.equal((await gateway.newestEntry()).policy_revision, before)
})
