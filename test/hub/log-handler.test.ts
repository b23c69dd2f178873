// A hub that takes the logs of sidecars over HTTP: what it answers, keeps and refuses.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { readSigner } from '../../src/audit/note.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import {
  checkpointPath,
  logPath,
  MAXIMUM_LONE_BYTES,
  MAXIMUM_SHIPPED_BYTES,
  MAXIMUM_SHIPPED_ENTRIES,
  NOTE_TYPE,
  printShipment,
  SHIPMENT_TYPE,
} from '../../src/fleet/shipping.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { bootDraft, requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { openDatabase } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { id } from '../store/fixture.ts'
import { clusterKey, hubOn, sidecarOf } from './pods.ts'
import { podToken, shipperOf } from './shipper.ts'
import { podClaims, signed } from './tokens.ts'

t.setTimeout(120_000)

const test = await fleetDatabase()
const database = openDatabase(t, test.hub)
const hub = await hubOn(t, test)
const one = await shipperOf(hub.url, 'one')

let logsMade = 0
const newLog = () => new SidecarLog(id(++logsMade), Date.now())

const metric = async (name: string): Promise<number> => {
  const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
  const line = page.split('\n').find((text) => text.startsWith(`${name} `))
  return Number(line?.split(' ')[1])
}
const conflictsOf = (log: string) =>
  database.rows<{ kind: string; seq: number | null; sent: Buffer | null; body: Buffer | null }>(
    'select kind, seq, stored, sent, body from conflict where log_id = $1 order by at',
    [log],
  )
const storedOf = async (log: string): Promise<number[]> =>
  (await database.rows<{ seq: number }>('select seq from entry where log_id = $1 order by seq', [log])).map(
    ({ seq }) => seq,
  )

t.test('entries are durable when the hub answers, and are counted once', async (t) => {
  const log = newLog().addMany(2).add(requestDraft(), '{"request":1}', 'ana')
  const before = await metric('sidegate_hub_entries_total')
  const answer = await one.ship(log.log, log.entries)
  t.match(answer, { status: 200, body: { seq: 3, hash: log.head.hash } })
  t.strictSame(Object.keys(answer.body), ['seq', 'hash'])
  t.strictSame(await storedOf(log.log), [0, 1, 2, 3])
  t.match(await one.ship(log.log, log.entries), { status: 200, body: { seq: 3 } }, 'sent again')
  t.equal(await metric('sidegate_hub_entries_total'), before + 4)
  t.match(await one.ship(log.log, [log.fork().add().add().entries[5]!]), { status: 409, body: { want: 4 } })
  t.strictSame(await conflictsOf(log.log), [])
})

t.test('the logs of a sidecar are listed with it', async (t) => {
  const sidecar = await sidecarOf(t, hub, 'listed')
  const shipper = await shipperOf(hub.url, 'listed')
  const log = newLog().add()
  await shipper.ship(log.log, log.entries)
  const api = await hub.signIn()
  const { body } = await api('GET', '/fleet')
  const listed = body.sidecars.find(({ name }: { name: string }) => name === 'shop/listed')
  t.match(listed.logs, [{ log: log.log, seq: 1, state: 'open', last_at: /^2/ }])
  sidecar.kill()
})

t.test('what does not fit is refused, kept, counted and logged', async (t) => {
  const log = newLog().addMany(3)
  await one.ship(log.log, log.entries)
  const next = log.fork().add().entries[4]!
  const wrong = [
    ['forged', { ...next, hash: log.head.hash }, /^line 1: the hash does not match/],
    ['form', { ...log.crafted({ log: id(77) }) }, /^line 1: .*another log/],
    ['form', log.crafted({ ...requestDraft(), cost: -1 }), /^line 1: .* cost must be a whole number/],
  ] as const
  for (const [kind, entry, message] of wrong) {
    const before = await metric(`sidegate_hub_conflicts_total{kind="${kind}"}`)
    t.match(await one.ship(log.log, [entry]), { status: 400, body: { error: { message } } })
    t.equal(await metric(`sidegate_hub_conflicts_total{kind="${kind}"}`), before + 1)
  }
  const two = await shipperOf(hub.url, 'two')
  t.match(await two.ship(log.log, [next]), { status: 403, body: { error: { code: 'forbidden' } } })
  t.match(
    (await conflictsOf(log.log)).map(({ kind }) => kind),
    ['forged', 'form', 'form', 'foreign'],
  )
  t.match(await one.ship(log.log, [next]), { status: 200 }, 'the log goes on')
  const rewritten = log.fork(2).add(requestDraft({ model: 'x' }))
  const fork = { status: 409, body: { code: 'fork', seq: 2 } }
  t.match(await one.ship(log.log, rewritten.entries.slice(2)), fork)
  t.match(await one.ship(log.log, log.fork().add().add().entries.slice(5)), fork, 'the log takes no more')
  t.match((await conflictsOf(log.log)).at(-1), {
    ...{ kind: 'fork', seq: 2, body: rewritten.entries[2]!.bytes },
    stored: Buffer.from(log.entries[2]!.hash.slice(7), 'hex'),
  })
  t.match(
    hub.logs.filter((line) => line['log'] === log.log),
    [{ kind: 'forged' }, { kind: 'form' }, { kind: 'form' }, { kind: 'foreign' }, { kind: 'fork', seq: 2 }],
  )
  const api = await hub.signIn()
  t.equal((await api('GET', '/fleet')).status, 200)
})

t.test(
  'a log that is begun in its middle without its beginning is asked for it, in the end loudly',
  async (t) => {
    const log = newLog().addMany(5)
    for (let time = 0; time < 4; time++)
      t.match(await one.ship(log.log, log.entries.slice(3)), { status: 409, body: { want: 0 } })
    t.match(await conflictsOf(log.log), [{ kind: 'gap', seq: 0 }])
    t.match(await one.ship(log.log, log.from(3)), { status: 200, body: { seq: 5 } })
  },
)

t.test('an entry of a format that is not known yet is stored as it is', async (t) => {
  const log = newLog()
  const next = log.crafted({ v: 9, type: 'thought', key_id: 5, labels: ['x'] })
  t.match(await one.ship(log.log, [...log.entries, next]), { status: 200, body: { seq: 1 } })
  t.match(
    await database.rows('select type, key_id, labels, body from entry where log_id = $1 and seq = 1', [
      log.log,
    ]),
    [{ type: 'thought', key_id: null, labels: null, body: next.bytes }],
  )
})

t.test('a body that is wrong is refused with its line', async (t) => {
  const log = newLog().addMany(250)
  const line = printShipment(log.entries.slice(0, 1)).toString()
  const wide = line.trimEnd() + ' '.repeat(MAXIMUM_SHIPPED_BYTES / 2)
  const cases: [string | Buffer, RegExp][] = [
    ['', /^line 1: there are no entries/],
    [`${line}nonsense\n`, /^line 2: is not JSON/],
    [`${line}{}\n`, /^line 2: /],
    [`${line}\n${line}`, /^line 2: is not JSON/],
    [printShipment(log.entries), new RegExp(`^line ${MAXIMUM_SHIPPED_ENTRIES + 1}: .* at most 200 entries`)],
    [`${wide}\n${wide}`, /^line 2: .* more than one entry/],
    [`${wide}${wide}`, /^line 1: .* too long/],
  ]
  for (const [body, message] of cases)
    t.match(await one.post(log.log, body), {
      status: 400,
      body: { error: { code: 'invalid_body', message } },
    })
  t.match(await one.post(log.log, line, { 'content-type': 'application/json' }), { status: 415 })
  t.match(await one.post(log.log, line, { 'content-encoding': 'gzip' }), { status: 415 })
  t.strictSame(await storedOf(log.log), [])
  t.match(await one.post(log.log, line), { status: 200 })
})

t.test('a body that is too long is refused before it is read', async (t) => {
  const authorization = `Bearer ${one.token}`
  const length = { 'content-length': MAXIMUM_LONE_BYTES + 1, expect: '100-continue' }
  const headers = { authorization, 'content-type': SHIPMENT_TYPE, ...length }
  const sent = request(hub.url + logPath(newLog().log), { method: 'POST', headers, agent: false })
  sent.on('error', () => {})
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 400)
  t.match(String(await response.toArray()), /line 1: .* has at most/)
  sent.destroy()
})

t.test('only the credential of a sidecar opens a log', async (t) => {
  const log = newLog()
  const ask = async (headers: Record<string, string>, path = logPath(log.log), method = 'POST') => {
    const sent = { 'content-type': SHIPMENT_TYPE, ...headers }
    const body = method === 'POST' ? printShipment(log.entries) : null
    return (await fetchInTime(hub.url + path, { method, headers: sent, body })).status
  }
  t.equal(await ask({}), 401)
  t.equal(await ask({ authorization: 'Bearer x' }), 401)
  const expired = await signed(podClaims(Date.now() - 7_200_000), clusterKey)
  t.equal(await ask({ authorization: `Bearer ${expired}` }), 401)
  const authorization = `Bearer ${one.token}`
  t.equal(await ask({ authorization }, '/fleet/v1/logs/x'), 404)
  t.equal(await ask({ authorization }, logPath(log.log.toUpperCase().replace('01980000', '0198000A'))), 404)
  t.strictSame(await storedOf(log.log), [])
})

t.test('a path of a log says by which method it is used', async (t) => {
  const ask = async (method: string, path: string) => {
    const answer = await fetchInTime(hub.url + path, { method })
    return { status: answer.status, allow: answer.headers.get('allow'), text: await answer.text() }
  }
  for (const path of [logPath(id(1)), checkpointPath(id(1))])
    for (const method of ['GET', 'PUT'])
      t.match(await ask(method, path), { status: 405, allow: 'POST', text: /use POST/ })
  const unknown = await ask('GET', '/fleet/v1/logs/x')
  t.match(unknown, { status: 404, text: /POST to \/fleet\/v1\/logs\/\{id\}/ })
  t.notMatch(unknown.text, /SDK/)
})

t.test('the log of the hubs takes no entries of sidecars', async (t) => {
  const [own] = await database.rows<{ log_id: string }>('select log_id from log_head where sidecar is null')
  const forged = new SidecarLog(own!.log_id)
  t.match(await one.ship(forged.log, forged.entries), { status: 403 })
})

/** Sends the beginning of a body and breaks off. */
async function breakOff(log: SidecarLog, pod: string): Promise<void> {
  const body = printShipment(log.entries)
  const authorization = `Bearer ${await podToken(pod)}`
  const headers = { authorization, 'content-type': SHIPMENT_TYPE, 'content-length': body.length }
  const sent = request(hub.url + logPath(log.log), { method: 'POST', headers, agent: false })
  sent.on('error', () => {})
  await new Promise<void>((resolve) => sent.write(body.subarray(0, body.length - 10), () => resolve()))
  sent.destroy()
}

t.test('bodies that break off store nothing and hold no turn', async (t) => {
  const broken = Array.from({ length: 12 }, () => newLog().addMany(50))
  await Promise.all(broken.map((log, index) => breakOff(log, `broken-${index}`)))
  const log = newLog().addMany(5)
  t.match(await one.ship(log.log, log.entries), { status: 200 })
  for (const { log: id } of broken) t.strictSame(await storedOf(id), [])
  const [first] = broken as [SidecarLog]
  t.match(await (await shipperOf(hub.url, 'broken-0')).ship(first.log, first.entries), { status: 200 })
})

t.test('many sidecars at a time are all served', async (t) => {
  const shippers = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => ({
      log: newLog().addMany(20),
      ship: (await shipperOf(hub.url, `many-${index}`)).ship,
    })),
  )
  const answers = await Promise.all(shippers.map(({ log, ship }) => ship(log.log, log.entries)))
  for (const answer of answers) t.match(answer, { status: 200, body: { seq: 20 } })
})

t.test('a sidecar with too many shipments at a time is asked to wait', async (t) => {
  const busy = await shipperOf(hub.url, 'busy')
  const logs = Array.from({ length: 12 }, () => newLog().addMany(150))
  const answers = await Promise.all(logs.map((log) => busy.ship(log.log, log.entries)))
  const refused = answers.filter(({ status }) => status === 503)
  t.ok(refused.length > 0 && refused.length < answers.length)
  for (const { headers } of refused) t.equal(headers.get('retry-after'), '1')
})

t.test('what was stored before its answer was lost is a duplicate afterwards', async (t) => {
  const log = newLog().addMany(100)
  const body = printShipment(log.entries)
  const authorization = `Bearer ${await podToken('lost')}`
  const headers = { authorization, 'content-type': SHIPMENT_TYPE, 'content-length': body.length }
  const sent = request(hub.url + logPath(log.log), { method: 'POST', headers, agent: false })
  sent.on('error', () => {})
  sent.end(body)
  await until('the entries are stored', async () => (await storedOf(log.log)).length === 101)
  sent.destroy()
  const lost = await shipperOf(hub.url, 'lost')
  t.match(await lost.ship(log.log, log.entries), { status: 200, body: { seq: 100, hash: log.head.hash } })
  t.equal((await storedOf(log.log)).length, 101)
})

t.test('a checkpoint of a shipped log is cosigned, and the hub witnesses the log', async (t) => {
  const log = newLog()
  const signer = readSigner(originOf(log.log), newSigningKey())
  log.add(bootDraft(signer.verifier.text)).addMany(3)
  const frontier = Frontier.empty()
  for (const { hash } of log.entries) frontier.push(leafHash(hash))
  const checkpoint = { log: log.log, size: 5, root: frontier.root(), head: log.head.hash, time: null }
  const post = (body: string, token = one.token) =>
    fetchInTime(hub.url + checkpointPath(log.log), {
      ...{ method: 'POST', body, headers: { authorization: `Bearer ${token}`, 'content-type': NOTE_TYPE } },
    })
  const note = signCheckpoint(checkpoint, signer)
  t.equal((await post(note)).status, 503, 'its entries come first')
  await one.ship(log.log, log.entries)
  t.equal((await post(note, 'none')).status, 401)
  const answer = await post(note)
  t.equal(answer.status, 200)
  const cosigned = await answer.text()
  t.ok(cosigned.startsWith(note))
  t.match(cosigned, /^\u2014 sidegate-hub\/[-0-9a-f]{36} /m)
  const forked = await post(signCheckpoint({ ...checkpoint, root: Buffer.alloc(32) }, signer))
  t.same([forked.status, await forked.json()], [409, { code: 'fork', seq: 4 }])

  await hub.stop()
  const rows = await database.rows<{ logs: { log: string }[] }>(
    "select convert_from(body, 'UTF8')::jsonb -> 'logs' as logs from entry where type = 'fleet_witness'",
  )
  const roots = rows.flatMap(({ logs }) => logs).filter((witnessed) => witnessed.log === log.log)
  t.same(roots.at(-1), { log: log.log, size: 5, root: frontier.root().toString('base64') })
  const verdicts = await verifyLogs(new StoredLogs(database), NO_EVIDENCE, () => {})
  t.match(
    verdicts.find(({ verdict }) => verdict.log === log.log),
    {
      state: 'forked',
      verdict: { ok: false, findings: [{ reason: /is forked/ }, { seq: 4, reason: /\(fork\)/ }] },
    },
  )
})
