// Signed receipts of calls, from the running gateway to the offline check: whose they are, what they
// prove, how often they are signed, and the streamed export of the log.

import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { BLOCK_AURORA, deploy, prompt } from './gateway.ts'
import { SIDEGATE } from './program.ts'
import { runCli, runCommand, runProgram } from './run-command.ts'
import { eventually, fetchInTime, inTime } from './until.ts'
import { completion, json, stream } from './upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const { upstream, gateway, key } = await deploy(t, json(completion('Hello, Zoë.')), { rules: BLOCK_AURORA })
const config = join(gateway.folder, 'sidegate.yaml')
const keyFile = join(gateway.folder, 'operator.pem')

/** Makes a call; returns its id and the receipt in its header, if it has one. */
async function call(by = key, body: object = prompt('Hello.')): Promise<{ id: string; header: string }> {
  const answer = await gateway.chat(by, body)
  const text = await answer.text()
  const header = answer.headers.get('x-sidegate-audit') ?? /^: sidegate-audit (.*)$/m.exec(text)?.[1] ?? ''
  return { id: answer.headers.get('x-request-id') ?? '', header }
}

async function ask(id: string, by = key) {
  const answer = await fetchInTime(`${gateway.url}/v1/audit/receipts/${id}`, {
    headers: { authorization: `Bearer ${by}` },
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Asks until the gateway has signed, as the error says. */
const receiptOf = (id: string, by = key) =>
  eventually(
    `the receipt of ${id}`,
    () => ask(id, by),
    ({ status }) => status !== 503,
  )

async function verify(text: string, ...more: readonly string[]) {
  const file = join(gateway.folder, 'receipt.json')
  writeFileSync(file, text)
  const { code, stdout, stderr } = await runCli([
    ...['audit', 'verify', '--receipt', file, '--public-key', keyFile, ...more],
  ])
  t.equal(stderr, '')
  return { code, stdout }
}

t.before(async () => {
  const printed = await runCli(['audit', 'public-key', '--config', config])
  t.match(printed, {
    code: 0,
    stderr: '',
    stdout: /^-----BEGIN PUBLIC KEY-----\n.*\n-----END PUBLIC KEY-----\n$/,
  })
  writeFileSync(keyFile, printed.stdout)
})

t.test('the receipt of every kind of call verifies without the gateway', async (t) => {
  const whole = await call()
  const blocked = await call(key, prompt('project aurora'))
  const refused = await call(key, { model: 1 })
  const { answer } = upstream
  upstream.answer = stream(['Hel', 'lo'])
  const streamed = await call(key, prompt('Hello.', { stream: true }))
  upstream.answer = answer
  for (const { id, header } of [whole, blocked, refused, streamed]) {
    const { status, headers, text } = await receiptOf(id)
    t.equal(status, 200)
    t.match(headers.get('content-type'), /^application\/json/)
    const receipt = JSON.parse(text)
    t.equal(`${receipt.log};seq=${receipt.seq};hash=${receipt.hash}`, header, 'the header of the answer')
    t.match(JSON.parse(receipt.entry), { id, type: 'request', seq: receipt.seq, log: receipt.log })
    const { code, stdout } = await verify(text)
    t.equal(code, 0)
    t.match(JSON.parse(stdout), { ok: true, entry: { id }, checkpoint: { log: receipt.log } })
    t.strictSame((await gateway.api('GET', `/audit/receipts/${id}`)).body.entry, receipt.entry)
    t.match(
      (await gateway.api('GET', `/audit/proof?seq=${receipt.seq}&size=${receipt.proof.size}`)).body,
      receipt.proof,
    )
  }
  t.equal((await gateway.api('GET', '/audit/receipts/unknown')).status, 404)
})

t.test('a call is there only for its key and the successors of it', async (t) => {
  const { id: keyId, key: old } = await gateway.createKey('rotated')
  const first = await call(old)
  const rotate = async (of: string) =>
    (await gateway.api('POST', `/keys/${of}/rotate`, { grace_seconds: 60 })).body
  const next = await rotate(keyId)
  const newest = await rotate(next.id)
  const second = await call(newest.key)
  for (const by of [old, next.key, newest.key]) {
    for (const { id } of [first, second]) t.match(await receiptOf(id, by), { status: 200 })
  }
  const { key: other } = await gateway.createKey('rotated')
  const [unknown, long] = await Promise.all([ask(crypto.randomUUID(), other), ask('x'.repeat(5000), other)])
  const others = await ask(first.id, other)
  const entries = (await gateway.api('GET', '/usage/logs?limit=1')).body.total
  t.equal(unknown.status, 404)
  for (const { status, text, headers } of [long, others]) {
    t.strictSame([status, text], [404, unknown.text])
    t.strictSame([...headers.keys()], [...unknown.headers.keys()])
  }
  t.match(await ask(first.id, 'sgate_live_wrong'), { status: 401 })
  t.match(await ask(first.id, ''), { status: 401 })
  t.equal((await gateway.api('GET', '/usage/logs?limit=1')).body.total, entries, 'none of these is a call')
  await gateway.api('DELETE', `/keys/${newest.id}`)
  t.match(await ask(second.id, newest.key), { status: 401 }, 'a revoked key')
  t.match(await ask(second.id, old), { status: 200 }, 'the line of a revoked key is known')
})

t.test('checkpoints are signed on request at most once in five seconds', async (t) => {
  const signed = () => gateway.logs.filter(({ msg }) => msg === 'audit checkpoint').length
  await receiptOf((await call()).id)
  const calls = await Promise.all(Array.from({ length: 20 }, () => call()))
  const before = signed()
  const answers = await Promise.all(calls.map(({ id }) => ask(id)))
  t.ok(signed() - before <= 1)
  t.ok(answers.some(({ status }) => status === 503))
  for (const { status, headers, text } of answers) {
    if (status === 200) continue
    t.equal(status, 503)
    t.match(JSON.parse(text).error, { code: 'audit_unavailable', message: /ask again in [1-5] s/ })
    t.match(headers.get('retry-after'), /^[1-5]$/)
  }
  const later = await Promise.all(calls.map(({ id }) => receiptOf(id)))
  t.ok(later.every(({ status }) => status === 200))
  t.ok(signed() - before <= 2, 'one signature covers all that wait')
})

t.test('a tampered receipt fails at its step, on a terminal and in a pipe', async (t) => {
  const { text } = await receiptOf((await call()).id)
  const pretty = await verify(text, '--format', 'pretty')
  t.equal(pretty.code, 0)
  t.match(
    pretty.stdout,
    /^log +.*\ncall +.*\nform +.*\nentry +.*\nproof +.*\ncheckpoint +.*\nsignature +signed by sidegate\/.*\nverdict +PASS\n$/,
  )
  const tampered = text.replace('\\"status\\":200', '\\"status\\":201')
  t.not(tampered, text)
  const { code, stdout } = await verify(tampered)
  t.equal(code, 1)
  t.match(JSON.parse(stdout), {
    ok: false,
    entry: null,
    steps: [{ ok: true }, { step: 'entry', ok: false }, { ok: null }],
  })
  const shown = await verify(tampered, '--format', 'pretty')
  t.match(shown, {
    code: 1,
    stdout: /^entry +FOUND the hash does not match the entry\nproof +not checked\n/m,
  })
  t.match(shown.stdout, /^verdict +FAIL at entry\n$/m)
  writeFileSync(
    keyFile.replace('operator', 'stranger'),
    generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }),
  )
  const args = ['audit', 'verify', '--receipt', join(gateway.folder, 'receipt.json'), '--public-key']
  writeFileSync(join(gateway.folder, 'receipt.json'), text)
  const piped = `${SIDEGATE} audit verify --receipt - --public-key '${keyFile}' < '${args[3]}'`
  t.match(await runCommand(['sh', '-c', piped]), { code: 0, stdout: /"ok":true/, stderr: '' })
  const stranger = await runCli([...args, keyFile.replace('operator', 'stranger')])
  t.match(stranger, { code: 1, stdout: /"step":"signature","ok":false/ })
  t.match(await runCli([...args.with(3, join(gateway.folder, 'none')), keyFile]), {
    code: 2,
    stderr: /ENOENT/,
  })
})

t.test('the export over REST has the lines of the command', async (t) => {
  await gateway.applied()
  const { status, body, headers } = await gateway.api('GET', '/audit/export')
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/x-ndjson')
  const { stdout } = await runProgram(['audit', 'export', '--config', config])
  const entries = (text: string) =>
    text.split('\n').filter((line) => line.startsWith('{') && !line.startsWith('{"checkpoint"'))
  const lines = entries(body)
  t.ok(lines.length > 20)
  // A sign-in or a housekeeping entry may come between the two.
  t.strictSame(entries(stdout).slice(0, lines.length), lines)
  const file = join(gateway.folder, 'export.jsonl')
  writeFileSync(file, body)
  t.match(await runCli(['audit', 'verify', '--export', file, '--public-key', keyFile]), { code: 0 })
  const none = await gateway.api('GET', '/audit/export?until=2020-01-01')
  t.strictSame([none.status, none.body], [200, ''])
  const { ts } = JSON.parse(lines[5]!)
  const since = await gateway.api('GET', `/audit/export?since=${ts}`)
  t.match(JSON.parse(entries(since.body)[0]!), { ts })
  t.equal((await gateway.api('GET', '/audit/export?since=x')).status, 400)
})

t.test('clients that leave in the middle of an export free its place', async (t) => {
  const cookie = await gateway.signIn()
  const { host, port, hostname } = new URL(gateway.url)
  for (let time = 0; time < 10; time++) {
    const socket = connect(Number(port), hostname)
    socket.write(`GET /api/v1/audit/export HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\n\r\n`)
    await inTime('the export begins', once(socket, 'data'))
    socket.destroy()
  }
  const { status, body } = await eventually(
    'a place',
    () => gateway.api('GET', '/audit/export'),
    (one) => one.status !== 503,
  )
  t.equal(status, 200)
  t.ok(body.endsWith('\n'))
})

t.test('the printed key is that of the configuration, and no other', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const file = join(gateway.folder, 'configured.yaml')
  const text = readFileSync(config, 'utf8')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(text), audit: { signingKey: { env: 'SIGNING' } } }))
  const args = ['audit', 'public-key', '--config', file]
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const printed = await runCli(args, { SIGNING: pem })
  t.strictSame([printed.code, printed.stdout], [0, publicKey.export({ type: 'spki', format: 'pem' })])
  t.match(await runCli(args), {
    code: 2,
    stdout: '',
    stderr: /audit\.signingKey: environment variable SIGNING/,
  })
  t.match(await runCli(args, { SIGNING: 'no key' }), {
    code: 2,
    stdout: '',
    stderr: /no Ed25519 private key/,
  })
})
