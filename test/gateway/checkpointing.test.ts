// Evidence that an outsider gets from a gateway: checkpoints on standard output and from the API, proofs
// from a receipt to a checkpoint, and the full check on demand.

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type OpenedCheckpoint, openCheckpoint } from '../../src/audit/checkpoint.ts'
import { leafHash } from '../../src/audit/merkle.ts'
import { readVerifier } from '../../src/audit/note.ts'
import { verifyConsistency, verifyInclusion } from '../../src/audit/proof.ts'
import { SIGNING_KEY_FILE } from '../../src/store/files/signingkey.ts'
import { ADMIN_TOKEN, discard, startGateway, type TestGateway, writeDeployment } from '../process/gateway.ts'
import { runProgram } from '../process/run-command.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

const VERIFY_PY = fileURLToPath(new URL('../audit/verify.py', import.meta.url))
// Deadline of every wait in this file.
t.setTimeout(300_000)

const run = promisify(execFile)
const RECEIPT = /^([0-9a-f-]{36});seq=(\d+);hash=(sha256:[0-9a-f]{64})$/

const upstream = await startUpstream(json(completion('a fine answer')))
t.teardown(() => upstream.close())

interface Receipt {
  readonly log: string
  readonly seq: number
  readonly hash: string
}

/** Makes a call and returns its receipt. */
async function call(gateway: TestGateway, key: string): Promise<Receipt> {
  const answer = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'Hello.' }] })
  await answer.text()
  const [, log = '', seq = '', hash = ''] = RECEIPT.exec(answer.headers.get('x-sidegate-audit') ?? '') ?? []
  return { log, seq: Number(seq), hash }
}

async function newest(gateway: TestGateway): Promise<OpenedCheckpoint & { note: string; publicKey: string }> {
  const { status, body } = await gateway.api('GET', '/audit/checkpoint')
  t.equal(status, 200)
  const opened = open(body.checkpoint, body.public_key)
  t.same(
    [body.log, body.size, body.root, body.head, body.created_at],
    [opened.log, opened.size, opened.root.toString('base64'), opened.head, opened.time],
  )
  return { ...opened, note: body.checkpoint, publicKey: body.public_key }
}

/** Opens a checkpoint. @throws Error unless the key signed it */
function open(note: string, publicKey: string): OpenedCheckpoint {
  const opened = openCheckpoint(note, () => [readVerifier(publicKey, 'any')])
  if ('fault' in opened || opened.verified.length !== 1) throw new Error('the signature is not valid')
  return opened
}

const nodes = (proof: readonly string[]) => proof.map((node) => Buffer.from(node, 'base64'))
const checkpointsOf = (gateway: TestGateway) => gateway.logs.filter(({ msg }) => msg === 'audit checkpoint')

t.test('a receipt leads to a checkpoint, and an old checkpoint to a new one', async (t) => {
  const before = await startGateway({ upstreamUrl: upstream.baseUrl })
  const { key } = await before.createKey()
  const first = await newest(before)
  const receipts = [await call(before, key), await call(before, key), await call(before, key)]
  const { seq: fresh } = await call(before, key)
  const covering = await before.api('GET', `/audit/checkpoint?seq=${fresh}`)
  t.ok(covering.body.size > fresh, 'a checkpoint for a fresh receipt is signed at once')
  t.ok(open(covering.body.checkpoint, covering.body.public_key).size > fresh)
  t.match(await before.api('GET', '/audit/checkpoint?seq=999999'), {
    ...{ status: 400, body: { error: { code: 'invalid_parameter', param: 'seq' } } },
  })
  t.equal(await before.stop(), 0)
  const atStop = open(checkpointsOf(before).at(-1)?.['checkpoint'] as string, first.publicKey)
  t.ok(atStop.size > (receipts[2]?.seq ?? 0), 'the checkpoint of the stop covers every entry')

  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder: before.folder })
  t.teardown(() => discard(gateway))
  const now = await newest(gateway)
  t.equal(now.publicKey, first.publicKey, 'a generated key is kept')
  t.ok(now.size > atStop.size)
  for (const { seq, hash, log } of receipts) {
    t.equal(log, now.log)
    const { body } = await gateway.api('GET', `/audit/proof?seq=${seq}`)
    t.equal(body.size, now.size, 'the newest checkpoint covers it')
    t.ok(verifyInclusion(seq, now.size, leafHash(hash), now.root, nodes(body.proof)), `entry ${seq}`)
    t.equal(body.leaf_hash, leafHash(hash).toString('base64'))
    const earlier = await gateway.api('GET', `/audit/proof?seq=${seq}&size=${atStop.size}`)
    t.ok(verifyInclusion(seq, atStop.size, leafHash(hash), atStop.root, nodes(earlier.body.proof)))
  }
  for (const old of [first, atStop]) {
    const { body } = await gateway.api('GET', `/audit/proof?from=${old.size}`)
    t.ok(
      verifyConsistency(old.size, now.size, old.root, now.root, nodes(body.proof)),
      'the log extends the older one',
    )
    t.equal(body.from_root, old.root.toString('base64'))
  }
  for (const [query, param] of [
    ['', 'seq'],
    ['?seq=1&from=1', 'seq'],
    ['?seq=x', 'seq'],
    [`?seq=${now.size}`, 'seq'],
    ['?seq=0&size=99999999', 'size'],
    ['?from=0', 'from'],
    [`?from=${now.size}&size=1`, 'from'],
    ['?sequence=1', 'sequence'],
  ] as const) {
    const { status, body } = await gateway.api('GET', `/audit/proof${query}`)
    t.match([status, body.error], [400, { code: 'invalid_parameter', param }], query)
  }
  await exported(t, gateway, now.publicKey)
})

/** Verifies the export and its checkpoints with both verifiers. */
async function exported(t: Test, gateway: TestGateway, publicKey: string): Promise<void> {
  const { stdout } = await runProgram(['audit', 'export', '--config', join(gateway.folder, 'sidegate.yaml')])
  const dump = join(gateway.folder, 'dump.jsonl')
  const keyFile = join(gateway.folder, 'key.txt')
  writeFileSync(dump, stdout)
  writeFileSync(keyFile, publicKey)
  const checkpoints = stdout.split('\n').filter((line) => line.startsWith('{"checkpoint"'))
  t.equal(checkpoints.length, 4, 'one for each start, one on request and one for the stop')
  const checked = await runProgram(['audit', 'verify', '--export', dump, '--public-key', keyFile])
  t.match(JSON.parse(checked.stdout), {
    ok: true,
    signatures_checked: true,
    checkpoints_agreeing: { beside: 4 },
  })
  const python = await run('python3', [VERIFY_PY, dump])
  t.match(python.stdout, /, 4 checkpoints, /)
}

t.test('a configured key signs, and none is generated', async (t) => {
  const folder = t.testdir()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(folder, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }))
  writeFileSync(join(folder, 'public.pem'), publicKey.export({ format: 'pem', type: 'spki' }))
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    folder,
    rules: 'rules: []\n',
    config: { audit: { signingKey: { file: 'key.pem' } } },
    env: { SIDEGATE_INSTANCE: '7f9c2ba4-e88f-427d-a616-5afd2a0f0d9c' },
  })
  const { publicKey: signer } = await newest(gateway)
  const pem = readFileSync(join(folder, 'public.pem'), 'utf8')
  t.same(readVerifier(signer, 'any').key.export({ format: 'pem', type: 'spki' }), pem)
  t.notOk(existsSync(join(folder, 'data', SIGNING_KEY_FILE)), 'none is generated')
  await gateway.stop()
  const config = join(folder, 'sidegate.yaml')
  const { stdout } = await runProgram(['audit', 'export', '--config', config])
  const boot = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)))[1]
  t.match(boot, {
    type: 'boot',
    instance: '7f9c2ba4-e88f-427d-a616-5afd2a0f0d9c',
    signer,
    key_source: 'configured',
  })
  const verified = await runProgram([
    'audit',
    'verify',
    '--config',
    config,
    '--public-key',
    join(folder, 'public.pem'),
  ])
  t.match([verified.code, JSON.parse(verified.stdout)], [0, { checkpoints_agreeing: { beside: 2 } }])
})

t.test('a signing key that cannot be used prevents the start', async (t) => {
  const start = async (config: object, env: Record<string, string> = {}) => {
    const { folder, file } = writeDeployment({
      upstreamUrl: upstream.baseUrl,
      folder: t.testdir({ 'key.pem': 'no key', data: { [SIGNING_KEY_FILE]: '' } }),
      rules: 'rules: []\n',
      config,
    } as never)
    const result = await runProgram(['serve', '--config', file], { UPSTREAM_KEY: 'u', ADMIN_TOKEN, ...env })
    return { ...result, folder }
  }
  const configured = await start({ audit: { signingKey: { file: 'key.pem' } } })
  t.equal(configured.code, 2)
  t.match(configured.stderr, /audit\.signingKey.*is not an Ed25519 private key.*openssl genpkey/)
  const missing = await start({ audit: { signingKey: { env: 'NO_SUCH_KEY' } } })
  t.match(
    [missing.code, missing.stderr],
    [2, /audit\.signingKey.*NO_SUCH_KEY is not set; create a key with: openssl/],
  )
  const broken = await start({})
  t.match([broken.code, broken.stderr], [2, /signing-key\.pem holds no Ed25519 private key; restore it/])
  const named = await start({}, { SIDEGATE_INSTANCE: 'two words' })
  t.match([named.code, named.stderr], [2, /SIDEGATE_INSTANCE takes 1 to 128/])
})

t.test('a generated key is readable only by its owner, and a warning names it', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const file = join(gateway.folder, 'data', SIGNING_KEY_FILE)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const page = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const { size, root } = await newest(gateway)
  const value = (name: string) => Number(new RegExp(`^sidegate_${name} (\\S+)$`, 'm').exec(page)?.[1])
  t.equal(value('audit_checkpoint_sequence'), size - 1)
  t.equal(value('audit_checkpoint_fingerprint'), Number.parseInt(root.toString('hex', 0, 7).slice(0, 13), 16))
  t.ok(value('audit_checkpoint_timestamp_seconds') > 1.7e9)
  t.equal(value('audit_verified'), -1)
  await gateway.stop()
  t.match(
    gateway.logs.find(({ level }) => level === 'warn'),
    { file: SIGNING_KEY_FILE, msg: /in the data directory.*audit\.signingKey/ },
  )
  t.notMatch(JSON.stringify(gateway.logs), readFileSync(file, 'utf8').split('\n')[1] as string)
})

t.test('the full check passes an unchanged log and finds a changed one', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  t.match((await gateway.api('GET', '/audit/verify')).body, { running: false, progress: 0, result: null })
  const { key } = await gateway.createKey()
  const { seq } = await call(gateway, key)
  const both = await Promise.all([gateway.api('POST', '/audit/verify'), gateway.api('POST', '/audit/verify')])
  for (const { status, body } of both) {
    t.match(
      [status, body],
      [200, { running: false, progress: 1, ok: true, error: null, result: { ok: true } }],
    )
    t.ok(body.result.head.seq >= seq)
  }
  t.equal(both[0]?.body.started_at, both[1]?.body.started_at, 'one check for both')
  t.same((await gateway.api('GET', '/audit/verify')).body, both[0]?.body)
  const verified = async () =>
    /^sidegate_audit_verified (\S+)$/m.exec(await (await fetch(`${gateway.opsUrl}/metrics`)).text())?.[1]
  t.equal(await verified(), '1')
  await gateway.applied()
  edit(join(gateway.folder, 'data/data.mdb'))
  const after = await gateway.api('POST', '/audit/verify')
  t.match([after.status, after.body.result.ok], [200, false])
  t.match(after.body.result.findings, [{ reason: /the hash does not match the entry/ }])
  t.equal(await verified(), '0')
  t.match(
    gateway.logs.find(
      ({ msg }) =>
        msg ===
        'the full check found that the usage log was changed; keep a copy and run sidegate audit verify',
    ),
    { level: 'error' },
  )
})

/** Changes one digit in the text of each entry, as with a hex editor. */
function edit(file: string): void {
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf('"latency_ms":'); at >= 0; at = bytes.indexOf('"latency_ms":', at + 1)) {
    const digit = at + '"latency_ms":'.length
    bytes[digit] = bytes[digit] === 0x39 ? 0x38 : 0x39
  }
  // Written in place: truncating the file would kill the process that maps it.
  writeFileSync(file, bytes, { flag: 'r+' })
}
