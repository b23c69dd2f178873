// The client of a sidecar against a small hub over real sockets.

import { createPublicKey, verify } from 'node:crypto'
import t, { type Test } from 'tap'
import { hashApiKey } from '../../src/core/apikey.ts'
import { systemClock } from '../../src/core/clock.ts'
import { fixedSecret } from '../../src/core/secret.ts'
import { systemTimers } from '../../src/core/timers.ts'
import { FleetClient, type FleetClientParts } from '../../src/fleet/client.ts'
import { type Credential, fileCredential, joinedCredential } from '../../src/fleet/credential.ts'
import { SidecarMemory } from '../../src/fleet/sidecar-memory.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import { type FleetChanges, NO_FLEET_STATE } from '../../src/keys/fleet-state.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { until } from '../process/until.ts'
import { fleetKey, SIDECAR_TOKEN, startHub, type TestHub } from './fixture.ts'

t.setTimeout(60_000)

/** What a sidecar keeps; a test makes its writes fail or wait. */
class Storage {
  state = NO_FLEET_STATE
  readonly keys = new Map<string, FleetKey>()
  readonly tombstones = new Map<string, number>()
  writes = 0
  write: (changes: FleetChanges) => Promise<void> = async (changes) => this.keep(changes)

  read() {
    return { state: this.state, keys: [...this.keys.values()], tombstones: [...this.tombstones] }
  }

  keep({ state, put, removed, buried, forgotten }: FleetChanges): void {
    this.writes++
    this.state = state
    for (const key of put) this.keys.set(key.id, key)
    for (const id of removed) this.keys.delete(id)
    for (const [id, timeMs] of buried) this.tombstones.set(id, timeMs)
    for (const id of forgotten) this.tombstones.delete(id)
  }
}

interface Options {
  readonly storage?: Storage
  readonly maxStaleSeconds?: number
  readonly credential?: (memory: SidecarMemory) => Credential
  readonly joinToken?: string
  readonly erase?: FleetClientParts['erase']
}

function sidecar(t: Pick<Test, 'teardown'>, hubs: readonly TestHub[], options: Options = {}) {
  const { storage = new Storage(), maxStaleSeconds = 60, joinToken } = options
  const memory = new SidecarMemory(
    { read: () => storage.read(), write: (c) => storage.write(c) },
    systemClock,
    maxStaleSeconds,
  )
  const problems: string[] = []
  const connections: string[] = []
  const parts: FleetClientParts = {
    config: {
      hubs: hubs.map(({ url }) => url),
      ca: null,
      joinToken: joinToken === undefined ? null : fixedSecret(joinToken),
      maxStaleSeconds,
    },
    credential: options.credential?.(memory) ?? fileCredential(fixedSecret(SIDECAR_TOKEN)),
    memory,
    clock: systemClock,
    timers: systemTimers,
    erase: options.erase ?? (async () => {}),
    random: () => 0,
    events: {
      connected: (hub) => connections.push(hub),
      troubled: (_hub, problem) => problems.push(problem),
      reconnecting: () => {},
    },
  }
  const client = new FleetClient(parts)
  client.start()
  t.teardown(() => client.stop())
  const isConnected = () => until('the sidecar is connected', () => client.isConnected)
  return { client, memory, storage, problems, connections, isConnected }
}

t.test('a feed resumes where the last one ended', async (t) => {
  const hub = await startHub(t)
  const first = hub.create()
  const { memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  t.equal(hub.feedRequests[0]?.['last-event-id'], undefined)
  t.match(hub.feedRequests[0], { 'sidegate-protocol': '1', 'sidegate-max-stale': '60' })
  await hub.acked()
  const { rev } = hub
  hub.isBeating = false
  hub.cut()
  hub.revoke(first.id)
  await until('the revocation is in force', () => memory.find(hashApiKey(first.key)) === undefined)
  t.equal(hub.feedRequests[1]?.['last-event-id'], `${hub.epoch}:${rev}`)
  await hub.acked()
  t.match(hub.acks.at(-1), { epoch: hub.epoch, rev: hub.rev, durable: true, nack: [], conflicts: [] })
})

t.test('a change that concerns others advances the revision, with a heartbeat', async (t) => {
  const hub = await startHub(t)
  const { memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  hub.rev = 41
  await hub.acked(41)
  t.equal(memory.keys.position?.rev, 41)
})

t.test('a heartbeat with another state leads to all keys again', async (t) => {
  const hub = await startHub(t)
  const { memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  // A key that the feed does not bring.
  const { row } = fleetKey('missed', ++hub.rev)
  hub.keys.set(row.id, row)
  await until('the key is there', () => memory.find(row.sha256) !== undefined)
  t.equal(hub.feedRequests.at(-1)?.['last-event-id'], undefined)
  t.equal(hub.feedRequests.length, 2)
})

t.test('a hub whose state cannot be reached does not count as heard', async (t) => {
  const hub = await startHub(t)
  hub.wrongHash = 'ab'.repeat(32)
  const { client, memory } = sidecar(t, [hub])
  await until('it says so', () => /differ from those of the hub/.test(client.problem ?? ''))
  t.equal(memory.freshness.isStale, true)
  hub.wrongHash = null
  await until('it is heard', () => !memory.freshness.isStale)
})

t.test('a sidecar that is ahead of the hub keeps its keys and does not go back', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  const { memory, client, problems, isConnected } = sidecar(t, [hub])
  await isConnected()
  const { rev } = hub
  hub.rev = 0
  const lost = new Map(hub.keys)
  hub.keys.clear()
  hub.cut()
  await until('it says so', () => /migrate --new-epoch/.test(client.problem ?? ''))
  t.match(client.problem, new RegExp(`the hub is at revision 0 and this gateway at ${rev}`))
  t.ok(memory.find(hashApiKey(key)))
  const attempts = hub.feedRequests.length
  await until('it tries again', () => hub.feedRequests.length > attempts + 3)
  t.equal(problems.filter((one) => /migrate/.test(one)).length, 1, 'logged once')
  t.ok(hub.acks.every((ack) => ack.rev >= rev || ack.epoch === hub.epoch))
  hub.epoch = crypto.randomUUID()
  await isConnected()
  t.equal(memory.find(hashApiKey(key)), undefined, 'the new history has no such key')
  t.equal(memory.keys.position?.rev, 0)
  t.equal(lost.size, 1)
})

t.test('a key that is revoked here and active in a restored database is a conflict', async (t) => {
  const hub = await startHub(t)
  const { id, key } = hub.create()
  const row = hub.keys.get(id)!
  const { memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  hub.revoke(id)
  await hub.acked()
  hub.epoch = crypto.randomUUID()
  hub.rev = 1
  hub.keys.set(id, row)
  hub.revoked.length = 0
  const before = hub.acks.length
  hub.cut()
  await until('the conflict is reported', () =>
    hub.acks.slice(before).some((ack) => ack.conflicts.includes(id) && ack.epoch === hub.epoch),
  )
  t.equal(memory.find(hashApiKey(key)), undefined)
  t.equal(memory.freshness.isStale, false, 'the state is still that of the hub')
})

t.test('what this release does not know is reported and asked for again by the next', async (t) => {
  const hub = await startHub(t)
  const { storage, isConnected, client, memory } = sidecar(t, [hub])
  await isConnected()
  hub.raw(`id: ${hub.epoch}:${hub.rev}\nevent: rule\ndata: {"x":1}\n\n`)
  const { id } = hub.create({ hours: '9-17' })
  await hub.acked(hub.rev, ({ nack }) => nack.length === 2)
  t.match(hub.acks.at(-1)?.nack, [{ reason: /event rule/ }, { reason: new RegExp(`key ${id}.*hours`) }])
  t.same(memory.list(), [])
  await client.stop()
  t.equal(storage.state.hasUnknownEvents, true)
  const next = sidecar(t, [hub], { storage })
  await next.isConnected()
  t.equal(hub.feedRequests.at(-1)?.['last-event-id'], undefined)
})

t.test('a revocation is in force and acknowledged while the disk takes no writes', async (t) => {
  const hub = await startHub(t)
  const { id, key } = hub.create()
  const { memory, storage, isConnected } = sidecar(t, [hub])
  await isConnected()
  await hub.acked(hub.rev, ({ durable }) => durable)
  storage.write = async () => {
    throw new Error('ENOSPC')
  }
  hub.revoke(id)
  await hub.acked(hub.rev, ({ durable }) => !durable)
  t.equal(memory.find(hashApiKey(key)), undefined)
  // A write that hangs does not delay the acknowledgement.
  const hang = Promise.withResolvers<void>()
  storage.write = async (changes) => {
    await hang.promise
    storage.keep(changes)
  }
  hub.create()
  await hub.acked(hub.rev, ({ durable }) => !durable)
  hang.resolve()
  await hub.acked(hub.rev, ({ durable }) => durable)
  t.same([...storage.tombstones.keys()], [id])
})

t.test('a hub that is silent, gone or leaving is left for the next one', async (t) => {
  const [one, other] = [await startHub(t), await startHub(t)]
  other.epoch = one.epoch
  const { client, connections, isConnected } = sidecar(t, [one, other])
  await isConnected()
  t.equal(client.hub, one.url, 'random said the first')
  one.send({ event: 'bye', reason: 'restart' })
  await until('the other hub', () => connections.at(-1) === other.url)
  other.isFrozen = true
  await until('the first hub again', () => connections.at(-1) === one.url && client.isConnected)
  other.isFrozen = false
  await one.close()
  await until('the other hub again', () => connections.at(-1) === other.url && client.isConnected)
})

t.test('a refusal of the hub is said in its words, once', async (t) => {
  const hub = await startHub(t)
  const body = JSON.stringify({ error: { message: 'The token\u202e is of another audience.' } })
  hub.refusal = { status: 403, body }
  const { client, problems, isConnected } = sidecar(t, [hub])
  await until('it tries again', () => hub.feedRequests.length > 3)
  t.match(client.problem, /refuses this gateway \(403\): The token\S* is of another audience\./)
  t.notMatch(client.problem, '\u202e')
  t.equal(problems.length, 1)
  hub.refusal = null
  await isConnected()
  t.equal(client.problem, null)
})

t.test('a sidecar that was declared gone refuses the keys of the hub until it is taken back', async (t) => {
  const hub = await startHub(t)
  const { client, memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  t.notOk(memory.freshness.isStale)
  hub.refusal = { status: 403, body: JSON.stringify({ error: { code: 'forbidden', message: 'gone' } }) }
  hub.send({ event: 'bye', reason: 'again' })
  await until('it forgets', () => memory.freshness.isStale)
  t.ok(memory.state.left, 'also after a restart')
  t.match(client.problem, /403/)
  hub.refusal = null
  await until('it is taken back', () => client.isConnected && !memory.freshness.isStale)
  t.notOk(memory.state.left)
})

t.test('bytes that are no feed, and events without end, are refused', async (t) => {
  const hub = await startHub(t)
  hub.refusal = { status: 200, body: 'event: beat\ndata: {"t":1,"rev":1,"state_hash":"x"}\n\n' }
  const { client, isConnected } = sidecar(t, [hub])
  await until('it says so', () => client.problem === 'the hub began without hello')
  hub.refusal = { status: 200, body: `data: ${'x'.repeat(17 * 1024 ** 2)}` }
  await until('it says so', () => /more than \d+ bytes/.test(client.problem ?? ''))
  hub.refusal = { status: 200, body: '\u0000<html>' }
  hub.refusal = null
  await isConnected()
})

t.test('uses are reported until the hub has them', async (t) => {
  const hub = await startHub(t)
  const { id } = hub.create()
  const { memory, isConnected } = sidecar(t, [hub])
  await isConnected()
  await hub.acked()
  memory.noteUse(id, Date.UTC(2026, 10, 2))
  hub.create()
  await hub.acked(hub.rev, ({ last_used }) => last_used[id] === '2026-11-02T00:00:00.000Z')
  const before = hub.acks.length
  hub.create()
  await hub.acked()
  t.same(
    hub.acks
      .slice(before)
      .map(({ last_used }) => last_used)
      .at(-1),
    {},
  )
})

t.test('a goodbye is marked before it is said, and taken back when nobody heard it', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  const { storage, client, isConnected } = sidecar(t, [hub])
  await isConnected()
  await hub.acked()
  await client.stop()
  t.equal(hub.leaves, 1)
  t.equal(storage.state.left, true)
  const isolated = new SidecarMemory(storage, systemClock, 60)
  t.equal(isolated.find(hashApiKey(key)), 'stale', 'after a goodbye nothing counts before a heartbeat')
  const next = sidecar(t, [hub], { storage })
  await next.isConnected()
  t.match(next.memory.find(hashApiKey(key)), { name: /key/ })
  await hub.close()
  await next.client.stop()
  t.equal(storage.state.left, false)
  t.match(new SidecarMemory(storage, systemClock, 60).find(hashApiKey(key)), { name: /key/ })
})

t.test('a smaller limit is kept before the hub hears of it, a larger one after', async (t) => {
  const hub = await startHub(t)
  const first = sidecar(t, [hub], { maxStaleSeconds: 60 })
  await first.isConnected()
  await first.client.stop()
  const { storage } = first
  t.equal(storage.state.toldMaxStaleSeconds, 60)
  const limits: [number | null, number][] = []
  storage.write = async (changes) => {
    limits.push([changes.state.toldMaxStaleSeconds, hub.feedRequests.length])
    storage.keep(changes)
  }
  const smaller = sidecar(t, [hub], { storage, maxStaleSeconds: 10 })
  await smaller.isConnected()
  await smaller.client.stop()
  t.same(limits[0], [10, 1], 'written before the second feed')
  const larger = sidecar(t, [hub], { storage, maxStaleSeconds: 90 })
  t.equal(storage.state.toldMaxStaleSeconds, 10)
  await larger.isConnected()
  await until('the limit is kept', () => storage.state.toldMaxStaleSeconds === 90)
})

t.test('a join token is used once, for a key of the sidecar', async (t) => {
  const hub = await startHub(t)
  const privateKey = newSigningKey()
  const credential = (memory: SidecarMemory) =>
    joinedCredential({ id: () => memory.state.joined, clock: systemClock, privateKey })
  const { storage, isConnected, client } = sidecar(t, [hub], { credential, joinToken: 'once' })
  await isConnected()
  await client.stop()
  t.match(hub.joins, [{ token: 'once', public_key: /BEGIN PUBLIC KEY/, authorization: null }])
  const [, token = ''] = /^Bearer (.+)$/.exec(hub.feedRequests[0]?.authorization ?? '') ?? []
  const [head = '', claims = '', signature = ''] = token.split('.')
  const publicKey = createPublicKey(String(hub.joins[0]?.['public_key']))
  t.ok(verify(null, Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url')))
  t.same(JSON.parse(Buffer.from(head, 'base64url').toString()), { alg: 'EdDSA', typ: 'JWT' })
  const { iat, exp, ...names } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  t.same(names, { iss: 'sidegate-sidecar', sub: 'joined-1', aud: 'sidegate-hub' })
  t.equal(exp - iat, 600)
  const again = sidecar(t, [hub], { storage, credential, joinToken: 'once' })
  await again.isConnected()
  t.equal(hub.joins.length, 1)
})

t.test('a credential of its own is renewed with a new feed before it ends', async (t) => {
  const hub = await startHub(t)
  let tokens = 0
  const credential = () => ({ renewalMs: 50, bearer: async () => `token-${++tokens}` })
  const { memory } = sidecar(t, [hub], { credential })
  await until('several feeds', () => hub.feedRequests.length >= 4)
  t.equal(memory.freshness.isStale, false)
})

t.test('an order of erasure is acknowledged once it is applied, and applied once', async (t) => {
  const hub = await startHub(t)
  const first = hub.order({ key_id: 'before the first contact' })
  const storage = new Storage()
  const applied: (number | null)[] = []
  let mayErase = Promise.withResolvers<void>()
  const erase: FleetClientParts['erase'] = async ({ rev }) => {
    await mayErase.promise
    applied.push(rev)
  }
  const { client, isConnected } = sidecar(t, [hub], { storage, erase })
  await isConnected()
  const second = hub.order({ user: '00'.repeat(16) })
  const key = hub.create()
  await until('the key is there', () => storage.keys.has(key.id))
  t.ok(
    hub.acks.every(({ rev }) => rev < first.rev),
    'nothing is acknowledged while an order waits',
  )
  t.match(storage.state, { orders: [{ id: first.id }, { id: second.id }] }, 'and a restart has it')
  mayErase.resolve()
  await hub.acked()
  t.strictSame(applied, [first.rev, second.rev])
  t.strictSame(storage.state.applied, [first.id, second.id])
  await client.stop()
  mayErase = Promise.withResolvers<void>()
  mayErase.resolve()
  hub.epoch = '00000000-0000-4000-8000-000000000001'
  const next = sidecar(t, [hub], { storage, erase })
  await next.isConnected()
  await hub.acked(hub.rev, ({ epoch }) => epoch === hub.epoch)
  t.strictSame(applied, [first.rev, second.rev], 'a snapshot applies it no second time')
})

t.test('an order that waits is applied after a restart, without its hub', async (t) => {
  const storage = new Storage()
  const order = { rev: 3, id: 'one', selection: { request_id: 'call' } }
  storage.state = { ...NO_FLEET_STATE, orders: [order] }
  const hub = await startHub(t)
  hub.isFrozen = true
  const erased: unknown[] = []
  sidecar(t, [hub], { storage, erase: async (one) => erased.push(one) })
  await until('it is applied', () => erased.length === 1)
  t.strictSame(erased, [order])
})
