// Erases exchanges through the API and the command, while the gateway runs and after it has
// stopped. The log verifies after each.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { requestDraft } from '../audit/drafts.ts'
import { deploy, openGateway, prompt, writeDeployment } from './gateway.ts'
import { programArgs } from './program.ts'
import { runProgram } from './run-command.ts'
import { fetchInTime } from './until.ts'
import { completion, json } from './upstream.ts'

const STRACE_MS = 120_000

const { upstream, gateway } = await deploy(t, json(completion('a fine answer')))
const file = join(gateway.folder, 'sidegate.yaml')

const call = async (key: string): Promise<string> => {
  const response = await gateway.chat(key, prompt('hello'))
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}
const detail = async (id: string) => (await gateway.api('GET', `/usage/logs/${id}`)).body
const verify = async () => {
  const { code, stdout } = await runProgram(['audit', 'verify', '--config', file])
  return { code, ok: JSON.parse(stdout).ok }
}
const erase = (...args: string[]) => runProgram(['audit', 'erase', '--config', file, ...args])

t.test('a request, a key or a time selects the exchanges that are erased', async (t) => {
  const one = await gateway.createKey('one')
  const two = await gateway.createKey('two')
  const first = await call(one.key)
  const second = await call(one.key)
  const third = await call(two.key)
  t.match(await detail(first), { erased: false, request: { model: 'm' } })

  const { status, body } = await gateway.api('POST', '/audit/erase', { request_id: first })
  t.same({ status, body }, { status: 200, body: { erased: 1, entries: 1 } })
  t.match(await detail(first), { id: first, erased: true, request: null, response: null })
  t.same(await verify(), { code: 0, ok: true })

  const online = await erase('--key', one.id)
  t.same([online.code, JSON.parse(online.stdout)], [0, { erased: 1, entries: 1 }])
  t.match(await detail(second), { erased: true, request: null })
  t.match(await detail(third), { erased: false })
  const fourth = await call(two.key)
  t.match(await detail(fourth), { erased: false })
  t.same(await verify(), { code: 0, ok: true })

  const unknown = await erase('--request', 'unknown')
  t.equal(unknown.code, 1)
  t.match(unknown.stderr, /no call with this id/)
  const name = await erase('--key', 'app')
  t.match(
    [name.code, name.stderr],
    [1, /no key and no call of a key with this id; give the id, not the name/],
  )
  t.equal((await gateway.api('POST', '/audit/erase', { key_id: 'app' })).status, 404)

  const later = new Date(Date.now() + 60_000).toISOString()
  t.match(await gateway.api('POST', '/audit/erase', { before: '2020-01-01' }), {
    body: { erased: 0, entries: 0 },
  })
  t.equal(await gateway.stop(), 0)
  const offline = await erase('--before', later)
  t.same([offline.code, JSON.parse(offline.stdout)], [0, { erased: 2, entries: 1 }])
  t.same(await verify(), { code: 0, ok: true })
})

t.test('a compacted copy has no bytes of an erased exchange and serves like the original', async (t) => {
  const own = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  const config = join(own.folder, 'sidegate.yaml')
  const { id, key } = await own.createKey()
  const holds = (folder: string, text: string) =>
    readFileSync(join(own.folder, folder, 'data.mdb')).includes(text)
  for (const content of ['The secret is heliotrope.', 'The sky is blue.']) {
    await (await own.chat(key, prompt(content))).text()
  }
  await own.applied()
  t.ok(holds('data', 'heliotrope'))
  t.match(await own.api('POST', '/audit/erase', { key_id: id }), { body: { erased: 2 } })
  const copy = join(own.folder, 'copy')
  const compacted = await runProgram(['audit', 'compact', '--config', config, '--to', copy])
  t.equal(compacted.code, 0, compacted.stderr)
  const { from_bytes, to_bytes } = JSON.parse(compacted.stdout)
  t.ok(to_bytes <= from_bytes)
  t.equal(holds('copy', 'heliotrope'), false)
  t.equal(statSync(join(copy, 'data.mdb')).mode & 0o777, 0o600)
  t.equal(statSync(copy).mode & 0o777, 0o700)
  const again = await runProgram(['audit', 'compact', '--config', config, '--to', copy])
  t.equal(again.code, 2)
  t.match(again.stderr, /not empty/)
  t.equal((await runProgram(['audit', 'compact', '--config', config])).code, 2)

  await own.stop()
  await runProgram(['audit', 'compact', '--config', config, '--to', join(own.folder, 'last')])
  rmSync(join(own.folder, 'data'), { recursive: true })
  renameSync(join(own.folder, 'last'), join(own.folder, 'data'))
  const served = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder: own.folder })
  t.match(await served.api('GET', '/usage/logs'), { body: { total: 2 } })
  const { code } = await runProgram(['audit', 'verify', '--config', config])
  t.equal(code, 0)
})

/** The folder of a stopped gateway with 32 MiB of exchanges. */
async function largeDeployment(t: Test) {
  const { folder, file } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => rmSync(folder, { recursive: true }))
  const store = openStore({
    path: join(folder, 'data'),
    clock: systemClock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
  })
  const exchange = JSON.stringify({ request: 'x'.repeat(1024 ** 2), response: null })
  for (let n = 0; n < 32; n++)
    await store.log.append(requestDraft({ id: `call-${n}` }), { content: exchange })
  await store.close()
  return { folder, config: file }
}

t.test('only the owner can read a copy while it is written, in a folder open to all', async (t) => {
  const { folder, config } = await largeDeployment(t)
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  chmodSync(copy, 0o755)
  const modes = new Set<number>()
  let hasEnded = false
  // The command is killed at its deadline.
  const compacted = runProgram(['audit', 'compact', '--config', config, '--to', copy])
  void compacted.finally(() => {
    hasEnded = true
  })
  while (!hasEnded) {
    const file = statSync(join(copy, 'data.mdb'), { throwIfNoEntry: false })
    if (file !== undefined) modes.add(file.mode & 0o777)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal((await compacted).code, 0)
  t.strictSame([...modes], [0o600])
})

t.test('a copy and its folder are synced to the disk before the command ends', async (t) => {
  if (spawnSync('strace', ['true'], { timeout: STRACE_MS }).status !== 0) {
    t.pass('the system calls', { skip: 'NOT TESTED: strace is not installed or may not trace' })
    return
  }
  const { folder, config } = await largeDeployment(t)
  writeFileSync(join(folder, 'data/signing-key.pem'), 'a key')
  const copy = join(folder, 'copy')
  const trace = join(folder, 'trace')
  const command = ['env', ...programArgs(['audit', 'compact', '--config', config, '--to', copy])]
  const args = ['-f', '-y', '-e', 'trace=fsync', '-o', trace, ...command]
  const { status } = spawnSync('strace', args, { timeout: STRACE_MS, killSignal: 'SIGKILL' })
  t.equal(status, 0)
  const synced = Array.from(readFileSync(trace, 'utf8').matchAll(/fsync\(\d+<(.+?)>\)/g), ([, path]) => path)
  t.strictSame(new Set(synced), new Set([join(copy, 'data.mdb'), join(copy, 'signing-key.pem'), copy]))
})

/** A time that nobody means. */
const farAhead = () => new Date(Date.now() + 86_400_000 + 60_000).toISOString()

t.test('the command refuses wrong options and names them', async (t) => {
  for (const args of [
    [],
    ['--request', 'a', '--key', 'b'],
    ['--before', 'soon'],
    ['--before', farAhead()],
    ['--key', 'k', '--since', '2026-03-01'],
  ]) {
    const { code, stderr } = await erase(...args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, /--/)
  }
  const nowhere = await runProgram(['audit', 'erase', '--config', '/nonexistent.yaml', '--key', 'k'])
  t.equal(nowhere.code, 2)
})

t.test('the API requires a session and exactly one selection', async (t) => {
  const other = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  const wrong: [unknown, string][] = [
    [{}, 'invalid_body'],
    [{ request_id: 'a', key_id: 'b' }, 'invalid_body'],
    [{ request_id: 5 }, 'invalid_body'],
    [{ before: 'soon' }, 'invalid_body'],
    [{ before: farAhead() }, 'invalid_body'],
    [{ everything: true }, 'invalid_body'],
    [[], 'invalid_body'],
  ]
  for (const [body, code] of wrong) {
    t.match(await other.api('POST', '/audit/erase', body), { status: 400, body: { error: { code } } })
  }
  const { status } = await fetchInTime(`${other.url}/api/v1/audit/erase`, { method: 'POST', body: '{}' })
  t.equal(status, 401, 'without a session')
})

t.test('a data directory that cannot be opened exits with 2 and the reason', async (t) => {
  const { folder, file: config } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'data.mdb'), 'no database')
  t.match(await runProgram(['audit', 'erase', '--config', config, '--before', '2026-01-01']), {
    code: 2,
    stdout: '',
    stderr: /^sidegate audit: the data directory .* cannot be opened: data\.mdb is not an LMDB database/,
  })
})
