// Starting on the data folder of a killed process, on one that is in use, and on a damaged log.

import { randomBytes } from 'node:crypto'
import {
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEnvironment } from '../../src/store/journaled.ts'
import { u64 } from '../../src/store/layout.ts'
import { discard, runCli, startGateway, type TestGateway } from '../process/gateway.ts'
import { PROGRAM } from '../process/program.ts'
import { completion, delta, event, json, startUpstream } from '../process/upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const upstream = await startUpstream()
t.teardown(() => upstream.close())

const ask = (streams: boolean) => ({
  model: 'm',
  stream: streams,
  messages: [{ role: 'user', content: 'hi' }],
})

async function usage(gateway: TestGateway): Promise<any[]> {
  const { body } = await gateway.api('GET', '/usage/logs?limit=1000')
  return body.logs
}

t.test('only a clean stop lets the next start skip the inspection', async (t) => {
  const start = (folder?: string) =>
    startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, ...(folder !== undefined && { folder }) })
  const first = await start()
  const mark = join(first.folder, 'data/closed')
  t.notOk(existsSync(mark))
  t.equal(await first.stop(), 0)
  t.ok(existsSync(mark))
  const second = await start(first.folder)
  t.notOk(existsSync(mark), 'it counts for one start')
  await second.kill('SIGKILL')
  t.notOk(existsSync(mark))
  const third = await start(first.folder)
  t.equal(await third.stop(), 0)
  t.ok(existsSync(mark))
  await discard(third)
})

t.test('after kill -9 the next start seals each call in flight once, as interrupted', async (t) => {
  const gateway = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl })
  const { folder } = gateway
  const { key, id: keyId } = await gateway.createKey('batch')
  upstream.answer = json(completion('Hello.'))
  const sealed = await gateway.chat(key, ask(false))
  await sealed.text()
  upstream.answer = (response, { body }) => {
    if (!body.includes('"stream":true')) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('some words, and more of them follow, but never all')))
  }
  const arrived = [upstream.next()]
  const whole = gateway.chat(key, ask(false)).catch(() => null)
  await arrived[0]
  const streamed = await gateway.chat(key, ask(true))
  const reader = streamed.body?.getReader()
  await reader?.read()
  const rest = reader?.read().catch(() => null)
  const secondary = upstream.next()
  const another = gateway.chat(key, ask(false)).catch(() => null)
  await secondary
  await gateway.kill('SIGKILL')
  await Promise.all([whole, rest, another])

  for (const starts of [1, 2]) {
    const next = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, folder })
    const logs = await usage(next)
    t.equal(logs.length, 4, `after ${starts} starts`)
    const [first, ...interrupted] = logs.toSorted((a: any, b: any) => a.seq - b.seq)
    t.match(first, { id: sealed.headers.get('x-request-id') as string, outcome: 'ok' })
    for (const entry of interrupted) {
      t.match(entry, { outcome: 'interrupted', key_id: keyId, key_name: 'batch', model: 'm', status: 503 })
      t.ok(entry.prompt_tokens > 0)
    }
    t.ok(interrupted.some(({ id }: any) => id === streamed.headers.get('x-request-id')))
    t.strictSame(interrupted.map(({ stream }: any) => stream).sort(), [false, false, true])
    t.equal(new Set(logs.map(({ id }: any) => id)).size, 4)
    await next.stop()
    t.equal(statSync(join(folder, 'data', 'intents')).size, 0)
  }
  const { stdout } = await runCli(['audit', 'export', '--config', join(folder, 'sidegate.yaml')])
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const boot = entries.findIndex((entry) => entry.type === 'boot' && entry.clean === false)
  t.match(
    entries.slice(boot + 1, boot + 4),
    [1, 2, 3].map(() => ({ outcome: 'interrupted' })),
  )
  await discard(gateway)
})

t.test('a second gateway on a folder is refused, commands are not', async (t) => {
  const gateway = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const { folder } = gateway
  await t.rejects(startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, folder }), {
    message: new RegExp(
      `ended with 2: .*in use by the gateway with process id ${gateway.child.pid}; stop`,
      's',
    ),
  })
  const listed = await runCli(['keys', 'list', '--config', join(folder, 'sidegate.yaml')])
  t.equal(listed.code, 0)
  await gateway.kill('SIGKILL')
  const next = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, folder })
  await next.stop()
  t.notOk(existsSync(join(folder, 'data', 'gateway.pid')))
})

const PAGE_BYTES = 4096

/** Overwrites every page that holds the text. */
function overwritePages(file: string, text: string, page: Buffer): number {
  const bytes = readFileSync(file)
  const handle = openSync(file, 'r+')
  const places = new Set<number>()
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    places.add(Math.floor(at / PAGE_BYTES) * PAGE_BYTES)
  }
  for (const place of places) writeSync(handle, page, 0, page.length, place)
  return places.size
}

/** Changes rows through LMDB and leaves the head as it is. */
async function withRows(
  path: string,
  change: (tables: ReturnType<typeof openEnvironment>['tables']) => void,
) {
  const environment = openEnvironment(path)
  await environment.transaction(() => change(environment.tables))
  await environment.close()
}

interface Damage {
  readonly name: string
  /** Whether the keys, which are in other pages, must survive. */
  readonly keysStay: boolean
  /** Whether the end of the log can be read. */
  readonly known: boolean
  readonly harm: (file: string, newest: any) => void | Promise<void>
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'a truncated file',
    keysStay: false,
    known: false,
    harm: (file) => truncateSync(file, Math.floor(statSync(file).size / 2 / PAGE_BYTES) * PAGE_BYTES),
  },
  {
    name: 'a file that is no database',
    keysStay: false,
    known: false,
    harm: (file) => writeFileSync(file, 'gone'),
  },
  {
    name: 'a zeroed page',
    keysStay: true,
    known: true,
    harm: (file, newest) => {
      overwritePages(file, `"prev":"${newest.prev_hash}"`, Buffer.alloc(PAGE_BYTES))
    },
  },
  {
    name: 'a random page',
    keysStay: true,
    known: true,
    harm: (file, newest) => {
      overwritePages(file, `"prev":"${newest.prev_hash}"`, randomBytes(PAGE_BYTES))
    },
  },
  {
    name: 'an edited row',
    keysStay: true,
    known: true,
    harm: (file, newest) =>
      withRows(join(file, '..'), ({ entries }) => {
        const row = entries.get(u64(newest.seq)) as Buffer
        entries.put(u64(newest.seq), Buffer.from(row.toString('latin1').replace('"ok"', '"no"'), 'latin1'))
      }),
  },
  {
    name: 'deleted rows at the end',
    keysStay: true,
    known: true,
    harm: (file, newest) =>
      withRows(join(file, '..'), ({ entries }) => {
        for (let seq = newest.seq; seq < newest.seq + 10; seq++) entries.remove(u64(seq))
      }),
  },
]

async function checkDamage(t: Test, { name, keysStay, known, harm }: Damage): Promise<void> {
  upstream.answer = json(completion('Hello.'))
  const gateway = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const { key: revoked, id } = await gateway.createKey()
  await gateway.api('DELETE', `/keys/${id}`)
  for (let n = 0; n < 20; n++) await (await gateway.chat(key, ask(false))).text()
  const [newest] = await usage(gateway)
  await gateway.stop()
  const data = join(folder, 'data')
  await harm(join(data, 'data.mdb'), newest)
  const harmed = readFileSync(join(data, 'data.mdb'))

  const next = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, folder })
  const [aside] = readdirSync(data).filter((file) => file.startsWith('quarantine-'))
  t.ok(aside, `${name}: set aside`)
  const kept = readFileSync(join(data, String(aside), 'data.mdb'))
  t.ok(kept.equals(harmed), 'the bytes are unchanged')
  const said = next.logs.find(({ msg }) => String(msg).startsWith('the usage log is damaged'))
  t.match(said, { level: 'error', folder: join(data, String(aside)) })
  t.comment(said?.['reason'])
  const metrics = await (await fetch(`${next.opsUrl}/metrics`)).text()
  t.match(metrics, /^sidegate_audit_quarantines 1$/m)
  const ready = await fetch(`${next.opsUrl}/readyz`)
  t.match(await ready.json(), { ready: true, quarantines: 1 })
  t.equal((await next.chat(revoked, ask(false))).status, 401)
  if (keysStay) t.equal((await next.chat(key, ask(false))).status, 200)
  else t.equal((await next.chat((await next.createKey()).key, ask(false))).status, 200)
  await next.stop()
  const args = ['--config', join(folder, 'sidegate.yaml')]
  const { stdout } = await runCli(['audit', 'export', ...args])
  const genesis = JSON.parse(stdout.split('\n', 1)[0] ?? '')
  t.match(genesis, { seq: 0, type: 'genesis', continues: { reason: said?.['reason'] as string } })
  if (known) t.ok(genesis.continues.log !== null && genesis.continues.seq >= newest.seq)
  t.equal((await runCli(['audit', 'verify', ...args])).code, 0)
  // The new log is sound, so nothing is set aside a second time.
  const third = await startGateway({ program: PROGRAM, upstreamUrl: upstream.baseUrl, folder })
  t.equal(readdirSync(data).filter((file) => file.startsWith('quarantine-')).length, 1)
  await third.stop()
}

for (const damage of DAMAGES)
  t.test(`a log with ${damage.name} is set aside and a new one is started`, (t) => checkDamage(t, damage))
