// `sidegate audit`: intact and damaged logs, the worked example of
// src/audit/README.md, exports that an independent program verifies, and bad arguments.

import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { cosignCheckpoint, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { checkpointLine } from '../../src/audit/dump.ts'
import { systemClock } from '../../src/core/clock.ts'
import { type Environment, openEnvironment } from '../../src/store/environment/journaled.ts'
import { openStore } from '../../src/store/store.ts'
import { packEntry, u64, unpackEntry } from '../../src/store/tables/layout.ts'
import { requestDraft } from '../audit/drafts.ts'
import { newSigner } from '../audit/logs.ts'
import { discard, startGateway, writeDeployment } from '../process/gateway.ts'
import { programArgs, SIDEGATE } from '../process/program.ts'
import { runCli, runProgram } from '../process/run-command.ts'
import { inTime } from '../process/until.ts'
import { completion, json, startUpstream, stream } from '../process/upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(600_000)

const VERIFY_PY = fileURLToPath(new URL('../audit/verify.py', import.meta.url))
const README = readFileSync(new URL('../../src/audit/README.md', import.meta.url), 'utf8')
const run = promisify(execFile)

const CONTENT = '{"request":{"messages":[]},"response":null}'

interface Deployment {
  readonly file: string
  readonly data: string
  readonly folder: string
}

function deploy(t: Test): Deployment {
  const { folder, file } = writeDeployment({
    upstreamUrl: 'http://127.0.0.1:1/v1',
    folder: t.testdir(),
    rules: 'rules: []\n',
  })
  return { file, folder, data: join(folder, 'data') }
}

/** Seals calls with their exchanges, as a gateway does. */
async function call({ data }: Deployment, calls: number, id = 'call', content = CONTENT): Promise<void> {
  const store = openStore({ path: data, clock: systemClock, random: randomBytes, maxBytes: 1024 ** 3 })
  const appended = Array.from({ length: calls }, (_, index) =>
    store.log.append(requestDraft({ id: `${id}-${index}`, key_name: `Zoë ${index} \u2028"\\` }), {
      content,
    }),
  )
  await Promise.all(appended)
  await store.close()
}

async function edit({ data }: Deployment, change: (tables: Environment['tables']) => void): Promise<void> {
  const environment = openEnvironment(data)
  await environment.transaction(() => change(environment.tables))
  await environment.close()
}

async function exportTo({ file }: Pick<Deployment, 'file'>, to: string): Promise<void> {
  const { code, stdout, stderr } = await runCli(['audit', 'export', '--exchanges', '--config', file])
  if (code !== 0) throw new Error(`the export ended with ${code}: ${stderr}`)
  writeFileSync(to, stdout)
}

/** @param run `runProgram` where damage may kill the reader, or a gateway of this process has the log */
async function verify(args: readonly string[], run = runCli): Promise<{ code: number | null; verdict: any }> {
  const { code, stdout, stderr } = await run(['audit', 'verify', ...args])
  t.equal(stderr, '')
  return { code, verdict: JSON.parse(stdout) }
}

/** Signs a checkpoint over the log, as one kept elsewhere. */
async function witness(
  { file, folder }: Deployment,
  name: string,
): Promise<{ note: string; path: string; key: string }> {
  const { verdict } = await verify(['--config', file])
  const signer = newSigner(verdict.log)
  const { seq, hash } = verdict.head
  const root = Buffer.from(verdict.root, 'base64')
  const note = signCheckpoint({ log: verdict.log, size: seq + 1, root, head: hash, time: null }, signer)
  mkdirSync(join(folder, 'elsewhere'), { recursive: true })
  const path = join(folder, 'elsewhere', name)
  writeFileSync(path, note)
  writeFileSync(`${path}.pub`, `${signer.verifier.text}\n`)
  return { note, path, key: `${path}.pub` }
}

t.test('an unchanged log passes, and entries without a checkpoint are reported', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 700)
  const { path, key } = await witness(deployment, 'note')
  await call(deployment, 2, 'later')
  const { code, verdict } = await verify([
    '--config',
    deployment.file,
    '--checkpoint',
    path,
    '--public-key',
    key,
  ])
  t.equal(code, 0)
  t.match(verdict, {
    ok: true,
    first_seq: 0,
    entries: 703,
    beginning: 'genesis',
    signatures_checked: true,
    checkpoints_agreeing: { elsewhere: 1, beside: 0 },
    covered_seq: 700,
    uncovered: 'entries after 700 are covered by no checkpoint kept elsewhere',
    findings: [],
  })
  const pretty = await runCli(['audit', 'verify', '--config', deployment.file, '--format', 'pretty'])
  t.match(pretty.stdout, /entries +0 to 702, from the genesis entry\n(?:.*\n)*verdict +PASS/)
})

t.test(
  'verify reports a changed row, a cut tail and an old snapshot, as in the worked example',
  async (t) => {
    const deployment = deploy(t)
    await call(deployment, 5)
    cpSync(deployment.data, `${deployment.data}.snapshot`, { recursive: true })
    await call(deployment, 5, 'later')
    const { path } = await witness(deployment, 'note')
    cpSync(deployment.data, `${deployment.data}.honest`, { recursive: true })
    const restore = (from: string) => {
      rmSync(deployment.data, { recursive: true })
      cpSync(`${deployment.data}.${from}`, deployment.data, { recursive: true })
    }
    const findings = async (args: readonly string[] = []) => {
      const { code, verdict } = await verify(['--config', deployment.file, ...args])
      t.equal(code, verdict.ok ? 0 : 1)
      return verdict.findings.map(
        ({ seq, reason }: any) => `${seq ?? 'log'}: ${reason.replaceAll(path, 'note')}`,
      )
    }
    const documented = (found: string[], ...expected: string[]) => {
      t.strictSame(found, expected)
      for (const line of expected) t.ok(README.includes(line), line)
    }

    await edit(deployment, ({ entries }) => {
      const { hash, bytes } = unpackEntry(3, entries.get(u64(3)) as Buffer)
      entries.put(u64(3), packEntry(hash, Buffer.from(bytes.toString().replace('"cost":1234', '"cost":1'))))
    })
    documented(await findings(), '3: the hash does not match the entry')

    restore('honest')
    await edit(deployment, ({ entries, content, ids }) => {
      for (const seq of [9, 10]) {
        entries.remove(u64(seq))
        content.remove(u64(seq))
        ids.remove(Buffer.from(`later-${seq - 6}`))
      }
    })
    documented(await findings(), 'log: the head of the log is at 10, and its entries end at 8')

    restore('snapshot')
    documented(await findings())
    documented(
      await findings(['--checkpoint', path]),
      '6: note: covers 11 entries, and the log has only 6; the others are missing',
    )
    await call(deployment, 9, 'instead')
    documented(await findings())
    documented(await findings(['--checkpoint', path]), '0: note: entries 0 to 10 differ from those it covers')
  },
)

t.test('a checkpoint that the hubs have cosigned convicts the log of a sidecar offline', async (t) => {
  const deployment = deploy(t)
  const { file, data, folder } = deployment
  await call(deployment, 5)
  cpSync(data, `${data}.snapshot`, { recursive: true })
  await call(deployment, 5, 'later')
  const { note, key } = await witness(deployment, 'note')
  const hub = newSigner('01980000-0000-7000-8000-00000000000b')
  const cosigned = join(folder, 'cosigned.note')
  writeFileSync(cosigned, cosignCheckpoint(note, hub, Date.now()))
  const pem = join(folder, 'hub.pub')
  writeFileSync(pem, hub.verifier.key.export({ format: 'pem', type: 'spki' }))
  const verifier = join(folder, 'hub.verifier')
  writeFileSync(verifier, hub.verifier.text)
  const verifyWith = (...keys: string[]) =>
    verify(['--config', file, '--checkpoint', cosigned, ...keys.flatMap((one) => ['--public-key', one])])
  for (const keys of [[pem], [verifier], [key], [key, pem], []])
    t.match(await verifyWith(...keys), { code: 0, verdict: { covered_seq: 10, findings: [] } }, keys.join())
  const exported = join(folder, 'export.jsonl')
  await exportTo(deployment, exported)
  t.match(
    (await run('python3', [VERIFY_PY, exported, cosigned])).stdout,
    /^11 entries from 0 on, 1 checkpoints/,
  )

  rmSync(data, { recursive: true })
  cpSync(`${data}.snapshot`, data, { recursive: true })
  const cut = {
    code: 1,
    verdict: { findings: [{ seq: 6, reason: /covers 11 entries, and the log has only 6/ }] },
  }
  t.match(await verifyWith(pem), cut)
  await call(deployment, 9, 'instead')
  const rewritten = {
    code: 1,
    verdict: { findings: [{ reason: /entries 0 to 10 differ from those it covers/ }] },
  }
  t.match(await verifyWith(verifier), rewritten)
})

t.test('verify finds a stored exchange that differs from its sealed hash', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 4)
  await edit(deployment, ({ content }) => content.put(u64(2), Buffer.alloc(40)))
  t.match((await verify(['--config', deployment.file])).verdict.findings, [
    { seq: 2, reason: 'the stored exchange is not the one the entry commits to' },
  ])
  await edit(deployment, ({ content }) => content.remove(u64(2)))
  t.match((await verify(['--config', deployment.file])).verdict.findings, [
    { reason: /1 stored exchanges are missing/ },
  ])
  const store = openStore({
    path: deployment.data,
    clock: systemClock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
  })
  await store.log.append({ type: 'erase', selection: { request_id: 'call-1' }, erased: 1, actor: 'vera' })
  await store.close()
  t.equal((await verify(['--config', deployment.file])).code, 0)
  await edit(deployment, ({ ids }) => ids.remove(Buffer.from('call-3')))
  t.match((await verify(['--config', deployment.file])).verdict.findings, [
    { seq: 4, reason: /the index maps its id to another entry/ },
  ])
  await edit(deployment, ({ entries }) => entries.remove(u64(0)))
  t.match((await verify(['--config', deployment.file])).verdict.findings.at(-1), {
    seq: null,
    reason: /begins at 1, and no prune/,
  })
})

t.test('an export has the sealed bytes, and an independent program verifies it', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 1200)
  const { note, path } = await witness(deployment, 'note')
  const { code, stdout } = await runCli(['audit', 'export', '--config', deployment.file])
  t.equal(code, 0)
  const file = join(deployment.folder, 'export.jsonl')
  writeFileSync(file, stdout + checkpointLine(note))
  const { verdict } = await verify(['--export', file])
  t.match(verdict, { ok: true, entries: 1201, checkpoints_agreeing: { elsewhere: 0, beside: 1 } })
  const python = await run('python3', [VERIFY_PY, file, path])
  t.equal(python.stdout, `1201 entries from 0 on, 2 checkpoints, root ${verdict.root}\n`)
  writeFileSync(file, stdout.replace('"cost":1234', '"cost":1'))
  await t.rejects(run('python3', [VERIFY_PY, file]), { message: /1: the hash does not match/ })
  writeFileSync(file, stdout.split('\n').slice(0, 900).join('\n'))
  await t.rejects(run('python3', [VERIFY_PY, file, path]), { message: /./ })
  for (const [place, reason] of [
    [deployment.folder, /is not a regular file/],
    [join(deployment.folder, 'none.jsonl'), /does not exist/],
  ] as const) {
    t.match(await runCli(['audit', 'verify', '--export', place]), { code: 2, stderr: reason })
  }
})

t.test('an export with exchanges has the sealed bytes of each exchange', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 700)
  const large = `{"request":{"messages":["${'ä'.repeat(3_000_000)}"]},"response":null}`
  await call(deployment, 1, 'large', large)
  await call(deployment, 1, 'last')
  await edit(deployment, ({ content }) => content.remove(u64(2)))
  const folder = deployment.folder
  const { path, key } = await witness(deployment, 'note')
  const plain = (await runCli(['audit', 'export', '--config', deployment.file])).stdout
  const file = join(folder, 'exchanges.jsonl')
  await exportTo(deployment, file)
  const text = readFileSync(file, 'utf8')
  const lines = text.split(/(?<=\n)/)
  const isExchange = (line: string) => line.startsWith('{"exchange":')
  t.equal(lines.filter((line) => !isExchange(line)).join(''), plain)
  const exchanges = lines.filter(isExchange)
  t.equal(exchanges.length, 701)
  t.equal(lines[3], plain.split(/(?<=\n)/)[2], 'an exchange that is gone leaves no line')
  t.ok(exchanges[699]?.endsWith(`,"content":${large}}}\n`))
  for (const [index, line] of lines.entries()) {
    if (isExchange(line)) t.equal(JSON.parse(line).exchange.seq, JSON.parse(lines[index - 1] as string).seq)
  }
  const { code, verdict } = await verify(['--export', file, '--checkpoint', path, '--public-key', key])
  t.match({ code, verdict }, { code: 0, verdict: { ok: true, entries: 703, covered_seq: 702, findings: [] } })
  const python = await run('python3', [VERIFY_PY, file])
  t.match(python.stdout, `703 entries from 0 on, 0 checkpoints, root ${verdict.root}\n`)

  const child = spawn('env', programArgs(['audit', 'export', '--exchanges', '--config', deployment.file]))
  let complaint = ''
  child.stderr.on('data', (bytes) => {
    complaint += bytes
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const [ended] = await inTime('the export ends', once(child, 'close'))
  t.strictSame([ended, complaint], [0, ''], 'a closed pipe ends the export without an error')

  const changed = join(folder, 'changed.jsonl')
  const findings = async (edited: string) => {
    writeFileSync(changed, edited)
    const { code, verdict } = await verify(['--export', changed])
    t.equal(code, 1)
    await t.rejects(run('python3', [VERIFY_PY, changed]))
    return verdict.findings
  }
  const unlike = (seq: number) => [{ seq, reason: 'the exchange is not the one the entry commits to' }]
  t.strictSame(await findings(text.replace('ää', 'äb')), unlike(701))
  t.strictSame(await findings(text.replace('"response":null', '"response": null')), unlike(1))
  t.strictSame(await findings(text.replace(/"salt":"....../, '"salt":"AAAAAA')), unlike(1))
  t.match(await findings(text.replace('{"exchange":{"seq":1,', '{"exchange":{"seq":2,')), [
    { seq: null, reason: /an exchange for entry 2 / },
  ])
})

t.test('an export leaves out an exchange that cannot be a line, and reports it', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 3)
  await edit(deployment, ({ content }) => {
    content.put(u64(1), Buffer.from(`${'s'.repeat(32)}{}}}\n{"checkpoint":"forged"}`))
    content.put(u64(2), Buffer.from('short'))
  })
  const { code, stdout, stderr } = await runCli([
    'audit',
    'export',
    '--exchanges',
    '--config',
    deployment.file,
  ])
  t.equal(code, 1)
  t.match(stderr, '2 stored exchanges left out')
  t.equal(stdout.split('\n').length, 6)
  t.notMatch(stdout, 'forged')
})

t.test('exported calls can be replayed against new rules', async (t) => {
  const answered = json(completion('ask carol@example.com about borealis'))
  const streamed = stream(['the road', ' to zen', 'ith'])
  const upstream = await startUpstream((response, received) =>
    (JSON.parse(received.body).stream === true ? streamed : answered)(response, received),
  )
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey('web')
  const { key: other } = await gateway.createKey('batch')
  const ask = async (as: string, content: string, more: object = {}) => {
    const body = { model: 'm', messages: [{ role: 'user', content }], ...more }
    const response = await gateway.chat(as, body)
    await response.text()
    return response.headers.get('x-request-id') as string
  }
  await ask(key, 'nothing to see')
  const asked = await ask(key, 'the route to project aurora, dan@example.com')
  await ask(other, 'again project aurora')
  const streamedId = await ask(key, 'where to?', { stream: true, stream_options: { include_usage: true } })
  await ask(key, 'a body that is refused', { n: 1000 })
  const erased = await ask(key, 'project aurora once more')
  const config = join(gateway.folder, 'sidegate.yaml')
  t.equal((await runCli(['audit', 'erase', '--config', config, '--request', erased])).code, 0)
  const file = join(gateway.folder, 'calls.jsonl')
  await exportTo({ file: config }, file)
  t.match(await verify(['--export', file]), { code: 0, verdict: { ok: true } })
  const written = readFileSync(file, 'utf8').split('\n')
  const where = (id: string) =>
    `${file}:${written.findIndex((line) => line.includes(`"id":"${id}"`) && line.includes('"seq":')) + 2} ${id}`

  const rules = (name: string, text: string) => {
    mkdirSync(join(gateway.folder, name))
    writeFileSync(join(gateway.folder, name, 'rules.yaml'), text)
    return join(gateway.folder, name)
  }
  const old = rules('old', 'rules: []\n')
  const next = rules(
    'next',
    `rules:
  - { name: aurora, type: keyword_block, pattern: project aurora, action: block, match: { keys: [web] } }
  - { name: zenith, type: keyword_block, pattern: road to zenith, action: block, match: { direction: response } }
`,
  )
  const diff = (...args: string[]) => runCli(['diff', ...args, '--replay', file, '--format', 'json'])
  const { code, stdout, stderr } = await diff(old, next)
  t.equal(code, 1)
  t.equal(stderr, `${file}: 2 calls skipped because the export has no exchange of them\n`)
  const { exchanges, tried } = JSON.parse(stdout)
  t.equal(tried, 4)
  t.match(exchanges, [
    { where: where(asked), old: { decision: 'allow' }, new: { decision: 'block', rules: ['aurora'] } },
    { where: where(streamedId), old: { decision: 'allow' }, new: { decision: 'block', rules: ['zenith'] } },
  ])
  t.equal(exchanges.length, 2)
  t.notMatch(stdout, /route to|borealis|EMAIL/)
  t.strictSame((await diff(old, old)).code, 0)
})

t.test('verify accepts a part of a log from standard input with --partial', async (t) => {
  const deployment = deploy(t)
  await call(deployment, 3)
  await call(deployment, 3, 'later')
  const whole = await runCli(['audit', 'export', '--config', deployment.file])
  const times = whole.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).ts)
  const part = await runCli(['audit', 'export', '--config', deployment.file, '--since', times[4]])
  t.ok(whole.stdout.endsWith(part.stdout))
  const first = await runCli(['audit', 'export', '--config', deployment.file, '--until', times[0]])
  t.ok(whole.stdout.startsWith(first.stdout) && first.stdout.length > 0)
  const lastDay = times.at(-1).slice(0, 'YYYY-MM-DD'.length)
  const untilDay = await runCli(['audit', 'export', '--config', deployment.file, '--until', lastDay])
  t.equal(untilDay.stdout, whole.stdout, 'a day is all of it')
  const nothing = await runCli(['audit', 'export', '--config', deployment.file, '--until', '2020-01-01'])
  t.strictSame([nothing.code, nothing.stdout], [0, ''])
  const { path } = await witness(deployment, 'note')
  const file = join(deployment.folder, 'part.jsonl')
  writeFileSync(file, whole.stdout.split('\n').slice(2).join('\n'))
  const piped = await run('sh', [
    '-c',
    `${SIDEGATE} audit verify --partial --export - --checkpoint "${path}" < "${file}"`,
  ])
  t.match(JSON.parse(piped.stdout), {
    ok: true,
    beginning: 'unanchored',
    partial: true,
    first_seq: 2,
    covered_seq: 6,
    root: null,
  })
  t.match(await verify(['--export', file]), {
    code: 1,
    verdict: { ok: false, findings: [{ seq: null, reason: /begins at 2, and no prune entry/ }] },
  })
  await t.rejects(run('python3', [VERIFY_PY, file]), { message: /2: the beginning is missing/ })
  const pretty = async (...args: string[]) =>
    (await runCli(['audit', 'verify', '--export', file, '--format', 'pretty', ...args])).stdout
  t.match(await pretty(), /verdict +FAIL, 1 finding\n/)
  t.match(await pretty('--partial'), /verdict +PASS \(partial\)\n/)
  writeFileSync(file, `${whole.stdout}\n \r\n\n`)
  t.match(await verify(['--export', file, '--partial']), { code: 0, verdict: { ok: true, partial: false } })
  t.ok((await run('python3', [VERIFY_PY, file])).stdout, 'blank lines at the end are no damage')
  writeFileSync(file, whole.stdout.replace('\n', '\n\n'))
  t.match(await verify(['--export', file]), { code: 1, verdict: { findings: [{ reason: /^line 2: / }] } })
  const head = await run('sh', ['-c', `${SIDEGATE} audit export --config "${deployment.file}" | head -n 1`])
  t.match(JSON.parse(head.stdout), { type: 'genesis' })
})

t.test(
  'verify reads checkpoints as notes, as JSON of the API, and from the log of the gateway',
  async (t) => {
    const deployment = deploy(t)
    await call(deployment, 1)
    const { note, path } = await witness(deployment, 'note')
    for (const text of [
      note,
      JSON.stringify({ checkpoint: note, size: 2 }, null, 2),
      `{"level":"info","msg":"listening"}\n${JSON.stringify({ msg: 'audit checkpoint', checkpoint: note })}\n`,
    ]) {
      writeFileSync(path, text)
      t.match(await verify(['--config', deployment.file, '--checkpoint', path]), {
        code: 0,
        verdict: { covered_seq: 1 },
      })
    }
  },
)

t.test('verify works while a gateway runs on the same data', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  await gateway
    .chat(key, { model: 'm', messages: [{ role: 'user', content: 'hello' }] })
    .then((r) => r.text())
  const { code, verdict } = await verify(['--config', join(gateway.folder, 'sidegate.yaml')], runProgram)
  t.match({ code, verdict }, { code: 0, verdict: { ok: true, beginning: 'genesis' } })
})

t.test('an audit that cannot run says why and exits with 2', async (t) => {
  const deployment = deploy(t)
  const junk = join(deployment.folder, 'junk')
  writeFileSync(junk, '{"a":1}')
  const there = ['--export', junk]
  for (const [reason, args] of [
    [/give an action: verify, public-key, export, erase, rollup, trust-clock, compact or new-log/, []],
    [/unexpected argument/, ['verify', 'it']],
    [/there is no log in/, ['verify', '--config', deployment.file]],
    [/there is no log in/, ['export', '--config', deployment.file]],
    [/cannot be read/, ['verify', '--config', join(deployment.folder, 'none.yaml')]],
    [/does not exist/, ['verify', '--export', join(deployment.folder, 'none')]],
    [/give either --config or --export/, ['verify', ...there, '--config', deployment.file]],
    [/--partial goes with --export/, ['verify', '--partial', '--config', deployment.file]],
    [/export takes no --partial/, ['export', '--partial']],
    [/holds no public key/, ['verify', ...there, '--public-key', junk]],
    [/holds no checkpoint/, ['verify', ...there, '--checkpoint', junk]],
    [/ENOENT/, ['verify', ...there, '--checkpoint', `${junk}2`]],
    [/--receipt needs --public-key/, ['verify', '--receipt', junk]],
    [/verify --receipt takes no --export/, ['verify', '--receipt', junk, ...there]],
    [/verify --receipt takes no --config/, ['verify', '--receipt', junk, '--config', deployment.file]],
    [/export takes no --receipt/, ['export', '--receipt', junk]],
    [/public-key takes no --format/, ['public-key', '--format', 'json']],
    [/there is no .*signing-key\.pem; start the gateway once/, ['public-key', '--config', deployment.file]],
    [/pretty or json/, ['verify', ...there, '--format', 'xml']],
    [/verify takes no --since/, ['verify', ...there, '--since', '2026-03-01']],
    [/export takes no --format/, ['export', '--format', 'json']],
    [/new-log takes no --to/, ['new-log', '--to', junk]],
    [/there is no log in/, ['new-log', '--config', deployment.file]],
    [/verify takes no --exchanges/, ['verify', ...there, '--exchanges']],
    [/compact takes no --exchanges/, ['compact', '--to', junk, '--exchanges']],
    [/takes a time like/, ['export', '--since', 'yesterday']],
    [/no option --checkpoints; did you mean --checkpoint/, ['verify', '--checkpoints', junk]],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['audit', ...args])
    t.strictSame([code, stdout], [2, ''], args.join(' '))
    t.match(stderr, reason)
  }
  const { code, verdict } = await verify(there)
  t.match({ code, verdict }, { code: 1, verdict: { findings: [{ seq: 0, reason: /^line 1: / }] } })
  renameSync(junk, `${junk}3`)
})
