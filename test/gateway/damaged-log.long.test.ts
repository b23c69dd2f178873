// Starting on a log that the disk or somebody damaged.

import { randomBytes } from 'node:crypto'
import {
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
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { u64 } from '../../src/store/tables/layout.ts'
import { discard, prompt, startGateway } from '../process/gateway.ts'
import { runProgram } from '../process/run-command.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

const upstream = await startUpstream(json(completion('Hello.')))
t.teardown(() => upstream.close())

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
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const { key: revoked, id } = await gateway.createKey()
  await gateway.api('DELETE', `/keys/${id}`)
  for (let n = 0; n < 20; n++) await (await gateway.chat(key, prompt('hi'))).text()
  const newest = await gateway.newestEntry()
  await gateway.stop()
  const data = join(folder, 'data')
  await harm(join(data, 'data.mdb'), newest)
  const harmed = readFileSync(join(data, 'data.mdb'))

  const next = await startGateway({ upstreamUrl: upstream.baseUrl, folder })
  const [aside] = readdirSync(data).filter((file) => file.startsWith('quarantine-'))
  t.ok(aside, `${name}: set aside`)
  const kept = readFileSync(join(data, String(aside), 'data.mdb'))
  t.ok(kept.equals(harmed), 'the bytes are unchanged')
  const said = next.logs.find(({ msg }) => String(msg).startsWith('the usage log is damaged'))
  t.match(said, { level: 'error', folder: join(data, String(aside)) })
  t.comment(said?.['reason'])
  t.match(await next.metrics(), /^sidegate_audit_quarantines 1$/m)
  t.match((await next.readiness()).body, { ready: true, quarantines: 1 })
  t.equal((await next.chat(revoked, prompt('hi'))).status, 401)
  if (keysStay) t.equal((await next.chat(key, prompt('hi'))).status, 200)
  else t.equal((await next.chat((await next.createKey()).key, prompt('hi'))).status, 200)
  await next.stop()
  const args = ['--config', join(folder, 'sidegate.yaml')]
  const { stdout } = await runProgram(['audit', 'export', ...args])
  const genesis = JSON.parse(stdout.split('\n', 1)[0] ?? '')
  t.match(genesis, { seq: 0, type: 'genesis', continues: { reason: said?.['reason'] as string } })
  if (known) t.ok(genesis.continues.log !== null && genesis.continues.seq >= newest.seq)
  t.equal((await runProgram(['audit', 'verify', ...args])).code, 0)
  // The new log is sound, so nothing is set aside a second time.
  const third = await startGateway({ upstreamUrl: upstream.baseUrl, folder })
  t.equal(readdirSync(data).filter((file) => file.startsWith('quarantine-')).length, 1)
  await third.stop()
}

for (const damage of DAMAGES)
  t.test(`a log with ${damage.name} is set aside and a new one is started`, (t) => checkDamage(t, damage))
